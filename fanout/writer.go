package fanout

import (
	"net"
	"time"
)

// A writer brings out what its outbox holds. One goroutine at a time is it: one
// that serves many for what is quickly done, else one of its own until there is
// nothing left to do.
type writer struct {
	outbox *Outbox

	// owned by the running goroutine; empty between runs
	bufs    net.Buffers
	bytes   int
	private int64 // private bytes in bufs
	frames  int64
	oldest  time.Time
	failed  bool
}

// run goes on until there is nothing to do.
func (w *writer) run() {
	for !w.outbox.end() {
		w.round()
	}
}

// round brings out what is due now.
func (w *writer) round() {
	queue, subs := w.outbox.next()
	for _, it := range queue {
		for _, m := range it.marks {
			w.lane(m.sub, m)
		}
		w.add(it.frame, 1, queueWeight(len(it.frame)))
		for _, seat := range it.seats {
			seat.sub.sit(seat)
		}
		if it.of != nil {
			it.of.places.Add(-1)
		}
	}
	for _, sub := range subs {
		w.lane(sub, Mark{})
	}
	w.flush()
}

// sit places the subscription.
func (sub *Subscription) sit(s Seat) {
	sub.want = s.want
	if s.move && (sub.lane == nil || sub.cursor.seq != s.at.seq) {
		// It waits for a snapshot, or was already moved further by the ladder,
		// which also brings it back to what it wants.
		return
	}
	if s.lane.retired.Load() {
		return // a new epoch began, and in it the owner gives a seat of its own
	}
	sub.lane, sub.cursor = s.lane, *s.at
	sub.backlog, sub.compacted = nil, false
	sub.clearSince = time.Now()
}

// lane sends what sub has not had yet, up to the mark, or up to what was due at
// the beginning of the round if the mark says nothing of the lane.
func (w *writer) lane(sub *Subscription, mark Mark) {
	if sub.lane == nil || sub.dropped.Load() || w.failed {
		return
	}
	if sub.lane.retired.Load() {
		sub.lane = nil
		return
	}
	sub.find()
	w.ladder(sub)
	for _, frame := range sub.backlog {
		w.add(frame, 1, 0)
	}
	sub.backlog = nil
	if sub.lane == nil {
		return
	}
	until := mark.on(sub.lane)
	switch {
	case until != nil:
	case sub.due.lane == sub.lane:
		until = sub.due.upTo
	default: // it did not move where it was to be; how far this lane may be read is for the next round to say
		w.outbox.again()
		return
	}
	if until.abs <= sub.cursor.abs {
		return
	}
	if w.oldest.IsZero() {
		w.oldest = until.at
	}
	if w.walk(sub, until) {
		return
	}
	// The continuous log may still have what this one lost.
	if !sub.find() && !w.compact(sub) {
		sub.lane = nil // it is in what it begins anew with
		return
	}
	w.lane(sub, mark)
}

// walk adds the frames between the cursor and until. It is false if the cursor
// fell off the log on the way.
func (w *writer) walk(sub *Subscription, until *position) bool {
	for cur := &sub.cursor; ; {
		if cur.chunk == until.chunk {
			w.add(cur.chunk.data[cur.off:until.off], until.frames-cur.frames, 0)
			*cur = *until
			return true
		}
		c, next := cur.chunk, cur.chunk.next.Load()
		if next == nil {
			return false
		}
		w.add(c.data[cur.off:next.abs-c.abs], c.endFrames-cur.frames, 0)
		*cur = position{chunk: next, abs: next.abs, seq: c.endSeq, frames: c.endFrames}
	}
}

// add gathers bytes, of which private count in the queue's bound, and writes
// when there are enough.
func (w *writer) add(b []byte, frames uint64, private int64) {
	if len(b) == 0 || w.failed {
		return
	}
	w.bufs = append(w.bufs, b)
	w.bytes += len(b)
	w.frames += int64(frames)
	w.private += private
	if w.bytes >= writeBytes {
		w.flush()
	}
}

// flush writes what was gathered.
func (w *writer) flush() {
	if w.bytes > 0 && !w.failed {
		bufs := w.bufs // Write consumes the slice header
		if err := w.outbox.opts.Write(bufs); err != nil {
			w.fail()
		} else if w.outbox.opts.Delivered != nil {
			w.outbox.opts.Delivered(Delivered{Bytes: int64(w.bytes), Frames: w.frames, Oldest: w.oldest})
		}
	}
	if w.private > 0 {
		w.outbox.written(w.private)
	}
	clear(w.bufs)
	w.bufs = w.bufs[:0]
	if cap(w.bufs) > keepBufs {
		w.bufs = nil
	}
	w.bytes, w.private, w.frames, w.oldest = 0, 0, 0, time.Time{}
}

// keepBufs is how many buffer headers a writer keeps between runs: 24 bytes
// each, enough for an ordinary round.
const keepBufs = 4

func (w *writer) fail() {
	w.failed = true
	o := w.outbox
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
}
