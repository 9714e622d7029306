package hub

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"zcodehub/auth"
	"zcodehub/internal/child"
	"zcodehub/session"
)

const (
	// firstBackoff and maxBackoff frame the pause before a restart, which
	// doubles each time: quick enough that a crash is hardly noticed, slow
	// enough that a broken installation does not keep a core busy.
	firstBackoff = 250 * time.Millisecond
	maxBackoff   = 30 * time.Second
	// stableAfter is how long an app-server must have run for its end to count
	// as a first one again.
	stableAfter = time.Minute
	// failedAfter is how many ends in a row make the state failed instead of
	// restarting: by then about eight seconds were spent on tries.
	failedAfter = 5
)

// Run starts the app-server and keeps it running until ctx ends. When it
// returns the app-server is gone, every call has ended and nothing of the hub
// runs any more, except that clients still have to be detached by whoever
// attached them.
func (h *Hub) Run(ctx context.Context) error {
	if file := h.groupFile(); file != "" {
		if err := child.Sweep(file, h.log); err != nil {
			h.log.Warn("an earlier app-server could not be ended", "error", err)
		}
	}
	timeContext, stopTime := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { h.time.run(timeContext) })
	h.time.after(checkEvery, h.checkTopics)
	h.keepRunning(ctx)
	h.shutDown()
	stopTime()
	running.Wait()
	return nil
}

func (h *Hub) groupFile() string {
	if h.opts.DataDir == "" {
		return ""
	}
	return filepath.Join(h.opts.DataDir, "app-server.group")
}

// keepRunning starts one app-server after another.
func (h *Hub) keepRunning(ctx context.Context) {
	for ends := 0; ctx.Err() == nil; {
		begun := time.Now()
		detail := h.runOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(begun) >= stableAfter {
			ends = 0
		}
		ends++
		wait := backoff(ends)
		state := stateRestarting
		if ends >= failedAfter {
			state = stateFailed
		}
		h.log.Warn("the app-server ended", "detail", detail, "ends", ends, "nextTryIn", wait.Round(time.Millisecond))
		h.tellState(h.gate.enter(nil, state, fmt.Sprintf("%s; next try in %s", detail, wait.Round(100*time.Millisecond))))
		h.metrics.restarts.Inc()
		h.audit(auth.AuditEvent{Event: "appServer.ended", Detail: map[string]string{"how": detail}})
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-h.restart:
		}
		timer.Stop()
	}
}

// backoff is the pause before the next start: doubling, with a jitter of a
// quarter so that several hubs do not start in step.
func backoff(ends int) time.Duration {
	d := maxBackoff
	if shift := ends - 1; shift < 8 {
		d = min(firstBackoff<<shift, maxBackoff)
	}
	return d - time.Duration(rand.Int64N(int64(d)/4))
}

// runOnce is the life of one app-server. It says how it ended.
func (h *Hub) runOnce(ctx context.Context) (detail string) {
	select {
	case <-h.restart: // meant for the one before
	default:
	}
	generation := h.gate.begin()
	entered := make(chan struct{}) // closed when the gate knows the process: what it asks can be answered then
	p, err := child.Start(child.Spec{
		Command: h.opts.AppServer, Dir: h.opts.Dir, Env: h.opts.Env,
		GroupFile: h.groupFile(), Log: h.log,
		OnLine:    func(line []byte, more bool) { <-entered; h.inbound(line, more) },
		OnBadLine: h.badLine,
	})
	if err != nil {
		return "it could not be started: " + err.Error()
	}
	state := stateStarting
	if generation > 1 {
		state = stateRestarting
	}
	h.log.Info("app-server started", "pid", p.Pid(), "generation", generation)
	h.tellState(h.gate.enter(p, state, ""))
	close(entered)
	h.probe(generation)
	h.awaitEnd(ctx, p)
	h.exited(p)
	return p.Exit().String()
}

// probe asks for the capabilities: the app-server answers when its store is
// ready, and everything written before is simply processed then (protocol
// document 1.6). The reply opens the gate, be it an error of an older build.
func (h *Hub) probe(generation int) {
	h.call(&call{method: "runtime/capabilities", params: []byte("{}"), probe: true, done: func(r reply) {
		if r.own {
			return // it ended, or did not answer in time
		}
		h.gate.open(generation, append([]byte(nil), r.result...))
		status, _ := h.gate.snapshot()
		if status.State == stateReady && status.Generation == generation {
			h.log.Info("app-server ready", "generation", generation)
			h.tellState(status)
			if generation > 1 {
				h.noteRestart()
			}
			h.rejoin()
			h.rejoinTopics()
		}
	}})
}

// awaitEnd waits until the process has ended, by itself, by request or with ctx.
func (h *Hub) awaitEnd(ctx context.Context, p *child.Process) {
	for {
		select {
		case <-p.Done():
			return
		case <-ctx.Done():
		case <-h.restart:
		}
		h.tellState(h.gate.enter(p, stateRestarting, "it is being ended"))
		p.Stop()
	}
}

// exited fails what waited for the process and settles what it asked.
func (h *Hub) exited(p *child.Process) {
	h.gate.enter(nil, stateRestarting, p.Exit().String())
	h.endBatch() // it may have died in the middle of one; its reader has ended
	if tail := p.Exit().StderrTail; tail != "" {
		h.log.Debug("last words of the app-server", "stderr", tail)
	}
	now := time.Now()
	for _, s := range h.sessions.All() {
		s.Away()
		h.settled(s, s.Ledger.SettleAll(session.OutcomeExited, session.Author{Name: "app-server"}, now))
	}
	h.topicsAway()
	for _, cl := range h.calls.takeAll() {
		h.finish(cl, failed(unavailable("exited", cl.mayRepeat())))
	}
	for _, s := range h.sessions.All() {
		h.forgetIfUnused(s)
	}
}

// rejoin listens again to the sessions that somebody follows.
func (h *Hub) rejoin() {
	for _, s := range h.sessions.All() {
		if len(s.Followers()) > 0 {
			h.listen(s, nil)
		}
	}
}

// requestRestart ends the running app-server, or the pause before the next.
func (h *Hub) requestRestart(reason string) {
	h.log.Info("restart of the app-server requested", "reason", reason)
	select {
	case h.restart <- struct{}{}:
	default:
	}
}

// shutDown ends what Run began, in the order in which nobody waits for what is
// already gone.
func (h *Hub) shutDown() {
	h.mu.Lock()
	h.closing = true
	clients := h.clientsLocked()
	h.mu.Unlock()
	h.gate.close()
	for _, cl := range h.calls.takeAll() {
		h.finish(cl, failed(closingError()))
	}
	for _, c := range clients {
		c.sink.CloseSoon(closeGoingAway, "the hub is closing")
	}
	for _, s := range h.sessions.All() {
		h.sessions.Remove(s.ID)
	}
	for _, t := range h.allTopics() {
		t.Stream.Close()
	}
}
