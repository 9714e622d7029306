package hub

import (
	"time"

	"zcodehub/auth"
	"zcodehub/internal/wire"
	"zcodehub/session"
)

// command handles v4/command (protocol document 4.10): its right depends on its
// type, its clientId is the connection's, and resolveInteraction races in the
// ledger with the answers to the agent's requests.
func (c *Client) command(r *request) {
	kind, _ := member(r.params, "type")
	need := auth.Control
	if kind == "resolveInteraction" || kind == "snoozeInteractionAutoResolution" {
		need = auth.Answer
	}
	if !c.has(need) {
		c.refuse(r.id, forbidden("this token does not allow the command "+kind))
		return
	}
	if r.sessionID == "" && c.who().Scoped() && !c.mayCreateByCommand(kind, r.params) {
		c.refuse(r.id, forbidden("this token is limited: it does not allow "+kind+" here"))
		return
	}
	claimed, claims := member(r.params, "clientId")
	bound, initialized := c.boundID()
	if claims && initialized && claimed != bound {
		c.refuse(r.id, wire.ErrorObject{Code: codeInternal, Message: "fault.command.clientMismatch"})
		return
	}
	r.params = with(without(r.params, isClientID), "clientId", bound)
	if kind == "resolveInteraction" {
		c.resolve(r)
		return
	}
	c.forward(r)
}

func isClientID(key []byte) bool { return string(key) == "clientId" }

// boundID is the client id of all the connection's commands.
func (c *Client) boundID() (id string, initialized bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clientID != "" {
		return c.clientID, true
	}
	return c.id, false
}

func (c *Client) mayCreateByCommand(kind string, params []byte) bool {
	payload, _ := wire.Get(params, "payload")
	workspace, ok := member(payload, "workspaceId")
	return kind == "createSession" && ok && c.who().MayCreateIn(workspace)
}

// resolve enters the command's answer in the ledger and forwards the command
// only if it is the first. The reservation is released if the app-server's ACK
// says that it failed.
func (c *Client) resolve(r *request) {
	h := c.hub
	payload, _ := wire.Get(r.params, "payload")
	requestID, _ := member(payload, "interactionId")
	answer, _ := wire.Get(payload, "answer")
	s := h.sessions.Get([]byte(r.sessionID))
	if s == nil {
		c.forward(r)
		return
	}
	v := s.Ledger.Reserve(requestID, c.author(), c.who().Rights, answer, time.Now())
	h.metrics.answers.WithLabelValues(v.Status).Inc()
	switch v.Status {
	case session.Accepted:
		c.forwardResolve(r, s, v)
	case session.Late:
		c.reply(r, c.ack(r, "accepted", "", struct {
			Type       string         `json:"type"`
			ResolvedBy session.Author `json:"resolvedBy"`
		}{"resolveInteraction", v.By}))
		c.acknowledge("", requestID, v, s)
	case session.Forbidden:
		c.refuse(r.id, forbidden(v.Reason))
	case session.Invalid:
		c.reply(r, c.ack(r, "rejected", v.Reason, nil))
	default: // the ledger never heard of it: the app-server says what it says
		c.forward(r)
	}
}

// ack is a command's ACK of the hub's own.
func (c *Client) ack(r *request, status, message string, result any) []byte {
	id, _ := member(r.params, "commandId")
	a := struct {
		CommandID          string `json:"commandId"`
		Status             string `json:"status"`
		ReasonCode         string `json:"reasonCode,omitempty"`
		Message            string `json:"message,omitempty"`
		RevisionAtDecision int    `json:"revisionAtDecision"`
		Result             any    `json:"result,omitempty"`
	}{CommandID: id, Status: status, Message: message, Result: result}
	if status == "rejected" {
		a.ReasonCode = "proto.invalidPayload"
	}
	return jsonOf(a)
}

func (c *Client) forwardResolve(r *request, s *session.Session, v session.Verdict) {
	h, requestID := c.hub, v.Interaction.RequestID
	h.call(&call{method: r.method, params: wire.OneLine(r.params), effect: true, done: func(reply reply) {
		status, _ := member(reply.result, "status")
		switch status {
		case "accepted", "noop", "duplicate":
			s.Ledger.Written(requestID, time.Now())
			h.awaitConfirmation(s, requestID)
		default:
			if in, open := s.Ledger.Release(requestID); open {
				h.showToAll(s, in)
			}
		}
		c.replied(r, reply)
	}})
}
