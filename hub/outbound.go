package hub

import (
	"errors"
	"strings"

	"zcodehub/auth"
	"zcodehub/fanout"
	"zcodehub/internal/wire"
)

// A request is one call of a client.
type request struct {
	id        []byte // raw, as the client wrote it
	method    string
	params    []byte // raw; never empty
	sessionID string // params.sessionId, if it is there
	rule      rule
	repeated  bool // sent again after the session was resumed
}

// Handle takes one text frame of the client, which it may keep. It never
// blocks: what needs the app-server is answered later.
func (c *Client) Handle(frame []byte) {
	c.hub.metrics.received.Inc()
	var e wire.Envelope
	if err := wire.ParseEnvelope(frame, &e); err != nil {
		c.refuseFrame(&e, err)
		return
	}
	switch e.Kind {
	case wire.Request:
		// Only calls are limited: an answer must never get lost.
		if !c.rate.Allow() {
			c.hub.metrics.limited.Inc()
			c.refuse(e.ID, fault(codeTooMany, "too many calls in a short time", "rateLimit", true, rateRetry))
			return
		}
		c.request(&e)
	case wire.Response:
		c.answer(e.ID, e.Result, false)
	case wire.Error:
		c.answer(e.ID, e.Error, true)
	case wire.Notification, wire.Invalid: // the app-server ignores notifications
	}
}

// refuseFrame answers a frame that is no message, as the app-server would.
func (c *Client) refuseFrame(e *wire.Envelope, err error) {
	c.hub.metrics.badFrames.Inc()
	switch {
	case errors.Is(err, wire.ErrNotJSON):
		c.refuse([]byte(`"parse-error"`), wire.ErrorObject{Code: codeParse, Message: "Parse error"})
	case e.ID != nil:
		c.refuse(e.ID, wire.ErrorObject{Code: codeNotMessage, Message: err.Error()})
	default:
		c.refuse([]byte(`"invalid-message"`), wire.ErrorObject{Code: codeNotMessage, Message: err.Error()})
	}
}

// request checks a call and hands it to the hub or the app-server:
//
//	rights ─> trusted members ─> scope ─> local handler
//	                                   └> forward: id swapped, call recorded
func (c *Client) request(e *wire.Envelope) {
	r := &request{id: e.ID, method: string(e.Method), params: e.Params, sessionID: string(e.SessionID)}
	r.rule = ruleFor(r.method)
	if strings.HasPrefix(r.method, "hub/") && r.rule.local == nil {
		c.refuse(r.id, wire.ErrorObject{Code: codeNoMethod, Message: "Method not found: " + r.method})
		return
	}
	if !c.who().Rights.Has(r.rule.right) {
		c.refuse(r.id, forbidden("this token does not allow "+r.method))
		return
	}
	if len(r.params) == 0 {
		r.params = []byte("{}")
	}
	if r.params[0] != '{' {
		c.refuse(r.id, badParams("Invalid input: expected object")) // as for every method of the app-server
		return
	}
	// The next reader might take the other of two members of one name.
	if wire.HasDuplicateKeys(r.params) {
		c.refuse(r.id, badParams("a member stands twice"))
		return
	}
	r.params = without(r.params, isTrusted)
	c.inScope(r, func(ok bool) {
		switch {
		case !ok:
			c.refuseScope(r)
		case r.rule.local != nil:
			r.rule.local(c, r)
		default:
			c.forward(r)
		}
	})
}

// trusted members are the hub's to set, never a client's (protocol document 5.2).
var trusted = map[string]bool{"connectionId": true, "clientMode": true, "deliveryProfile": true, "subscriberScope": true}

// without removes members from params and leaves the others the bytes that
// came.
func without(params []byte, drop func(key []byte) bool) []byte {
	found := false
	for m := range wire.Members(params) {
		found = found || drop(m.Key)
	}
	if !found {
		return params
	}
	out := append(make([]byte, 0, len(params)), '{')
	for m := range wire.Members(params) {
		if drop(m.Key) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, params[m.Start:m.End]...)
	}
	return append(out, '}')
}

func isTrusted(key []byte) bool { return trusted[string(key)] }

func isDeliveryKind(key []byte) bool { return string(key) == "deliveryKind" }

// with sets a member of params, which has none of that name.
func with(params []byte, key, value string) []byte {
	out := append([]byte{'{'}, wire.AppendString(nil, key)...)
	out = append(out, ':')
	out = wire.AppendString(out, value)
	rest := params[1:]
	for range wire.Members(params) {
		out = append(out, ',')
		break
	}
	return append(out, rest...)
}

// forward sends a call on. The reply comes back under the client's own id, to
// this client only, behind the updates that the app-server printed before it.
func (c *Client) forward(r *request) {
	params := r.params
	if !r.repeated {
		c.auditPrompt(r)
	}
	switch {
	case r.method == "session/read":
		params = without(params, isDeliveryKind) // it would switch everybody's stream
	case strings.HasPrefix(r.method, "v4/attachment/"):
		c.mu.Lock()
		c.uploads = true
		c.mu.Unlock()
		params = with(params, "connectionId", c.id)
	}
	c.hub.call(&call{
		method: r.method,
		params: wire.OneLine(params),
		effect: !r.rule.readOnly,
		done:   func(reply reply) { c.replied(r, reply) },
	})
}

// replied brings the app-server's reply to the client.
func (c *Client) replied(r *request, reply reply) {
	if reply.err != nil && isNotActive(reply.err) && !r.repeated && r.sessionID != "" && r.method != "session/resume" {
		r.repeated = true
		c.hub.resume(r.sessionID, func(err []byte) {
			if err != nil {
				c.replyError(r, err)
				return
			}
			c.forward(r)
		})
		return
	}
	if reply.err != nil {
		c.replyError(r, reply.err)
		return
	}
	result := reply.result
	if r.rule.after != nil {
		result = r.rule.after(c, r, result)
	}
	c.reply(r, result)
}

// reply sends a result. It follows everything the client is owed of the
// request's session, or of all sessions if it names none.
func (c *Client) reply(r *request, result []byte) { c.sendReply(r, resultFrame(r.id, result)) }

func (c *Client) replyError(r *request, raw []byte) {
	msg := append(append([]byte(`{"id":`), r.id...), `,"error":`...)
	c.sendReply(r, fanout.Frame(append(append(msg, raw...), '}')))
}

func (c *Client) sendReply(r *request, frame []byte) {
	if r.sessionID != "" {
		if sub := c.subscription(r.sessionID); sub != nil {
			_ = c.outbox.SendAfter(frame, sub)
			return
		}
	}
	_ = c.outbox.SendAfter(frame, c.outbox.Subscriptions()...)
}

// refuse answers a call with an error of the hub's own, at once.
func (c *Client) refuse(id []byte, e wire.ErrorObject) {
	_ = c.outbox.Send(errorFrame(id, e))
}

// resultFrame builds a reply's frame with one copy of the result, which may be
// tens of megabytes.
func resultFrame(id, result []byte) []byte {
	if len(result) == 0 {
		result = []byte("null")
	}
	const overhead = len(`{"id":,"result":}`)
	n := overhead + len(id) + len(result)
	frame := fanout.AppendHeader(make([]byte, 0, n+fanout.MaxHeader), n)
	return wire.AppendResult(frame, id, result)
}

// has tells whether the client's rights include right.
func (c *Client) has(right auth.Right) bool { return c.who().Rights.Has(right) }

func errorFrame(id []byte, e wire.ErrorObject) []byte {
	return fanout.Frame(wire.AppendError(nil, id, e))
}
