package simulator

import (
	"slices"
	"strconv"
)

// streamRows are the kinds of rows that model streams fill.
var streamRows = map[string]string{
	"text_start": rowAssistantText, "text_delta": rowAssistantText, "text_end": rowAssistantText,
	"reasoning_start": rowReasoning, "reasoning_delta": rowReasoning, "reasoning_end": rowReasoning,
}

// fileTools are the tools whose streaming input is held back until it is complete.
var fileTools = []string{"Edit", "Write"}

// stream reduces what the model streams. Nothing of it counts unless a turn runs.
func (c *conversation) stream(src source) {
	if !c.control.running() || c.turnOf.open == nil {
		return
	}
	if d := src.delta; d != nil {
		c.streamDelta(src, *d)
		return
	}
	p := src.payload
	switch kind := text(p, "kind"); kind {
	case "text_start", "reasoning_start":
		c.startStream(streamRows[kind], text(p, "assistantMessageId"), src.at)
	case "text_end", "reasoning_end":
		if r := c.turnOf.open[streamRows[kind]]; r != nil {
			delete(c.turnOf.open, streamRows[kind])
			r.fields["state"] = "complete"
			c.upsert(r)
		}
	case "tool_input_start":
		c.startTool(src, text(p, "toolCallId"), text(p, "toolName"), text(p, "assistantMessageId"))
	case "tool_input_end":
		if c.heldInput != nil {
			c.grow(c.heldInput, "inputText", c.held)
			c.heldInput, c.held = nil, nil
		}
	case "tool_call":
		if r := c.turnOf.tools[text(p, "toolCallId")]; r != nil {
			c.setInput(r, p["input"])
			c.upsert(r)
			c.planned(p, src.at)
		}
	}
}

func (c *conversation) streamDelta(src source, d delta) {
	piece := escape(d.text)
	if d.raw != nil {
		piece = escaped(d.raw[1 : len(d.raw)-1])
	}
	if d.toolCallID != "" {
		switch r := c.turnOf.tools[d.toolCallID]; {
		case r == nil:
		case slices.Contains(fileTools, text(r.fields, "toolName")):
			c.heldInput, c.held = r, append(c.held, piece...)
		default:
			c.grow(r, "inputText", piece)
		}
		return
	}
	kind := streamRows[d.kind]
	r := c.turnOf.open[kind]
	if r == nil || r.entity != d.messageID {
		r = c.startStream(kind, d.messageID, src.at)
	}
	c.grow(r, "text", piece)
}

// startStream opens a row of text or reasoning and closes the one of that kind that is still open.
func (c *conversation) startStream(kind, messageID string, at int64) *row {
	if before := c.turnOf.open[kind]; before != nil {
		before.fields["state"] = "complete"
		c.upsert(before)
	}
	r := c.appendRow(c.newRow(kind, messageID, at, object{"assistantResponseId": messageID, "state": "streaming"}))
	c.turnOf.open[kind] = r
	if kind == rowAssistantText {
		c.turnOf.answer = r
	}
	return r
}

func (c *conversation) startTool(src source, callID, name, messageID string) *row {
	fields := object{"toolCallId": callID, "toolName": name, "status": "inputStreaming"}
	if messageID != "" {
		fields["assistantResponseId"] = messageID
	}
	r := c.appendRow(c.newRow(rowToolCall, callID, src.at, fields))
	c.turnOf.tools[callID] = r
	return r
}

func (c *conversation) setInput(r *row, input any) {
	r.fields["input"] = raw(encode(input)) // as it is now: scripts may change it
	r.text = escape(string(encode(input)))
}

// planned takes the todo list out of a call that replaces it.
func (c *conversation) planned(p object, at int64) {
	input, _ := p["input"].(object)
	todos, ok := input["todos"].([]object)
	if !ok || text(p, "toolName") != "TodoWrite" {
		return
	}
	items := []object{}
	for i, d := range todos {
		status := text(d, "status")
		if status == "in_progress" {
			status = "inProgress"
		}
		items = append(items, object{"id": strconv.Itoa(i + 1), "content": d["content"], "status": status})
	}
	c.plan = object{"items": items, "updatedAt": at}
	c.patch("plan")
}
