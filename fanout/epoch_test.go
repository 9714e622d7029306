package fanout

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// A seat that was taken before a new epoch and comes after the seat of that
// epoch must not unseat the subscriber for good.
func TestSeatOfAnOldEpochIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStream(StreamOptions{})
		defer s.Close()
		r := newReader(OutboxOptions{})
		defer r.Close()
		sub := r.Subscribe(s, nil)
		old := s.Attach(sub, Continuous, nil)
		s.Reset("e2", 7)
		fresh := s.Attach(sub, Continuous, nil)
		if err := r.Seat(Frame([]byte("at 7")), fresh.Seat); err != nil {
			t.Fatal(err)
		}
		if err := r.Seat(Frame([]byte("at 0")), old.Seat); !errors.Is(err, ErrStale) {
			t.Errorf("the old seat was taken: %v", err)
		}
		appendN(s, 3, 0)
		s.Flush()
		r.wantSeq(t, 10)
	})
}

// A mark of an old epoch says nothing of the new lanes, although their positions
// have smaller numbers.
func TestMarkOfAnOldEpochIsNoPlaceInTheNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStream(StreamOptions{})
		defer s.Close()
		r := newReader(OutboxOptions{})
		defer r.Close()
		sub := r.follow(s, Continuous)
		appendN(s, 100, 1000)
		old := s.mark(sub)
		synctest.Wait()
		s.Reset("e2", 0)
		fresh := s.Attach(sub, Continuous, nil)
		if err := r.Seat(Frame([]byte("at 0")), fresh.Seat); err != nil {
			t.Fatal(err)
		}
		if err := r.push(item{marks: []Mark{old}, frame: Frame([]byte("reply"))}); err != nil {
			t.Fatal(err)
		}
		appendN(s, 30, 1000)
		s.Flush()
		synctest.Wait()
		if got := r.cursor(); got != 30 || len(r.gaps) > 0 {
			t.Errorf("the subscriber is at %d, want 30; gaps: %v", got, r.gaps)
		}
		if got := r.ladder(); got != "[]" {
			t.Errorf("a subscriber who has everything was moved: steps %s", got)
		}
	})
}

// One update larger than everything that is kept pushes out all before it, and
// is itself pushed out by the next: those who read are not called slow for it.
func TestGiantUpdatesAreNoLag(t *testing.T) {
	for _, d := range []Delivery{Continuous, Replayable} {
		t.Run(fmt.Sprint(d), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewStream(StreamOptions{Epoch: "e1", NewCoalescer: func() Coalescer { return &passing{} }})
				defer s.Close()
				r := newReader(OutboxOptions{})
				defer r.Close()
				r.follow(s, d)
				for round := range 3 {
					appendN(s, 2, 100)
					appendN(s, 1, 20<<20)
					appendN(s, 2, 100)
					s.Flush()
					synctest.Wait()
					if got, want := r.cursor(), uint64(5*(round+1)); got != want {
						t.Errorf("round %d: the subscriber is at %d, want %d", round, got, want)
					}
				}
				if got := r.ladder(); got != "[]" {
					t.Errorf("steps %s", got)
				}
				if n := s.State().RingBytes; n > 80<<20 {
					t.Errorf("the stream holds %d bytes", n)
				}
				if len(r.gaps) > 0 {
					t.Error(strings.Join(r.gaps, "\n"))
				}
			})
		})
	}
}

// passing is a Coalescer that coalesces nothing.
type passing struct{ pending []update }

type update struct {
	from, to uint64
	msg      []byte
}

func (p *passing) Add(from, to uint64, msg []byte) {
	p.pending = append(p.pending, update{from, to, msg})
}
func (p *passing) Pending() bool { return len(p.pending) > 0 }
func (p *passing) Flush(_ bool, emit func(from, to uint64, msg []byte)) {
	for _, u := range p.pending {
		emit(u.from, u.to, u.msg)
	}
	p.pending = nil
}
