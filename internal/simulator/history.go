package simulator

// storedMsg is a message of the conversation.
type storedMsg struct {
	ID        string        `json:"id"`
	Role      string        `json:"role"` // user, assistant
	ParentID  string        `json:"parentId,omitempty"`
	TurnID    string        `json:"turnId"`
	Turn      int           `json:"turn"`
	Created   int64         `json:"created"`
	Completed int64         `json:"completed,omitempty"`
	Model     modelRef      `json:"model"`
	Level     string        `json:"level,omitempty"`
	Mode      string        `json:"mode"`
	Finish    string        `json:"finish,omitempty"`
	Usage     usage         `json:"usage"`
	Hidden    bool          `json:"hidden,omitempty"` // for the model only
	Source    string        `json:"source,omitempty"`
	Guided    bool          `json:"guided,omitempty"`  // joined a turn that was running
	Outcome   string        `json:"outcome,omitempty"` // of the turn it started: how its conversation's phase reads
	Command   string        `json:"command,omitempty"` // the V4 command that brought it, and its sender
	Client    string        `json:"client,omitempty"`
	Uploads   []object      `json:"uploads,omitempty"`
	Feedback  string        `json:"feedback,omitempty"` // like, dislike
	Parts     []*storedPart `json:"parts"`
}

// storedPart is one part of a message.
type storedPart struct {
	ID     string     `json:"id"`
	Type   string     `json:"type"` // text, reasoning, file, tool, step-start, step-finish, compaction
	Text   string     `json:"text,omitempty"`
	Start  int64      `json:"start,omitempty"`
	End    int64      `json:"end,omitempty"`
	Call   *toolState `json:"call,omitempty"`
	File   object     `json:"file,omitempty"`
	Reason string     `json:"reason,omitempty"`
	Usage  usage      `json:"usage"`

	tail []byte // streamed text that is not in Text yet, see settle
}

// grow adds streamed text. It stays beside Text until somebody looks, since joining strings for every word of a long
// answer would take time that grows with the square of its length.
func (p *storedPart) grow(text string) { p.tail = append(p.tail, text...) }

// settle brings Text up to date. Whoever reads Text calls it first.
func (p *storedPart) settle() {
	if len(p.tail) > 0 {
		p.Text += string(p.tail)
		p.tail = nil
	}
}

// toolState is where a tool call stands.
type toolState struct {
	CallID string `json:"callId"`
	Tool   string `json:"tool"`
	Status string `json:"status"` // pending, running, completed, error
	Input  object `json:"input"`
	Output string `json:"output,omitempty"`
	Title  string `json:"title,omitempty"`
	Error  string `json:"error,omitempty"`
}

func (x *session) newMessage(role, parentID string) *storedMsg {
	now := x.s.clock.now()
	m := &storedMsg{ID: x.ids.timed("msg", now), Role: role, ParentID: parentID, Created: now,
		Model: x.Model.ref(), Level: x.ThoughtLevel, Mode: x.Mode, Turn: x.Turns}
	if x.turn != nil {
		m.TurnID, m.Turn = x.turn.id, x.turn.number
	}
	x.Messages = append(x.Messages, m)
	return m
}

func (x *session) newPart(m *storedMsg, kind string) *storedPart {
	now := x.s.clock.now()
	p := &storedPart{ID: x.ids.timed("part", now), Type: kind, Start: now}
	m.Parts = append(m.Parts, p)
	return p
}

func (u usage) tokens() object {
	return object{"total": u.total(), "input": u.Input, "output": u.Output, "reasoning": u.Reasoning,
		"cache": object{"read": u.CacheRead, "write": u.CacheWrite}}
}

// protocolForm is how snapshots show messages.
func (x *session) protocolForm(list []*storedMsg) []object {
	out := []object{}
	for _, m := range list {
		info := object{"messageId": m.ID, "sessionId": x.ID, "role": m.Role, "time": m.times(), "agent": "main",
			"model": object{"providerId": m.Model.ProviderID, "modelId": m.Model.ModelID}}
		if m.Hidden {
			info["visibility"], info["synthetic"] = "model-only", true
		}
		if m.Source != "" {
			info["source"] = m.Source
		}
		if m.Role == "assistant" {
			info["parentMessageId"], info["path"] = m.ParentID, x.path()
			info["cost"], info["tokens"] = 0, m.Usage.tokens()
			if m.Finish != "" {
				info["finish"] = m.Finish
			}
		}
		parts := []object{}
		for _, p := range m.Parts {
			part := object{"partId": p.ID, "sessionId": x.ID, "messageId": m.ID, "type": p.Type}
			p.fill(part)
			if p.Call != nil {
				part["callId"], part["tool"], part["state"] = p.Call.CallID, p.Call.Tool, p.protocolState()
			}
			parts = append(parts, part)
		}
		out = append(out, object{"info": info, "parts": parts})
	}
	return out
}

// storeForm is how session/messages shows the same messages: as the rows of the store.
func (x *session) storeForm(list []*storedMsg) []object {
	out := []object{}
	for _, m := range list {
		info := object{"id": m.ID, "sessionID": x.ID, "role": m.Role, "time": m.times(), "agent": "main",
			"anchor": object{"turnId": m.TurnID, "turnIndex": m.Turn}, "semantics": object{"kind": m.semantics()}}
		if m.Role == "assistant" {
			info["parentID"], info["path"] = m.ParentID, x.path()
			info["modelId"], info["providerId"] = m.Model.ModelID, m.Model.ProviderID
			info["mode"], info["planEnabled"] = m.Mode, m.Mode == modePlan
			info["cost"], info["tokens"] = 0, m.Usage.tokens()
			if m.Finish != "" {
				info["finish"] = m.Finish
			}
		} else {
			info["modelSelection"] = modelSelection{m.Model, &modelOptions{m.Level}}
			info["contextSnapshot"], info["tools"] = object{}, object{}
		}
		parts := []object{}
		for _, p := range m.Parts {
			part := object{"type": p.Type, "id": p.ID, "sessionID": x.ID, "messageID": m.ID}
			p.fill(part)
			switch {
			case p.Call != nil:
				part["callID"], part["tool"], part["state"] = p.Call.CallID, p.Call.Tool, p.storeState()
			case p.Type == "text" || p.Type == "reasoning":
				part["time"] = object{"start": p.Start, "end": p.End}
			}
			parts = append(parts, part)
		}
		out = append(out, object{"info": info, "parts": parts})
	}
	return out
}

func (m *storedMsg) times() object {
	t := object{"created": m.Created}
	if m.Completed != 0 {
		t["completed"] = m.Completed
	}
	return t
}

func (m *storedMsg) semantics() string {
	switch {
	case m.Role == "assistant":
		return "assistant_response"
	case m.Hidden:
		return "synthetic_input"
	}
	return "user_input"
}

// fill adds the members that both forms share.
func (p *storedPart) fill(part object) {
	p.settle()
	switch p.Type {
	case "text", "reasoning", "compaction":
		part["text"] = p.Text
	case "file":
		for key, value := range p.File {
			part[key] = value
		}
	case "step-finish":
		part["reason"], part["cost"], part["tokens"] = p.Reason, 0, p.Usage.tokens()
	}
}

func (p *storedPart) protocolState() object {
	c := p.Call
	state := object{"status": c.Status, "input": c.Input}
	switch c.Status {
	case "pending":
		state["raw"] = string(encode(c.Input))
	case "running":
		state["startedAt"] = p.Start
	case "completed":
		state["output"], state["title"], state["metadata"] = c.Output, c.Title, object{}
		state["startedAt"], state["completedAt"] = p.Start, p.End
	case "error":
		state["error"], state["startedAt"], state["completedAt"] = c.Error, p.Start, p.End
	}
	return state
}

func (p *storedPart) storeState() object {
	c := p.Call
	state := object{"status": c.Status, "input": c.Input, "metadata": object{}}
	times := object{"start": p.Start}
	switch c.Status {
	case "completed":
		state["output"], state["title"], times["end"] = c.Output, c.Title, p.End
	case "error":
		state["error"], times["end"] = c.Error, p.End
	}
	state["time"] = times
	return state
}

func (x *session) path() object {
	return object{"cwd": x.Workspace.WorkspacePath, "root": x.Workspace.WorkspacePath}
}

// messagesAfter pages through the conversation: the messages after the cursor, of those the newest limit. A cursor
// that is not known counts as none.
func (x *session) messagesAfter(cursor string, limit int) []*storedMsg {
	list := x.Messages
	for i, m := range list {
		if m.ID == cursor {
			list = list[i+1:]
			break
		}
	}
	return newest(list, limit)
}

// newest are the last limit elements; 0 means all.
func newest[T any](list []T, limit int) []T {
	if limit > 0 && len(list) > limit {
		return list[len(list)-limit:]
	}
	return list
}
