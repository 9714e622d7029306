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
	if c.who().Scoped() && !c.commandInScope(kind, r) {
		c.refuse(r.id, forbidden("this token is limited: it does not allow this command here"))
		return
	}
	claimed, claims := member(r.params, "clientId")
	bound, initialized := c.boundID()
	if claims && initialized && claimed != bound {
		c.refuse(r.id, wire.ErrorObject{Code: codeInternal, Message: "fault.command.clientMismatch"})
		return
	}
	r.params = with(wire.Without(r.params, isClientID), "clientId", bound)
	r.steers = !withoutControl[kind]
	if !c.maySteer(r) {
		return
	}
	if kind == "resolveInteraction" {
		c.resolve(r)
		return
	}
	c.forward(r)
}

// withoutControl are the commands that do not steer the session they name.
var withoutControl = map[string]bool{
	"createSession": true, "resolveInteraction": true, "snoozeInteractionAutoResolution": true, "setAssistantFeedback": true,
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

// withinSession are the commands that touch nothing but the session they name,
// which has been checked; the others are not for tokens with a scope.
var withinSession = map[string]bool{
	"sendText": true, "sendGoalCommand": true, "compact": true, "stop": true, "retryTurn": true, "editUserQuery": true,
	"sendQueuedNow": true, "deleteQueueItem": true, "editQueueItem": true, "reorderQueueItem": true, "setAutoDrain": true,
	"setFollowupMode": true, "switchModelConfig": true, "switchCollaborationMode": true, "setAssistantFeedback": true,
	"resolveInteraction": true, "snoozeInteractionAutoResolution": true, "pauseGoal": true, "resumeGoal": true,
	"cancelBackgroundWork": true, "renameSession": true, "deleteSession": true,
}

// commandInScope tells whether a token with a scope allows a command. What
// creates a session is judged by where it creates it, whatever session the
// command names.
func (c *Client) commandInScope(kind string, r *request) bool {
	switch kind {
	case "createSession":
		payload, _ := wire.Get(r.params, "payload")
		workspace, ok := member(payload, "workspaceId")
		return r.sessionID == "" && ok && c.who().MayCreateIn(workspace)
	case "forkAssistant": // the fork belongs to the same workspace
		return r.sessionID != "" && c.who().Sessions == nil
	default:
		return r.sessionID != "" && withinSession[kind]
	}
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
		c.forwardUnknown(r)
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
	default:
		c.forwardUnknown(r)
	}
}

// forwardUnknown sends on an answer to what the ledger never heard of, for those
// whose rights cover any answer. For the others the agent's own reply to an
// unknown interaction is given here, since nobody can say what it would allow.
func (c *Client) forwardUnknown(r *request) {
	if c.has(auth.Control) {
		c.forward(r)
		return
	}
	c.reply(r, c.ack(r, "accepted", "", nil))
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
