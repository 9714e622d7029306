package simulator

import (
	"maps"
	"slices"
	"strconv"
)

// origins of turns that no user typed, by inputSource.
var origins = map[string]string{"background_task": "backgroundResult", "goal": "goalContinuation"}

func (c *conversation) turnStarted(src source) {
	p := src.payload
	c.turnOf = turnRows{key: text(p, "messageId"), open: map[string]*row{}, tools: map[string]*row{}}
	if model := c.x.Model.ref(); c.model != (modelRef{}) && c.model != model {
		c.marker(src, "", object{"type": "modelChange", "from": c.model, "to": model})
	}
	c.model = c.x.Model.ref()
	var in turnInput
	if t := c.x.turn; t != nil {
		in = t.input
	}
	c.startTurnRows(src, p, in)
	c.control = control{phase: phaseRunning, target: targetAssistant, works: []object{{
		"kind": "primaryTurn", "foregroundExecutionId": p["foregroundExecutionId"], "startedAt": src.at}}}
	c.patch("control", "availability", "inputRouting")
	for _, k := range c.x.tasks {
		k.reported = k.reported || k.status != taskRunning
	}
	c.patchChanged("backgroundWorks", "goal")
}

// startTurnRows adds the header of a turn and what its user wrote.
func (c *conversation) startTurnRows(src source, p object, in turnInput) {
	header := object{"origin": "userInput", "executionKind": "agent", "state": "running", "startedAt": src.at}
	if origin, ok := origins[in.source]; ok {
		header["origin"] = origin
	} else if in.edited {
		header["origin"] = "editRerun"
	}
	if in.command != "" {
		header["sourceCommandId"] = in.command
	}
	c.turnOf.header = c.appendRow(c.newRow(rowTurnHeader, c.turnOf.key, src.at, header))
	if p["inputVisibility"] != "model-only" {
		c.appendRow(c.inputRow(c.turnOf.key, src.at, in.text, in))
	}
}

func (c *conversation) inputRow(entity string, at int64, said string, in turnInput) *row {
	fields := object{"origin": "realUser"}
	if in.command != "" {
		fields["sourceCommandId"], fields["rootSourceCommandId"], fields["clientId"] = in.command, in.command, in.client
	}
	if len(in.uploads) > 0 {
		fields["attachments"] = in.uploads
	}
	r := c.newRow(rowUserInput, entity, at, fields)
	r.text = escape(said)
	return r
}

func (c *conversation) turnEnded(src source) {
	p := src.payload
	state, phase := phaseSuccess, phaseSuccess
	switch {
	case src.kind == "turn.failed":
		state, phase = "failed", phaseError
	case p["resultType"] != "success":
		state, phase = phaseInterrupted, phaseInterrupted
	}
	c.closeStreams(map[string]string{phaseSuccess: "complete", phaseInterrupted: "interrupted", "failed": "failed"}[state])
	c.closeTools(map[bool]string{true: "cancelled", false: "error"}[state == phaseInterrupted], src.at)
	c.endHeader(src.at, state, p["historyRoundCount"])
	if answer := c.turnOf.answer; answer != nil && state == phaseSuccess {
		answer.actions = object{"canFork": true}
		c.upsert(answer)
	}
	c.retry = c.turnOf.answer
	c.control = control{phase: phase, ended: phase != phaseError}
	if failure, ok := p["error"].(object); ok {
		c.control.lastError = lastError(failure, src.at)
	}
	keys := []string{"control", "availability", "inputRouting"}
	if c.hold(phase) {
		keys = append(keys, "queue")
	}
	c.pending = nil
	c.patch(keys...)
	c.patchChanged("pendingInteractions", "goal", "backgroundWorks")
}

// hold keeps what is queued from running after a stop or an error, until somebody says so.
func (c *conversation) hold(phase string) bool {
	if phase == phaseSuccess || len(c.queue.items) == 0 {
		return false
	}
	c.queue.autoDrain, c.queue.pauseReason = false, pauseStopped
	if phase == phaseError {
		c.queue.pauseReason = pauseError
	}
	for _, q := range c.queue.items {
		q.fallBack()
	}
	return true
}

func lastError(failure object, at int64) object {
	e := object{"code": failure["code"], "message": failure["message"], "recoverable": failure["retryable"] == true, "at": at, "source": "turn"}
	if attribution, ok := failure["attribution"]; ok {
		e["attribution"] = attribution
	}
	return e
}

func (c *conversation) closeStreams(state string) {
	for _, kind := range []string{rowReasoning, rowAssistantText} {
		if r := c.turnOf.open[kind]; r != nil {
			r.fields["state"] = state
			c.upsert(r)
		}
	}
	clear(c.turnOf.open)
}

// closeTools ends the calls that got no result.
func (c *conversation) closeTools(status string, at int64) {
	c.heldInput, c.held = nil, nil
	for _, r := range c.rows[c.firstOfTurn():] {
		if r.kind != rowToolCall && r.kind != rowSubagent || r.turn != c.turnOf.key {
			continue
		}
		switch r.fields["status"] {
		case "inputStreaming", "pendingApproval", "running":
			delete(r.fields, "approvalInteractionId")
			r.fields["status"], r.fields["endedAt"] = status, at
			if r.kind == rowSubagent && status == "error" {
				r.fields["status"] = "failed"
			}
			c.upsert(r)
		}
	}
}

// firstOfTurn is the index of the running turn's first row.
func (c *conversation) firstOfTurn() int {
	i := len(c.rows)
	for i > 0 && c.rows[i-1].turn == c.turnOf.key {
		i--
	}
	return i
}

func (c *conversation) endHeader(at int64, state string, rounds any) {
	r := c.turnOf.header
	if r == nil {
		return
	}
	started, _ := r.fields["startedAt"].(int64)
	r.fields["state"], r.fields["endedAt"], r.fields["activeMs"] = state, at, at-started
	if rounds != nil {
		r.fields["historyRoundCount"] = rounds
	}
	c.upsert(r)
}

// drained reduces turn.steerDrained: queued inputs reach the model. A guide joins the running turn, anything else
// closes its rows and opens those of the next.
func (c *conversation) drained(src source) {
	inputs, _ := src.payload["drainedInputs"].([]object)
	for _, in := range inputs {
		entity := text(in, "messageId")
		queued := turnInput{text: text(in, "input"), command: text(in, "inputId"), client: text(in, "clientId")}
		queued.uploads, _ = in["attachments"].([]object)
		if in["delivery"] == routeGuide {
			c.guided(entity, src.at, queued)
			continue
		}
		c.closeStreams("complete")
		c.endHeader(src.at, phaseSuccess, src.payload["historyRoundCount"])
		if answer := c.turnOf.answer; answer != nil {
			answer.actions = object{"canFork": true}
			c.upsert(answer)
		}
		c.turnOf = turnRows{key: entity, open: map[string]*row{}, tools: map[string]*row{}}
		c.startTurnRows(src, object{}, queued)
	}
	c.patchChanged("queue", "availability", "inputRouting")
}

func (c *conversation) guided(entity string, at int64, in turnInput) {
	if r := c.turnOf.header; r != nil {
		segments, _ := r.fields["workSegments"].([]object)
		segments = append(slices.Clone(segments), object{"segmentId": "segment_" + strconv.Itoa(len(segments)+1), "triggerEntityId": entity, "startedAt": at})
		r.fields["workSegments"] = segments
		c.upsert(r)
	}
	r := c.inputRow(entity, at, in.text, in)
	r.fields["guided"] = true
	c.appendRow(r)
}

// rewound reduces rewind.triggered: the rows from the target's turn on are gone.
func (c *conversation) rewound(p object) {
	key := text(p, "messageId")
	i := slices.IndexFunc(c.rows, func(r *row) bool { return r.turn == key })
	if i >= 0 {
		c.removeFrom(c.rows[i].id)
	}
	c.turnOf, c.retry = turnRows{key: lastKey(c.rows)}, nil
}

// judged reduces what somebody thinks of the answer that a message holds.
func (c *conversation) judged(p object) {
	for _, r := range c.rows {
		if r.kind == rowAssistantText && r.entity == p["entityId"] {
			r.judge(text(p, "feedback"))
			c.upsert(r)
		}
	}
}

// judge puts feedback on the row; "" takes it off.
func (r *row) judge(feedback string) {
	delete(r.fields, "feedback")
	if feedback != "" {
		r.fields["feedback"] = feedback
	}
}

// updateActions offers on each row what a user may do with it now.
func (c *conversation) updateActions() {
	for i := len(c.rows) - 1; i >= 0 && c.rows[i].seq == c.seq; i-- { // rows of this event
		if r := c.rows[i]; r.kind == rowUserInput && r.actions == nil {
			r.actions = object{"canEdit": true, "editDisposition": "rewind"}
			c.upsert(r)
		}
	}
	r := c.retry
	switch {
	case r == nil || c.control.running() != (r.actions["canRetry"] != nil):
		return
	case c.control.running():
		r.actions = maps.Clone(r.actions)
		if delete(r.actions, "canRetry"); len(r.actions) == 0 {
			r.actions = nil
		}
		c.retry = nil
	default:
		r.actions = withAction(r.actions, "canRetry")
	}
	c.upsert(r)
}

// withAction gives the actions of a row with one more.
func withAction(actions object, name string) object {
	o := object{name: true}
	maps.Copy(o, actions)
	return o
}
