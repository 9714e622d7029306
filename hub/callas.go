package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"

	"zcodehub/auth"
	"zcodehub/fanout"
	"zcodehub/internal/wire"
	"zcodehub/session"
)

// A CallError is the answer to a call that failed: the app-server's error or
// the hub's own.
type CallError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *CallError) Error() string { return e.Message }

// CallAs makes one call for a principal that holds no connection, such as who
// asks over HTTP. It goes the way of a client's calls, so rights and scope are
// checked as theirs are; what would leave something on a connection
// (subscriptions, hub/*) is refused. The error is a *CallError if it is an
// answer. When ctx ends first the call may still have an effect.
func (h *Hub) CallAs(ctx context.Context, p *auth.Principal, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	if ruleFor(method).local != nil && method != "v4/command" {
		return nil, &CallError{Code: codeNoMethod, Message: method + " needs a connection"}
	}
	answers := make(chan []byte, 1) // what comes after the answer is dropped; never closed
	c := &Client{hub: h, id: "call-" + session.NewEpoch(), since: time.Now(), info: ClientInfo{Principal: p, Profile: p.DefaultProfile()}}
	c.principal.Store(p)
	c.outbox = fanout.NewOutbox(fanout.OutboxOptions{Overflow: func() {}, Write: func(frames net.Buffers) error {
		for _, frame := range frames {
			select {
			case answers <- frame:
			default:
			}
		}
		return nil
	}})
	defer c.outbox.Close()
	var e wire.Envelope
	if err := wire.ParseEnvelope(wire.AppendRequest(nil, []byte("1"), method, raw), &e); err != nil {
		return nil, err
	}
	c.request(&e, len(raw))
	select {
	case frame := <-answers:
		return readAnswer(frame)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// readAnswer reads a reply as a client of the hub would.
func readAnswer(frame []byte) (json.RawMessage, error) {
	const length16, length64 = 126, 127 // RFC 6455 section 5.2
	head := 2
	switch frame[1] {
	case length16:
		head += 2
	case length64:
		head += 8
	}
	var e wire.Envelope
	if err := wire.ParseEnvelope(frame[head:], &e); err != nil {
		return nil, err
	}
	if e.Kind != wire.Error {
		return e.Result, nil
	}
	failed := &CallError{}
	if err := json.Unmarshal(e.Error, failed); err != nil {
		return nil, fmt.Errorf("an error of the app-server that cannot be read: %w", err)
	}
	return nil, failed
}
