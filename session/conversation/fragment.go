package conversation

import (
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
)

// DefaultMaxMessage is the largest message that goes out in one piece: what the
// app-server itself keeps to (4.12).
const DefaultMaxMessage = 1 << 20

// The two ways in which a frame cannot be told in messages of the size allowed.
// Their texts are the protocol's names.
var (
	ErrEnvelopeTooLarge      = errors.New("proto.frameEnvelopeTooLarge")
	ErrFragmentCountExceeded = errors.New("proto.frameFragmentCountExceeded")
)

// Messages makes the messages that tell one frame, none of them longer than
// limit bytes (0 means DefaultMaxMessage): one complete message if that is
// enough, else fragments.
func Messages(h Head, from, to uint64, sentAt int64, payload []byte, limit int) ([][]byte, error) {
	if limit <= 0 {
		limit = DefaultMaxMessage
	}
	if len(payload) < limit {
		msg := AppendFrame(make([]byte, 0, len(payload)+headSize(h)), h, from, to, sentAt, payload)
		if len(msg) <= limit {
			return [][]byte{msg}, nil
		}
	}
	logical := appendLogicalStart(make([]byte, 0, len(payload)+headSize(h)), h, from, to, sentAt)
	logical = append(logical, payload...)
	logical = append(logical, '}')
	return fragments(h, logical, limit)
}

func fragments(h Head, logical []byte, limit int) ([][]byte, error) {
	if len(logical) > maxLogicalBytes {
		return nil, fmt.Errorf("%w: the frame has %d bytes, %d are allowed", ErrEnvelopeTooLarge, len(logical), maxLogicalBytes)
	}
	f := fragmenter{head: h, logical: logical, checksum: crc32.ChecksumIEEE(logical)}
	// The head with the longest numbers that can come.
	around := len(f.append(nil, maxFragments, maxFragments, nil))
	size := (limit - around) / 4 * 3 // base64 makes four bytes of three
	if size <= 0 {
		return nil, fmt.Errorf("%w: a fragment's head alone has %d bytes, %d are allowed", ErrEnvelopeTooLarge, around, limit)
	}
	count := (len(logical) + size - 1) / size
	if count > maxFragments {
		return nil, fmt.Errorf("%w: %d fragments, %d are allowed", ErrFragmentCountExceeded, count, maxFragments)
	}
	messages := make([][]byte, count)
	for i := range messages {
		piece := logical[i*size : min((i+1)*size, len(logical))]
		messages[i] = f.append(make([]byte, 0, around+base64.StdEncoding.EncodedLen(len(piece))), i, count, piece)
	}
	return messages, nil
}

// A fragmenter makes the fragments of one frame.
type fragmenter struct {
	head     Head
	logical  []byte
	checksum uint32
}

func (f *fragmenter) append(dst []byte, index, count int, piece []byte) []byte {
	dst = appendPhysical(dst, "fragment", f.head)
	dst = append(dst, `,"fragmentIndex":`...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	dst = append(dst, `,"fragmentCount":`...)
	dst = strconv.AppendInt(dst, int64(count), 10)
	dst = append(dst, `,"logicalBytes":`...)
	dst = strconv.AppendInt(dst, int64(len(f.logical)), 10)
	dst = append(dst, `,"checksum":{"algorithm":"crc32","value":"`...)
	dst = fmt.Appendf(dst, "%08x", f.checksum)
	dst = append(dst, `"},"dataBase64":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, piece)
	return append(dst, `"}}`...)
}
