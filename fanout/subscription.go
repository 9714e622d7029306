package fanout

import (
	"errors"
	"sync/atomic"
	"time"
)

// A Subscription is one client's place in one stream: a cursor into the log of
// the lane that it follows.
type Subscription struct {
	// Key is the owner's own value, returned to it with a Lagged call.
	Key any

	// fixed after construction
	stream *Stream
	outbox *Outbox

	// guarded by Stream.mu and, as a set, by lane.wakeMu
	member *lane // whose wake list this is in; nil when in none
	slot   int   // index in member.subs

	// owned by the outbox's writer
	want       Delivery  // what the client asked for
	lane       *lane     // what it reads; nil while unseated
	cursor     position  // the next byte to send
	due        due       // how far this round goes
	backlog    [][]byte  // coalesced frames to send before the lane goes on
	compacted  bool      // the backlog was coalesced since it last caught up
	clearSince time.Time // when it was last seen to have caught up; zero while it lags

	// places counts the seats that have their place in the outbox's queue: until
	// then this one must not read further than where they are. Raised under
	// Stream.mu.
	places  atomic.Int32
	dropped atomic.Bool // the subscription ended
}

// due is how far the writer may read a lane.
type due struct {
	lane *lane
	upTo *position
}

// A Seat is where a subscription begins, or begins anew: a boundary of a lane.
// It takes effect when the outbox reaches it in its queue.
type Seat struct {
	sub  *Subscription
	lane *lane
	at   *position
	want Delivery
	move bool // from one lane to the other: only for one who is at this boundary

	place *item // in the queue, kept since the seat was taken
}

// A Mark is a place in both lanes of a stream; a private message that carries
// it goes out when the client has everything up to there.
type Mark struct {
	sub   *Subscription
	lanes [2]*lane // those that the positions are in: a new epoch has others
	at    [2]*position
}

// on is the place in l, nil if the mark has none.
func (m *Mark) on(l *lane) *position {
	if m.lanes[l.delivery] != l {
		return nil
	}
	return m.at[l.delivery]
}

// markLocked is the place up to which both lanes are published.
func (s *Stream) markLocked(sub *Subscription) Mark {
	m := Mark{sub: sub, lanes: s.lanes}
	for i, l := range s.lanes {
		m.at[i] = l.published.Load()
	}
	return m
}

// An Attachment is the result of Attach.
type Attachment struct {
	Sub   *Subscription
	Seat  Seat
	Epoch string
	Seq   uint64 // the boundary at which the subscription begins
	Floor uint64
	// Resumed tells that the cursor was valid: Missed is all that came after it.
	Resumed bool
	Missed  Range
}

// A Cursor is where a client is in a stream.
type Cursor struct {
	Epoch string
	Seq   uint64
}

// Attach places sub at the newest number of the stream, in the lane of the
// given delivery, and captures in the same step what came after cursor: no gap
// and no repeat. The seat has its place in the outbox's queue from here on, and
// everything behind it waits: call Outbox.Seat or Seat.Release soon. Whatever sub
// reads until then ends where the new seat begins.
func (s *Stream) Attach(sub *Subscription, d Delivery, cursor *Cursor) Attachment {
	s.mu.Lock()
	wake := s.joinLocked(sub, d)
	c := &s.lanes[Continuous].log
	a := Attachment{Sub: sub, Epoch: s.epoch, Seq: c.seq, Floor: c.floor(), Seat: s.seatLocked(sub, d)}
	if cursor != nil && cursor.Epoch == s.epoch && a.Floor <= cursor.Seq && cursor.Seq <= a.Seq {
		a.Resumed = true
		a.Missed = c.capture(cursor.Seq)
	}
	s.placeLocked(&a.Seat)
	s.mu.Unlock()
	wakeAll(wake)
	return a
}

// seatLocked is the place behind everything published so far.
func (s *Stream) seatLocked(sub *Subscription, d Delivery) Seat {
	l := s.lanes[d]
	return Seat{sub: sub, lane: l, at: l.published.Load(), want: d}
}

// placeLocked keeps the seat's place in the queue of its outbox.
func (s *Stream) placeLocked(seat *Seat) {
	seat.sub.places.Add(1)
	seat.place = seat.sub.outbox.reserve(seat.sub)
}

// joinLocked makes the newest number a boundary and puts sub into the wake
// list of the lane, and of no other.
func (s *Stream) joinLocked(sub *Subscription, d Delivery) (wake [2]*lane) {
	if d == Replayable && s.coalescer == nil {
		s.startReplayableLocked()
	}
	wake = s.flushLocked(time.Now())
	if l := s.lanes[d]; sub.member != l {
		s.leaveLocked(sub)
		l.enter(sub)
	}
	return wake
}

func (l *lane) enter(sub *Subscription) {
	if sub.dropped.Load() {
		return
	}
	l.wakeMu.Lock()
	defer l.wakeMu.Unlock()
	sub.member, sub.slot = l, len(l.subs)
	l.subs = append(l.subs, sub)
}

// startReplayableLocked begins coalescing at the newest number.
func (s *Stream) startReplayableLocked() {
	r := s.lanes[Replayable]
	s.coalescer = s.newCoalescer()
	r.log.seq = s.lanes[Continuous].log.seq
	r.published.Store(r.log.end(time.Time{}))
}

func (s *Stream) leaveLocked(sub *Subscription) {
	l := sub.member
	if l == nil {
		return
	}
	sub.member = nil
	l.wakeMu.Lock()
	if !l.retired.Load() {
		last := len(l.subs) - 1
		l.subs[sub.slot] = l.subs[last]
		l.subs[sub.slot].slot = sub.slot
		l.subs[last] = nil
		l.subs = l.subs[:last]
	}
	empty := len(l.subs) == 0
	l.wakeMu.Unlock()
	if empty && l.delivery == Replayable && s.lanes[Replayable] == l {
		s.coalescer = nil
		l.pending = false
		// The chain is not cut: the one who leaves may still have to read it.
		l.log.first, l.log.last, l.log.bytes = nil, nil, 0
		s.accountLocked()
	}
}

// mark makes the newest number a boundary of both lanes and returns it.
func (s *Stream) mark(sub *Subscription) Mark {
	s.mu.Lock()
	wake := s.flushLocked(time.Now())
	m := s.markLocked(sub)
	s.mu.Unlock()
	wakeAll(wake)
	return m
}

// Flush makes the newest number a boundary of both lanes and returns it.
func (s *Stream) Flush() Cursor {
	s.mu.Lock()
	wake := s.flushLocked(time.Now())
	c := Cursor{Epoch: s.epoch, Seq: s.lanes[Continuous].log.seq}
	s.mu.Unlock()
	wakeAll(wake)
	return c
}

// change moves sub to the other delivery at the newest number. The seat, which
// has its place in the outbox's queue, must come behind the mark.
func (s *Stream) change(sub *Subscription, d Delivery) (Mark, Seat) {
	s.mu.Lock()
	wake := s.joinLocked(sub, d)
	m := s.markLocked(sub)
	seat := s.seatLocked(sub, d)
	seat.move = true
	s.placeLocked(&seat)
	s.mu.Unlock()
	wakeAll(wake)
	return m, seat
}

var (
	errLost   = errors.New("the subscriber's place is no longer in the log")
	errPlaced = errors.New("the subscriber is about to begin anew")
)

// compact captures what sub has not had yet and moves it to the replayable
// lane at the newest number.
func (s *Stream) compact(sub *Subscription) (missed Range, seat Seat, c Coalescer, err error) {
	s.mu.Lock()
	switch {
	case sub.places.Load() > 0:
		err = errPlaced
	case s.closed || sub.member == nil || sub.member.retired.Load() || sub.cursor.seq < s.lanes[Continuous].log.floor():
		err = errLost
	}
	if err != nil {
		s.mu.Unlock()
		return Range{}, Seat{}, nil, err
	}
	wake := s.joinLocked(sub, Replayable)
	missed = s.lanes[Continuous].log.capture(sub.cursor.seq)
	seat = s.seatLocked(sub, Replayable)
	c = s.newCoalescer()
	s.mu.Unlock()
	wakeAll(wake)
	return missed, seat, c, nil
}

// find looks for the cursor's place anew if the chunk in which it stands was
// evicted. Behind the end of that chunk nothing is lost: so stand those who have
// everything when a giant update pushes out all before it. It is false where
// something is lost.
func (sub *Subscription) find() bool {
	l := sub.lane
	if sub.cursor.chunk == l.published.Load().chunk || sub.cursor.chunk.next.Load() != nil {
		return true
	}
	s := sub.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.lanes[l.delivery] != l || sub.cursor.seq < l.log.floor() {
		return false
	}
	at, ok := l.log.seek(sub.cursor.seq)
	if !ok || at.abs > l.published.Load().abs {
		return false
	}
	sub.cursor = *at
	return true
}

// restore moves sub, which has read the replayable lane up to its cursor, back
// to the continuous lane.
func (s *Stream) restore(sub *Subscription) (seat Seat, upTo *position, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[Continuous]
	if s.closed || sub.places.Load() > 0 || sub.member == nil || sub.member.retired.Load() || sub.cursor.seq < l.log.floor() {
		return Seat{}, nil, false
	}
	at, ok := l.log.seek(sub.cursor.seq)
	if !ok || at.abs > l.published.Load().abs {
		return Seat{}, nil, false
	}
	s.leaveLocked(sub)
	l.enter(sub)
	return Seat{sub: sub, lane: l, at: at, want: Continuous}, l.published.Load(), true
}

func wakeAll(lanes [2]*lane) {
	for _, l := range lanes {
		l.wake()
	}
}
