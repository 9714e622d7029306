package hub

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"zcodehub/internal/wire"
)

// A reply is how a call ended: one of the two is set, raw as it came.
type reply struct {
	result []byte
	err    []byte
	own    bool // err is the hub's own: the app-server did not answer
}

func failed(e wire.ErrorObject) reply { return reply{err: rawError(e), own: true} }

// A call is one request to the app-server, a client's or the hub's own.
type call struct {
	method string
	params []byte
	// done is called exactly once: with the app-server's reply on its stdout
	// goroutine, where result and err are valid during the call only, or with
	// an error of the hub's own from any goroutine.
	done   func(reply)
	effect bool // it may have changed something once it was written
	probe  bool // goes out although the app-server is not ready
	// written is set when the line went into the pipe: before that it cannot have
	// changed anything.
	written atomic.Bool

	// guarded by calls.mu while pending
	due *deadline
}

// calls are the requests that wait for the app-server's reply, by the hub's id.
type calls struct {
	mu      sync.Mutex // a leaf
	next    uint64
	pending map[uint64]*call
}

// mayRepeat tells whether a call that the end of the app-server cut off can be
// made again.
func (cl *call) mayRepeat() bool { return !cl.effect || !cl.written.Load() }

// add gives a call its id.
func (c *calls) add(cl *call) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	c.pending[c.next] = cl
	return c.next
}

// take ends the wait of a call; nil if it does not wait any more.
func (c *calls) take(id uint64) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.pending[id]
	delete(c.pending, id)
	return cl
}

// takeAll ends the wait of all.
func (c *calls) takeAll() []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*call, 0, len(c.pending))
	for id, cl := range c.pending {
		all = append(all, cl)
		delete(c.pending, id)
	}
	return all
}

func (c *calls) setDue(id uint64, due *deadline) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cl := c.pending[id]; cl != nil {
		cl.due = due
	}
}

func (c *calls) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}

// hubID reads an id that the hub gave; the app-server echoes ids exactly.
func hubID(raw []byte) (uint64, bool) {
	id, err := strconv.ParseUint(string(raw), 10, 64)
	return id, err == nil
}

// call sends a request, at once or when the app-server is ready.
func (h *Hub) call(cl *call) {
	if err := h.gate.submit(cl); err != nil {
		cl.done(failed(*err))
	}
}

// ask sends a request of the hub's own.
func (h *Hub) ask(method string, params []byte, done func(reply)) {
	h.call(&call{method: method, params: params, done: done})
}

// finish hands a call its end.
func (h *Hub) finish(cl *call, r reply) {
	h.time.cancel(cl.due)
	cl.done(r)
}

// expire ends a call that waited too long, and the app-server with it if that
// has printed nothing at all meanwhile: then it hangs, and so would every other
// request, since it works one after another (protocol document 1.5).
func (h *Hub) expire(id uint64, generation int) {
	cl := h.calls.take(id)
	if cl == nil {
		return
	}
	h.metrics.timeouts.Inc()
	h.log.Warn("the app-server did not answer in time", "method", cl.method, "timeout", h.opts.CallTimeout)
	cl.done(failed(timedOut(cl.method, !cl.effect)))
	p := h.gate.current(generation)
	if p == nil {
		return
	}
	last := p.LastOutput()
	silence := time.Since(last)
	if silence < h.opts.CallTimeout {
		// It said something after it got the call. Perhaps that was its last word,
		// and it owes the reply still, whether or not anybody calls again.
		h.time.after(h.opts.CallTimeout-silence, func() { h.endSilent(generation, last) })
		return
	}
	h.endSilent(generation, last)
}

// endSilent ends the app-server if it has said nothing since.
func (h *Hub) endSilent(generation int, since time.Time) {
	p := h.gate.current(generation)
	if p == nil || !p.LastOutput().Equal(since) {
		return
	}
	h.log.Error("the app-server is silent: restarting it", "silentFor", time.Since(since).Round(time.Second))
	h.requestRestart("silent")
}
