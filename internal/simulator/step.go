package simulator

import (
	"strings"
	"time"
)

// Pace and size of the simulated model.
const (
	firstTokenDelay = 350 * time.Millisecond // a fast hosted model
	wordDelay       = 40 * time.Millisecond  // about 25 words a second
	toolInputDelay  = 25 * time.Millisecond
	systemMessages  = 5    // messages before the first of the user: prompts and context
	systemTokens    = 9000 // tokens of prompts and tool descriptions
	charsPerToken   = 4
)

// step is one model request of a turn: it streams reasoning, text and tool calls, then the tools run.
type step struct {
	t         *turn
	message   *storedMsg
	requestID string
	spans     [2]string
	index     int
	startedAt int64
	text      strings.Builder
	usage     usage
	calls     []*toolCall
	first     map[string]bool // channels that have streamed something
}

// step plays one model request. Scripts stop early by themselves, since every call on a stopped turn does nothing.
func (t *turn) step(stream func(*step)) {
	if t.stopped() {
		return
	}
	x := t.x
	t.takeGuides()
	m := &step{t: t, index: t.steps, requestID: x.ids.uuid(), spans: [2]string{x.ids.span(), x.ids.span()},
		startedAt: x.s.clock.now(), first: map[string]bool{}}
	t.steps++
	m.announce()
	x.generateTitle(t)
	if !t.pause(firstTokenDelay) {
		return
	}
	m.message = x.newMessage("assistant", t.parent)
	x.newPart(m.message, "step-start")
	stream(m)
	if t.stopped() {
		return
	}
	m.commit()
	m.runTools()
}

func (m *step) announce() {
	x := m.t.x
	ref := x.Model.ref()
	x.emit("session.updated", object{"messageCount": len(x.Messages) + systemMessages, "model": ref.String(), "modelRef": ref,
		"toolCount": toolsOnHand, "iteration": m.index})
	x.emit("session.updated", m.request("model_request_started", nil))
}

// request is the status of the model request as session.updated carries it.
func (m *step) request(status string, more object) object {
	t := m.t
	o := object{
		"type": status, "requestId": m.requestID, "sessionId": t.x.ID, "attempt": 1, "maxAttempts": maxAttempts,
		"baseURL": providerURL, "transport": "sse", "querySource": "main_turn", "queryId": t.input.queryID,
		"modelRequestSessionType": "main", "spanId": m.spans[0], "parentSpanId": m.spans[1],
		"model":     object{"providerId": t.x.Model.ProviderID, "modelId": t.x.Model.ModelID, "role": "main", "source": "config"},
		"modelCall": object{"operation": "stream", "stepIndex": m.index, "reasoning": t.x.ThoughtLevel},
	}
	for key, value := range more {
		o[key] = value
	}
	return o
}

// think streams reasoning.
func (m *step) think(text string) { m.streamWords("reasoning_delta", "reasoning", text) }

// say streams an answer.
func (m *step) say(text string) { m.streamWords("text_delta", "text", text) }

func (m *step) streamWords(kind, partType, text string) {
	if m.t.stopped() {
		return
	}
	part := m.open(partType)
	for _, word := range words(text) {
		if !m.t.pause(wordDelay) {
			return
		}
		m.delta(kind, part, word)
	}
	m.close(part)
}

// open starts a part of the message.
func (m *step) open(partType string) *storedPart {
	part := m.t.x.newPart(m.message, partType)
	if partType != "tool" {
		m.t.x.inner("model.streaming", object{"kind": partType + "_start", "assistantMessageId": m.message.ID})
	}
	return part
}

func (m *step) close(part *storedPart) {
	part.End = m.t.x.s.clock.now()
	m.t.x.inner("model.streaming", object{"kind": part.Type + "_end", "assistantMessageId": m.message.ID})
}

// delta streams one piece of a text or reasoning part.
func (m *step) delta(kind string, part *storedPart, text string) {
	m.grow(part, text)
	m.t.x.emitted(source{kind: "model.streaming", delta: &delta{streamKey: streamKey{kind, m.message.ID, ""}, text: text}})
}

// grow adds text to a part without an event.
func (m *step) grow(part *storedPart, text string) {
	part.grow(text)
	tokens := 1 + len(text)/charsPerToken
	m.usage.Output += tokens
	if part.Type == "reasoning" {
		m.usage.Reasoning += tokens
		return
	}
	m.text.WriteString(text)
}

// call streams the input of a tool call; the tool runs after the step has ended.
func (m *step) call(c *toolCall) *toolCall {
	if m.t.stopped() {
		return c
	}
	x := m.t.x
	c.id, c.t, c.step, c.status = x.ids.call(), m.t, m, "pending"
	c.part = m.open("tool")
	c.part.Call = &toolState{CallID: c.id, Tool: c.name, Status: "pending", Input: c.input}
	stream := func(kind string, more object) {
		payload := object{"assistantMessageId": m.message.ID, "delta": "", "done": false, "kind": kind, "toolCallId": c.id}
		for key, value := range more {
			payload[key] = value
		}
		x.emit("model.streaming", payload)
	}
	stream("tool_input_start", object{"toolName": c.name})
	input := string(encode(c.input))
	for _, piece := range pieces(input, max(24, len(input)/maxInputPieces)) {
		if !m.t.pause(toolInputDelay) {
			return c
		}
		x.emitted(source{kind: "model.streaming", delta: &delta{streamKey: streamKey{"tool_input_delta", m.message.ID, c.id}, text: piece}})
	}
	stream("tool_input_end", nil)
	stream("tool_call", object{"toolName": c.name, "input": c.input, "done": true})
	m.usage.Output += 1 + len(input)/charsPerToken
	m.calls = append(m.calls, c)
	m.t.active = append(m.t.active, c)
	m.t.calls++
	return c
}

// maxInputPieces bounds how long the input of a tool takes to come: a command of megabytes is there to be looked at, not
// to be waited for.
const maxInputPieces = 200

// commit ends the model request: what it cost and what it said.
func (m *step) commit() {
	t, x := m.t, m.t.x
	finish := "stop"
	if len(m.calls) > 0 {
		finish = "tool-calls"
	}
	m.usage.Requests, m.usage.Input = 1, systemTokens+x.historyTokens()
	m.usage.CacheRead = m.usage.Input * 3 / 4
	now := x.s.clock.now()
	x.emit("session.updated", m.request("model_request_completed", object{
		"finishReason": finish, "durationMs": now - m.startedAt, "usage": m.usage.counts()}))
	total := x.Usage
	total.add(t.usage)
	total.add(m.usage)
	x.ContextUsed = m.usage.total()
	x.emit("session.updated", object{
		"content": m.text.String(), "contextWindow": x.model().contextWindow, "querySource": "main_turn", "stopReason": finish,
		"usage": m.usage.counts(), "cacheHit": cacheHit(m.usage, total), "toolCallCount": len(m.calls),
		"contextUsageBreakdown": []object{{"source": "system_prompt", "chars": 7800}, {"source": "messages", "chars": x.historyTokens() * charsPerToken}},
	})
	m.message.Usage, m.message.Finish, m.message.Completed = m.usage, finish, now
	last := x.newPart(m.message, "step-finish")
	last.Reason, last.Usage = finish, m.usage
	t.usage.add(m.usage)
	t.parent = m.message.ID
	t.response = m.text.String()
}

func (u usage) counts() object {
	return object{"inputTokens": u.Input, "outputTokens": u.Output, "totalTokens": u.total(),
		"cacheReadTokens": u.CacheRead, "cacheWriteTokens": u.CacheWrite}
}

func cacheHit(latest, total usage) object {
	rate := func(u usage) float64 { return float64(u.CacheRead) / float64(max(u.Input, 1)) }
	return object{
		"inputTokens": latest.Input, "cacheReadTokens": latest.CacheRead, "cacheWriteTokens": latest.CacheWrite,
		"latestHitRate": rate(latest), "hitRate": rate(total), "hitRateRequestCount": total.Requests,
		"totalInputTokens": total.Input, "totalCacheReadTokens": total.CacheRead, "totalCacheWriteTokens": total.CacheWrite,
	}
}

// historyTokens estimates the tokens of the conversation so far.
func (x *session) historyTokens() int {
	chars := 0
	for _, m := range x.Messages {
		for _, p := range m.Parts {
			p.settle()
			chars += len(p.Text)
			if p.Call != nil {
				chars += len(p.Call.Output)
			}
		}
	}
	return chars / charsPerToken
}

// words cuts text after each space, as models stream it.
func words(text string) []string { return strings.SplitAfter(text, " ") }

// pieces cuts text into runs of about n bytes, at character boundaries.
func pieces(text string, n int) []string {
	var list []string
	for len(text) > n {
		cut := n
		for cut < len(text) && text[cut]&0xc0 == 0x80 {
			cut++
		}
		list, text = append(list, text[:cut]), text[cut:]
	}
	return append(list, text)
}

// generateTitle has the lite model replace a title that was only copied from the first input.
func (x *session) generateTitle(t *turn) {
	if x.NoTitle || x.TitleSource != "first_input" || x.Turns != 1 || t.steps != 1 {
		return
	}
	request := x.ids.uuid()
	x.reportTitleRequest(t, request, "model_request_started")
	title := generatedTitle(x.Title)
	x.reportTitleRequest(t, request, "model_request_completed")
	before := x.Title
	x.Title, x.TitleSource = title, "generated"
	x.emit("session.titleUpdated", object{"previousTitle": before, "source": "generated", "title": title, "messageID": t.user.ID,
		"modelRef": object{"providerId": x.Model.ProviderID, "modelId": liteModel, "role": "lite", "source": "config"}})
}

func generatedTitle(input string) string {
	title := strings.TrimRight(strings.Join(firstWords(input, 6), " "), ".,:;!?")
	return "Request: " + title
}

// inputBytes is the length of a tool input as JSON, which events give in place of an input they leave out.
func inputBytes(input object) int { return len(encode(input)) }

func firstWords(text string, n int) []string {
	fields := strings.Fields(text)
	return fields[:min(n, len(fields))]
}
