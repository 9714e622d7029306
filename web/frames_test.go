package web

import (
	"io"
)

// readFrame reads one server frame whole.
func readFrame(r io.Reader) ([]byte, error) {
	frame := make([]byte, 2, 64)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	switch frame[1] {
	case 126:
		frame = frame[:4]
	case 127:
		frame = frame[:10]
	}
	if _, err := io.ReadFull(r, frame[2:]); err != nil {
		return nil, err
	}
	size := int(frameSize([][]byte{append(frame[:len(frame):len(frame)], make([]byte, 10)...)}))
	whole := append(frame, make([]byte, size-len(frame))...)
	_, err := io.ReadFull(r, whole[len(frame):])
	return whole, err
}
