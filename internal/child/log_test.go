package child

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// countingLog counts what is logged of stderr.
type countingLog struct {
	records atomic.Int64 // records with a line
	leftOut atomic.Int64 // lines that records say were left out
	longest atomic.Int64
}

func (c *countingLog) logger() *slog.Logger { return slog.New(c) }

func (c *countingLog) Enabled(context.Context, slog.Level) bool { return true }
func (c *countingLog) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c *countingLog) WithGroup(string) slog.Handler            { return c }

func (c *countingLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "stderr" {
		return nil
	}
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "line":
			c.records.Add(1)
			c.longest.Store(max(c.longest.Load(), int64(len(a.Value.String()))))
		case "leftOut":
			c.leftOut.Add(a.Value.Int64())
		}
		return true
	})
	return nil
}
