package simulator

import (
	"io"
	"sync"
)

const (
	// maxQueuedOutput is where producers start to wait for the reader of stdout. The bound is soft: what a producer has
	// in hand is still taken, so that no message is cut and no order changes.
	maxQueuedOutput = 8 << 20
	// maxBurstWrite is how much of a burst goes into one write: the default capacity of a pipe.
	maxBurstWrite = 64 << 10
)

// output is the queue before stdout, drained by one writer. Producers never wait inside push.
type output struct {
	w io.Writer // used by run only

	mu      sync.Mutex // leaf: taken with the loop held, never the other way round
	changed sync.Cond
	lines   []outputLine
	bytes   int
	waits   int
	muted   bool
	closed  bool
	err     error
}

type outputLine struct {
	text  []byte // with its LF
	burst bool   // may share a write with its neighbours
}

func newOutput(w io.Writer) *output {
	o := &output{w: w}
	o.changed.L = &o.mu
	return o
}

// push queues one line; text has no LF.
func (o *output) push(text []byte, burst bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.muted || o.err != nil {
		return
	}
	o.lines = append(o.lines, outputLine{append(text, '\n'), burst})
	o.bytes += len(text) + 1
	o.changed.Broadcast()
}

func (o *output) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes > maxQueuedOutput
}

// waited is how often a producer had to wait for room.
func (o *output) waited() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waits
}

// waitRoom returns when the queue is under its bound again or nothing will be written any more.
func (o *output) waitRoom() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waits++
	for o.bytes > maxQueuedOutput && !o.closed && o.err == nil {
		o.changed.Wait()
	}
}

// run writes what is queued until close, then the rest, and returns the first write error.
func (o *output) run() error {
	for {
		text := o.take()
		if text == nil {
			o.mu.Lock()
			defer o.mu.Unlock()
			return o.err
		}
		if _, err := o.w.Write(text); err != nil {
			o.fail(err)
		}
	}
}

// take gives the next line, or several lines of a burst; nil means that run is over.
func (o *output) take() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.lines) == 0 && !o.closed && o.err == nil {
		o.changed.Wait()
	}
	if len(o.lines) == 0 || o.err != nil {
		return nil
	}
	text, n := o.lines[0].text, 1
	for o.lines[0].burst && n < len(o.lines) && o.lines[n].burst && len(text)+len(o.lines[n].text) <= maxBurstWrite {
		text = append(text, o.lines[n].text...)
		n++
	}
	clear(o.lines[:n])
	o.lines = o.lines[n:]
	o.bytes -= len(text)
	o.changed.Broadcast()
	return text
}

func (o *output) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err, o.lines, o.bytes = err, nil, 0
	o.changed.Broadcast()
}

// mute drops every later line but keeps the writer there (the prompt "hang").
func (o *output) mute() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.muted = true
}

// close lets run write what is queued and return. Later lines are dropped.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
}
