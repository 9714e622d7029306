package acp

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"zcodehub/hub"
	"zcodehub/internal/wire"
)

// Attached is one client of the hub, as the hub sees it: *hub.Client.
type Attached interface {
	Handle(frame []byte)
	Detach()
	ID() string
	// Steers tells whether nobody else holds control of a session now.
	Steers(sessionID string) bool
}

// Events takes what the hub says by itself. The functions are called in the order of the messages, one at a time, on
// the goroutine that writes to the client; while one runs the hub's own bounds hold the messages behind it. They may
// keep params, which nobody may change. A function may be nil.
type Events struct {
	Notify func(method string, params []byte)
	// Ask is a question of the agent; id is the same each time it is shown, and [Native.Answer] takes it.
	Ask func(id, method string, params []byte)
	// Written says that what the hub wrote at once has been handed on.
	Written func()
	// Closed says that the hub wants the connection to end, with a close code of the native surface.
	Closed func(code int, reason string)
}

// CallError is the hub's or the app-server's error for a call.
type CallError = hub.CallError

// ErrNativeClosed is returned for calls of a client that has been closed.
var ErrNativeClosed = errors.New("the hub has closed this connection")

// Native is a client of the hub inside its process. It speaks the native surface as any other client does, so rights,
// scope, the ledger, replay and routing are the hub's. All methods may be called from any goroutine.
type Native struct {
	on Events

	mu      sync.Mutex
	client  Attached // nil while Attach runs
	calls   map[uint64]*nativeCall
	last    uint64 // id of the newest call
	refused bool   // no more calls: closed by either side
}

// A nativeCall waits for its reply.
type nativeCall struct {
	then func(json.RawMessage, error)
	done chan struct{} // closed when then has returned, or will not be called
}

// Attach makes a client with attach, which is the hub's Attach.
func Attach(info hub.ClientInfo, attach func(hub.ClientInfo, hub.Sink) (Attached, error), on Events) (*Native, error) {
	n := &Native{on: on, calls: map[uint64]*nativeCall{}}
	client, err := attach(info, n)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.client = client
	n.mu.Unlock()
	return n, nil
}

// ID is the connection id.
func (n *Native) ID() string { return n.client.ID() }

// Steers tells whether nobody else holds control of a session now.
func (n *Native) Steers(sessionID string) bool { return n.client.Steers(sessionID) }

// Close detaches. When it returns no function of Events runs or will run, and every call has ended. It must not be called
// by one of these functions.
func (n *Native) Close() {
	n.client.Detach()
	n.fail()
}

// fail ends all calls.
func (n *Native) fail() {
	n.mu.Lock()
	n.refused = true
	calls := n.calls
	n.calls = map[uint64]*nativeCall{}
	n.mu.Unlock()
	for _, c := range calls {
		c.finish(nil, ErrNativeClosed)
	}
}

func (c *nativeCall) finish(result json.RawMessage, err error) {
	defer close(c.done)
	c.then(result, err)
}

// Go calls a method and returns at once. then gets the reply in its place among the messages, or ErrNativeClosed.
// params is anything that marshals to an object; raw JSON goes as it is.
func (n *Native) Go(method string, params any, then func(json.RawMessage, error)) {
	_, call, err := n.send(method, params, then)
	if err != nil {
		call.finish(nil, err)
	}
}

// Do is Go that waits until then has returned, or ctx ends before there is a reply: then has not been called in that
// case and will not be.
func (n *Native) Do(ctx context.Context, method string, params any, then func(json.RawMessage, error)) error {
	id, call, err := n.send(method, params, then)
	if err != nil {
		call.finish(nil, err)
		return nil
	}
	select {
	case <-call.done:
		return nil
	case <-ctx.Done():
	}
	n.mu.Lock()
	_, waiting := n.calls[id]
	delete(n.calls, id)
	n.mu.Unlock()
	if waiting {
		return context.Cause(ctx)
	}
	<-call.done
	return nil
}

// Call calls a method and waits for its result. The error is a *CallError if it is an answer.
func (n *Native) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	var result json.RawMessage
	var failed error
	if err := n.Do(ctx, method, params, func(r json.RawMessage, err error) { result, failed = r, err }); err != nil {
		return nil, err
	}
	return result, failed
}

func (n *Native) send(method string, params any, then func(json.RawMessage, error)) (uint64, *nativeCall, error) {
	call := &nativeCall{then: then, done: make(chan struct{})}
	raw, err := json.Marshal(params)
	if err != nil {
		return 0, call, fmt.Errorf("%s: %w", method, err)
	}
	n.mu.Lock()
	if n.refused || n.client == nil {
		n.mu.Unlock()
		return 0, call, ErrNativeClosed
	}
	n.last++
	id, client := n.last, n.client
	n.calls[id] = call
	n.mu.Unlock()
	client.Handle(wire.AppendRequest(nil, strconv.AppendUint(nil, id, 10), method, raw))
	return id, call, nil
}

// Answer answers a question of the agent. What became of the answer comes as hub/answer.
func (n *Native) Answer(id string, result json.RawMessage) {
	n.mu.Lock()
	client := n.client
	n.mu.Unlock()
	if client != nil {
		client.Handle(wire.AppendResult(nil, wire.AppendString(nil, id), result))
	}
}

// WriteFrames takes ready frames from the hub (hub.Sink).
func (n *Native) WriteFrames(frames net.Buffers) error {
	for _, b := range frames {
		for len(b) > 0 {
			message, rest, err := nextFrame(b)
			if err == nil {
				err = n.take(message)
			}
			if err != nil {
				n.CloseSoon(hubFault, "the hub wrote what is no message")
				return err
			}
			b = rest
		}
	}
	if n.on.Written != nil {
		n.on.Written()
	}
	return nil
}

// hubFault is the close code for what can only be a fault of the hub's own (RFC 6455 section 7.4.1: unexpected condition).
const hubFault = 1011

// CloseSoon is told that the connection has to end (hub.Sink).
func (n *Native) CloseSoon(code int, reason string) {
	n.mu.Lock()
	n.refused = true
	n.mu.Unlock()
	if n.on.Closed != nil {
		n.on.Closed(code, reason)
	}
}

func (n *Native) take(message []byte) error {
	var e wire.Envelope
	if err := wire.ParseEnvelope(message, &e); err != nil {
		return err
	}
	switch e.Kind {
	case wire.Notification:
		if n.on.Notify != nil {
			n.on.Notify(string(e.Method), e.Params)
		}
	case wire.Request:
		if id, ok := wire.StringValue(e.ID); ok && n.on.Ask != nil {
			n.on.Ask(id, string(e.Method), e.Params)
		}
	case wire.Response:
		n.replied(e.ID, e.Result, nil)
	case wire.Error:
		failed := &CallError{}
		if err := json.Unmarshal(e.Error, failed); err != nil {
			failed = &CallError{Code: codeInternal, Message: "an error without a message"}
		}
		n.replied(e.ID, nil, failed)
	case wire.Invalid: // an error of ParseEnvelope
	}
	return nil
}

func (n *Native) replied(rawID []byte, result json.RawMessage, err error) {
	id, _ := wire.Int64(rawID)
	n.mu.Lock()
	call := n.calls[uint64(id)]
	delete(n.calls, uint64(id))
	n.mu.Unlock()
	if call != nil {
		call.finish(result, err)
	}
}

var errFrame = errors.New("no whole unmasked text frame")

// nextFrame takes one frame as the hub writes them off b: whole, text, unmasked (RFC 6455 section 5.2).
func nextFrame(b []byte) (message, rest []byte, err error) {
	const finText = 0x81
	if len(b) < 2 || b[0] != finText {
		return nil, nil, errFrame
	}
	size, head := uint64(b[1]), 2 // the 7-bit length; with the mask bit it is over 127
	switch {
	case size == 126 && len(b) >= 4:
		size, head = uint64(binary.BigEndian.Uint16(b[2:])), 4
	case size == 127 && len(b) >= 10:
		size, head = binary.BigEndian.Uint64(b[2:]), 10
	case size > 125:
		return nil, nil, errFrame
	}
	if uint64(len(b)-head) < size {
		return nil, nil, errFrame
	}
	end := head + int(size)
	return b[head:end:end], b[end:], nil
}
