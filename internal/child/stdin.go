package child

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
)

// Why a line was not queued. ErrClosed also reaches the written callbacks of
// lines that were queued and will never be read.
var (
	ErrFull    = errors.New("the child does not read fast enough: its queue is full")
	ErrClosed  = errors.New("the child takes no more input")
	ErrNotLine = errors.New("a line holds no line end")
)

// writeSize is how much of the queue goes into one write(2): what a Linux pipe
// holds.
const writeSize = 64 << 10

// maxSpare is how many empty entries of the queue are kept for reuse; enough
// for a busy child, nothing compared with what a stuck one can gather.
const maxSpare = 1024

// stdin is the queue before the child's stdin and the goroutine that writes it.
// It is bounded in bytes; a line that finds it full is refused, and counted.
type stdin struct {
	// Fixed after construction.
	pipe    *os.File
	bound   int64
	reserve int64

	// Owned by the goroutine in run.
	batch []byte // lines with their ends, about to be written together

	mu      sync.Mutex
	changed *sync.Cond // on mu: lines or closed has changed
	lines   []queuedLine
	bytes   int64 // cost of the lines that are queued or being written
	refused int64
	closed  bool // takes no more lines; those queued are still written
}

type queuedLine struct {
	text    []byte
	written func(error)
}

// lineCost is what a line costs beside its text: its entry in the queue, grown
// by doubling, and its callback. Without it a flood of tiny lines would take
// many times the bound.
const lineCost = 96

func (l queuedLine) cost() int64 { return int64(len(l.text)) + lineCost }

// size is what the line is in the pipe.
func (l queuedLine) size() int { return len(l.text) + len("\n") }

func newStdin(pipe *os.File, bound, reserve int) *stdin {
	s := &stdin{pipe: pipe, bound: int64(bound), reserve: int64(reserve), batch: make([]byte, 0, writeSize)}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// Send queues one line for stdin; its LF is added. The line may no longer be
// changed. Send never blocks: the error is [ErrFull] when the bound is reached,
// [ErrClosed] when the child is ending, or [ErrNotLine].
//
// If Send returned nil, written (which may be nil) is called exactly once, on
// another goroutine: with nil after the whole line went into the pipe, with an
// error when that will never be. It must not block, and not call Stop. After an
// error of Send it is not called.
func (p *Process) Send(line []byte, written func(error)) error {
	return p.stdin.add(line, written, p.stdin.bound)
}

// SendReserved is Send for lines that must get through when ordinary ones no
// longer do, such as answers that the child waits for. It may use the reserve.
func (p *Process) SendReserved(line []byte, written func(error)) error {
	return p.stdin.add(line, written, p.stdin.bound+p.stdin.reserve)
}

// Queued is how many bytes wait for the child to read them: the lines and
// what keeping them costs, without what is in the pipe already.
func (p *Process) Queued() int64 {
	p.stdin.mu.Lock()
	defer p.stdin.mu.Unlock()
	return p.stdin.bytes
}

// Refused is how many lines found the queue full.
func (p *Process) Refused() int64 {
	p.stdin.mu.Lock()
	defer p.stdin.mu.Unlock()
	return p.stdin.refused
}

func (s *stdin) add(text []byte, written func(error), bound int64) error {
	if bytes.IndexByte(text, '\n') >= 0 {
		return ErrNotLine
	}
	if written == nil {
		written = func(error) {}
	}
	line := queuedLine{text, written}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.bytes+line.cost() > bound:
		s.refused++
		return ErrFull
	}
	s.bytes += line.cost()
	s.lines = append(s.lines, line)
	s.changed.Signal()
	return nil
}

// finish lets what is queued be written and then closes the pipe.
func (s *stdin) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed.Signal()
}

// abort closes the pipe now, which also ends a write that waits for the child.
func (s *stdin) abort() {
	s.finish()
	s.pipe.Close()
}

// run writes the queue until it is finished or the pipe breaks.
func (s *stdin) run() {
	defer s.pipe.Close()
	var spare []queuedLine
	for {
		lines := s.take(spare)
		if lines == nil {
			return
		}
		for rest := lines; len(rest) > 0; {
			n, err := s.write(rest)
			if err != nil {
				s.fail(rest[n:], err)
				return
			}
			rest = rest[n:]
		}
		clear(lines)
		if spare = lines[:0]; cap(spare) > maxSpare {
			spare = nil
		}
	}
}

// take waits for lines and returns all there are, nil when there will be none.
// The queue goes on in spare.
func (s *stdin) take(spare []queuedLine) []queuedLine {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.lines) == 0 {
		if s.closed {
			return nil
		}
		s.changed.Wait()
	}
	lines := s.lines
	s.lines = spare
	return lines
}

// write writes as many of the lines, at least one, as go together, and returns
// how many went into the pipe whole.
func (s *stdin) write(lines []queuedLine) (done int, err error) {
	n := 0
	s.batch = s.batch[:0]
	for n < len(lines) && len(s.batch)+lines[n].size() <= writeSize {
		s.batch = append(append(s.batch, lines[n].text...), '\n')
		n++
	}
	var sent int
	if n > 0 {
		sent, err = s.pipe.Write(s.batch)
	} else { // one long line: not copied
		n = 1
		if sent, err = s.pipe.Write(lines[0].text); err == nil {
			var end int
			end, err = s.pipe.Write([]byte{'\n'})
			sent += end
		}
	}
	for left := sent; done < n && lines[done].size() <= left; done++ {
		left -= lines[done].size()
	}
	s.settle(lines[:done], nil)
	return done, err
}

// fail tells all lines that are left that they will never be read.
func (s *stdin) fail(lines []queuedLine, cause error) {
	err := fmt.Errorf("%w: %w", ErrClosed, cause)
	s.mu.Lock()
	s.closed = true
	queued := s.lines
	s.lines = nil
	s.mu.Unlock()
	s.settle(lines, err)
	s.settle(queued, err)
}

// settle ends the life of lines: they leave the count, then their senders hear.
func (s *stdin) settle(lines []queuedLine, err error) {
	var cost int64
	for _, line := range lines {
		cost += line.cost()
	}
	s.mu.Lock()
	s.bytes -= cost
	s.mu.Unlock()
	for _, line := range lines {
		line.written(err)
	}
}
