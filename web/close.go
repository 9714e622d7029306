package web

import (
	"encoding/binary"
	"strings"
)

// Close codes of the native surface. "Reconnect" is what a client should do after it.
//
//	code  meaning                              reconnect?
//	1000  the client closed                    as it likes
//	1001  the hub goes away or restarts        yes, after the retryAfterMs of hub/closing, with jitter
//	1002  frames that are no WebSocket         no, the client is broken
//	1007  text that is not UTF-8               no, the client is broken
//	1008  a binary frame, a flood, a policy    no
//	1009  a message over maxMessageBytes       no, not with the same message
//	1013  overloaded                           yes, later: back off from 10 s
//	4401  the token expired                    after it was refreshed, then yes
//	4403  the device was revoked               no: pair again
//	4408  too slow, or silent for two pings    yes, at once, resuming with the cursor
//
// A connection that ends without a close frame was lost: reconnect and resume. A handshake answered 401 or 403 is final
// until there is a new token; 503 means later.
const (
	CloseNormal       = 1000
	CloseGoingAway    = 1001
	CloseProtocol     = 1002
	CloseNotUTF8      = 1007
	ClosePolicy       = 1008
	CloseTooBig       = 1009
	CloseOverloaded   = 1013
	CloseTokenExpired = 4401
	CloseRevoked      = 4403
	CloseTooSlow      = 4408
)

// closeNoStatus stands for a close frame without a code, as a peer may send it. It is never on the wire.
const closeNoStatus = 1005

// maxCloseReason is what RFC 6455 leaves for the reason: a control frame carries 125 bytes, two of them the code.
const maxCloseReason = 123

// closeFrame builds the frame, unmasked. A reason that is too long loses its end.
func closeFrame(code int, reason string) []byte {
	if code == closeNoStatus {
		return []byte{finBit | opClose, 0}
	}
	if len(reason) > maxCloseReason {
		reason = reason[:maxCloseReason]
	}
	reason = strings.ToValidUTF8(reason, "")
	frame := append(make([]byte, 0, 4+len(reason)), finBit|opClose, byte(2+len(reason)))
	frame = binary.BigEndian.AppendUint16(frame, uint16(code))
	return append(frame, reason...)
}

// parseCloseFrame reads a frame as closeFrame builds it.
func parseCloseFrame(frame []byte) (code int, reason string) {
	if len(frame) < 4 {
		return closeNoStatus, ""
	}
	return int(binary.BigEndian.Uint16(frame[2:4])), string(frame[4:])
}
