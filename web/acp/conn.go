package acp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/wire"
)

// Conn is one ACP connection:
//
//	client ── Handle ─┬─ request ──> goroutine ── handler ── native calls ──┐
//	                  ├─ answer ───> ask ── native.Answer                   │ pen
//	                  └─ cancel ───> room                                   ▼
//	client <───────────────────────── output <── translator <── native's writer: events, replies, questions
//
// What is written, and in which order, is decided by whoever holds the pen: mostly the goroutine on which the hub
// writes to the native client, so that a slow client holds back its own stream in the hub and nobody else's.
type Conn struct {
	// fixed after construction
	adapter *Adapter
	name    string // to the hub
	info    hub.ClientInfo
	sink    hub.Sink
	native  *Native
	ctx     context.Context
	cancel  context.CancelCauseFunc
	pen     chan struct{} // holds one value while somebody writes

	// owned by whoever holds the pen
	out    output
	places map[string]*place              // the sessions that the client follows, by id
	late   map[string]func(*output, seat) // what waits for a snapshot that did not come with its answer, by session
	asks   []*ask                         // the agent's questions in sessions of places, oldest first
	lastID int64                          // of the requests to the client

	mu       sync.Mutex // guards what follows; never held across I/O or a native call
	client   clientTraits
	ready    bool                     // initialize was answered
	requests map[string]*request      // under way, by raw id
	held     int                      // bytes of their params
	order    map[string]chan struct{} // ends when the newest request of a session lets the next begin
	open     map[int64]*ask           // requests to the client that it may still answer
	stops    map[string]bool          // sessions whose turn this client is stopping
	ended    bool                     // Detach was called: nothing may be started any more
	tasks    sync.WaitGroup
}

// maxRequests bounds the requests of one client that are under way at once: a client waits for most of its answers, and
// each request costs a goroutine.
const maxRequests = 128

// maxAsked bounds the params of requests under way, in bytes: four of the largest messages. One that comes alone may have
// any size that a message has.
const maxAsked = 128 << 20

func newConn(a *Adapter, info hub.ClientInfo, sink hub.Sink) *Conn {
	c := &Conn{adapter: a, name: "acp-" + rand.Text(), info: info, sink: sink, pen: make(chan struct{}, 1), places: map[string]*place{}, late: map[string]func(*output, seat){},
		requests: map[string]*request{}, order: map[string]chan struct{}{}, open: map[int64]*ask{}, stops: map[string]bool{}}
	c.out.sink = sink
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// ID is the connection id that the hub gave the native client; it is for logs.
func (c *Conn) ID() string { return c.native.ID() }

// Detach ends the connection's part in the hub. When it returns nothing of it runs.
func (c *Conn) Detach() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.cancel(ErrNativeClosed)
	c.native.Close()
	c.tasks.Wait()
	for _, p := range c.places { // nobody holds the pen any more
		p.room.leave(c)
	}
}

// spawn runs f on a goroutine that Detach waits for. After Detach it does not, and is false.
func (c *Conn) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.tasks.Go(f)
	}
	return !c.ended
}

// hold calls f with the pen, unless the connection ends before. What f adds goes out with the next flush.
func (c *Conn) hold(f func(*output)) {
	select {
	case c.pen <- struct{}{}:
	case <-c.ctx.Done():
		return
	}
	defer func() { <-c.pen }()
	if c.ctx.Err() == nil {
		f(&c.out)
	}
}

// write calls f with the pen and writes what it added.
func (c *Conn) write(f func(*output)) {
	c.hold(func(w *output) {
		f(w)
		w.flush()
	})
}

// Handle takes one text frame of the client, which it may keep.
func (c *Conn) Handle(frame []byte) {
	in, fault := parseIncoming(frame)
	switch {
	case fault != nil:
		c.write(func(w *output) { w.add(appendError(nil, nil, fault)) })
	case in.method == "":
		c.answered(in)
	case in.id == nil:
		c.notified(in.method, in.params)
	default:
		c.requested(in)
	}
}

// notified takes a notification of the client. Unknown ones are ignored.
func (c *Conn) notified(method string, params []byte) {
	switch method {
	case "session/cancel":
		c.cancelTurn(stringIn(params, "sessionId"))
	case "$/cancel_request":
		id, _ := wire.Get(params, "requestId")
		c.mu.Lock()
		r := c.requests[string(id)]
		c.mu.Unlock()
		switch {
		case r == nil:
		case r.prompt != nil:
			c.cancelTurn(r.sessionID)
		default:
			r.cancel(errCancelled)
		}
	}
}

// A request is one call of the client.
type request struct {
	ctx       context.Context
	cancel    context.CancelCauseFunc
	id        []byte
	method    string
	params    []byte
	sessionID string
	prompt    *prompt // of session/prompt
	next      func()  // lets the next request about this session begin
	answered  bool    // owned by whoever holds the pen
}

// A method answers with its result or error, unless it has answered while it held the pen.
type method func(c *Conn, r *request) (any, error)

var methods map[string]method

// methods is filled by init, since prompts run slash commands that are requests themselves.
func init() {
	methods = map[string]method{
		"authenticate":                 func(*Conn, *request) (any, error) { return struct{}{}, nil },
		"session/list":                 (*Conn).listSessions,
		"session/new":                  (*Conn).newSession,
		"session/load":                 (*Conn).loadSession,
		"session/load_earlier":         (*Conn).loadEarlier,
		"session/resume":               (*Conn).resumeSession,
		"session/close":                (*Conn).closeSession,
		"session/delete":               (*Conn).deleteSession,
		"session/fork":                 (*Conn).forkSession,
		"session/prompt":               (*Conn).prompt,
		"session/set_mode":             (*Conn).setMode,
		"session/set_config_option":    (*Conn).setConfigOption,
		"session/setMode":              (*Conn).setMode,
		"session/setModel":             (*Conn).setModel,
		"session/setThoughtLevel":      (*Conn).setThoughtLevel,
		"session/goal":                 (*Conn).pass,
		"session/compact":              (*Conn).pass,
		"session/cancelBackgroundTask": (*Conn).pass,
		"account/usage_stats":          (*Conn).usageStats,
	}
}

// requested starts a request, or refuses it at once.
func (c *Conn) requested(in incoming) {
	if in.method == "initialize" {
		c.initialize(in)
		return
	}
	r := &request{id: bytes.Clone(in.id), method: in.method, params: in.params, sessionID: stringIn(in.params, "sessionId"), next: func() {}}
	handle, fault := c.admit(r)
	if fault != nil {
		c.write(func(w *output) { w.add(appendError(nil, in.id, fault)) })
		return
	}
	c.adapter.metrics.requests.WithLabelValues(in.method).Inc()
	before := c.queueUp(r)
	c.spawn(func() {
		defer r.cancel(nil)
		if before != nil {
			select {
			case <-before:
			case <-r.ctx.Done():
			}
		}
		result, err := handle(c, r)
		r.next()
		c.finish(r, result, err)
	})
}

// admit checks what can be checked at once and enters the request.
func (c *Conn) admit(r *request) (method, *Error) {
	handle, known := methods[r.method]
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.ready:
		return nil, &Error{Code: codeRequest, Message: "The first request on a connection is initialize."}
	case !known:
		return nil, &Error{Code: codeNoMethod, Message: "Method not found: " + r.method[:min(len(r.method), maxID)]}
	case len(r.params) > 0 && r.params[0] != '{':
		return nil, badParams("an object is expected")
	case len(r.sessionID) > maxID:
		return nil, badParams("the sessionId is too long")
	case len(c.requests) >= maxRequests || len(c.requests) > 0 && c.held+len(r.params) > maxAsked:
		return nil, internalError("Too many requests are under way on this connection: wait for some of their answers.")
	case c.requests[string(r.id)] != nil:
		return nil, &Error{Code: codeRequest, Message: "The id of this request is still in use."}
	}
	r.ctx, r.cancel = context.WithCancelCause(c.ctx)
	if r.method == "session/prompt" {
		r.prompt = newPrompt(c, r) // here and not later: a cancel right behind it has to find it
	}
	c.requests[string(r.id)] = r
	c.held += len(r.params)
	return handle, nil
}

// queueUp puts a request behind the earlier ones about its session: they begin in the order in which the client sent
// them. It returns what to wait for, nil if nothing.
func (c *Conn) queueUp(r *request) (before <-chan struct{}) {
	if r.sessionID == "" {
		return nil
	}
	mine := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	before = c.order[r.sessionID]
	c.order[r.sessionID] = mine
	r.next = sync.OnceFunc(func() {
		close(mine)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.order[r.sessionID] == mine {
			delete(c.order, r.sessionID)
		}
	})
	return before
}

// finish answers a request that has not been answered yet.
func (c *Conn) finish(r *request, result any, err error) {
	c.write(func(w *output) {
		switch {
		case r.answered:
		case err != nil:
			c.logFailure(r, err)
			c.answer(w, r, appendError(nil, r.id, answerTo(err, r.sessionID)))
		default:
			c.answer(w, r, appendResult(nil, r.id, result))
		}
	})
}

func (c *Conn) logFailure(r *request, err error) {
	var own *Error
	var native *CallError
	if errors.As(err, &own) || errors.As(err, &native) || errors.Is(err, errCancelled) || errors.Is(err, ErrNativeClosed) {
		return
	}
	c.adapter.log.Error("a request of an ACP client failed", "method", r.method, "connection", c.ID(), "error", err)
}

// answer writes the one answer of a request. The caller holds the pen.
func (c *Conn) answer(w *output, r *request, message []byte) {
	if r.answered {
		return
	}
	r.answered = true
	c.mu.Lock()
	delete(c.requests, string(r.id))
	c.held -= len(r.params)
	c.mu.Unlock()
	w.add(message)
}

// has tells whether the credential of the connection includes a right.
func (c *Conn) has(right auth.Right) bool { return c.info.Principal.Rights.Has(right) }

// stringIn reads a string member of an object; "" if there is none.
func stringIn(obj []byte, keys ...string) string {
	raw, _ := wire.Path(obj, keys...)
	s, _ := wire.StringValue(raw)
	return s
}

// decode reads the params of a request into a struct.
func decode(r *request, into any) error {
	if len(r.params) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.params, into); err != nil {
		return badParams("%v", err)
	}
	return nil
}
