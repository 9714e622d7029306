package simulator

import "slices"

// target finds the row that a command means and checks that it offers the action.
func (x *session) target(cmd *command, action string) (*row, *outcome) {
	r := x.conversation().findRow(cmd.p.Target.RowID, cmd.p.Target.Entity)
	switch {
	case r == nil:
		return nil, &outcome{status: ackStale, reason: "proto.staleTarget"}
	case r.actions[action] == nil:
		refusal := rejected("guard.actionUnavailable")
		return nil, &refusal
	}
	return r, nil
}

// forkAssistant makes a session that begins with the conversation up to an answer.
func (x *session) forkAssistant(cmd *command) outcome {
	r, refusal := x.target(cmd, "canFork")
	if refusal != nil {
		return *refusal
	}
	if x.conversation().control.compacting() {
		return rejected("guard.compactOperationLock")
	}
	upTo := 1 + slices.IndexFunc(x.Messages, func(m *storedMsg) bool { return m.ID == r.entity })
	if upTo == 0 {
		return outcome{status: ackStale, reason: "proto.staleTarget"}
	}
	y, failed := x.fork(upTo)
	if failed != nil {
		return failure(failed)
	}
	y.inner("fork.joined", object{"parentSessionId": x.ID, "commandId": cmd.ID})
	x.inner("fork.created", object{"childSessionId": y.ID, "commandId": cmd.ID})
	return accepted(object{"type": "forkAssistant", "sessionId": y.ID})
}

// editQuery takes the conversation back to before an input and sends another one in its place.
func (x *session) editQuery(cmd *command) outcome {
	r, refusal := x.target(cmd, "canEdit")
	if refusal != nil {
		return *refusal
	}
	in := cmd.input(&cmd.p)
	in.text = cmd.p.NewText
	if refusal := x.rerun(cmd, r, in); refusal != nil {
		return *refusal
	}
	return accepted(object{"type": "editUserQuery", "disposition": "rewind", "sessionId": x.ID,
		"input": object{"delivery": deliverStartNow, "inputId": cmd.ID}})
}

// retryTurn asks for an answer once more.
func (x *session) retryTurn(cmd *command) outcome {
	r, refusal := x.target(cmd, "canRetry")
	if refusal != nil {
		return *refusal
	}
	in := cmd.input(&cmd.p)
	for _, m := range x.Messages {
		if m.ID == r.turn {
			in.text, in.uploads, in.hidden, in.source = m.said(), m.Uploads, m.Hidden, m.Source
		}
	}
	if refusal := x.rerun(cmd, r, in); refusal != nil {
		return *refusal
	}
	return accepted(inputAck(deliverStartNow, cmd.ID))
}

// setFeedback keeps what somebody thinks of an answer.
func (x *session) setFeedback(cmd *command) outcome {
	r := x.conversation().findRow(cmd.p.Target.RowID, cmd.p.Target.Entity)
	switch {
	case r == nil:
		return outcome{status: ackStale, reason: "proto.staleTarget"}
	case r.kind != rowAssistantText:
		return rejected("guard.actionUnavailable")
	}
	for _, m := range x.Messages {
		if m.ID == r.entity {
			m.Feedback = cmd.p.Feedback
		}
	}
	x.inner("feedback.changed", object{"entityId": r.entity, "feedback": cmd.p.Feedback})
	x.save()
	return accepted(nil)
}

// rerun forgets the turn of r and what came after it, and starts the turn in its place.
func (x *session) rerun(cmd *command, r *row, in turnInput) *outcome {
	if x.turn != nil {
		refusal := rejected("activePrompt")
		return &refusal
	}
	if failed := x.ensurePreferences(); failed != nil {
		refusal := failure(failed)
		return &refusal
	}
	i := slices.IndexFunc(x.Messages, func(m *storedMsg) bool { return m.ID == r.turn })
	if i < 0 {
		return &outcome{status: ackStale, reason: "proto.staleTarget"}
	}
	x.Messages = slices.Clone(x.Messages[:i])
	x.emit("rewind.triggered", object{"messageId": r.turn, "scope": "conversation"})
	in.edited = true
	x.start(cmd, "sendText", in)
	return nil
}

// said is the text of a message.
func (m *storedMsg) said() string {
	for _, p := range m.Parts {
		if p.Type == "text" {
			p.settle()
			return p.Text
		}
	}
	return ""
}
