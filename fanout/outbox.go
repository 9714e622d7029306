package fanout

import (
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// DefaultQueueBytes bounds the private messages that wait for one client:
	// far more than a client that reads ever lets gather.
	DefaultQueueBytes = 8 << 20
	// maxQueueWeight is the most that one message counts in that bound, so that
	// eight may wait whatever their size.
	maxQueueWeight = 1 << 20
	// writeBytes is how much the writer gathers before it writes. It bounds
	// what a frozen client pins; larger writes cost no less per byte.
	writeBytes = 256 << 10
	// serveBytes is the most that is written without a goroutine of the client's
	// own: what an ordinary publication brings, and little beside a socket's
	// buffer.
	serveBytes = 16 << 10
)

// ErrClosed is returned for messages to an outbox that has been closed.
var ErrClosed = errors.New("the outbox is closed")

// ErrStale is returned for a seat in a stream that has begun a new epoch since.
var ErrStale = errors.New("the stream began a new epoch")

// OutboxOptions configures an Outbox.
type OutboxOptions struct {
	// Write writes ready frames in order, all or an error. It may block until
	// its own deadline. An error ends the outbox.
	Write func(net.Buffers) error
	// Room tells that a write of so many bytes will not have to wait; may be
	// nil. Small rounds are then written by a goroutine that serves many.
	Room func(bytes int) bool
	// Overflow is called once, when the private queue is over its bound; the
	// outbox takes nothing after it. It must not block.
	Overflow func()
	// Lagged is called by the writer for each step down (or up) the ladder of
	// a subscription. It returns a ready frame that tells the client, or nil.
	// After StepSnapshot the subscription is unseated until it is seated again.
	Lagged func(sub *Subscription, step Step) []byte
	// Delivered is called after each successful write; may be nil.
	Delivered  func(Delivered)
	QueueBytes int64 // 0 means DefaultQueueBytes
	LagBytes   int64 // 0 means DefaultLagBytes
}

// Delivered describes one write.
type Delivered struct {
	Bytes  int64
	Frames int64
	// Oldest is when the first of the lane updates in this write was appended;
	// zero if there were none.
	Oldest time.Time
}

// An Outbox is everything one client is owed, in order.
type Outbox struct {
	opts OutboxOptions

	mu     sync.Mutex // after Stream.mu and lane.wakeMu; nothing is locked under it
	queue  []*item
	queued int64
	subs   []*Subscription // replaced, never changed in place
	state  writerState
	closed bool
	paused bool
	idle   sync.Cond // signalled when the writer ends; on mu

	w writer // owned by the writer goroutine, of which there is one at a time
}

type writerState uint8

const (
	writerIdle  writerState = iota // no goroutine
	writerBusy                     // a goroutine runs and knows of all work
	writerAgain                    // a goroutine runs and must look (once more)
)

// An item is one private message, or seats, or both: everything up to the
// marks, then the frame, then the seats.
type item struct {
	marks []Mark
	frame []byte
	seats []Seat

	// open is a place that is kept for what is captured already and still has to
	// be put into words: nothing overtakes it. Guarded by Outbox.mu.
	open bool
	of   *Subscription // counts it in its places; may be nil
}

// stale tells that the item seats a subscription in an epoch that is over, while
// there is a new one. Seen under Outbox.mu this cannot be wrong: whoever seats
// it in the new epoch has yet to come, or has been and saw the old one end.
func (it *item) stale() bool {
	for _, s := range it.seats {
		if !s.move && s.lane.retired.Load() && !s.lane.stream.over.Load() {
			return true
		}
	}
	return false
}

// NewOutbox returns an outbox without subscriptions.
func NewOutbox(o OutboxOptions) *Outbox {
	if o.QueueBytes == 0 {
		o.QueueBytes = DefaultQueueBytes
	}
	if o.LagBytes == 0 {
		o.LagBytes = DefaultLagBytes
	}
	b := &Outbox{opts: o}
	b.idle.L = &b.mu
	b.w.outbox = b
	return b
}

// Subscribe returns a subscription of this outbox to s. It receives nothing
// before it is attached and seated.
func (o *Outbox) Subscribe(s *Stream, key any) *Subscription {
	sub := &Subscription{Key: key, stream: s, outbox: o}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		sub.dropped.Store(true)
		return sub
	}
	o.subs = append(o.subs[:len(o.subs):len(o.subs)], sub)
	return sub
}

// Unsubscribe ends sub; what was not written yet is not delivered.
func (o *Outbox) Unsubscribe(sub *Subscription) {
	sub.dropped.Store(true)
	sub.stream.leave(sub)
	o.mu.Lock()
	defer o.mu.Unlock()
	subs := make([]*Subscription, 0, len(o.subs))
	for _, other := range o.subs {
		if other != sub {
			subs = append(subs, other)
		}
	}
	o.subs = subs
}

// Send queues one ready frame that waits for nothing.
func (o *Outbox) Send(frame []byte) error { return o.push(item{frame: frame}) }

// SendAfter queues one ready frame that goes out when everything that the
// streams of subs hold now is out.
func (o *Outbox) SendAfter(frame []byte, subs ...*Subscription) error {
	it := item{frame: frame}
	for _, sub := range subs {
		it.marks = append(it.marks, sub.stream.mark(sub))
	}
	return o.push(it)
}

// Seat puts frame (which may be nil) and then the seat into the place that
// Attach keeps for them: the subscription reads on from there. It returns
// ErrStale, and gives the place up, if the stream has begun a new epoch since: a
// seat of that epoch may already be queued, and this one would undo it.
func (o *Outbox) Seat(frame []byte, seat Seat) error {
	return o.fill(seat.place, nil, frame, seat)
}

// Release gives up the place that Attach keeps, if it was not filled.
func (s Seat) Release() {
	o := s.sub.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	s.place.open = false
	o.startLocked()
}

// Change moves subscriptions to another delivery, and queues frame between the
// last update of the old lane and the first of the new one.
func (o *Outbox) Change(frame []byte, d Delivery, subs ...*Subscription) error {
	if len(subs) == 0 {
		return o.Send(frame)
	}
	marks, seats := make([]Mark, len(subs)), make([]Seat, len(subs))
	for i, sub := range subs {
		marks[i], seats[i] = sub.stream.change(sub, d)
	}
	last := len(subs) - 1
	for i := range last {
		_ = o.fill(seats[i].place, marks[i:i+1], nil) // ErrClosed, as below
	}
	return o.fill(seats[last].place, marks[last:], frame, seats...)
}

// reserve keeps a place in the queue, behind which everything waits until it is
// filled or released: soon, by whoever asked for it. Called under Stream.mu.
func (o *Outbox) reserve(of *Subscription) *item {
	it := &item{open: true, of: of}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.queue = append(o.queue, it)
	}
	return it
}

func (o *Outbox) fill(place *item, marks []Mark, frame []byte, seats ...Seat) error {
	o.mu.Lock()
	place.open = false
	place.marks, place.seats = marks, seats
	if place.stale() {
		place.marks, place.seats = nil, nil
		o.startLocked()
		o.mu.Unlock()
		return ErrStale
	}
	place.frame = frame
	return o.queuedAndUnlock(place)
}

// push queues an item at the end.
func (o *Outbox) push(it item) error {
	o.mu.Lock()
	o.queue = append(o.queue, &it)
	return o.queuedAndUnlock(&it)
}

// queuedAndUnlock accounts for what was just put into the queue, and has it
// written.
func (o *Outbox) queuedAndUnlock(it *item) error {
	switch {
	case o.closed:
		o.queue = nil
		o.mu.Unlock()
		return ErrClosed
	case o.queued > o.opts.QueueBytes:
		o.closed = true
		o.mu.Unlock()
		o.opts.Overflow()
		return ErrClosed
	}
	o.queued += queueWeight(len(it.frame))
	o.startLocked()
	o.mu.Unlock()
	return nil
}

// queueWeight is what a private message counts in the bound: a large one no more
// than maxQueueWeight. A reply of 30 MiB is the app-server's way of talking, and
// who is owed one is not slow; some of them waiting at once is.
func queueWeight(size int) int64 { return int64(min(size, maxQueueWeight)) }

// serve brings out what is due: on the calling goroutine if that is little and
// the client surely takes it without being waited for, else on one of its own.
func (o *Outbox) serve() {
	o.mu.Lock()
	if o.closed || o.state != writerIdle {
		o.startLocked() // who runs already looks once more
		o.mu.Unlock()
		return
	}
	o.state = writerAgain // the outbox's writer is now this goroutine
	little := o.dueLocked() <= serveBytes
	o.mu.Unlock()
	if !little || o.opts.Room == nil || !o.opts.Room(serveBytes) {
		go o.w.run()
		return
	}
	o.w.round()
	if !o.end() {
		go o.w.run()
	}
}

// dueLocked is how many bytes wait, about. Called by the writer.
func (o *Outbox) dueLocked() (n int64) {
	n = o.queued
	for _, sub := range o.subs {
		if l := sub.lane; l != nil {
			n += int64(l.published.Load().abs - sub.cursor.abs)
		}
	}
	return n
}

// end ends the writer if there is nothing more to do.
func (o *Outbox) end() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed && (o.state == writerAgain || len(o.queue) > 0 && !o.queue[0].open) {
		return false
	}
	o.state = writerIdle
	o.idle.Broadcast()
	return true
}

func (o *Outbox) startLocked() {
	if o.closed {
		return
	}
	if o.state == writerIdle {
		go o.w.run()
	}
	o.state = writerAgain
}

// next gives the writer its next round of work: the queue up to the first place
// that is still open, and the lanes if there is none.
func (o *Outbox) next() (queue []*item, subs []*Subscription) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.state = writerBusy
	open := slices.IndexFunc(o.queue, func(it *item) bool { return it.open })
	if open >= 0 {
		queue, o.queue = o.queue[:open:open], o.queue[open:]
	} else {
		queue, o.queue = o.queue, nil
	}
	// What is due now is fixed while the queue is locked: a private message
	// that is queued later must not find its place already passed.
	for _, sub := range o.subs {
		sub.due = due{}
		if l := sub.lane; l != nil {
			sub.due = due{l, l.published.Load()}
		}
	}
	for _, it := range queue {
		for _, seat := range it.seats {
			seat.sub.due = due{seat.lane, seat.lane.published.Load()}
		}
	}
	if o.paused || open >= 0 {
		return queue, nil
	}
	return queue, o.subs
}

// again has the writer look once more when it is done.
func (o *Outbox) again() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.state = writerAgain
}

func (o *Outbox) written(private int64) {
	o.mu.Lock()
	o.queued -= private
	o.mu.Unlock()
}

// WaitIdle returns when everything that was due has been written, or at the
// deadline.
func (o *Outbox) WaitIdle(deadline time.Time) {
	late := time.AfterFunc(time.Until(deadline), func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.idle.Broadcast()
	})
	defer late.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.state != writerIdle && !o.closed && time.Now().Before(deadline) {
		o.idle.Wait()
	}
}

// Pause holds back the lanes, not the private messages, until Resume: the
// client's own wish. What it misses meanwhile counts as lag.
func (o *Outbox) Pause() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paused = true
}

// Resume ends Pause.
func (o *Outbox) Resume() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paused = false
	o.startLocked()
}

// Queued is how many bytes of private messages wait.
func (o *Outbox) Queued() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queued
}

// Subscriptions returns the current ones.
func (o *Outbox) Subscriptions() []*Subscription {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.subs
}

// Close ends the outbox: nothing is taken any more. It returns when no Write
// is running and none will start; the caller makes a blocked Write fail.
func (o *Outbox) Close() {
	o.mu.Lock()
	o.closed = true
	subs := o.subs
	o.mu.Unlock()
	for _, sub := range subs {
		sub.dropped.Store(true)
		sub.stream.leave(sub)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.state != writerIdle {
		o.idle.Wait()
	}
	o.queue, o.subs, o.queued = nil, nil, 0
}

// leave takes sub out of the wake lists.
func (s *Stream) leave(sub *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveLocked(sub)
}
