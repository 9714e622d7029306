package hub

import (
	"bytes"
	"errors"
	"strings"

	"zcodehub/auth"
	"zcodehub/fanout"
	"zcodehub/internal/wire"
	"zcodehub/session"
)

// A request is one call of a client.
type request struct {
	id        []byte // raw, as the client wrote it
	method    string
	params    []byte // raw; never empty
	sessionID string // params.sessionId, if it is there
	rule      rule
	steers    bool           // it is the holder's to make, if control is leased
	repeated  bool           // sent again after the session was resumed
	act       *session.Entry // what it is in the session's activity; nil for nothing
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
		if !c.rate.Allow() || !c.device.rate.Allow() {
			c.hub.metrics.limited.Inc()
			c.refuse(e.ID, fault(codeTooMany, "too many calls in a short time", "rateLimit", true, rateRetry))
			return
		}
		c.request(&e, len(frame))
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

// maxName bounds ids and method names: what the app-server itself takes as an
// id (protocol document 4.12). They are kept while a call waits, and logged.
const maxName = 256

// request checks a call and hands it to the hub or the app-server:
//
//	rights ─> trusted members ─> scope ─> local handler
//	                                   └> forward: id swapped, call recorded
func (c *Client) request(e *wire.Envelope, frameSize int) {
	if len(e.ID) > maxName || len(e.Method) > maxName || len(e.SessionID) > maxName {
		c.refuse([]byte(`"invalid-message"`), wire.ErrorObject{Code: codeNotMessage, Message: "an id or a method is longer than 256 bytes"})
		return
	}
	r := &request{id: bytes.Clone(e.ID), method: string(e.Method), params: e.Params, sessionID: string(e.SessionID)}
	if frameSize-len(r.params) > maxName*4 {
		r.params = bytes.Clone(r.params) // or the whole frame would stay as long as the call waits
	}
	r.rule = ruleFor(r.method)
	r.steers = r.rule.steers
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
	r.params = wire.Without(r.params, isTrusted)
	c.inScope(r, func(ok bool) {
		switch {
		case !ok:
			c.refuseScope(r)
		case r.rule.local != nil:
			r.rule.local(c, r)
		case c.maySteer(r):
			c.forward(r)
		}
	})
}

// trusted members are the hub's to set, never a client's (protocol document 5.2).
var trusted = map[string]bool{"connectionId": true, "clientMode": true, "deliveryProfile": true, "subscriberScope": true}

func isTrusted(key []byte) bool { return trusted[string(key)] }

func isDeliveryKind(key []byte) bool { return string(key) == "deliveryKind" }

// with sets a member of params, which has none of that name, to a string.
func with(params []byte, key, value string) []byte {
	return withRaw(params, key, wire.AppendString(nil, value))
}

// withRaw is with for any JSON value.
func withRaw(params []byte, key string, value []byte) []byte {
	out := append([]byte{'{'}, wire.AppendString(nil, key)...)
	out = append(out, ':')
	out = append(out, value...)
	rest := params[1:]
	for range wire.Members(params) {
		out = append(out, ',')
		break
	}
	return append(out, rest...)
}

// isUpload names the methods of an upload, which belongs to a connection; reading
// what was uploaded does not (protocol document 4.11).
func isUpload(method string) bool {
	step, ok := strings.CutPrefix(method, "v4/attachment/")
	return ok && (step == "begin" || step == "chunk" || step == "commit" || step == "abort")
}

// forward sends a call on. The reply comes back under the client's own id, to
// this client only, behind the updates that the app-server printed before it.
func (c *Client) forward(r *request) {
	params := r.params
	if !r.repeated {
		c.auditPrompt(r)
		r.act = c.actOf(r)
	}
	switch {
	case r.method == "session/read":
		params = wire.Without(params, isDeliveryKind) // it would switch everybody's stream
	case r.method == "session/list" && c.who().Scoped():
		params = c.narrowList(params)
	case isUpload(r.method):
		c.mu.Lock()
		c.uploads = true
		c.mu.Unlock()
		params = with(params, "connectionId", c.id)
	}
	size := int64(len(params))
	if !c.charge(size) {
		c.steered(r, r.sessionID, false)
		c.refuse(r.id, fault(codeTooMany, "too much of this client's waits for the app-server", "pendingBytes", true, rateRetry))
		return
	}
	if size > maxRepeated {
		r.repeated, r.params = true, nil // too large to be kept for a second try
	}
	c.hub.call(&call{
		method: r.method,
		params: wire.OneLine(params),
		effect: !r.rule.readOnly,
		done: func(reply reply) {
			c.charge(-size)
			c.replied(r, reply)
		},
	})
}

// maxRepeated is the largest call that is kept to be sent again after its
// session was resumed: any but an upload.
const maxRepeated = 1 << 20

// charge counts bytes that wait for the app-server on this client's behalf: one
// message of the largest size, or many small ones.
func (c *Client) charge(size int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if size > 0 && c.waiting > 0 && c.waiting+size > c.hub.opts.MaxMessageBytes {
		return false
	}
	c.waiting += size
	return true
}

// replied brings the app-server's reply to the client.
func (c *Client) replied(r *request, reply reply) {
	if reply.err != nil && isNotActive(reply.err) && !r.repeated && r.sessionID != "" && r.method != "session/resume" {
		r.repeated = true
		c.hub.resume(r.sessionID, func(err []byte) {
			if err != nil {
				c.steered(r, r.sessionID, false)
				c.replyError(r, err)
				return
			}
			c.forward(r)
		})
		return
	}
	if reply.err != nil {
		c.steered(r, r.sessionID, false)
		c.replyError(r, reply.err)
		return
	}
	result := reply.result
	c.noteTaken(r, result)
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
