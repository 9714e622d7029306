package simulator

import (
	"maps"
	"slices"
)

// toolUpdated reduces the life of a tool call after the model has made it.
func (c *conversation) toolUpdated(src source) {
	p := src.payload
	r := c.turnOf.tools[text(p, "toolCallId")]
	if r == nil {
		if p["kind"] != "scheduled" || c.turnOf.tools == nil {
			return
		}
		r = c.startTool(src, text(p, "toolCallId"), text(p, "toolName"), text(p, "assistantMessageId"))
		c.setInput(r, p["input"])
	}
	switch p["kind"] {
	case "scheduled":
	case "started":
		r.fields["status"], r.fields["startedAt"] = "running", p["startedAt"]
	case "progress":
		progress := object{"bytes": p["outputBytes"], "updatedAt": src.at}
		if progress["bytes"] == nil {
			progress["bytes"] = 0
		}
		r.fields["progress"] = progress
	case "result":
		c.toolResult(r, src)
	default: // batch, raw
		return
	}
	c.upsert(r)
}

func (c *conversation) toolResult(r *row, src source) {
	result, _ := src.payload["result"].(object)
	r.fields["status"], r.fields["endedAt"] = "success", src.at
	delete(r.fields, "progress")
	content := text(result, "content")
	if result["success"] != true {
		r.fields["status"], r.fields["error"] = "error", object{"code": "tool_error", "message": content}
	}
	r.setOutput(r.entity, content, result["display"])
	for _, k := range c.x.tasks {
		if k.toolCallID == r.entity {
			r.fields["backgrounded"], r.fields["workId"] = true, k.id
			c.tasks[k.id] = r
		}
	}
}

// taskChanged reduces the reports of background commands.
func (c *conversation) taskChanged(src source) {
	p := src.payload
	if r := c.tasks[text(p, "taskId")]; r != nil && p["status"] != taskRunning {
		c.upsert(r) // closes the output that was streamed
	}
	c.patchChanged("backgroundWorks")
}

// taskOutput is what a background command has printed since.
func (c *conversation) taskOutput(p object) {
	if r := c.tasks[text(p, "taskId")]; r != nil && r.output != nil {
		c.grow(r, outputPath, escape("\n"+text(p, "text")))
	}
}

// pendingInteraction is an open question as V4 shows it.
type pendingInteraction struct {
	id     string
	kind   string // permission, userInput
	callID string
	shown  object
	asks   *interaction // nil until it is put, a moment after the event
}

func pendingWire(list []*pendingInteraction) []object {
	out := []object{}
	for _, q := range list {
		o := maps.Clone(q.shown)
		if q.asks != nil && q.asks.auto != nil {
			o["autoResolution"] = q.asks.auto.wire()
		}
		out = append(out, o)
	}
	return out
}

// put joins a question with what was announced of it a moment ago. Its autoResolution shows with the patch that the
// announcement could not have: it is an event of its own.
func (c *conversation) put(asks *interaction) {
	for _, q := range c.pending {
		if q.id == asks.requestID {
			q.asks = asks
		}
	}
	if asks.auto != nil {
		c.x.inner("interaction.autoResolution", nil)
	}
}

// asked reduces permission.requested and userInput.requested.
func (c *conversation) asked(src source) {
	p := src.payload
	q := &pendingInteraction{id: text(p, "requestId"), kind: "permission", callID: text(p, "toolCallId")}
	payload := permissionPayload(p)
	if src.kind == "userInput.requested" {
		q.kind, payload = "userInput", userInputPayload(p)
		payload["traceId"] = c.x.TraceID
	}
	q.shown = object{"interactionId": q.id, "kind": q.kind, "anchorRowId": nil, "createdAt": src.at, "payload": payload}
	if r := c.turnOf.tools[q.callID]; r != nil {
		q.shown["anchorRowId"] = r.id
		r.fields["status"], r.fields["approvalInteractionId"] = "pendingApproval", q.id
		c.upsert(r)
	}
	c.pending = append(c.pending, q)
	c.patch("pendingInteractions")
}

func permissionPayload(p object) object {
	o := object{"kind": "permission", "toolCallId": p["toolCallId"], "toolName": p["toolName"], "summary": p["reason"], "detail": p["input"], "freeText": true}
	if origin, ok := p["origin"]; ok {
		o["origin"] = origin
	}
	kinds := map[string]string{"allow_once": "allowOnce", "allow_always": "allowAlways", "deny": "deny"}
	var options []object
	legacy, _ := p["options"].([]object)
	for _, option := range legacy {
		kind := kinds[text(option, "kind")]
		options = append(options, object{"optionId": kind, "kind": kind, "label": option["name"], "response": option["response"]})
	}
	o["options"] = options
	return o
}

func userInputPayload(p object) object {
	o := object{"kind": "userInput", "freeText": true}
	for _, key := range []string{"prompt", "toolCallId", "toolName", "input", "schema", "questions"} {
		if value, ok := p[key]; ok {
			o[key] = value
		}
	}
	return o
}

// inputAccepted tells whether an answer lets its tool run: anything but approval of a plan is feedback.
func inputAccepted(p object) bool {
	answers, _ := p["answers"].(map[string]string)
	return p["action"] == "accept" && (p["toolName"] != "ExitPlanMode" || answers[planQuestion] == "approve")
}

// decided reduces the end of a question, and decisions that no question was put for.
func (c *conversation) decided(p object, allowed bool) {
	callID := text(p, "toolCallId")
	r := c.turnOf.tools[callID]
	id := text(p, "requestId")
	if r != nil && (id != "" || !allowed) {
		delete(r.fields, "approvalInteractionId")
		r.fields["status"] = "running"
		if !allowed {
			r.fields["status"] = "cancelled"
		}
		if input, ok := p["modifiedInput"]; ok {
			c.setInput(r, input)
		}
		c.upsert(r)
	}
	if n := len(c.pending); id != "" && n > 0 {
		c.pending = slices.DeleteFunc(c.pending, func(q *pendingInteraction) bool { return q.id == id })
		if len(c.pending) < n {
			c.patch("pendingInteractions")
		}
	}
}

// subagentText shows a helper agent at work: its row appears, its summary grows, its row is closed.
func (c *conversation) subagentText(p object) {
	callID := text(p, "toolCallId")
	if c.turnOf.tools == nil {
		return
	}
	r := c.turnOf.tools["subagent:"+callID]
	if r == nil {
		r = c.newRow(rowSubagent, text(p, "agentId"), c.x.s.clock.peek(), object{"parentToolCallId": callID,
			"subagentType": p["subagentType"], "status": "running", "childSessionId": p["childSessionId"]})
		c.turnOf.tools["subagent:"+callID] = c.appendRow(r)
	}
	if piece := text(p, "text"); piece != "" {
		c.grow(r, "summaryText", escape(piece))
	}
	if status := text(p, "status"); status != taskRunning {
		r.fields["status"] = map[string]string{taskCompleted: "success", taskCancelled: "cancelled"}[status]
		c.upsert(r)
	}
}
