package hub

import (
	"slices"
	"time"

	"zcodehub/auth"
	"zcodehub/fanout"
	"zcodehub/internal/wire"
	"zcodehub/session"
)

// asked takes a request of the app-server: a question to a human, or something
// that the hub answers itself. Unknown ones are answered too, at once, since
// the app-server may work on nothing else while it waits.
func (h *Hub) asked(e *wire.Envelope) {
	method := string(e.Method)
	switch method {
	case session.MethodPermission, session.MethodUserInput:
		h.announced(e, method)
		return
	}
	h.metrics.reverse.WithLabelValues(reverseLabel(method)).Inc()
	var line []byte
	if result, ok := answered[method]; ok {
		line = wire.AppendResult(nil, e.ID, []byte(result))
	} else {
		line = wire.AppendError(nil, e.ID, wire.ErrorObject{Code: codeNoMethod, Message: "Method not found: " + method})
	}
	h.answerServer(line)
}

// reverseLabel keeps the metric's label to known values.
func reverseLabel(method string) string {
	if _, ok := answered[method]; ok {
		return method
	}
	return "other"
}

// answerServer sends what the app-server waits for. If it is gone, so is the
// question.
func (h *Hub) answerServer(line []byte) {
	if err := h.gate.reply(line, nil); err != nil {
		h.log.Warn("an answer could not be sent to the app-server", "error", err)
	}
}

// announced enters a question, or one more id of it, in the ledger of its
// session, and shows it to everyone who may see it.
func (h *Hub) announced(e *wire.Envelope, method string) {
	if len(e.SessionID) == 0 {
		h.answerServer(wire.AppendError(nil, e.ID, badParams("sessionId: Invalid input: expected string")))
		return
	}
	s := h.sessions.Meet(string(e.SessionID))
	in, first, result, err := s.Ledger.Announce(e.ID, method, e.Params, time.Now())
	switch {
	case err != nil:
		h.log.Warn("a question of the agent was refused", "session", s.ID, "error", err)
		h.answerServer(wire.AppendError(nil, e.ID, wire.ErrorObject{Code: codeInternal, Message: err.Error()}))
	case result != nil:
		h.answerServer(wire.AppendResult(nil, e.ID, result))
	case first:
		h.metrics.asked.WithLabelValues(string(in.Kind)).Inc()
		h.log.Info("the agent asks", "session", s.ID, "requestId", in.RequestID, "kind", in.Kind, "tool", in.ToolName)
		// From now on its events are needed: they tell when the agent settles
		// the question by itself.
		h.listen(s, nil)
		h.withWorkspace(s, func() {
			if isOpen(s, in) { // still: learning the place may have taken a while
				h.showToAll(s, in)
				h.tellAway(s, in)
			}
		})
	}
}

// withWorkspace calls f when it is known where a session belongs, if anybody's rights
// depend on that.
func (h *Hub) withWorkspace(s *session.Session, f func()) {
	if s.Workspace() != "" || !h.anyByWorkspace() {
		f()
		return
	}
	h.findWorkspace(s.ID, func(string) { f() })
}

func (h *Hub) anyByWorkspace() bool {
	for _, c := range h.allClients() {
		if c.who().Workspaces != nil {
			return true
		}
	}
	return false
}

func (h *Hub) showToAll(s *session.Session, in *session.Interaction) {
	shown := &showing{}
	for _, c := range h.allClients() {
		c.show(s, in, shown)
	}
}

// A showing keeps the frames of one interaction, one for each class of rights,
// so that each is built once for all clients.
type showing struct{ full, limited, look []byte }

// show sends the client an open interaction in the form that its rights allow:
// the request itself to those who may answer, a notice to those who may look.
func (c *Client) show(s *session.Session, in *session.Interaction, shown *showing) {
	if !c.sees(s) || c.narrowed(s) {
		return
	}
	if shown == nil {
		shown = &showing{}
	}
	var frame *[]byte
	rights := c.who().Rights
	switch {
	case rights.Has(auth.Answer | auth.Control):
		frame = &shown.full
	case rights.Has(auth.Answer):
		frame = &shown.limited
	default:
		frame = &shown.look
	}
	if *frame == nil {
		*frame = interactionFrame(in, rights)
	}
	c.send(*frame, s)
}

// narrowed tells that the client wants interactions of sessions that it follows
// only, and does not follow this one.
func (c *Client) narrowed(s *session.Session) bool {
	c.mu.Lock()
	only := c.onlySubscribed
	c.mu.Unlock()
	return only && !c.follows(s.ID)
}

func interactionFrame(in *session.Interaction, rights auth.Right) []byte {
	offered := in.Offered(rights)
	if rights.Has(auth.Answer) {
		id := wire.AppendString(nil, in.ID)
		return fanout.Frame(wire.AppendRequest(nil, id, in.Method, offered))
	}
	return notification("hub/interaction", describe(in, offered))
}

// described is an interaction as notices and lists tell of it.
type described struct {
	ID         string    `json:"id"`
	RequestID  string    `json:"requestId"`
	SessionID  string    `json:"sessionId"`
	TurnID     string    `json:"turnId,omitempty"`
	ToolCallID string    `json:"toolCallId,omitempty"`
	ToolName   string    `json:"toolName,omitempty"`
	Kind       string    `json:"kind"`
	Method     string    `json:"method"`
	OpenedAt   time.Time `json:"openedAt"`
	Params     raw       `json:"params"`
}

func describe(in *session.Interaction, params []byte) described {
	return described{ID: in.ID, RequestID: in.RequestID, SessionID: in.SessionID, TurnID: in.TurnID, ToolCallID: in.ToolCallID,
		ToolName: in.ToolName, Kind: string(in.Kind), Method: in.Method, OpenedAt: in.OpenedAt, Params: params}
}

// showAll shows a client that has just come everything that waits for an answer.
func (c *Client) showAll() {
	for _, s := range c.hub.sessions.All() {
		if len(s.Ledger.Open()) > 0 {
			c.hub.withWorkspace(s, func() { c.showOpen(s) })
		}
	}
}

// showOpen shows a client what waits for an answer in a session. What is settled
// by the time it was shown may have been told before it: so it is told again.
func (c *Client) showOpen(s *session.Session) {
	open := s.Ledger.Open()
	for _, in := range open {
		c.show(s, in, nil)
	}
	if len(open) == 0 || !c.sees(s) {
		return
	}
	for _, st := range s.Ledger.Settled() {
		if slices.ContainsFunc(open, func(in *session.Interaction) bool { return in.ID == st.Interaction.ID }) {
			c.notify("hub/interactionSettled", st, s)
		}
	}
}

func isOpen(s *session.Session, in *session.Interaction) bool {
	return slices.ContainsFunc(s.Ledger.Open(), func(other *session.Interaction) bool { return other.ID == in.ID })
}

// answer takes a client's answer to an interaction.
func (c *Client) answer(id, result []byte, isError bool) {
	h := c.hub
	text, _ := wire.StringValue(id)
	s, in := h.sessions.FindInteraction(text)
	if s == nil || !c.sees(s) {
		c.acknowledge(text, "", session.Verdict{Status: session.Unknown, Reason: "no such interaction"}, nil)
		return
	}
	v := s.Ledger.Answer(in.RequestID, c.author(), c.who().Rights, result, isError, time.Now())
	h.metrics.answers.WithLabelValues(v.Status).Inc()
	if v.Status != session.Accepted {
		c.acknowledge(text, in.RequestID, v, s)
		return
	}
	h.decided(s, v, func(v session.Verdict) { c.acknowledge(text, in.RequestID, v, s) })
}

// decided sends the decision to every id under which the agent asked, newest
// first. done gets what became of it: v, if the first line went into the pipe.
func (h *Hub) decided(s *session.Session, v session.Verdict, done func(session.Verdict)) {
	in := v.Interaction
	written := func(err error) {
		if err != nil {
			s.Ledger.Release(in.RequestID)
			h.log.Warn("a decision did not reach the app-server", "session", s.ID, "requestId", in.RequestID, "error", err)
			done(session.Verdict{Status: session.Unknown, Reason: "the app-server ended before it took the answer"})
			return
		}
		for _, id := range s.Ledger.Written(in.RequestID, time.Now()) {
			h.answerServer(wire.AppendResult(nil, id, v.Result))
		}
		h.awaitConfirmation(s, in.RequestID)
		done(v)
	}
	if err := h.gate.reply(wire.AppendResult(nil, v.Announced[0], v.Result), written); err != nil {
		written(err)
		return
	}
	for _, id := range v.Announced[1:] {
		h.answerServer(wire.AppendResult(nil, id, v.Result))
	}
}

// awaitConfirmation settles a decision as unconfirmed if the agent does not say
// in time that it has it.
func (h *Hub) awaitConfirmation(s *session.Session, requestID string) {
	h.time.after(session.ConfirmWithin, func() {
		if settlement, ok := s.Ledger.Expire(requestID, time.Now()); ok {
			h.settled(s, []session.Settlement{settlement})
		}
	})
}

// acknowledge tells the one who answered what became of the answer.
func (c *Client) acknowledge(id, requestID string, v session.Verdict, s *session.Session) {
	status := v.Status
	if status == session.Forbidden {
		status = session.Invalid
	}
	ack := struct {
		ID        string          `json:"id,omitempty"`
		RequestID string          `json:"requestId,omitempty"`
		Status    string          `json:"status"`
		Reason    string          `json:"reason,omitempty"`
		Code      int             `json:"code,omitempty"`
		DecidedBy *session.Author `json:"decidedBy,omitempty"`
		DecidedAt *time.Time      `json:"decidedAt,omitempty"`
	}{ID: id, RequestID: requestID, Status: status, Reason: v.Reason}
	if v.Status == session.Forbidden {
		ack.Code = codeForbidden
	}
	if v.Status == session.Accepted || v.Status == session.Late {
		ack.DecidedBy, ack.DecidedAt = &v.By, &v.At
	}
	c.notify("hub/answer", ack, s)
}

// settled tells everyone who may know how interactions ended.
func (h *Hub) settled(s *session.Session, settlements []session.Settlement) {
	for _, st := range settlements {
		h.metrics.settled.WithLabelValues(st.Outcome).Inc()
		if st.Interaction != nil {
			h.metrics.answerTime.Observe(st.At.Sub(st.Interaction.OpenedAt).Seconds())
		}
		h.log.Info("interaction settled", "session", s.ID, "requestId", st.RequestID, "outcome", st.Outcome, "by", st.By.Name, "device", st.By.Device)
		detail := map[string]string{"requestId": st.RequestID, "outcome": st.Outcome}
		if in := st.Interaction; in != nil {
			detail["kind"] = string(in.Kind)
			if in.ToolName != "" {
				detail["tool"] = in.ToolName
			}
		}
		h.audit(auth.AuditEvent{Event: "interaction.settled", Name: st.By.Name, Device: st.By.Device, SessionID: s.ID, Detail: detail})
		frame := notification("hub/interactionSettled", st)
		for _, c := range h.allClients() {
			if c.sees(s) {
				c.send(frame, s)
			}
		}
		h.noteSettled(st)
		if st.Interaction != nil {
			h.untell(st.Interaction, st)
		}
	}
}
