package simulator

// hydration builds the rows of a session that comes into memory with a history. They are as of seq 0.
type hydration struct {
	*conversation
	end int64 // when the latest message of the turn was complete
}

func (c *conversation) hydrate() {
	x := c.x
	h := hydration{conversation: c}
	for _, m := range x.Messages {
		h.message(m)
	}
	h.closeTurn("")
	for _, r := range c.rows {
		if r.kind == rowUserInput {
			r.actions = object{"canEdit": true, "editDisposition": "rewind"}
		}
	}
	if r := c.retry; r != nil {
		r.actions = withAction(r.actions, "canRetry")
	}
	if x.LastError != nil {
		c.control = control{phase: phaseError, lastError: lastError(x.LastError, x.UpdatedAt)}
	}
	for _, a := range x.Subagents {
		c.manifest += a.changes()
	}
	c.turnOf, c.bumps = turnRows{key: lastKey(c.rows)}, false
}

func lastKey(rows []*row) string {
	if len(rows) == 0 {
		return ""
	}
	return rows[len(rows)-1].turn
}

func (h *hydration) message(m *storedMsg) {
	in := turnInput{source: m.Source, command: m.Command, client: m.Client, uploads: m.Uploads, text: m.said()}
	switch {
	case m.Role == "user" && m.Guided:
		h.guided(m.ID, m.Created, in)
	case m.Role == "user":
		h.closeTurn(m.ID)
		h.end = m.Created
		p := object{}
		if m.Hidden {
			p["inputVisibility"] = "model-only"
		}
		h.startTurnRows(source{at: m.Created}, p, in)
		h.control = control{phase: m.Outcome, ended: m.Outcome != phaseError}
		if m.Outcome == "" { // the process was killed while the turn ran
			h.control.phase = phaseInterrupted
		}
		h.model = m.Model
	default:
		for _, p := range m.Parts {
			h.part(m, p)
		}
		h.end = max(h.end, m.Completed)
	}
}

// closeTurn ends the turn that is being built and begins the one of the user message key.
func (h *hydration) closeTurn(key string) {
	if h.turnOf.header != nil {
		state := h.control.phase
		if state == phaseError {
			state = "failed"
		}
		h.endHeader(h.end, state, nil)
		h.retry = h.turnOf.answer
		if answer := h.turnOf.answer; answer != nil && state == phaseSuccess {
			answer.actions = object{"canFork": true}
		}
	}
	h.turnOf = turnRows{key: key, open: map[string]*row{}, tools: map[string]*row{}}
}

func (h *hydration) part(m *storedMsg, p *storedPart) {
	src := source{at: p.Start}
	switch p.Type {
	case "text", "reasoning":
		kind := map[string]string{"text": rowAssistantText, "reasoning": rowReasoning}[p.Type]
		r := h.startStream(kind, m.ID, p.Start)
		delete(h.turnOf.open, kind)
		p.settle()
		r.text, r.fields["state"] = escape(p.Text), "complete"
		if r.kind == rowAssistantText {
			r.judge(m.Feedback)
		}
	case "compaction":
		h.marker(src, "", object{"type": "compact", "trigger": "manual"})
	case "tool":
		r := h.startTool(src, p.Call.CallID, p.Call.Tool, m.ID)
		h.setInput(r, p.Call.Input)
		r.fields["status"], r.fields["startedAt"], r.fields["endedAt"] = "cancelled", p.Start, p.End
		if p.Call.Status == "completed" {
			r.fields["status"] = "success"
			r.setOutput(p.Call.CallID, p.Call.Output, nil)
		}
	}
}
