package simulator

// hydrate builds the rows of a session that comes into memory with a history. They are as of seq 0.
func (c *conversation) hydrate() {
	x := c.x
	for _, m := range x.Messages {
		c.hydrateMessage(m)
	}
	c.closeHydrated("")
	c.turnOf, c.bumps = turnRows{}, false
	if len(x.Messages) > 0 && c.control.phase == phaseDraft {
		c.control = control{phase: phaseSuccess, ended: true}
	}
	if x.LastError != nil {
		c.control = control{phase: phaseError, lastError: lastError(x.LastError, x.UpdatedAt)}
	}
	for _, a := range x.Subagents {
		c.manifest++
		if a.Status != taskRunning {
			c.manifest++
		}
	}
	if r := c.retry; r != nil {
		actions := object{"canRetry": true}
		if r.actions["canFork"] != nil {
			actions["canFork"] = true
		}
		r.actions = actions
	}
}

func (c *conversation) hydrateMessage(m *storedMsg) {
	in := turnInput{source: m.Source, command: m.Command, client: m.Client, uploads: m.Uploads}
	for _, p := range m.Parts {
		p.settle()
		if p.Type == "text" && m.Role == "user" {
			in.text = p.Text
		}
	}
	switch {
	case m.Role == "user" && m.Guided:
		c.guided(m.ID, m.Created, in)
	case m.Role == "user":
		c.closeHydrated(m.ID)
		p := object{}
		if m.Hidden {
			p["inputVisibility"] = "model-only"
		}
		c.startTurnRows(source{at: m.Created}, p, in)
		c.control = control{phase: m.Outcome, ended: m.Outcome != phaseError}
		if m.Outcome == "" { // the process was killed while the turn ran
			c.control.phase = phaseInterrupted
		}
		c.model = m.Model
	default:
		for _, p := range m.Parts {
			c.hydratePart(m, p)
		}
	}
	for _, r := range c.rows {
		if r.kind == rowUserInput && r.actions == nil {
			r.actions = object{"canEdit": true, "editDisposition": "rewind"}
		}
	}
}

// closeHydrated ends the turn that is being built and begins the one of the user message key.
func (c *conversation) closeHydrated(key string) {
	if header := c.turnOf.header; header != nil {
		end := header.createdAt
		for _, m := range c.x.Messages {
			if m.ParentID != "" && m.Created >= header.createdAt && m.ID != key && (key == "" || m.Created <= c.created(key)) {
				end = max(end, m.Completed)
			}
		}
		state := c.control.phase
		if state == phaseError {
			state = "failed"
		}
		c.endHeader(end, state, nil)
		c.retry = c.turnOf.answer
		if answer := c.turnOf.answer; answer != nil && state == phaseSuccess {
			answer.actions = object{"canFork": true}
		}
	}
	c.turnOf = turnRows{key: key, open: map[string]*row{}, tools: map[string]*row{}}
}

func (c *conversation) created(messageID string) int64 {
	for _, m := range c.x.Messages {
		if m.ID == messageID {
			return m.Created
		}
	}
	return 0
}

func (c *conversation) hydratePart(m *storedMsg, p *storedPart) {
	src := source{at: p.Start}
	switch p.Type {
	case "text", "reasoning":
		kind := map[string]string{"text": rowAssistantText, "reasoning": rowReasoning}[p.Type]
		r := c.startStream(kind, m.ID, p.Start)
		delete(c.turnOf.open, kind)
		r.text, r.fields["state"] = escape(p.Text), "complete"
	case "compaction":
		c.marker(src, "", object{"type": "compact", "trigger": "manual"})
	case "tool":
		r := c.startTool(src, p.Call.CallID, p.Call.Tool, m.ID)
		c.setInput(r, p.Call.Input)
		r.fields["startedAt"], r.fields["endedAt"] = p.Start, p.End
		r.fields["status"] = "success"
		if p.Call.Status != "completed" {
			r.fields["status"] = "cancelled"
			return
		}
		r.setOutput(p.Call.CallID, p.Call.Output, nil)
	}
}
