package fanout

import (
	"sync"
	"sync/atomic"
	"time"
)

// Delivery names a lane of a stream.
type Delivery uint8

// The two lanes.
const (
	Continuous Delivery = iota // every update as it came
	Replayable                 // filtered and coalesced by a Coalescer
)

// A Coalescer turns a run of updates into fewer messages. It is used by one
// goroutine at a time.
type Coalescer interface {
	// Add takes the next update, the interval (from, to]. msg is the whole
	// message as it was appended; it is immutable and may be kept.
	Add(from, to uint64, msg []byte)
	// Flush emits, in order, the messages that cover what was added. Without
	// boundary, trailing updates of which nothing survives may stay pending and
	// widen the interval of the next message. With boundary the last emitted
	// interval ends exactly at the last added number.
	Flush(boundary bool, emit func(from, to uint64, msg []byte))
	// Pending tells whether something was added since the last flush.
	Pending() bool
}

const (
	// DefaultLogBytes bounds a lane's log. 16 MiB hold 2,000 updates of 8 KiB,
	// and a burst of 20,000 small ones without throwing a healthy reader off.
	DefaultLogBytes = 16 << 20
	// continuousWindow and replayableWindow are the longest times between two
	// publications of a busy lane: the flush windows of the two profiles
	// (protocol section 6). A lane that was idle publishes at once.
	continuousWindow = 30 * time.Millisecond
	replayableWindow = 150 * time.Millisecond
	// windowPerReader shortens the continuous window for few readers: it is
	// about twice what a write to one of them costs, so that a lane takes half a
	// core at most, and the delay is there only where it buys something.
	windowPerReader = 30 * time.Microsecond
	// publishBytes publishes a busy continuous lane before its window ends, so
	// that a burst flows instead of arriving in lumps: enough that one write
	// per reader and publication still costs little per update.
	publishBytes = 128 << 10
)

// StreamOptions configures a Stream.
type StreamOptions struct {
	Epoch        string           // names this run of numbers
	Seq          uint64           // number of the last update before the first one appended
	NewCoalescer func() Coalescer // for the replayable lane; required
	Budget       *Budget          // shared memory bound; nil means none
	LogBytes     int64            // bound of each lane's log, but for its oldest chunk; 0 means DefaultLogBytes
}

// A Stream is one ordered, numbered, bounded and replayable run of updates.
// Its methods may be called from any goroutine, but appends must come in order.
type Stream struct {
	newCoalescer func() Coalescer
	budget       *Budget
	logBytes     int64

	mu         sync.Mutex // after Budget.mu, before lane.wakeMu
	epoch      string
	lanes      [2]*lane
	coalescer  Coalescer // of the replayable lane; nil while nobody follows it
	lastAppend time.Time
	accounted  int64 // bytes reported to the budget
	closed     bool
	over       atomic.Bool // = closed, for those who must not take mu
}

// A lane is the stream at one profile: its log, the position up to which
// subscribers may read, and who is to be woken when that moves.
type lane struct {
	stream   *Stream
	delivery Delivery
	window   time.Duration

	// guarded by Stream.mu
	log         log
	pending     bool      // appended to since the last publication
	pendingAt   time.Time // when the first of those came
	publishedAt time.Time
	timer       *time.Timer // fires publishDue at the end of a window; nil until first needed
	armed       bool

	published atomic.Pointer[position]
	retired   atomic.Bool // the stream began a new epoch: cursors into this lane are void

	wakeMu sync.Mutex // after Stream.mu, before Outbox.mu
	subs   []*Subscription
}

// NewStream returns an empty stream that goes on after o.Seq.
func NewStream(o StreamOptions) *Stream {
	s := &Stream{newCoalescer: o.NewCoalescer, budget: o.Budget, logBytes: o.LogBytes, lastAppend: time.Now()}
	if s.logBytes == 0 {
		s.logBytes = DefaultLogBytes
	}
	s.beginLocked(o.Epoch, o.Seq)
	if s.budget != nil {
		s.budget.add(s)
	}
	return s
}

func (s *Stream) beginLocked(epoch string, seq uint64) {
	s.epoch = epoch
	s.coalescer = nil
	for d, window := range [2]time.Duration{continuousWindow, replayableWindow} {
		l := &lane{stream: s, delivery: Delivery(d), window: window, log: log{seq: seq}}
		l.published.Store(l.log.end(time.Time{}))
		s.lanes[d] = l
	}
	s.accountLocked()
}

// Append adds the update that ends at to; its interval begins where the last
// one ended. msg is copied. Nothing is delivered before Publish.
func (s *Stream) Append(to uint64, msg []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	c := s.lanes[Continuous]
	from := c.log.seq
	stored, allocated := c.log.append(to, msg)
	if !c.pending {
		c.pending, c.pendingAt = true, time.Now()
	}
	if s.coalescer != nil {
		r := s.lanes[Replayable]
		if !r.pending {
			r.pending, r.pendingAt = true, c.pendingAt
		}
		s.coalescer.Add(from, to, stored)
	}
	if allocated > 0 {
		s.trimLocked(c)
	}
}

// trimLocked drops the oldest chunks while at least logBytes stay without them,
// and of those only what was published: a giant update, and what came just
// before it, are not gone before anybody could read them.
func (s *Stream) trimLocked(l *lane) {
	published := l.published.Load().abs
	for l.log.rest() >= s.logBytes && l.log.first.next.Load().abs <= published {
		l.log.evict()
	}
	s.accountLocked()
}

func (s *Stream) accountLocked() {
	n := s.lanes[Continuous].log.bytes + s.lanes[Replayable].log.bytes
	if s.budget != nil {
		s.budget.total.Add(n - s.accounted)
	}
	s.accounted = n
}

// Publish makes what was appended readable, at the end of a batch of appends:
// at once where the lane was idle or much has gathered, else when its window
// ends. It wakes the subscribers and never waits for one.
func (s *Stream) Publish(now time.Time) {
	var wake [2]*lane
	s.mu.Lock()
	s.lastAppend = now
	for i, l := range s.lanes {
		if !l.pending || s.closed {
			continue
		}
		unread := int64(l.log.abs - l.published.Load().abs)
		if wait := l.windowNow() - now.Sub(l.publishedAt); wait > 0 && unread < publishBytes {
			l.armLocked(wait)
			continue
		}
		if s.publishLocked(l, now, false) {
			wake[i] = l
		}
	}
	s.mu.Unlock()
	for _, l := range wake {
		l.wake()
	}
	if s.budget != nil {
		s.budget.enforce()
	}
}

// flushLocked publishes everything, so that the newest number is a boundary of
// both lanes. The caller wakes the lanes returned after unlocking.
func (s *Stream) flushLocked(now time.Time) (wake [2]*lane) {
	for i, l := range s.lanes {
		if s.publishLocked(l, now, true) {
			wake[i] = l
		}
	}
	return wake
}

// publishLocked moves l's published position to its end and tells whether it
// moved.
func (s *Stream) publishLocked(l *lane, now time.Time, boundary bool) bool {
	if l.delivery == Replayable && s.coalescer != nil {
		s.coalescer.Flush(boundary, func(_, to uint64, msg []byte) { l.log.append(to, msg) })
		s.trimLocked(l)
	}
	if l.armed {
		l.timer.Stop()
		l.armed = false
	}
	if !l.pending {
		// A boundary may still have brought out a carrier message.
		l.pendingAt = now
	}
	l.pending = false
	if l.log.abs == l.published.Load().abs {
		return false
	}
	l.publishedAt = now
	l.published.Store(l.log.end(l.pendingAt))
	return true
}

// windowNow is the shortest time between two publications. The replayable lane
// keeps its own for any number of readers: it is there to coalesce.
func (l *lane) windowNow() time.Duration {
	if l.delivery == Replayable {
		return l.window
	}
	l.wakeMu.Lock()
	defer l.wakeMu.Unlock()
	return min(l.window, time.Duration(len(l.subs))*windowPerReader)
}

func (l *lane) armLocked(wait time.Duration) {
	if l.armed {
		return
	}
	l.armed = true
	if l.timer == nil {
		l.timer = time.AfterFunc(wait, l.publishDue)
		return
	}
	l.timer.Reset(wait)
}

// publishDue runs when a window ends.
func (l *lane) publishDue() {
	s := l.stream
	s.mu.Lock()
	moved := false
	if l.armed && !s.closed && s.lanes[l.delivery] == l {
		l.armed = false
		moved = s.publishLocked(l, time.Now(), false)
	}
	s.mu.Unlock()
	if moved {
		l.wake()
	}
}

// sweepSize is how many outboxes one goroutine serves after a publication: so
// many writes to sockets that take them at once are half a millisecond, and
// starting a goroutine for each would cost a sixth of them.
const sweepSize = 32

// wake has every subscriber's outbox served. It does not wait for that.
func (l *lane) wake() {
	if l == nil {
		return
	}
	l.wakeMu.Lock()
	outboxes := make([]*Outbox, len(l.subs))
	for i, sub := range l.subs {
		outboxes[i] = sub.outbox
	}
	l.wakeMu.Unlock()
	for len(outboxes) > 0 {
		n := min(sweepSize, len(outboxes))
		go sweep(outboxes[:n])
		outboxes = outboxes[n:]
	}
}

// sweep serves outboxes one after another. It ends by itself: each is either
// served without waiting or left to a writer of its own, and each outbox waits
// at its end for whoever serves it.
func sweep(outboxes []*Outbox) {
	for _, o := range outboxes {
		o.serve()
	}
}

// Reset begins a new epoch after seq: the logs are emptied and every
// subscription is left unseated until it is seated again.
func (s *Stream) Reset(epoch string, seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.retireLocked()
	s.beginLocked(epoch, seq)
}

func (s *Stream) retireLocked() {
	for _, l := range s.lanes {
		l.retired.Store(true)
		if l.timer != nil {
			l.timer.Stop()
		}
		l.log.drop()
		l.wakeMu.Lock()
		l.subs = nil
		l.wakeMu.Unlock()
	}
}

// Close ends the stream and frees its memory.
func (s *Stream) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	s.over.Store(true)
	s.retireLocked()
	s.accountLocked()
	s.mu.Unlock()
	if s.budget != nil {
		s.budget.remove(s)
	}
}

// Head is the newest number.
func (s *Stream) Head() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lanes[Continuous].log.seq
}

// State is where a stream stands.
type State struct {
	Epoch       string
	Seq         uint64 // newest number
	Floor       uint64 // oldest number from which a subscriber can resume
	RingBytes   int64
	Subscribers int
}

// State reports where the stream stands.
func (s *Stream) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := State{Epoch: s.epoch, Seq: s.lanes[Continuous].log.seq, Floor: s.lanes[Continuous].log.floor(), RingBytes: s.accounted}
	for _, l := range s.lanes {
		l.wakeMu.Lock()
		st.Subscribers += len(l.subs)
		l.wakeMu.Unlock()
	}
	return st
}
