//go:build linux

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// cell is one server with its subscribers, made for one measurement and thrown away.
type cell struct {
	*target
	system  string
	control *control
	swarm   *swarm
	perf    string // file for a profile of the measured part, "" = none
}

// A cell that needs longer than this hangs: the slowest one (20,000 events to 1,000 clients) takes half a minute.
const cellDeadline = 3 * time.Minute

// cell starts a system, gives it a session, and hands both to measure.
func (b *bench) cell(ctx context.Context, system string, measure func(context.Context, *cell) error) error {
	ctx, cancel := context.WithTimeout(ctx, cellDeadline)
	defer cancel()
	t, err := b.start(ctx, system)
	if err != nil {
		return err
	}
	defer t.stop()
	c := &cell{target: t, system: system}
	if c.control, err = dialControl(ctx, t); err != nil {
		return err
	}
	defer c.control.close()
	if c.swarm, err = newSwarm(t); err != nil {
		return err
	}
	defer c.swarm.close()
	if system == "hub" {
		workspace := map[string]string{"workspacePath": "/w/bench", "workspaceKey": "/w/bench"}
		if err := c.control.call(ctx, "session/create", map[string]any{"workspace": workspace}); err != nil {
			return err
		}
		if b.perf != "" {
			c.perf = filepath.Join(b.perf, fmt.Sprintf("hub-%d.perf", b.count))
		}
	}
	if err := measure(ctx, c); err != nil {
		return fmt.Errorf("%s: %w %v\n%s", system, err, c.control.refusals(), t.tail())
	}
	return nil
}

// stream orders a turn of n deltas and waits until conns[from:] have all of it.
func (c *cell) stream(ctx context.Context, prompt string, from, n int) (time.Duration, error) {
	c.swarm.begin()
	start := time.Now()
	if err := c.control.order(ctx, prompt); err != nil {
		return 0, err
	}
	err := c.swarm.await(ctx, from, n+turnFrame)
	return time.Since(start), err
}

// turnFrame is how many events a turn has besides its deltas.
const turnFrame = 2

// warmUp lets buffers and heap grow before anything is measured, and proves that everybody gets everything in order.
func (c *cell) warmUp(ctx context.Context) error {
	c.swarm.inspect = checkOrder
	defer func() { c.swarm.inspect = nil }()
	const events = 2000
	if _, err := c.stream(ctx, fmt.Sprintf("burst %d %d", events, payloadBytes), 0, events); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	return nil
}

// spent is the server's CPU time for what do does, with the work that is still under way when do returns.
func (c *cell) spent(ctx context.Context, do func() error) (time.Duration, error) {
	const settle = 100 * time.Millisecond // longer than any flush window of the continuous lane
	time.Sleep(settle)
	if c.perf != "" {
		defer recordProfile(ctx, c.target, c.perf)()
	}
	before, err := c.cpu()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	time.Sleep(settle)
	after, err := c.cpu()
	return after - before, err
}

// recordProfile samples the server with perf(1) until the returned function is called.
func recordProfile(ctx context.Context, t *target, file string) (stop func()) {
	cmd := exec.CommandContext(ctx, "perf", "record", "-q", "-F", "997", "-g", "-o", file, "-p", fmt.Sprint(t.cmd.Process.Pid))
	if err := cmd.Start(); err != nil {
		return func() {}
	}
	time.Sleep(300 * time.Millisecond) // until perf has attached
	return func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
	}
}
