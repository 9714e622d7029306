package fanout

import (
	"errors"
	"time"
)

// A Step is one rung of the ladder for slow subscribers: coalesce harder, go
// to the replayable lane, drop the backlog for a snapshot. Closing the
// connection is the owner's step.
type Step uint8

// The steps.
const (
	StepCoalesced  Step = iota // the backlog was coalesced once more
	StepDowngraded             // moved to the replayable lane, backlog coalesced
	StepSnapshot               // backlog dropped; the owner brings a snapshot and a new seat
	StepRestored               // back on its own delivery
)

const (
	// DefaultLagBytes is how far a subscriber may be behind before it is made
	// to read less: half a log, so that a healthy one in a burst is left alone
	// and a slow one is helped before it falls off.
	DefaultLagBytes = DefaultLogBytes / 2
	// restoreAfter is how long a downgraded subscriber must have been without
	// a backlog before it gets its own delivery back.
	restoreAfter = 10 * time.Second
	// clearBytes is the lag up to which a subscriber counts as without a
	// backlog: what it can be behind when it was only just woken.
	clearBytes = publishBytes
)

// ladder looks how far behind sub is and takes the step that this asks for.
func (w *writer) ladder(sub *Subscription) {
	until := sub.lane.published.Load()
	lag := int64(until.abs - sub.cursor.abs)
	switch {
	case lag > w.outbox.opts.LagBytes && sub.cursor.weightTo(until) > w.outbox.opts.LagBytes:
		w.compact(sub)
	case lag > clearBytes:
		sub.clearSince = time.Time{}
	case sub.clearSince.IsZero():
		sub.clearSince = time.Now()
		sub.compacted = false
	case sub.want != sub.lane.delivery && time.Since(sub.clearSince) >= restoreAfter:
		w.restore(sub)
	}
}

// compact replaces the backlog by a coalesced one; where that is no help, the
// subscriber gets a snapshot instead. It is false, and does nothing, for one that
// is about to begin anew.
func (w *writer) compact(sub *Subscription) bool {
	if sub.lane.retired.Load() {
		sub.lane = nil // a new epoch began; the owner seats it again
		return true
	}
	if sub.compacted {
		w.snapshot(sub)
		return true
	}
	missed, seat, c, err := sub.stream.compact(sub)
	switch {
	case errors.Is(err, errPlaced):
		return false
	case err != nil:
		w.snapshot(sub)
		return true
	}
	var backlog [][]byte
	var bytes int64
	missed.Coalesced(c, func(_, _ uint64, msg []byte) {
		frame := Frame(msg)
		bytes += weight(len(frame))
		backlog = append(backlog, frame)
	})
	step := StepCoalesced
	if sub.lane.delivery == Continuous {
		step = StepDowngraded
	}
	want := sub.want
	sub.sit(seat)
	sub.due = due{seat.lane, seat.at}
	sub.want, sub.backlog, sub.compacted, sub.clearSince = want, backlog, true, time.Time{}
	if bytes > w.outbox.opts.LagBytes {
		w.snapshot(sub)
		return true
	}
	w.tell(sub, step)
	return true
}

// weight is what a frame counts as lag. A giant one counts no more than the
// largest ordinary chunk: an update may be of any size, and who is behind by
// one of them is not slow.
func weight(size int) int64 { return int64(min(size, maxChunk)) }

// weightTo is how far until is away in weight. Giant frames have chunks of
// their own. It ends early where the log has lost something on the way.
func (p *position) weightTo(until *position) (n int64) {
	off := p.off
	for c := p.chunk; c != until.chunk; off = 0 {
		next := c.next.Load()
		if next == nil {
			return int64(until.abs - p.abs)
		}
		n += weight(int(next.abs-c.abs) - off)
		c = next
	}
	return n + weight(until.off-off)
}

func (w *writer) snapshot(sub *Subscription) {
	sub.lane, sub.backlog = nil, nil
	w.tell(sub, StepSnapshot)
}

func (w *writer) restore(sub *Subscription) {
	seat, upTo, ok := sub.stream.restore(sub)
	if !ok {
		return
	}
	sub.sit(seat)
	sub.due = due{seat.lane, upTo}
	w.tell(sub, StepRestored)
}

func (w *writer) tell(sub *Subscription, step Step) {
	if w.outbox.opts.Lagged == nil {
		return
	}
	if frame := w.outbox.opts.Lagged(sub, step); frame != nil {
		w.add(frame, 1, 0)
	}
}
