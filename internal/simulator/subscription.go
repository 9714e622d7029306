package simulator

import (
	"slices"
	"strconv"
	"time"
)

// profile is how a client wants to be served.
type profile struct {
	window time.Duration // how long changes are collected before they go out
	leaves []string      // paths of row.delta that are left out; an upsert brings their text later
}

var profiles = map[string]profile{
	"desktop-continuous":    {window: 30 * time.Millisecond},
	"web-remote-replayable": {window: 150 * time.Millisecond, leaves: []string{"inputText", "output.text", "summaryText"}},
}

// fill adds the ops that the profile wants.
func (prof profile) fill(b *opBuffer, ops []op) {
	for _, o := range ops {
		if o.kind != opDelta || !slices.Contains(prof.leaves, o.path) {
			b.add(o)
		}
	}
}

const (
	maxBufferedOps = 500
	// minBufferBytes is what a buffer may hold even where the snapshot would be smaller.
	minBufferBytes = 1 << 20
	maxBufferBytes = maxLogical - terminalReserve
)

// subscription is one connection's stream of frames for one topic. Guarded by the loop.
type subscription struct {
	// Fixed after construction.
	p            *publisher
	id           string
	connectionID string
	profile      profile

	ordinal  int
	sent     uint64 // everything up to here is with the client
	buffer   opBuffer
	overflow bool // too much came together: the next frame is a snapshot
	armed    bool // a flush is due
	timer    int  // tells a timer that is still wanted from older ones
}

// add takes the ops of the topic's latest event.
func (sub *subscription) add(ops []op) {
	if !sub.overflow {
		sub.profile.fill(&sub.buffer, ops)
		sub.check()
	}
	sub.arm()
}

// check gives up collecting once a snapshot is the better way to tell it.
func (sub *subscription) check() {
	if len(sub.buffer.ops) <= maxBufferedOps && sub.buffer.size <= minBufferBytes {
		return
	}
	limit := minBufferBytes
	if sub.p.bound != nil {
		limit = min(max(limit, sub.p.bound()), maxBufferBytes)
	}
	if len(sub.buffer.ops) > maxBufferedOps || sub.buffer.size > limit {
		sub.replace()
	}
}

// replace makes the next frame a snapshot.
func (sub *subscription) replace() {
	sub.overflow = true
	sub.buffer.reset()
}

// arm starts the flush window, unless it runs already or the connection takes nothing.
func (sub *subscription) arm() {
	s := sub.p.s
	if sub.armed || s.saturated[sub.connectionID] {
		return
	}
	if sub.profile.window == 0 {
		sub.flush()
		return
	}
	sub.armed = true
	sub.timer++
	mine := sub.timer
	s.spawn(func() {
		if s.wait(s.ctx, sub.profile.window) && sub.armed && sub.timer == mine {
			if s.out.full() {
				s.yield(s.out.waitRoom)
			}
			sub.flush()
		}
	})
}

// disarm forgets the flush that is due.
func (sub *subscription) disarm() { sub.armed = false; sub.timer++ }

// flush sends what has come together.
func (sub *subscription) flush() {
	sub.armed = false
	if sub.p.s.saturated[sub.connectionID] || !slices.Contains(sub.p.subs, sub) {
		return
	}
	if sub.overflow || sub.sent != sub.p.seq {
		sub.send("online")
	}
}

// send puts one frame on the wire: what is in the buffer, or the snapshot in its place. What is too large for any frame
// stays unsaid; the next event tries again with a snapshot.
func (sub *subscription) send(delivery string) {
	p := sub.p
	frame := logicalFrame{Topic: p.topic, Subscription: sub.id, From: sub.sent, To: p.seq, SentAt: p.s.clock.peek()}
	if sub.overflow {
		frame.From, frame.Payload = 0, object{"kind": "snapshot", "snapshot": p.state()}
	} else {
		frame.Payload = object{"kind": "deltas", "deltas": sub.buffer.take()}
	}
	sub.disarm()
	head := frameHead{DeliveryKind: delivery, FrameID: sub.id + "-lf-" + strconv.Itoa(p.frames+1), Ordinal: sub.ordinal + 1,
		Topic: p.topic, Subscription: sub.id}
	pieces := physical(head, encode(frame))
	if pieces == nil {
		sub.replace()
		return
	}
	sub.sent, sub.overflow, sub.ordinal = p.seq, false, sub.ordinal+1
	p.frames++
	for _, piece := range pieces {
		p.s.notify("v4/conversation/frame", piece)
	}
}

// begin is the initial frame: a snapshot, or what happened since from. A client that has everything gets none.
func (sub *subscription) begin(from *base, buffer opBuffer) {
	if from == nil {
		sub.replace()
		sub.send("initial")
		return
	}
	sub.sent, sub.buffer = from.Seq, buffer
	if sub.sent != sub.p.seq {
		sub.send("initial")
	}
}

// recover answers a resync; there is always a frame, even an empty one.
func (sub *subscription) recover(from *base, buffer opBuffer) {
	sub.disarm()
	if from == nil {
		sub.replace()
	} else {
		sub.sent, sub.buffer, sub.overflow = from.Seq, buffer, false
	}
	sub.send("recovery")
}
