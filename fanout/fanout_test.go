package fanout

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// merger is a Coalescer that joins everything pending into one message and
// leaves out numbers divisible by 7, as a lane leaves out progress.
type merger struct {
	from, to uint64 // pending interval
	live     bool   // something in it survives
	begun    bool
}

func (m *merger) Add(from, to uint64, _ []byte) {
	if !m.begun {
		m.from, m.begun = from, true
	}
	m.to = to
	m.live = m.live || to%7 != 0
}

func (m *merger) Pending() bool { return m.begun }

func (m *merger) Flush(boundary bool, emit func(from, to uint64, msg []byte)) {
	if !m.begun || (!m.live && !boundary) {
		return
	}
	emit(m.from, m.to, interval(m.from, m.to))
	*m = merger{}
}

func interval(from, to uint64) []byte { return fmt.Appendf(nil, "%d-%d", from, to) }

func newTestStream(o StreamOptions) *Stream {
	o.NewCoalescer = func() Coalescer { return &merger{} }
	if o.Epoch == "" {
		o.Epoch = "e1"
	}
	return NewStream(o)
}

// appendN appends n updates, padded to size bytes.
func appendN(s *Stream, n, size int) {
	for range n {
		seq := s.State().Seq
		msg := interval(seq, seq+1)
		if pad := size - len(msg); pad > 0 {
			msg = append(append(msg, ' '), bytes.Repeat([]byte("."), pad)...)
		}
		s.Append(seq+1, msg)
	}
}

// reader is a client: an outbox and what was written to it.
type reader struct {
	*Outbox
	mu       sync.Mutex
	wait     sync.Cond // on mu
	raw      []byte
	messages []string
	steps    []Step
	gate     chan struct{} // when set, Write waits until it is closed
	overflow bool
	last     uint64 // cursor, by the chain of intervals
	gaps     []string
}

func newReader(opts OutboxOptions) *reader {
	r := &reader{}
	r.wait.L = &r.mu
	opts.Write = r.write
	opts.Overflow = func() { r.overflow = true }
	opts.Lagged = func(sub *Subscription, step Step) []byte {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.steps = append(r.steps, step)
		return Frame(fmt.Appendf(nil, "step %d", step))
	}
	r.Outbox = NewOutbox(opts)
	return r
}

func (r *reader) write(bufs net.Buffers) error {
	r.mu.Lock()
	gate := r.gate
	r.mu.Unlock()
	if gate != nil {
		<-gate
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range bufs {
		r.raw = append(r.raw, b...)
	}
	for len(r.raw) > 0 {
		msg := message(r.raw)
		n := int(r.raw[1])
		head := 2
		switch n {
		case 126:
			n, head = int(r.raw[2])<<8|int(r.raw[3]), 4
		case 127:
			n, head = int(r.raw[6])<<24|int(r.raw[7])<<16|int(r.raw[8])<<8|int(r.raw[9]), 10
		}
		r.take(string(msg[:n]))
		r.raw = r.raw[head+n:]
	}
	r.wait.Broadcast()
	return nil
}

func (r *reader) take(msg string) {
	r.messages = append(r.messages, msg)
	var from, to uint64
	if n, _ := fmt.Sscanf(msg, "%d-%d", &from, &to); n != 2 {
		if n, _ := fmt.Sscanf(msg, "at %d", &to); n == 1 {
			r.last = to
		}
		return
	}
	if from != r.last {
		r.gaps = append(r.gaps, fmt.Sprintf("at %d got %s", r.last, msg))
	}
	r.last = to
}

// follow attaches to s without a cursor.
func (r *reader) follow(s *Stream, d Delivery) *Subscription {
	sub := r.Subscribe(s, nil)
	a := s.Attach(sub, d, nil)
	r.Seat(Frame(fmt.Appendf(nil, "at %d", a.Seq)), a.Seat)
	return sub
}

// resume attaches with a cursor and queues what was missed.
func (r *reader) resume(s *Stream, d Delivery, c Cursor) Attachment {
	sub := r.Subscribe(s, nil)
	a := s.Attach(sub, d, &c)
	var frames []byte
	if a.Resumed {
		each := func(_, _ uint64, msg []byte) { frames = AppendFrame(frames, msg) }
		if d == Continuous {
			a.Missed.Each(each)
		} else {
			a.Missed.Coalesced(&merger{}, each)
		}
	}
	r.Seat(frames, a.Seat)
	return a
}

// freeze makes the next Write wait for thaw.
func (r *reader) freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate = make(chan struct{})
}

func (r *reader) thaw() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.gate)
	r.gate = nil
}

func (r *reader) cursor() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

func (r *reader) ladder() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprint(r.steps)
}

func (r *reader) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.messages)
}

// wantSeq waits until the reader has everything up to seq, without a gap.
func (r *reader) wantSeq(t *testing.T, seq uint64) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.last < seq {
		r.wait.Wait()
	}
	if r.last != seq || len(r.gaps) > 0 {
		t.Fatalf("cursor = %d, want %d; gaps: %v", r.last, seq, r.gaps)
	}
}

func TestOrderPerStreamForEverySubscriber(t *testing.T) {
	s := newTestStream(StreamOptions{})
	defer s.Close()
	var readers []*reader
	for i := range 20 {
		r := newReader(OutboxOptions{})
		defer r.Close()
		r.follow(s, Delivery(i%2))
		readers = append(readers, r)
	}
	const n = 20_000
	for i := range n / 100 {
		appendN(s, 100, 200+i%200)
		s.Publish(time.Now())
	}
	s.Flush()
	for _, r := range readers {
		r.wantSeq(t, n)
	}
}

func TestAttachIsAtomic(t *testing.T) {
	s := newTestStream(StreamOptions{LogBytes: 512 << 10})
	defer s.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	stop := make(chan struct{})
	var appender sync.WaitGroup
	appender.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				appendN(s, 10, 100)
				s.Publish(time.Now())
				time.Sleep(100 * time.Microsecond) // the readers' share of the processors
			}
		}
	})
	for _, d := range []Delivery{Continuous, Replayable} {
		cursor := Cursor{Epoch: "e1", Seq: s.State().Floor}
		for range 100 { // 100 random cuts
			r := newReader(OutboxOptions{})
			r.last = cursor.Seq
			a := r.resume(s, d, cursor)
			if !a.Resumed {
				// The appender may have run past the log: an explicit verdict.
				if a.Floor <= cursor.Seq {
					t.Fatalf("refused cursor %d with floor %d", cursor.Seq, a.Floor)
				}
				r.last = a.Seq
			}
			r.mu.Lock()
			for want := cursor.Seq + uint64(rng.IntN(300)); r.last < want; {
				r.wait.Wait()
			}
			r.mu.Unlock()
			r.Close()
			if len(r.gaps) > 0 {
				t.Fatalf("gaps: %v", r.gaps)
			}
			cursor.Seq = r.last
		}
	}
	close(stop)
	appender.Wait()
}

func TestStaleEpochAndEvictedNumberAreRefused(t *testing.T) {
	s := newTestStream(StreamOptions{LogBytes: 64 << 10, Seq: 40})
	defer s.Close()
	r := newReader(OutboxOptions{})
	defer r.Close()
	sub := r.Subscribe(s, nil)
	appendN(s, 10, 100)
	for _, c := range []struct {
		cursor Cursor
		want   bool
	}{
		{Cursor{"e1", 40}, true},
		{Cursor{"e1", 50}, true},
		{Cursor{"e1", 39}, false}, // before the first
		{Cursor{"e1", 51}, false}, // not yet
		{Cursor{"e0", 45}, false},
	} {
		if a := s.Attach(sub, Continuous, &c.cursor); a.Resumed != c.want {
			t.Errorf("Attach(%v).Resumed = %v, want %v", c.cursor, a.Resumed, c.want)
		}
	}
	for range 20 {
		appendN(s, 100, 1000)
		s.Flush() // what was not published yet is not evicted
	}
	if a := s.Attach(sub, Continuous, &Cursor{"e1", 45}); a.Resumed || a.Floor <= 45 {
		t.Errorf("evicted cursor: resumed %v, floor %d", a.Resumed, a.Floor)
	}
	if st := s.State(); st.RingBytes > 64<<10+2*maxChunk {
		t.Errorf("log holds %d bytes", st.RingBytes)
	}
	s.Reset("e2", 0)
	if a := s.Attach(sub, Replayable, &Cursor{"e1", s.State().Seq}); a.Resumed {
		t.Error("a cursor of the old epoch was resumed")
	}
}

func TestFrozenSubscriberNeverSlowsAnother(t *testing.T) {
	s := newTestStream(StreamOptions{LogBytes: 1 << 20})
	defer s.Close()
	frozen := newReader(OutboxOptions{LagBytes: 256 << 10})
	frozen.freeze()
	frozen.follow(s, Continuous)
	healthy := newReader(OutboxOptions{LagBytes: 1 << 30})
	healthy.follow(s, Continuous)
	for range 100 {
		appendN(s, 100, 500)
		s.Publish(time.Now())
		if s.State().Seq%1000 == 0 {
			s.Flush()
			healthy.wantSeq(t, s.State().Seq)
		}
	}
	if n := s.State().RingBytes; n > 1<<20+maxChunk {
		t.Errorf("log holds %d bytes, want at most its bound and a chunk", n)
	}
	frozen.thaw()
	frozen.Close()
	healthy.Close()
}

func TestSlowSubscriberGoesDownTheLadder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStream(StreamOptions{LogBytes: 1 << 20})
		defer s.Close()
		r := newReader(OutboxOptions{LagBytes: 256 << 10})
		defer r.Close()
		r.freeze()
		sub := r.follow(s, Continuous)
		appendN(s, 10, 500)
		s.Flush()
		synctest.Wait() // the writer is blocked in Write
		appendN(s, 1000, 500)
		s.Flush()
		r.thaw()
		synctest.Wait()
		if got := r.ladder(); got != fmt.Sprint([]Step{StepDowngraded}) {
			t.Fatalf("steps = %v, want downgraded", got)
		}
		r.wantSeq(t, 1010)
		if n := r.count(); n > 20 {
			t.Errorf("%d messages, want the backlog coalesced", n)
		}
		// Without backlog for ten seconds it gets its own delivery back.
		for range 12 {
			time.Sleep(time.Second)
			appendN(s, 1, 10)
			s.Publish(time.Now())
			synctest.Wait()
		}
		if got := r.ladder(); got != fmt.Sprint([]Step{StepDowngraded, StepRestored}) {
			t.Fatalf("steps = %v, want downgraded, restored", got)
		}
		r.wantSeq(t, 1022)

		// One that falls off the log altogether gets a snapshot.
		r.freeze()
		appendN(s, 1, 10)
		s.Flush()
		synctest.Wait()
		for range 40 {
			appendN(s, 100, 1000)
			s.Flush()
		}
		r.thaw()
		synctest.Wait()
		if got := r.ladder(); !strings.HasSuffix(got, fmt.Sprintf("%d]", StepSnapshot)) {
			t.Fatalf("steps = %v, want a snapshot last", got)
		}
		before := r.count()
		appendN(s, 1, 10)
		s.Flush()
		synctest.Wait()
		if r.count() != before {
			t.Error("an unseated subscription received an update")
		}
		a := s.Attach(sub, Continuous, nil)
		r.Seat(Frame(fmt.Appendf(nil, "at %d", a.Seq)), a.Seat)
		appendN(s, 1, 10)
		s.Flush()
		synctest.Wait()
		r.wantSeq(t, a.Seq+1)
	})
}

func TestPrivateMessageStaysBetweenUpdates(t *testing.T) {
	s := newTestStream(StreamOptions{})
	defer s.Close()
	r := newReader(OutboxOptions{})
	defer r.Close()
	sub := r.follow(s, Replayable)
	for i := range 500 {
		appendN(s, 1+i%3, 100)
		if i%5 == 0 {
			s.Publish(time.Now())
		}
		r.SendAfter(Frame(fmt.Appendf(nil, "reply after %d", s.State().Seq)), sub)
	}
	r.SendAfter(Frame([]byte("end")), sub)
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.messages) == 0 || r.messages[len(r.messages)-1] != "end" {
		r.wait.Wait()
	}
	var last, replies uint64
	for _, msg := range r.messages {
		var from, to uint64
		if n, _ := fmt.Sscanf(msg, "%d-%d", &from, &to); n == 2 {
			last = to
		} else if n, _ := fmt.Sscanf(msg, "reply after %d", &to); n == 1 {
			replies++
			if to != last {
				t.Fatalf("%q came after update %d", msg, last)
			}
		}
	}
	if replies != 500 {
		t.Errorf("%d replies, want 500", replies)
	}
}

func TestChangeOfDeliveryKeepsTheChain(t *testing.T) {
	s := newTestStream(StreamOptions{})
	defer s.Close()
	r := newReader(OutboxOptions{})
	defer r.Close()
	sub := r.follow(s, Continuous)
	for i := range 1000 {
		appendN(s, 3, 50)
		if i%4 == 0 {
			s.Publish(time.Now())
		}
		if i%7 == 0 {
			r.Change(Frame([]byte("changed")), Delivery(i%2), sub)
		}
	}
	s.Flush()
	r.wantSeq(t, s.State().Seq)
}

func TestIdleLanePublishesAtOnceAndBusyOneOncePerWindow(t *testing.T) {
	for _, c := range []struct {
		delivery Delivery
		readers  int
		window   time.Duration
	}{
		{Continuous, 1, windowPerReader},
		{Continuous, 100, 100 * windowPerReader},
		{Continuous, 1500, continuousWindow},
		{Replayable, 1, replayableWindow},
	} {
		t.Run(fmt.Sprint(c.delivery, c.readers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestStream(StreamOptions{})
				defer s.Close()
				var r *reader
				for range c.readers {
					r = newReader(OutboxOptions{})
					defer r.Close()
					r.follow(s, c.delivery)
				}
				synctest.Wait()
				time.Sleep(time.Second)
				begin := time.Now()
				appendN(s, 1, 10)
				s.Publish(time.Now())
				synctest.Wait()
				r.wantSeq(t, 1)
				for range 4 {
					time.Sleep(c.window / 10)
					appendN(s, 1, 10)
					s.Publish(time.Now())
				}
				synctest.Wait()
				if r.cursor() != 1 {
					t.Error("published inside its window")
				}
				time.Sleep(time.Until(begin.Add(c.window)))
				synctest.Wait()
				r.wantSeq(t, 5)
			})
		})
	}
}

func TestBudgetTrimsTheLongestIdleStreamFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(4 << 20)
		var streams []*Stream
		for range 6 {
			s := newTestStream(StreamOptions{Budget: b, LogBytes: 1 << 20})
			defer s.Close()
			streams = append(streams, s)
			time.Sleep(time.Second)
			appendN(s, 900, 1000)
			s.Publish(time.Now())
		}
		if b.Bytes() > 4<<20 {
			t.Errorf("streams hold %d bytes, over the budget", b.Bytes())
		}
		if f := streams[0].State().Floor; f == 0 {
			t.Error("the longest idle stream kept its log")
		}
		if f := streams[5].State().Floor; f != 0 {
			t.Errorf("the busy stream lost its log up to %d", f)
		}
	})
}

func TestPrivateQueueIsBoundedInBytes(t *testing.T) {
	r := newReader(OutboxOptions{QueueBytes: 1000})
	r.freeze()
	big := Frame([]byte(strings.Repeat("x", 5000)))
	if err := r.Send(big); err != nil {
		t.Fatalf("one message of any size: %v", err)
	}
	var err error
	for range 3 {
		err = r.Send(Frame([]byte("y")))
	}
	if !errors.Is(err, ErrClosed) || !r.overflow {
		t.Errorf("over the bound: err %v, overflow %v", err, r.overflow)
	}
	r.thaw()
	r.Close()
}

// A reply of the app-server's own size, and what follows it, cuts nobody off;
// many of them waiting at once do.
func TestBigPrivateMessagesAreNotSlowness(t *testing.T) {
	r := newReader(OutboxOptions{})
	r.freeze()
	big := Frame(bytes.Repeat([]byte("x"), 30<<20))
	for i := range 7 {
		if err := r.Send(big); err != nil {
			t.Fatalf("big message %d: %v", i, err)
		}
		if err := r.Send(Frame([]byte("small"))); err != nil {
			t.Fatalf("a small message after %d big ones: %v", i+1, err)
		}
	}
	var err error
	for range 3 {
		err = r.Send(big)
	}
	if !errors.Is(err, ErrClosed) || !r.overflow {
		t.Errorf("without end: err %v, overflow %v", err, r.overflow)
	}
	r.thaw()
	r.Close()
}

func TestNothingIsWrittenAfterClose(t *testing.T) {
	s := newTestStream(StreamOptions{})
	r := newReader(OutboxOptions{})
	sub := r.follow(s, Continuous)
	r.Close()
	n := len(r.messages)
	appendN(s, 10, 10)
	s.Flush()
	s.Attach(sub, Continuous, nil)
	if err := r.Send(Frame([]byte("late"))); !errors.Is(err, ErrClosed) {
		t.Errorf("Send after Close = %v", err)
	}
	if st := s.State(); st.Subscribers != 0 || len(r.messages) != n {
		t.Errorf("%d subscribers and %d late messages after Close", st.Subscribers, len(r.messages)-n)
	}
	s.Close()
}

func TestWriteErrorEndsTheOutbox(t *testing.T) {
	o := NewOutbox(OutboxOptions{Write: func(net.Buffers) error { return errors.New("gone") }})
	o.Send(Frame([]byte("a")))
	for o.Send(Frame([]byte("b"))) == nil {
		time.Sleep(time.Millisecond)
	}
	o.Close()
}
