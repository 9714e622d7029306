package fanout

import (
	"sync"
	"sync/atomic"
	"time"
)

// DefaultBudget bounds the logs of all streams together: sixteen full ones.
const DefaultBudget = 256 << 20

// A Budget bounds the memory of many streams. Over the limit the stream that
// has been idle longest loses its log first; its subscribers lose nothing that
// was already delivered, and those who come back with an old cursor get a
// snapshot.
type Budget struct {
	limit int64
	total atomic.Int64

	mu      sync.Mutex // before Stream.mu
	streams map[*Stream]struct{}
}

// NewBudget returns a budget of limit bytes; 0 means DefaultBudget.
func NewBudget(limit int64) *Budget {
	if limit == 0 {
		limit = DefaultBudget
	}
	return &Budget{limit: limit, streams: map[*Stream]struct{}{}}
}

// Bytes is what all streams hold now.
func (b *Budget) Bytes() int64 { return b.total.Load() }

func (b *Budget) add(s *Stream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streams[s] = struct{}{}
}

func (b *Budget) remove(s *Stream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.streams, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	b.total.Add(-s.accounted)
	s.accounted = 0
}

// enforce trims the longest idle streams until the total is within the limit.
func (b *Budget) enforce() {
	if b.total.Load() <= b.limit {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	tried := map[*Stream]bool{}
	for b.total.Load() > b.limit {
		s := b.idlestLocked(tried)
		if s == nil {
			return
		}
		tried[s] = true
		s.release()
	}
}

func (b *Budget) idlestLocked(tried map[*Stream]bool) (idlest *Stream) {
	var since time.Time
	for s := range b.streams {
		if tried[s] {
			continue
		}
		s.mu.Lock()
		at := s.lastAppend
		s.mu.Unlock()
		if idlest == nil || at.Before(since) {
			idlest, since = s, at
		}
	}
	return idlest
}

// release frees everything but the newest chunk of each log.
func (s *Stream) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		for l.log.evict() > 0 {
		}
	}
	s.accountLocked()
}
