//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// payloadBytes is the payload of a small delta: with its envelope a line of about 300 bytes.
const payloadBytes = 120

// What is measured; the names head the printed columns and the JSON.
const (
	burstCPU   = "burst CPU µs/event"
	burstRate  = "burst k events/s"
	rateCPU    = "40/s CPU µs/event"
	delayP50   = "delay p50 ms"
	delayP99   = "delay p99 ms"
	idleKiB    = "idle KiB/client"
	connectSec = "connect s"
	connectCPU = "connect CPU µs/client"
	stalledPct = "stalled rate"
)

// workload measures one thing on one system at one number of clients and notes what it found.
type workload struct {
	name    string
	systems []string
	clients []int
	measure func(ctx context.Context, c *cell, n int, note func(what string, value float64)) error
}

func (b *bench) workloads() []workload {
	streaming := []string{"loop", "conn-write", "hub"}
	sizes, crowds := []int{1, 10, 100, 1000}, []int{1000, 5000}
	if b.quick {
		sizes, crowds = []int{1, 100, 1000}, []int{1000}
	}
	return []workload{
		{"burst", streaming, sizes, b.burst},
		{"rate", streaming, sizes, b.rate},
		{"idle", []string{"accept", "hub"}, crowds, b.idle},
		{"stalled", []string{"hub"}, []int{100}, b.stalled},
	}
}

// burst: events as fast as the pipe takes them.
func (b *bench) burst(ctx context.Context, c *cell, n int, note func(string, float64)) error {
	if err := c.swarm.connect(ctx, n); err != nil {
		return err
	}
	if err := c.warmUp(ctx); err != nil {
		return err
	}
	events, rounds := burstSize(c.system, n, b.quick)
	var elapsed time.Duration
	cpu, err := c.spent(ctx, func() error {
		for range rounds {
			d, err := c.stream(ctx, fmt.Sprintf("burst %d %d", events, payloadBytes), 0, events)
			if err != nil {
				return err
			}
			elapsed += d
		}
		return nil
	})
	if err != nil {
		return err
	}
	delivered := float64(rounds * (events + turnFrame) * n)
	note(burstCPU, micros(cpu)/delivered)
	note(burstRate, delivered/elapsed.Seconds()/1000)
	return nil
}

// burstSize is 20,000 events, repeated for few clients until a 10 ms tick of CPU time is small beside the whole.
// conn-write to a crowd gets fewer: its cost per event is steady and 20,000 would take two minutes.
func burstSize(system string, n int, quick bool) (events, rounds int) {
	switch {
	case n == 1:
		return 20000, 10
	case n == 10:
		return 20000, 5
	case n >= 1000 && (system == "conn-write" || quick):
		return 4000, 1
	default:
		return 20000, 1
	}
}

// rate: 40 events a second, a model that talks fast. The delay runs from before the child's write(2) to after the read(2)
// of the swarm, so it contains the swarm's own queue, alike for every system.
func (b *bench) rate(ctx context.Context, c *cell, n int, note func(string, float64)) error {
	if err := c.swarm.connect(ctx, n); err != nil {
		return err
	}
	if err := c.warmUp(ctx); err != nil {
		return err
	}
	events := 200
	if b.quick {
		events = 80
	}
	delays := make([]int64, 0, n*events)
	c.swarm.inspect = func(_ *subscription, update []byte, now int64) error {
		if sent, ok := stampOf(update); ok {
			delays = append(delays, now-sent)
		}
		return nil
	}
	cpu, err := c.spent(ctx, func() error {
		_, err := c.stream(ctx, fmt.Sprintf("rate 40 %d %d", events, payloadBytes), 0, events)
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(delays)
	note(rateCPU, micros(cpu)/float64((events+turnFrame)*n))
	note(delayP50, float64(delays[len(delays)/2])/1e6)
	note(delayP99, float64(delays[len(delays)*99/100])/1e6)
	return nil
}

// stampOf reads the child's clock out of a delta.
func stampOf(update []byte) (int64, bool) {
	const key = `"delta":"`
	at := bytes.Index(update, []byte(key)) + len(key)
	if at < len(key) || len(update) < at+stampBytes {
		return 0, false
	}
	n, err := strconv.ParseInt(string(update[at:at+stampBytes]), 10, 64)
	return n, err == nil
}

// idle: clients connect as fast as the server lets them, and then hold still. The bare accept upgrades and echoes once;
// the hub also verifies a token, says hello, and subscribes.
func (b *bench) idle(ctx context.Context, c *cell, n int, note func(string, float64)) error {
	before, err := c.rss()
	if err != nil {
		return err
	}
	var elapsed time.Duration
	cpu, err := c.spent(ctx, func() error {
		start := time.Now()
		defer func() { elapsed = time.Since(start) }()
		return c.swarm.connect(ctx, n)
	})
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // what is given back after the rush is given back by then
	after, err := c.rss()
	if err != nil {
		return err
	}
	note(idleKiB, float64(after-before)/1024/float64(n))
	note(connectSec, elapsed.Seconds())
	note(connectCPU, micros(cpu)/float64(n))
	return nil
}

// stalled: 5 of 100 clients stop reading; how fast are the other 95, beside the same burst with all reading?
func (b *bench) stalled(ctx context.Context, c *cell, n int, note func(string, float64)) error {
	const idlers, rounds, events = 5, 15, 20000
	if err := c.swarm.connect(ctx, n); err != nil {
		return err
	}
	if err := c.warmUp(ctx); err != nil {
		return err
	}
	var took [2][]float64 // seconds of each round, before and after; the median of many, as one round is at the mercy of the machine
	for phase, from := range []int{0, idlers} {
		if err := c.swarm.stall(from); err != nil {
			return err
		}
		for range rounds {
			d, err := c.stream(ctx, fmt.Sprintf("burst %d %d", events, payloadBytes), from, events)
			if err != nil {
				return err
			}
			took[phase] = append(took[phase], d.Seconds())
		}
	}
	note(stalledPct, median(took[0])/median(took[1]))
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
