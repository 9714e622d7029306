package child

import (
	"bytes"
	"io"
	"log/slog"
	"strings"

	"golang.org/x/time/rate"
)

const (
	tailSize = 8 << 10 // a stack trace and what led to it
	// noteSize is how much of one line is logged; lines may have any length.
	noteSize = 1 << 10
	// A burst has room for the stack traces of a bad start; a flood costs the log
	// ten lines a second.
	notesPerSecond = 10
	notesBurst     = 100
)

// notes is what becomes of stderr: the tail, and lines in the log. Draining it
// never stops, whatever comes: a child that cannot write to stderr stands still.
type notes struct {
	log     *slog.Logger
	limit   *rate.Limiter
	tail    []byte
	line    []byte // the beginning of the line being read
	leftOut int    // lines since the last one logged
}

func newNotes(log *slog.Logger) notes {
	return notes{log: log, limit: rate.NewLimiter(notesPerSecond, notesBurst)}
}

func (n *notes) readAll(r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		size, err := r.Read(buf)
		n.add(buf[:size])
		if err != nil {
			break
		}
	}
	n.endLine()
	if n.leftOut > 0 {
		n.log.Info("stderr", "leftOut", n.leftOut)
	}
}

func (n *notes) add(chunk []byte) {
	n.tail = append(n.tail, chunk[max(0, len(chunk)-tailSize):]...)
	if extra := len(n.tail) - tailSize; extra > 0 {
		n.tail = append(n.tail[:0], n.tail[extra:]...)
	}
	for {
		line, rest, ended := bytes.Cut(chunk, []byte{'\n'})
		n.line = append(n.line, line[:min(len(line), noteSize-len(n.line))]...)
		if !ended {
			return
		}
		n.endLine()
		chunk = rest
	}
}

func (n *notes) endLine() {
	line := bytes.TrimSpace(n.line)
	n.line = n.line[:0]
	switch {
	case len(line) == 0:
	case !n.limit.Allow():
		n.leftOut++
	case n.leftOut > 0:
		n.log.Info("stderr", "line", valid(line), "leftOut", n.leftOut)
		n.leftOut = 0
	default:
		n.log.Info("stderr", "line", valid(line))
	}
}

func (n *notes) tailText() string { return valid(n.tail) }

// valid makes UTF-8 of text that may begin or end inside a character.
func valid(text []byte) string { return strings.ToValidUTF8(string(text), "\ufffd") }
