package wire

import (
	"bytes"
	"fmt"
	"io"
)

// DefaultMaxLine is the line cap when none is given. A real session/resume
// answer had 30 MB on one line; this leaves room for eight times that.
const DefaultMaxLine = 256 << 20

const (
	// usualBuffer holds what a Linux pipe holds, so that one read(2) empties it.
	usualBuffer = 64 << 10
	// keptBuffer is how large a buffer may stay after a long line; a larger one
	// is given back before the reader waits for more input.
	keptBuffer = 1 << 20
	// maxEmptyReads ends a reader that gives neither bytes nor an error; the same
	// number as in package bufio.
	maxEmptyReads = 100
)

// LineTooLongError says that a line was skipped whole because it was over the
// cap. The reader stands at the start of the next line.
type LineTooLongError struct {
	Bytes int64 // its length without the line end
}

func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("a line of %d bytes is over the limit and was skipped", e.Bytes)
}

// Reader cuts a byte stream into lines at byte 0x0A and nowhere else (U+2028 is
// an ordinary character). It belongs to one goroutine. Its buffer grows with
// the longest line up to the cap and shrinks again.
type Reader struct {
	src     io.Reader
	maxLine int

	buf     []byte // buf[start:end] is read but not handed out
	start   int
	end     int
	scanned int   // buf[start:scanned] has no line end
	err     error // from src; nothing is read after it
}

// NewReader reads from r lines of at most maxLine bytes, the line end not
// counted; 0 means [DefaultMaxLine].
func NewReader(r io.Reader, maxLine int) *Reader {
	if maxLine <= 0 {
		maxLine = DefaultMaxLine
	}
	return &Reader{src: r, maxLine: maxLine, buf: make([]byte, usualBuffer)}
}

// Next returns the next line that is not blank, without its LF and without one
// CR before it. The slice is valid until the next call of Next. The end is
// io.EOF (a last line without LF comes before it) or the error of the
// underlying reader (the piece of a line before that is lost). After a
// [*LineTooLongError] the reader goes on with the next line.
func (r *Reader) Next() ([]byte, error) {
	r.shrink()
	for {
		line, ok := r.buffered()
		switch {
		case !ok && r.end-r.start > r.maxLine:
			return nil, r.skipLong()
		case !ok && r.err != nil:
			return r.last()
		case !ok:
			r.fill()
		case len(line) > r.maxLine:
			return nil, &LineTooLongError{Bytes: int64(len(line))}
		default:
			if line = trimCR(line); !isBlank(line) {
				return line, nil
			}
		}
	}
}

// More reports whether Next will give a line without reading. The caller has
// then not reached the end of what arrived together.
func (r *Reader) More() bool {
	for {
		rest := r.buf[r.start:r.end]
		i := bytes.IndexByte(rest[r.scanned-r.start:], '\n')
		if i < 0 {
			r.scanned = r.end
			return false
		}
		i += r.scanned - r.start
		r.scanned = r.start + i // buffered need not look again
		if !isBlank(rest[:i]) {
			return i <= r.maxLine
		}
		r.start += i + 1
		r.scanned = r.start
	}
}

// buffered takes the next line out of the buffer if all of it is there.
func (r *Reader) buffered() (line []byte, ok bool) {
	i := bytes.IndexByte(r.buf[r.scanned:r.end], '\n')
	if i < 0 {
		r.scanned = r.end
		return nil, false
	}
	line = r.buf[r.start : r.scanned+i]
	r.start = r.scanned + i + 1
	r.scanned = r.start
	return line, true
}

// last hands out the unterminated last line, then the error.
func (r *Reader) last() ([]byte, error) {
	line := r.buf[r.start:r.end]
	r.start, r.scanned = r.end, r.end
	if r.err == io.EOF {
		if line = trimCR(line); !isBlank(line) {
			return line, nil
		}
	}
	return nil, r.err
}

// skipLong drops the rest of a line that is over the cap.
func (r *Reader) skipLong() error {
	var dropped int64
	for {
		dropped += int64(r.end - r.start)
		r.start, r.end, r.scanned = 0, 0, 0
		r.shrink()
		if r.err != nil {
			return &LineTooLongError{Bytes: dropped}
		}
		r.fill()
		if line, ok := r.buffered(); ok {
			return &LineTooLongError{Bytes: dropped + int64(len(line))}
		}
	}
}

// fill reads once, after making room. It leaves bytes or r.err behind.
func (r *Reader) fill() {
	if r.start > 0 {
		copy(r.buf, r.buf[r.start:r.end])
		r.end -= r.start
		r.scanned -= r.start
		r.start = 0
	}
	if r.end == len(r.buf) {
		// One byte over the cap is enough to know that a line is too long.
		r.resize(min(2*len(r.buf), r.maxLine+1))
	}
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// shrink gives a large buffer back once what is left fits in the usual one.
func (r *Reader) shrink() {
	if len(r.buf) > keptBuffer && r.end-r.start < usualBuffer {
		r.resize(usualBuffer)
	}
}

func (r *Reader) resize(size int) {
	buf := make([]byte, size)
	copy(buf, r.buf[r.start:r.end])
	r.buf = buf
	r.end -= r.start
	r.scanned -= r.start
	r.start = 0
}

func trimCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

func isBlank(line []byte) bool { return skipSpace(line, 0) == len(line) }
