package conversation

import "zcodehub/fanout"

// A HeadFunc makes the head of the frame of a lane that ends at to; it is called
// once for each message.
type HeadFunc func(to uint64) Head

// sealBytes and sealOps end a message that grows too large for one write and one
// repaint: what follows begins another one. 500 operations are where the
// app-server itself gives up on deltas.
const (
	sealBytes = 256 << 10
	sealOps   = 500
)

// NewReplayable returns the coalescer of a topic's replayable lane. It leaves
// out what profile web-remote-replayable does not get (pieces of inputText,
// output.text and summaryText: a later row.upserted carries the whole value),
// merges the rest by the rules of the protocol (6), and emits one message for
// each flush, with the interval it covers; it has no deltas if nothing
// survived, so a boundary is always exact. A flood gives more than one message.
//
// A snapshot passes as it came, and makes what was pending before it needless.
// A message that AppendFrame did not make is left out together with its
// interval, so that clients see a gap and ask for a snapshot.
//
// Messages emitted may be kept.
func NewReplayable(head HeadFunc) fanout.Coalescer { return &replayable{head: head} }

// replayable is used by one goroutine at a time.
type replayable struct {
	head   HeadFunc
	sealed []*batch // messages to come, in order
	open   *batch   // the last one, still growing; nil if there is none
}

func (c *replayable) Pending() bool { return c.open != nil || len(c.sealed) > 0 }

func (c *replayable) Add(from, to uint64, msg []byte) {
	kind, body, ok := readPayload(Payload(msg))
	switch {
	case !ok:
		c.seal()
		c.open = &batch{from: to, to: to, sentAt: sentAtOf(msg)}
		return
	case kind == Snapshot:
		clear(c.sealed)
		c.sealed = c.sealed[:0]
		c.open = &batch{to: to, sentAt: sentAtOf(msg), snapshot: Payload(msg)}
		c.seal()
		return
	case c.open != nil && (c.open.bytes > sealBytes || len(c.open.ops) > sealOps):
		c.seal()
	}
	if c.open == nil {
		c.open = &batch{from: from}
	}
	c.open.to = to
	c.open.sentAt = sentAtOf(msg)
	c.open.addAll(body, fanout.Replayable)
}

func (c *replayable) seal() {
	if c.open != nil {
		c.sealed = append(c.sealed, c.open)
		c.open = nil
	}
}

// Flush always emits up to the last number added.
func (c *replayable) Flush(_ bool, emit func(from, to uint64, msg []byte)) {
	c.seal()
	for i, b := range c.sealed {
		h := c.head(b.to)
		msg := appendFrameStart(make([]byte, 0, headSize(h)+b.size()), h, b.from, b.to, b.sentAt)
		msg = append(b.appendPayload(msg), frameEnd...)
		emit(b.from, b.to, msg)
		c.sealed[i] = nil // lets the messages go
	}
	c.sealed = c.sealed[:0]
}

// Updates is a run of messages as a lane has them; fanout.Range is one.
type Updates interface {
	Each(yield func(from, to uint64, msg []byte))
}

// Merge makes one payload of deltas of what a subscriber missed, as the lane d
// would have told it, from a run of the continuous lane. ok is false if a
// snapshot is needed: one is among them, or a message that AppendFrame did not
// make. What is of interest only to those who were there is left out. The
// payload may be larger than a snapshot would be; which one to send is for the
// caller to say.
func Merge(updates Updates, d fanout.Delivery) (payload []byte, ok bool) {
	var b batch
	b.skipLive = true
	ok = true
	updates.Each(func(_, _ uint64, msg []byte) {
		if !ok {
			return
		}
		kind, body, readable := readPayload(Payload(msg))
		if ok = readable && kind == Deltas; ok {
			b.addAll(body, d)
		}
	})
	if !ok {
		return nil, false
	}
	return b.appendPayload(make([]byte, 0, b.size())), true
}
