package simulator

import (
	"slices"
	"time"
)

// The resident pool, as the protocol states it.
const (
	poolTarget      = 8
	poolHighWater   = 16
	defaultIdleTime = 10 * time.Minute
	sweepInterval   = 60 * time.Second
)

func (x *session) touch() { x.touchedAt = time.Now().UnixMilli() }

// evictable reports whether nothing but the store needs the session. A legacy subscription does not hold it: that is
// a switch on the record, and it goes with the record.
func (x *session) evictable() bool {
	return x.turn == nil && x.stored() && !x.runsTasks() && x.Kind != kindSubagent && !x.followed() &&
		(x.chat == nil || len(x.chat.queue.items) == 0)
}

// evict takes the session out of memory; it can be resumed from the store.
func (s *server) evict(x *session) {
	s.store.put(x.record)
	s.remove(x)
}

// sweep evicts what has been idle for long, and the least recently used when too many are resident. It runs when a
// request is done and every minute.
func (s *server) sweep() {
	idle := s.opts.IdleEviction
	if idle == 0 {
		idle = defaultIdleTime
	}
	deadline := time.Now().Add(-idle).UnixMilli()
	for _, x := range slices.Clone(s.order) {
		if x.evictable() && x.touchedAt <= deadline {
			s.evict(x)
		}
	}
	if len(s.order) <= poolHighWater {
		return
	}
	byUse := slices.Clone(s.order)
	slices.SortStableFunc(byUse, func(a, b *session) int { return int(a.touchedAt - b.touchedAt) })
	for _, x := range byUse {
		if len(s.order) > poolTarget && x.evictable() {
			s.evict(x)
		}
	}
}

func (s *server) sweepRegularly() {
	interval := sweepInterval
	if s.opts.IdleEviction > 0 { // a test that wants quick eviction should not wait a minute for it
		interval = min(interval, s.opts.IdleEviction)
	}
	for s.wait(s.ctx, interval) {
		s.sweep()
	}
}
