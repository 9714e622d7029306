package simulator

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"time"
)

const (
	// finishGrace is what short requests get to finish after the end of stdin (protocol: 100 ms).
	finishGrace = 100 * time.Millisecond
	// exitDeadline is when the process ends whatever still runs (protocol: 1.5 s).
	exitDeadline = 1500 * time.Millisecond
	// readerGrace is how long Run waits for a reader that it has asked to stop. A read on a terminal cannot be
	// interrupted; such a reader ends with the process.
	readerGrace = 50 * time.Millisecond
)

// Run serves the protocol on o.In and o.Out until stdin ends (nil), ctx is cancelled (nil: a signal is the command's
// to report), stdout breaks, or a prompt ends the process (*ExitError). All goroutines have ended when it returns,
// unless a blocked Read or Write of o.In or o.Out outlives the exit deadline.
func Run(ctx context.Context, o Options) error {
	if o.Err == nil {
		o.Err = io.Discard
	}
	s, err := newServer(ctx, o)
	if err != nil {
		return err
	}
	defer s.stop(nil)
	return s.run()
}

func (s *server) run() error {
	written := make(chan error, 1)
	go func() { written <- s.out.run() }()
	inputEnded := make(chan struct{})
	if s.announceStorage() {
		go s.read(inputEnded)
		s.spawn(func() { s.serve(&s.serial) })
		s.spawn(func() { s.serve(&s.bypass) })
		s.spawn(s.sweepRegularly)
		s.spawn(s.sampleResources)
	} else {
		close(inputEnded)
	}

	var broken error
	select {
	case <-s.ctx.Done():
	case <-inputEnded:
		s.finish()
	case broken = <-written:
		written <- broken
	}
	s.shutDown(inputEnded, written)
	var exit *ExitError
	if errors.As(context.Cause(s.ctx), &exit) {
		return exit
	}
	return broken
}

// read takes lines from stdin until it ends. Lines split on LF only; spaces around a line do not count.
func (s *server) read(ended chan<- struct{}) {
	defer close(ended)
	in := bufio.NewReaderSize(s.opts.In, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if !s.receive(bytes.TrimSpace(line)) {
			<-s.ctx.Done()
			return
		}
		if err != nil {
			return
		}
		if s.out.full() { // a client that writes but does not read is slowed down, not served from ever more memory
			s.out.waitRoom()
		}
	}
}

// receive deals with one line and reports whether the next one may be read.
func (s *server) receive(line []byte) bool {
	var m message
	var bad *errorMessage
	if len(line) > 0 {
		m, bad = decodeMessage(line)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.hung:
		return false
	case len(line) == 0:
	case bad != nil:
		s.write(bad)
	case m.answer:
		s.answer(m)
	case m.id != nil:
		s.admit(m, len(line))
	} // notifications of the client are ignored, also session/stop without an id
	return true
}

// finish gives what runs a moment to come to its end, then cuts the client off, so that requests which wait for it fail.
func (s *server) finish() {
	s.mu.Lock()
	quiet := s.whenQuiet()
	s.mu.Unlock()
	waitAtMost(quiet, finishGrace)
}

// whenQuiet gives a channel that is closed once no request and no turn is under way.
func (s *server) whenQuiet() <-chan struct{} {
	quiet := make(chan struct{})
	if s.busy == 0 {
		close(quiet)
	} else {
		s.quiet = quiet
	}
	return quiet
}

// shutDown ends everything within the exit deadline: open calls fail, their requests still get their error answer,
// turns are aborted without further events, queued output is written.
func (s *server) shutDown(inputEnded <-chan struct{}, written chan error) {
	deadline := time.Now().Add(exitDeadline)
	s.mu.Lock()
	s.disconnect()
	s.abortTurns()
	quiet := s.whenQuiet()
	s.mu.Unlock()
	if s.ctx.Err() == nil { // what has just failed still gets its answer out, what is merely slow does not
		waitAtMost(quiet, finishGrace)
	}
	s.stop(nil)
	s.out.close()

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.wg.Wait()
		written <- <-written
	}()
	if !waitAtMost(ended, time.Until(deadline)) {
		closeIfPossible(s.opts.Out)
	}
	closeIfPossible(s.opts.In)
	waitAtMost(inputEnded, readerGrace)
}

func closeIfPossible(v any) {
	if c, ok := v.(io.Closer); ok {
		_ = c.Close() // the process is ending; nobody could act on the error
	}
}

func waitAtMost(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
