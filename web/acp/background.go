package acp

import "encoding/json"

// taskState is what the app-server says of background work, in session.updated and in a snapshot's backgroundJobs.
type taskState struct {
	TaskID, ToolCallID, ToolName, Status, Description string
	AgentID, OutputPath, OutputTail                   string
}

// The states of background work that end it.
func (s taskState) final() (status string, over bool) {
	switch s.Status {
	case "completed", "success":
		return statusCompleted, true
	case "failed", "error", "cancelled", "lost":
		return statusFailed, true
	}
	return statusRunning, false
}

// Tasks tells of background work that runs, as a snapshot lists it: its launch was replayed as something done.
func (t *Translator) Tasks(jobs []json.RawMessage) (updates []Update) {
	for _, job := range jobs {
		updates = append(updates, t.taskUpdated(job)...)
	}
	return updates
}

func (t *Translator) taskUpdated(payload []byte) []Update {
	var s taskState
	_ = json.Unmarshal(payload, &s)
	if s.TaskID == "" {
		return nil
	}
	launch, known := t.cards.get(s.ToolCallID)
	switch {
	case known && isCommand(launch.tool) || isCommand(s.ToolName) && s.ToolCallID != "":
		return t.commandUpdated(s)
	case known && launch.shown && !launch.final && !launch.lasting:
		return nil // its own card is still open and tells the same
	}
	return t.agentUpdated(s)
}

// commandUpdated shows a command in the card that launched it.
func (t *Translator) commandUpdated(s taskState) []Update {
	c := t.card(s.ToolCallID)
	status, over := s.final()
	if _, told := t.tasks.get(s.TaskID); told && c.final {
		return nil
	}
	if c.input == nil && s.Description != "" {
		c.input = encode(object{"description": s.Description})
	}
	c.know(first(c.tool, s.ToolName), nil)
	updates := t.show(c, "")
	if c.status == statusCompleted && !over { // replayed as done, which only its launch was
		c.final = false
		updates = append(updates, c.more(statusRunning).update())
	}
	t.tasks.put(s.TaskID, c)
	c.lasting = true
	updates = append(updates, c.advance()...)
	updates = append(updates, c.printTail(s.OutputTail)...)
	if over && !c.final {
		updates = append(updates, c.endTask(s, status)...)
	}
	return updates
}

// printTail shows what background work has printed.
func (c *card) printTail(text string) []Update {
	if c.terminal == nil {
		c.terminal = &terminal{}
	}
	before := c.terminal.out.text
	fresh := c.terminal.out.grow(text, nil)
	if text == "" || text == before && fresh == "" {
		return nil
	}
	if c.inTerminal() {
		return c.print(fresh)
	}
	u := c.more("")
	u.Content = []any{wrap(textBlock(fenced("console", cut(plain(text), maxOutput))))}
	return []Update{u.update()}
}

// endTask ends the card of background work.
func (c *card) endTask(s taskState, status string) []Update {
	u := c.more(status)
	u.Meta = object{"backgroundTask": s.meta()}
	if c.inTerminal() {
		u.Content = []any{terminalRef{"terminal", c.id}}
		u.Meta["terminal_exit"] = c.exitMeta(status, nil)
	}
	c.finish(false)
	return []Update{u.update()}
}

func (s taskState) meta() object {
	m := object{"taskId": s.TaskID}
	for key, value := range map[string]string{"agentId": s.AgentID, "outputPath": s.OutputPath, "sourceToolCallId": s.ToolCallID} {
		if value != "" {
			m[key] = value
		}
	}
	if s.Status == "cancelled" {
		m["cancelled"] = true
	}
	return m
}

// agentUpdated shows a helper agent in the background in a card of its own.
func (t *Translator) agentUpdated(s taskState) []Update {
	status, over := s.final()
	k, told := t.tasks.get(s.TaskID)
	switch {
	case !told:
		return t.beginAgent(s, status, over)
	case k.final:
		return nil
	case over:
		return k.endTask(s, status)
	}
	return k.printTail(s.OutputTail)
}

func (t *Translator) beginAgent(s taskState, status string, over bool) []Update {
	c := t.card("bg_" + s.TaskID)
	c.tool, c.shown, c.lasting, c.status = first(s.ToolName, "Task"), true, true, status
	t.tasks.put(s.TaskID, c)
	u := toolUpdate{SessionUpdate: updateTool, ToolCallID: c.id, Title: "[background] " + clip(first(s.Description, "task"), maxSummary),
		Kind: "other", Status: status, Meta: object{"backgroundTask": s.meta()}}
	if over {
		c.finish(false)
	}
	return []Update{u.update()}
}

// closeTasks ends all background work.
func (t *Translator) closeTasks() (updates []Update) {
	for _, id := range t.cards.order {
		if c := t.cards.byKey[id]; c.lasting && !c.final {
			updates = append(updates, t.close(c, statusFailed, "The agent is gone, and this with it.")...)
		}
	}
	return updates
}
