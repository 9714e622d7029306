package simulator

import (
	"maps"
	"strconv"
)

// reduce turns one event into operations, in the order in which the real app-server gives them.
func (c *conversation) reduce(src source) {
	p := src.payload
	switch src.kind {
	case "session.titleUpdated":
		c.title = object{"title": p["title"], "titleSource": titleSource(text(p, "source"))}
		c.patchChanged("meta")
	case "turn.started":
		c.turnStarted(src)
	case "turn.completed", "turn.failed":
		c.turnEnded(src)
	case "turn.steerQueued", "queue.changed":
		c.patchChanged("queue", "availability", "inputRouting")
	case "turn.steerDrained":
		c.drained(src)
	case "rewind.triggered":
		c.rewound(p)
	case "model.streaming":
		c.stream(src)
	case "tool.updated":
		if p["source"] != "subagent" { // those are for the helper's own topic
			c.toolUpdated(src)
		}
	case "permission.requested", "userInput.requested":
		c.asked(src)
	case "permission.resolved":
		c.decided(p, p["decision"] == "allow" || p["decision"] == "modify")
	case "userInput.resolved":
		c.decided(p, inputAccepted(p))
	case "interaction.autoResolution":
		c.patchChanged("pendingInteractions")
	case "session.updated":
		c.updated(src)
	case "config.changed":
		c.patchChanged("config", "inputRouting")
	case "goal.changed":
		c.patchChanged("goal", "control", "availability")
	case "fork.joined":
		c.marker(src, text(p, "commandId"), object{"type": "forkNotice", "parentSessionId": p["parentSessionId"]})
	case "fork.created":
		c.marker(src, text(p, "commandId"), object{"type": "forkCreated", "childSessionId": p["childSessionId"]})
	case "feedback.changed":
		c.judged(p)
	case "subagent.text":
		c.subagentText(p)
	case "task.output":
		c.taskOutput(p)
	}
}

// text is the string member of an event's payload; "" if it is not there.
func text(p object, key string) string {
	s, _ := p[key].(string)
	return s
}

// newRow is a row of the running turn.
func (c *conversation) newRow(kind, entity string, at int64, fields object) *row {
	return &row{kind: kind, turn: c.turnOf.key, entity: entity, createdAt: at, fields: fields}
}

// marker adds a line that stands between messages.
func (c *conversation) marker(src source, commandID string, what object) {
	fields := object{"lane": "conversation", "marker": what}
	if commandID != "" {
		fields["sourceCommandId"] = commandID
	}
	c.appendRow(c.newRow(rowMarker, "marker_"+strconv.Itoa(c.lastRow+1), src.at, fields))
}

// updated reduces session.updated, which carries very different things.
func (c *conversation) updated(src source) {
	p := src.payload
	switch {
	case p["cacheHit"] != nil:
		c.committed(p)
	case p["taskId"] != nil:
		c.taskChanged(src)
	case p["previousMode"] != nil:
		c.patchChanged("config")
	case p["type"] == "compaction_started":
		c.compactionStarted(src)
	case p["type"] == "compaction_completed":
		c.compactionEnded(src)
	}
}

// committed takes the cost of a model request.
func (c *conversation) committed(p object) {
	counts, _ := p["usage"].(object)
	total := c.x.Usage
	if t := c.x.turn; t != nil {
		total.add(t.usage)
	}
	input, _ := counts["inputTokens"].(int)
	output, _ := counts["outputTokens"].(int)
	cached, _ := counts["cacheReadTokens"].(int)
	written, _ := counts["cacheWriteTokens"].(int)
	total.add(usage{Input: input, Output: output, CacheRead: cached, CacheWrite: written})
	c.usage = object{"cumulative": cumulative(total), "contextWindow": object{"usedTokens": input + output,
		"maxTokens": p["contextWindow"], "autoCompactThresholdTokens": nil, "cache": p["cacheHit"], "breakdown": p["contextUsageBreakdown"]}}
	c.patch("usage")
}

func (c *conversation) compactionStarted(src source) {
	work := object{"kind": "compact", "startedAt": src.at}
	if t := c.x.turn; t != nil {
		work["foregroundExecutionId"] = t.execution()
		if t.input.command != "" {
			work["sourceCommandId"] = t.input.command
		}
	}
	c.control = control{phase: phaseRunning, target: targetCompact, works: []object{work}}
	c.patch("control", "availability", "inputRouting")
}

func (c *conversation) compactionEnded(src source) {
	command := ""
	if t := c.x.turn; t != nil {
		command = t.input.command
	}
	phase, keys := phaseSuccess, []string{"control", "availability", "inputRouting"}
	if src.payload["cancelled"] == true {
		if phase = phaseInterrupted; c.hold(phase) {
			keys = append(keys, "queue")
		}
	} else {
		c.marker(src, command, object{"type": "compact", "trigger": src.payload["trigger"],
			"contextUsedBefore": src.payload["contextUsedBefore"], "contextUsed": src.payload["contextUsed"]})
	}
	c.control = control{phase: phase, ended: true}
	c.patch(keys...)
	if window, ok := c.usage["contextWindow"].(object); ok && phase == phaseSuccess {
		window = maps.Clone(window)
		window["usedTokens"] = src.payload["contextUsed"]
		c.usage = object{"cumulative": c.usage["cumulative"], "contextWindow": window}
		c.patch("usage")
	}
}
