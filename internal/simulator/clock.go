package simulator

import "time"

// logicalStart is where the logical clock of a seeded run begins (2026-10-04); any fixed moment serves.
const logicalStart = 1791032434000

// clock gives event timestamps in milliseconds. Guarded by the loop.
type clock struct {
	logical bool
	at      int64
}

func newClock(o Options) clock {
	c := clock{logical: o.Speed == 0, at: time.Now().UnixMilli()}
	if c.logical && o.Seed != 0 {
		c.at = logicalStart
	}
	return c
}

// now is the current time. The logical clock moves a millisecond at each look, so that timestamps are distinct.
func (c *clock) now() int64 {
	if !c.logical {
		return time.Now().UnixMilli()
	}
	c.at++
	return c.at
}

func (c *clock) advance(d time.Duration) {
	if c.logical {
		c.at += d.Milliseconds()
	}
}

// isoTime is the text form of a timestamp that JavaScript's toISOString gives.
func isoTime(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// peek is the current time without moving the logical clock.
func (c *clock) peek() int64 {
	if !c.logical {
		return time.Now().UnixMilli()
	}
	return c.at
}
