package fanout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Between the moment at which a subscriber's new beginning is captured and the
// one at which it is told, it reads nothing that lies behind it.
func TestNothingOvertakesASubscriberThatBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStream(StreamOptions{})
		defer s.Close()
		r := newReader(OutboxOptions{})
		defer r.Close()
		sub := r.follow(s, Continuous)
		appendN(s, 10, 0)
		s.Flush()
		synctest.Wait()
		before := r.count()
		a := s.Attach(sub, Continuous, nil)
		appendN(s, 2, 0)
		s.Flush()
		if err := r.SendAfter(Frame([]byte("reply")), sub); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := r.count(); n != before {
			t.Fatalf("it was sent %q", r.messages[before:])
		}
		if err := r.Seat(Frame([]byte("at 10")), a.Seat); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, want := r.messages[before:], []string{"at 10", "10-11", "11-12", "reply"}; !slices.Equal(got, want) {
			t.Errorf("it was sent %q, want %q", got, want)
		}
	})
}

// Who gives a place up holds nothing back.
func TestReleasedPlaceHoldsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStream(StreamOptions{})
		defer s.Close()
		r := newReader(OutboxOptions{})
		defer r.Close()
		sub := r.follow(s, Continuous)
		a := s.Attach(sub, Continuous, nil)
		appendN(s, 3, 0)
		s.Flush()
		_ = r.Send(Frame([]byte("reply")))
		a.Seat.Release()
		a.Seat.Release()
		r.wantSeq(t, 3)
		if n := sub.places.Load(); n != 0 || r.Queued() != 0 {
			t.Errorf("%d places and %d bytes are left", n, r.Queued())
		}
	})
}

// Whatever else happens (a busy stream, changes of delivery, a lag that the
// ladder shortens), a subscriber that begins anew is never sent back, and gets
// everything once.
func TestBeginningAnewNeverGoesBack(t *testing.T) {
	s := newTestStream(StreamOptions{LogBytes: 1 << 20})
	defer s.Close()
	r := newReader(OutboxOptions{LagBytes: 20 << 10})
	defer r.Close()
	sub := r.follow(s, Continuous)
	var running sync.WaitGroup
	stop := make(chan struct{})
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				appendN(s, 20, 500)
				s.Publish(time.Now())
				time.Sleep(50 * time.Microsecond)
			}
		}
	})
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = r.Change(nil, Delivery(rand.IntN(2)), sub)
				time.Sleep(300 * time.Microsecond)
			}
		}
	})
	for i := range 400 {
		a := s.Attach(sub, Delivery(rand.IntN(2)), nil)
		time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond) // it is put into words
		if i%8 == 0 {
			a.Seat.Release()
			continue
		}
		if err := r.Seat(Frame(fmt.Appendf(nil, "at %d", a.Seq)), a.Seat); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
	}
	close(stop)
	running.Wait()
	s.Flush()
	a := s.Attach(sub, Continuous, nil) // it may be about to be told that it lags
	if err := r.Seat(Frame(fmt.Appendf(nil, "at %d", a.Seq)), a.Seat); err != nil {
		t.Fatal(err)
	}
	r.wantSeq(t, s.Head())
	r.mu.Lock()
	defer r.mu.Unlock()
	var last, at, begins uint64
	for _, msg := range r.messages {
		if n, _ := fmt.Sscanf(msg, "at %d", &at); n == 1 {
			begins++
			if at < last {
				t.Errorf("sent back from %d to %d", last, at)
			}
			last = at
			continue
		}
		var from, to uint64
		if n, _ := fmt.Sscanf(msg, "%d-%d", &from, &to); n == 2 {
			if from < last {
				t.Errorf("at %d it was sent %d-%d", last, from, to)
			}
			last = to
		}
	}
	if begins < 300 {
		t.Errorf("it began anew %d times", begins)
	}
}
