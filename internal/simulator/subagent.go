package simulator

import "strconv"

// subagent is one run of a helper agent inside a turn.
type subagent struct {
	ChildSessionID string `json:"childSessionId"`
	AgentID        string `json:"agentId"`
	ToolCallID     string `json:"toolCallId"`
	Type           string `json:"subagentType"`
	Title          string `json:"title"`
	StartedAt      int64  `json:"startedAt"`
	Status         string `json:"status"` // running, completed, cancelled
	Summary        string `json:"summary,omitempty"`
	EndedAt        int64  `json:"endedAt,omitempty"`
}

// delegate is a Task call: a helper agent makes the given calls in a session of its own, mirrored into this one.
func delegate(title string, calls ...*toolCall) *toolCall {
	c := &toolCall{name: "Task", title: title,
		input: object{"description": title, "prompt": "Find out what this project is.", "subagent_type": "general-purpose"}}
	c.work = func() toolResult { return c.runSubagent(calls) }
	return c
}

func (c *toolCall) runSubagent(calls []*toolCall) toolResult {
	x := c.t.x
	a := &subagent{AgentID: "agent_" + x.ids.uuid(), ToolCallID: c.id, Type: "general-purpose", Title: c.title,
		StartedAt: x.s.clock.now(), Status: taskRunning}
	a.ChildSessionID = "sess_subagent_" + a.AgentID
	x.Subagents = append(x.Subagents, a)
	child := x.spawnChild(a)
	childTurn := "turn_" + x.ids.uuid()
	m := child.newMessage("assistant", "")
	prompt, _ := c.input["prompt"].(string)
	child.inner("turn.started", object{"messageId": m.ID, "input": prompt, "inputVisibility": "model-only", "foregroundExecutionId": childTurn})
	tell := func(text, status string) {
		x.inner("subagent.text", object{"toolCallId": c.id, "agentId": a.AgentID, "subagentType": a.Type,
			"childSessionId": child.ID, "text": text, "status": status})
	}
	tell("", a.Status)
	for _, call := range calls {
		call.id, call.t, call.step, call.status = x.ids.call(), c.t, &step{t: c.t, message: m}, "pending"
		call.base = object{"parentToolCallId": c.id, "source": "subagent", "agentId": a.AgentID, "childSessionId": child.ID}
		call.origin = object{"kind": "subagent", "agentId": a.AgentID, "agentType": a.Type, "childSessionId": child.ID,
			"parentSessionId": x.ID, "parentToolCallId": c.id, "parentTurnId": c.t.id}
		call.child, call.childTurn = child, childTurn
		call.part = child.newPart(m, "tool")
		call.part.Call = &toolState{CallID: call.id, Tool: call.name, Status: "pending", Input: call.input}
		c.t.active = append(c.t.active, call)
		call.schedule([]string{call.id}, 0)
		if !call.run() {
			a.Status, a.EndedAt = taskCancelled, x.s.clock.now()
			tell("", a.Status)
			child.inner("turn.completed", object{"resultType": "cancelled"})
			return toolResult{}
		}
	}
	a.Status, a.EndedAt, a.Summary = taskCompleted, x.s.clock.now(), "This is a small demo project."
	child.newPart(m, "text").Text = a.Summary
	m.Completed = a.EndedAt
	for _, word := range words(a.Summary) {
		tell(word, taskRunning)
		c.t.pause(wordDelay)
	}
	tell("", a.Status)
	child.inner("turn.completed", object{"resultType": "success"})
	return toolResult{content: a.Summary}
}

// wire is the helper as lists of running ones show it.
func (a *subagent) wire() object {
	return object{"childSessionId": a.ChildSessionID, "agentId": a.AgentID, "toolCallId": a.ToolCallID, "subagentType": a.Type,
		"title": a.Title, "startedAt": a.StartedAt, "status": a.Status}
}

// changes is what the helper has contributed to the revision of such lists: it started, and it may have ended.
func (a *subagent) changes() int {
	if a.Status == taskRunning {
		return 1
	}
	return 2
}

// spawnChild makes the session in which a helper agent works. It cannot be prompted and goes with its parent.
func (x *session) spawnChild(a *subagent) *session {
	return x.s.materialize(record{ID: a.ChildSessionID, TraceID: x.TraceID, Kind: kindSubagent, ParentID: x.ID, Workspace: x.Workspace,
		Persistence: persistImmediate, Title: a.Title, TitleSource: "custom", Mode: x.Mode, Model: x.Model, ThoughtLevel: x.ThoughtLevel,
		CreatedAt: a.StartedAt, UpdatedAt: a.StartedAt, NoTitle: true})
}

// Page sizes of session/subagents.
const (
	defaultEndedLimit = 20
	maxEndedLimit     = 100
)

var subagentsShape = strict(req("sessionId", nonEmpty), opt("endedCursor", nonEmpty), opt("endedLimit", integer(1, maxEndedLimit)))

// readSubagents answers session/subagents from the store: a draft without input is not there yet.
func (s *server) readSubagents(r *request, p sessionParams) (any, *fault) {
	rec, ok := s.store.get(p.SessionID)
	if x, live := s.sessions[p.SessionID]; live && x.stored() {
		rec, ok = x.record, true
	}
	if !ok {
		return nil, notFound(p.SessionID)
	}
	children, running, ended := []string{}, []object{}, []object{}
	for _, a := range rec.Subagents {
		children = append(children, a.ChildSessionID)
		o := a.wire()
		if a.Status == taskRunning {
			running = append(running, o)
			continue
		}
		o["summary"], o["endedAt"] = a.Summary, a.EndedAt
		ended = append(ended, o)
	}
	limit := p.EndedLimit
	if limit == 0 {
		limit = defaultEndedLimit
	}
	from, _ := strconv.Atoi(p.EndedCursor)
	from = min(max(from, 0), len(ended))
	page := object{"total": len(ended), "items": ended[from:min(from+limit, len(ended))]}
	if from+limit < len(ended) {
		page["nextCursor"] = strconv.Itoa(from + limit)
	}
	return object{"revision": 1 + len(rec.Subagents), "childSessionIds": children, "running": running, "ended": page}, nil
}
