package acp

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// History replays stored messages, oldest first, and remembers them, so that events do not tell them again. A long
// history may come in several calls.
func (t *Translator) History(messages []json.RawMessage) (updates []Update) {
	list := visibleMessages(messages)
	open := t.openFrom(list)
	for i, m := range list {
		if m.role == roleUser {
			updates = append(updates, t.closeCards(statusFailed)...) // what was open of the turn before
		}
		updates = append(updates, t.replay(m, i >= open)...)
		s := t.message(m.id)
		s.text.hear(m.text("text"))
		s.thought.hear(m.text("reasoning"))
	}
	return updates
}

// Earlier replays a page of load_earlier. It changes nothing that events depend on.
func (t *Translator) Earlier(messages []json.RawMessage) (updates []Update) {
	page := NewTranslator(TranslatorOptions{SessionID: t.o.SessionID})
	for _, m := range visibleMessages(messages) {
		for _, u := range page.replay(m, false) {
			updates = append(updates, withMeta(u, `{"zcode":{"earlierPage":true}}`))
		}
	}
	return updates
}

// withMeta adds a _meta to an update, whatever is in the one it has.
func withMeta(u Update, meta string) Update {
	var members map[string]json.RawMessage
	if json.Unmarshal(u.JSON, &members) != nil {
		return u
	}
	var both map[string]json.RawMessage
	_ = json.Unmarshal(members["_meta"], &both)
	if both == nil {
		both = map[string]json.RawMessage{}
	}
	var more map[string]json.RawMessage
	_ = json.Unmarshal([]byte(meta), &more)
	for key, value := range more {
		both[key] = value
	}
	members["_meta"] = encode(both)
	return Update{u.Kind, encode(members)}
}

// visibleMessages are the messages to show, each once.
func visibleMessages(messages []json.RawMessage) (list []message) {
	for _, m := range ReadLog(messages).messages {
		list = append(list, readMessage(m.raw))
	}
	return list
}

// openFrom is where the turn that runs begins in list; its end if none runs.
func (t *Translator) openFrom(list []message) int {
	if t.turn == "" {
		return len(list)
	}
	i := len(list) - 1
	for i > 0 && list[i].role != roleUser {
		i--
	}
	return max(i, 0)
}

// replay shows one message. open says that its turn runs.
func (t *Translator) replay(m message, open bool) (updates []Update) {
	if kind := m.foldKind(); kind != "" {
		return []Update{m.folded(kind)}
	}
	for i, stored := range m.parts {
		switch stored.kind {
		case "text":
			updates = append(updates, m.chunk(readPart(stored.raw).words())...)
		case "reasoning":
			if text := readPart(stored.raw).words(); text != "" && m.role != roleUser {
				updates = append(updates, newChunk(updateThought, chunkID(updateThought, m.id), textBlock(text)))
			}
		case "file":
			if b, ok := fileOf(stored.raw); ok {
				updates = append(updates, newChunk(m.kind(), m.id, b))
			}
		case "tool":
			p := readPart(stored.raw)
			updates = append(updates, t.replayTool(p, m.callID(p, i), open)...)
		}
	}
	return updates
}

// callID is the id of the call in the message's part i.
func (m *message) callID(p part, i int) string { return first(p.CallID, m.id+"_"+strconv.Itoa(i)) }

func (m *message) kind() string {
	if m.role == roleUser {
		return updateUser
	}
	return updateAgent
}

func (m *message) chunk(text string) []Update {
	if m.role == roleUser {
		text = withoutReminders(text)
	}
	if text == "" {
		return nil
	}
	return []Update{newChunk(m.kind(), m.id, textBlock(text))}
}

// folded is a card in the place of a long text that the app-server wrote for the model.
func (m *message) folded(kind string) Update {
	u := toolUpdate{SessionUpdate: updateTool, ToolCallID: "histfold_" + m.id, Title: foldTitles[kind], Kind: "other", Status: statusCompleted,
		Meta: object{"zcode": object{"collapsed": true, "kind": kind}}}
	if text := cut(strings.TrimSpace(withoutReminders(m.text("text")+m.text("compaction"))), maxOutput); text != "" {
		u.Content = []any{wrap(textBlock(text))}
	}
	return u.update()
}

// replayTool shows a stored call as one whole card.
func (t *Translator) replayTool(p part, id string, open bool) []Update {
	c := t.card(id)
	if c.shown && c.final && !c.guessed {
		return nil
	}
	c.know(p.Tool, p.State.Input)
	u := toolUpdate{SessionUpdate: updateTool, ToolCallID: id, Title: first(p.State.Title, toolTitle(c.tool, p.State.Input)),
		Kind: toolKind(c.tool), RawInput: shortInput(p.State.Input), Meta: c.meta("")}
	u.Status, u.Content, u.Locations = p.outcome(open)
	if u.Locations == nil {
		u.Locations = placesOf(p.Tool, p.State.Input)
	}
	if !isDiff(u.Content) { // of a change nothing else need be shown
		u.Content = append(p.asked(), u.Content...)
	}
	if u.Status == statusCompleted {
		u.RawOutput = head(plain(p.output().text), maxRawOutput)
	}
	c.shown, c.status = true, u.Status
	if u.Status == statusCompleted || u.Status == statusFailed {
		c.finish(false)
	} else if isCommand(c.tool) {
		c.terminal = &terminal{} // what it prints from here on is shown as text
	}
	return []Update{newUpdate(updateTool, u)}
}

// outcome is how a stored call went, and what it gave.
func (p part) outcome(open bool) (status string, content []any, places []location) {
	switch p.State.Status {
	case "completed":
		content, places = contentOf(p.Tool, p.State.Input, p.output())
		return statusCompleted, content, places
	case "error":
		return statusFailed, p.failure(first(errorText(p.State.Error), "The tool failed and did not say why.")), nil
	case "pending":
		if open {
			return statusPending, nil, nil
		}
	case "running":
		if open {
			return statusRunning, nil, nil
		}
	}
	return statusFailed, p.failure("This did not finish."), nil
}

func (p part) failure(text string) []any {
	return []any{wrap(textBlock(fenced("", cut(plain(text), maxOutput))))}
}

func isDiff(content []any) bool {
	if len(content) == 0 {
		return false
	}
	_, ok := content[0].(diff)
	return ok
}

// output is the stored result.
func (p part) output() result {
	r := result{display: p.State.Metadata.Display, exitCode: p.State.Metadata.ExitCode}
	r.text, r.images = blocksOf(p.State.Output)
	r.text = withoutReminders(r.text)
	return r
}

// asked shows the arguments of a stored call: there is no other place where they can be read later.
func (p part) asked() []any {
	if p.Tool == toolPlan {
		return planContent(p.State.Input)
	}
	input := shortInput(p.State.Input)
	if len(input) == 0 || string(input) == "{}" || string(input) == "null" {
		return nil
	}
	var text bytes.Buffer
	if len(input) > maxRawOutput || json.Indent(&text, input, "", "  ") != nil {
		text = *bytes.NewBuffer(input)
	}
	return []any{wrap(textBlock(fenced("json", text.String())))}
}

// hear notes a text that was told whole.
func (h *heard) hear(whole string) {
	*h = heard{}
	h.add(whole)
}

// Reconcile tells what is stored of the session but was never streamed to this connection. It is called with the newest
// messages at the end of a turn, and with those of a snapshot that came in place of events. Older messages than the
// first one that this connection knows are left alone: it did not ask for them.
func (t *Translator) Reconcile(messages []json.RawMessage) (updates []Update) {
	updates = t.flushHalf()
	list := visibleMessages(messages)
	begin, open := t.firstKnown(list), t.openFrom(list)
	for i, m := range list[begin:] {
		updates = append(updates, t.catchUp(m, begin+i >= open)...)
	}
	return updates
}

// firstKnown is the place of the first message that this connection knows; of the answers to the last input if it
// knows none.
func (t *Translator) firstKnown(list []message) int {
	for i, m := range list {
		if _, known := t.said.get(m.id); known {
			return i
		}
	}
	if t.o.Fresh {
		return 0
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].role == roleUser {
			return i + 1
		}
	}
	return 0
}

func (t *Translator) catchUp(m message, open bool) (updates []Update) {
	s, known := t.said.get(m.id)
	if m.role == roleUser || m.foldKind() != "" {
		if known {
			return nil
		}
		t.markSeen(m.id)
		return t.replay(m, open)
	}
	if !known {
		s = t.message(m.id)
	}
	thought, text := m.text("reasoning"), m.text("text")
	if !known && t.loose != nil {
		s.thought.take(&t.loose.thought, thought)
		s.text.take(&t.loose.text, text)
	}
	updates = append(updates, tell(updateThought, m.id, &s.thought, thought)...)
	updates = append(updates, tell(updateAgent, m.id, &s.text, text)...)
	for i, stored := range m.parts {
		if stored.kind == "tool" {
			p := readPart(stored.raw)
			updates = append(updates, t.catchUpTool(p, m.callID(p, i), open)...)
		}
	}
	return updates
}

// tell sends what of a stored text was not heard.
func tell(kind, id string, h *heard, whole string) []Update {
	rest := h.missing(whole)
	if rest == "" {
		return nil
	}
	h.add(rest)
	return []Update{newChunk(kind, chunkID(kind, id), textBlock(rest))}
}

// take moves over from loose what was streamed of whole without a message id: nothing says to which message it belongs,
// but the order.
func (h *heard) take(loose *heard, whole string) {
	n := min(loose.n, len(whole))
	loose.n -= n
	h.add(whole[:n])
}

// catchUpTool gives a card the end that its events did not tell.
func (t *Translator) catchUpTool(p part, id string, open bool) []Update {
	c := t.card(id)
	if !c.shown {
		return t.replayTool(p, id, open)
	}
	if c.final && !c.guessed || c.lasting {
		return nil
	}
	c.know(p.Tool, p.State.Input)
	status, content, places := p.outcome(open)
	if status == statusPending || status == statusRunning {
		return nil
	}
	if c.terminal != nil && c.terminal.attached {
		return catchUpTerminal(c, p, status)
	}
	u := c.more(status)
	u.Content, u.Locations = content, places
	if p.Tool == toolPlan {
		u.Content = append(planContent(p.State.Input), content...)
	}
	if status == statusCompleted {
		u.RawOutput = head(plain(p.output().text), maxRawOutput)
	}
	c.finish(false)
	return []Update{u.update()}
}

// catchUpTerminal ends a terminal that is still open; in one that was closed nothing more can be shown.
func catchUpTerminal(c *card, p part, status string) []Update {
	defer c.finish(false)
	switch {
	case !c.inTerminal() && status == c.status:
		return nil
	case !c.inTerminal():
		return []Update{c.more(status).update()}
	case status == statusFailed:
		return c.exit(status, errorText(p.State.Error), nil)
	}
	r := p.output()
	return c.exit(status, r.text, r.exitCode)
}
