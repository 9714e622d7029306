package fanout

import "encoding/binary"

// MaxHeader is the longest header of an unmasked frame (RFC 6455 section 5.2).
const MaxHeader = 10

// AppendFrame appends msg as one unmasked text frame, the form in which a
// server sends a whole message (RFC 6455 section 5.2: FIN, opcode 1).
func AppendFrame(dst, msg []byte) []byte {
	return append(AppendHeader(dst, len(msg)), msg...)
}

// Frame returns msg as one ready text frame.
func Frame(msg []byte) []byte {
	return AppendFrame(make([]byte, 0, len(msg)+MaxHeader), msg)
}

// AppendHeader appends the header of a text frame whose message has n bytes; the
// message must follow.
func AppendHeader(dst []byte, n int) []byte {
	const finText = 0x81
	switch {
	case n <= 125: // the 7-bit length
		return append(dst, finText, byte(n))
	case n <= 1<<16-1: // 126 announces 16 bits
		return binary.BigEndian.AppendUint16(append(dst, finText, 126), uint16(n))
	default: // 127 announces 64 bits
		return binary.BigEndian.AppendUint64(append(dst, finText, 127), uint64(n))
	}
}

// frameSize is the length of msg's frame.
func frameSize(n int) int {
	switch {
	case n <= 125:
		return n + 2
	case n <= 1<<16-1:
		return n + 4
	default:
		return n + 10
	}
}

// message returns the message inside a frame made by AppendFrame.
func message(frame []byte) []byte {
	switch frame[1] {
	case 126:
		return frame[4:]
	case 127:
		return frame[10:]
	default:
		return frame[2:]
	}
}
