package hub

import (
	"encoding/json"
	"errors"
	"sync"

	"zcodehub/internal/child"
	"zcodehub/internal/wire"
)

// The states of the app-server, as hub/appServer tells them.
const (
	stateStarting   = "starting"   // first start
	stateMigrating  = "migrating"  // it works on its store
	stateReady      = "ready"      // it answers
	stateRestarting = "restarting" // it ended; the next one is on its way
	stateFailed     = "failed"     // it cannot be started, or ends again and again; still trying
)

// maxHeldBytes bounds the requests that wait for the app-server to become
// ready: two of the largest messages.
const maxHeldBytes = 64 << 20

// A gate is between requests and the app-server: it sends them while that is
// ready and holds them, in order and for a bounded time, while it is not.
type gate struct {
	hub *Hub

	mu           sync.Mutex // before calls.mu and timekeeper.mu
	status       AppServerStatus
	process      *child.Process  // nil while none runs
	capabilities json.RawMessage // what it said of its capabilities
	held         []*heldCall
	heldBytes    int
	closed       bool
}

// A heldCall waits for the app-server to become ready.
type heldCall struct {
	cl  *call
	due *deadline
}

// submit sends a call or holds it. An error means that done was not and will
// not be called.
func (g *gate) submit(cl *call) *wire.ErrorObject {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		e := closingError()
		return &e
	case g.process != nil && (cl.probe || g.status.State == stateReady):
		return g.dispatchLocked(cl)
	default:
		return g.holdLocked(cl)
	}
}

func (g *gate) dispatchLocked(cl *call) *wire.ErrorObject {
	h := g.hub
	id := h.calls.add(cl)
	generation := g.status.Generation
	h.calls.setDue(id, h.time.after(h.opts.CallTimeout, func() { h.expire(id, generation) }))
	line := wire.AppendRequest(nil, appendID(nil, id), cl.method, cl.params)
	err := g.process.Send(line, func(err error) { cl.written.Store(err == nil) })
	if err == nil {
		cl.params = nil // the queue has them
		return nil
	}
	h.calls.take(id)
	h.time.cancel(cl.due)
	if errors.Is(err, child.ErrFull) {
		h.metrics.refused.Inc()
		e := busy()
		return &e
	}
	return g.holdLocked(cl) // the process is ending: the next one gets it
}

func (g *gate) holdLocked(cl *call) *wire.ErrorObject {
	if g.heldBytes+len(cl.params) > maxHeldBytes {
		e := busy()
		return &e
	}
	held := &heldCall{cl: cl}
	g.held = append(g.held, held)
	g.heldBytes += len(cl.params)
	held.due = g.hub.time.after(g.hub.opts.ReadyWait, func() { g.giveUp(held) })
	return nil
}

// giveUp ends a call that waited for a ready app-server in vain. It was never
// written, so it can be repeated.
func (g *gate) giveUp(held *heldCall) {
	g.mu.Lock()
	state, found := g.status.State, false
	for i, other := range g.held {
		if other == held {
			g.held = append(g.held[:i:i], g.held[i+1:]...)
			g.heldBytes -= len(held.cl.params)
			found = true
			break
		}
	}
	g.mu.Unlock()
	if found {
		held.cl.done(failed(unavailable(state, true)))
	}
}

// open lets everything that was held through: the app-server answers.
func (g *gate) open(generation int, capabilities []byte) {
	type refusal struct {
		cl  *call
		err wire.ErrorObject
	}
	var refused []refusal
	g.mu.Lock()
	if g.closed || g.process == nil || g.status.Generation != generation {
		g.mu.Unlock()
		return
	}
	g.status.State, g.status.Detail = stateReady, ""
	g.capabilities = capabilities
	held := g.held
	g.held, g.heldBytes = nil, 0
	for _, w := range held {
		g.hub.time.cancel(w.due)
		if e := g.dispatchLocked(w.cl); e != nil {
			refused = append(refused, refusal{w.cl, *e})
		}
	}
	g.mu.Unlock()
	for _, r := range refused {
		r.cl.done(failed(r.err))
	}
}

// enter notes a new process, or that there is none (nil), and its state.
func (g *gate) enter(p *child.Process, state, detail string) (status AppServerStatus) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.process, g.status.Pid = p, 0
	if p != nil {
		g.status.Pid = p.Pid()
	}
	g.capabilities = nil
	g.status.State, g.status.Detail = state, detail
	return g.status
}

// begin starts a new generation.
func (g *gate) begin() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.status.Generation++
	return g.status.Generation
}

// note changes the state of the current process.
func (g *gate) note(state, detail string) (status AppServerStatus, changed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	changed = g.status.State != state || g.status.Detail != detail
	g.status.State, g.status.Detail = state, detail
	return g.status, changed
}

// current returns the process of a generation; 0 means whatever runs.
func (g *gate) current(generation int) *child.Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	if generation != 0 && g.status.Generation != generation {
		return nil
	}
	return g.process
}

func (g *gate) snapshot() (AppServerStatus, json.RawMessage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.status, g.capabilities
}

// close fails what is held and takes nothing more.
func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	held := g.held
	g.held, g.heldBytes = nil, 0
	g.mu.Unlock()
	for _, w := range held {
		g.hub.time.cancel(w.due)
		w.cl.done(failed(closingError()))
	}
}

// reply sends a message that the app-server waits for.
func (g *gate) reply(line []byte, written func(error)) error {
	p := g.current(0)
	if p == nil {
		return child.ErrClosed
	}
	return p.SendReserved(line, written)
}
