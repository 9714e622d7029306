package simulator

import (
	"maps"
	"time"
)

// toolCall is one call of a tool by the simulated model. Guarded by the loop.
type toolCall struct {
	// Set by the script.
	name   string
	input  object
	title  string
	risk   string      // "" means that the tool is harmless and asks nobody
	rule   string      // ruleContent of a lasting permission
	edits  bool        // changes files, which the mode edit allows unasked
	decide func() bool // asks a human in its own way (questions, plans) in place of a permission; false denies
	work   func() toolResult

	// Set by the step.
	id        string
	t         *turn
	step      *step
	part      *storedPart
	status    string // pending, running, completed, failed, denied
	startedAt int64
	reason    string // why it was denied
	result    toolResult
	base      object   // members that all tool events carry (subagent calls)
	origin    object   // who asks, if not the main agent
	requestID string   // of the question that decide puts
	child     *session // the helper agent's session, which gets a copy of the events
	childTurn string
}

// toolResult is what a tool hands back to the model.
type toolResult struct {
	content string
	failed  bool
	perf    object
	display any
}

// runTools runs the calls of a step one after the other and closes the batch.
func (m *step) runTools() {
	if len(m.calls) == 0 {
		return
	}
	x := m.t.x
	var all []string
	for _, c := range m.calls {
		all = append(all, c.id)
	}
	good, bad := 0, 0
	for i, c := range m.calls {
		c.schedule(all, i)
		if !c.run() {
			return
		}
		if c.status == "completed" {
			good++
		} else {
			bad++
		}
	}
	x.emit("tool.updated", object{"kind": "batch", "toolCallIds": all, "successCount": good, "errorCount": bad})
	for i, c := range m.calls {
		kind := "tool_result"
		if c.status != "completed" {
			kind = "tool_error"
		}
		x.emit("streamRecovery.updated", object{
			"anchorId": m.message.ID + ":" + c.id + ":tool-result", "attemptId": m.message.ID + ":end-of-stream", "kind": kind,
			"assistantMessageId": m.message.ID, "toolCallId": c.id, "toolName": c.name, "resultPartId": c.part.ID,
			"committedToolCallIds": all[:i+1], "committedAt": isoTime(x.s.clock.now())})
	}
	m.t.active = nil
}

func (c *toolCall) emit(payload object) {
	payload["toolCallId"] = c.id
	if c.child != nil {
		c.child.emitted(source{kind: "tool.updated", turnID: c.childTurn, payload: maps.Clone(payload)})
	}
	for key, value := range c.base {
		payload[key] = value
	}
	c.t.x.emit("tool.updated", payload)
}

func (c *toolCall) schedule(all []string, index int) {
	o := object{"kind": "scheduled", "assistantMessageId": c.step.message.ID, "toolName": c.name, "dependencies": []string{},
		"parallelGroupIndex": index, "canRunParallel": false,
		"schedule": object{"parallelGroups": groupsOfOne(all), "executionOrder": all}}
	if c.child != nil { // this stream has not shown the input of a helper's call
		o["input"] = c.input
	} else { // the event tool_call has
		o["inputByteLength"], o["inputOmitted"], o["inputRef"] = inputBytes(c.input), true, "model_stream"
	}
	c.emit(o)
}

func groupsOfOne(ids []string) [][]string {
	var groups [][]string
	for _, id := range ids {
		groups = append(groups, []string{id})
	}
	return groups
}

// run decides whether the tool may run, runs it, and reports whether the turn goes on.
func (c *toolCall) run() bool {
	x := c.t.x
	allowed := c.permitted()
	if c.t.stopped() {
		return false
	}
	c.part.Call.Input = c.input
	if !allowed { // a denied call has no further event of its own
		c.finish("denied", c.reason)
		return true
	}
	c.status, c.startedAt = "running", x.s.clock.now()
	c.part.Start, c.part.Call.Status = c.startedAt, "running"
	x.save() // a process that is killed now leaves a trace of the running call
	if c.t.stopped() {
		return false
	}
	c.emit(object{"kind": "started", "toolName": c.name, "startedAt": c.startedAt})
	c.result = c.work()
	if c.t.stopped() {
		return false
	}
	c.emit(object{"kind": "result", "result": c.result.wire(), "duration": x.s.clock.now() - c.startedAt})
	if c.result.failed {
		c.finish("failed", c.result.content)
	} else {
		c.finish("completed", "")
	}
	return true
}

func (c *toolCall) finish(status, failure string) {
	now := c.t.x.s.clock.now()
	c.status, c.part.End = status, now
	if c.startedAt == 0 {
		c.part.Start = now
	}
	if failure != "" {
		c.part.Call.Status, c.part.Call.Error = "error", failure
		return
	}
	c.part.Call.Status, c.part.Call.Output, c.part.Call.Title = "completed", c.result.content, c.title
}

func (r toolResult) wire() object {
	o := object{"success": !r.failed, "content": r.content, "truncated": false, "originalBytes": len(r.content),
		"returnedBytes": len(r.content), "budgetStrategy": "artifact"}
	if r.failed {
		o["error"] = r.content
	}
	if r.perf != nil {
		o["perf"] = r.perf
	}
	if r.display != nil {
		o["display"] = r.display
	}
	return o
}

// progress reports that the tool still works.
func (c *toolCall) progress(more object) {
	o := object{"kind": "progress", "toolName": c.name, "elapsedMs": c.t.x.s.clock.now() - c.startedAt}
	for key, value := range more {
		o[key] = value
	}
	c.emit(o)
}

// Pace of the simulated tools.
const (
	readDelay    = 120 * time.Millisecond
	commandDelay = 600 * time.Millisecond
)

// bash is a Bash call that would print output.
func bash(line, description, output string) *toolCall {
	c := &toolCall{name: "Bash", title: description, risk: "high", rule: line,
		input: object{"command": line, "description": description}}
	c.work = func() toolResult {
		c.t.pause(commandDelay / 2)
		c.progress(object{"pid": simulatedPid, "stdoutBytes": 0, "stderrBytes": 0, "outputBytes": 0})
		c.t.pause(commandDelay / 2)
		return commandResult(c, output)
	}
	return c
}

// simulatedPid is shown as the process of simulated commands; no process runs.
const simulatedPid = 4242

func commandResult(c *toolCall, output string) toolResult {
	elapsed := c.t.x.s.clock.now() - c.startedAt
	line, _ := c.input["command"].(string)
	return toolResult{content: output, perf: object{"totalMs": elapsed, "detail": object{"kind": "command", "command": object{
		"runMs": elapsed, "noOutputMs": elapsed / 2, "exitCode": 0, "timedOut": false, "outputBytes": len(output) + 1,
		"category": "shell", "count": 1, "name": firstWord(line), "status": "completed", "hash": sha256Hex(line)[:16]}}}}
}

// readFile is a Read call, harmless in every mode.
func readFile(path, content string) *toolCall {
	c := &toolCall{name: "Read", title: path, input: object{"file_path": path}}
	c.work = func() toolResult {
		c.t.pause(readDelay)
		return toolResult{content: content}
	}
	return c
}
