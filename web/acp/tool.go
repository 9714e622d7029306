package acp

import (
	"encoding/json"
	"fmt"
	"strings"

	"zcodehub/internal/wire"
)

// card is one tool call as this connection shows it.
type card struct {
	id, tool string
	input    json.RawMessage // nil once the card is final
	shown    bool            // tool_call was sent
	final    bool            // completed or failed
	guessed  bool            // final only because its turn was over
	detached bool            // asked to go on in the background
	lasting  bool            // does: its turn's end is not its own
	status   string
	denial   string    // why it may not run
	terminal *terminal // nil for a client or a tool without
}

// card finds the call with this id, or begins one.
func (t *Translator) card(id string) *card {
	c, known := t.cards.get(id)
	if !known {
		c = &card{id: id}
		t.cards.put(id, c)
	}
	return c
}

// called remembers the arguments of a call; the event that schedules it often leaves them out.
func (t *Translator) called(id, tool string, input []byte) {
	if id != "" {
		t.card(id).know(tool, input)
	}
}

// know takes over what an event says of the call. Later events say less, which takes nothing away.
func (c *card) know(tool string, input []byte) {
	if tool != "" {
		c.tool = tool
	}
	if c.final || len(input) == 0 || input[0] != '{' {
		return
	}
	if _, omitted := wire.Get(input, "inputOmitted"); !omitted {
		c.input = append(json.RawMessage(nil), input...)
		c.detached = c.detached || isTrue(input, "run_in_background")
	}
}

func isTrue(object []byte, key string) bool {
	raw, _ := wire.Get(object, key)
	return string(raw) == "true"
}

// toolEvent is the payload of tool.updated.
type toolEvent struct {
	Kind, ToolCallID, ToolName string
	Input                      json.RawMessage
	ParentToolCallID, Source   string
	Background                 bool

	// progress
	StdoutTail, StderrTail, OutputPreview string
	StdoutBytes, StderrBytes              *int64
	// result and error
	Result json.RawMessage
	Error  json.RawMessage
	// batch
	ToolCallIDs  []string
	SuccessCount int
	ErrorCount   int
}

func (t *Translator) toolUpdated(e event) []Update {
	var p toolEvent
	e.read(&p)
	if p.Kind == "batch" {
		return t.batchEnded(p)
	}
	c, known := t.cards.get(p.ToolCallID)
	if p.ToolCallID == "" || !t.follows(e, p, known) {
		return nil
	}
	if !known {
		c = t.card(p.ToolCallID)
	}
	if c.final && !c.guessed {
		return nil
	}
	c.know(p.ToolName, p.Input)
	c.lasting = c.lasting || p.Background && p.Source == sourceHelper
	switch p.Kind {
	case "scheduled":
		return t.show(c, p.ParentToolCallID)
	case "started":
		return append(t.show(c, p.ParentToolCallID), c.advance()...)
	case "progress":
		return append(t.show(c, p.ParentToolCallID), t.progress(c, p)...)
	case "result":
		c.detached = c.detached || p.Background && p.Source != sourceHelper
		return append(t.show(c, p.ParentToolCallID), t.result(c, readResult(p.Result))...)
	case "error":
		return append(t.show(c, p.ParentToolCallID), t.fail(c, errorText(p.Error))...)
	}
	return nil
}

// sourceHelper marks the calls of helper agents, which are mirrored into the stream of the session that asked them.
const sourceHelper = "subagent"

// follows says whether an event of a call is shown. What helper agents do in the background is not, until one of their
// calls asks for a permission: then it is known.
func (t *Translator) follows(e event, p toolEvent, known bool) bool {
	if p.Source == sourceHelper {
		return known || !p.Background && t.admits(e)
	}
	return known && p.Background || t.admits(e)
}

// show sends the tool_call of a card that was not shown yet: a client drops updates of a card it does not know.
func (t *Translator) show(c *card, parent string) []Update {
	if c.shown {
		return nil
	}
	c.shown, c.final, c.status = true, false, statusPending // final it was without anybody having seen it
	u := toolUpdate{SessionUpdate: updateTool, ToolCallID: c.id, Title: toolTitle(c.tool, c.input), Kind: toolKind(c.tool),
		Status: statusPending, RawInput: shortInput(c.input), Locations: placesOf(c.tool, c.input), Meta: c.meta(parent)}
	switch {
	case c.tool == toolPlan:
		u.Content = planContent(c.input)
	case isCommand(c.tool):
		c.terminal = &terminal{attached: t.o.Terminal}
		if t.o.Terminal {
			u.Content = []any{terminalRef{"terminal", c.id}}
			u.Meta["terminal_info"] = object{"terminal_id": c.id}
		}
	}
	return []Update{newUpdate(updateTool, u)}
}

func (c *card) meta(parent string) object {
	names := object{"toolName": first(c.tool, "unknown")}
	if parent != "" {
		names["parentToolUseId"] = parent
	}
	m := object{"claudeCode": names}
	if isAgent(c.tool) {
		m["subagent"] = true
	}
	return m
}

// more is an update of the card.
func (c *card) more(status string) toolUpdate {
	if status != "" {
		c.status = status
	}
	return toolUpdate{SessionUpdate: updateToolMore, ToolCallID: c.id, Status: status}
}

func (u toolUpdate) update() Update { return newUpdate(u.SessionUpdate, u) }

// advance says that the tool runs.
func (c *card) advance() []Update {
	if c.status == statusRunning || c.final {
		return nil
	}
	return []Update{c.more(statusRunning).update()}
}

// finish marks the card as final and lets go of what it needed before.
func (c *card) finish(guessed bool) {
	c.final, c.guessed, c.lasting, c.input = true, guessed, false, nil
}

// batchEnded ends what was scheduled together and has no end of its own: calls that were denied.
func (t *Translator) batchEnded(p toolEvent) (updates []Update) {
	for _, id := range p.ToolCallIDs {
		c, known := t.cards.get(id)
		if !known || !c.shown || c.final || c.lasting && isCommand(c.tool) {
			continue
		}
		if p.ErrorCount == 0 {
			updates = append(updates, t.close(c, statusCompleted, "")...)
			continue
		}
		updates = append(updates, t.close(c, statusFailed, c.denial)...)
	}
	return updates
}

// resolved remembers why a call may not run.
func (t *Translator) resolved(e event) {
	var p struct{ ToolCallID, Decision, Action, Reason string }
	e.read(&p)
	if c, known := t.cards.get(p.ToolCallID); known && (p.Decision == "deny" || p.Action == "decline" || p.Action == "cancel") {
		c.denial = p.Reason
	}
}

// closeCards ends the cards of a turn that is over.
func (t *Translator) closeCards(status string) (updates []Update) {
	for _, id := range t.cards.order {
		if c := t.cards.byKey[id]; !c.final && !c.lasting {
			if !c.shown {
				c.finish(true)
				continue
			}
			updates = append(updates, t.close(c, status, c.denial)...)
		}
	}
	return updates
}

// close ends a card that has no end of its own. Without a text the end is a guess.
func (t *Translator) close(c *card, status, text string) []Update {
	defer c.finish(text == "")
	if c.inTerminal() {
		return c.exit(status, text, nil)
	}
	u := c.more(status)
	if text != "" {
		if c.tool == toolPlan {
			u.Content = planContent(c.input)
		}
		u.Content = append(u.Content, wrap(textBlock(fenced("", text))))
	}
	return []Update{u.update()}
}

// Introduce gives the tool_call that has to precede a question about a call, if this connection has not seen it. A card
// that was begun without its arguments gets them now.
func (t *Translator) Introduce(a *Ask) []Update {
	if a.ToolCallID == "" {
		return nil
	}
	c := t.card(a.ToolCallID)
	before := c.input
	c.know(a.ToolName, a.Input)
	if !c.shown || before != nil || c.input == nil {
		return t.show(c, a.parentCall)
	}
	u := c.more("")
	u.Title, u.RawInput, u.Locations = toolTitle(c.tool, c.input), shortInput(c.input), placesOf(c.tool, c.input)
	return []Update{u.update()}
}

// Names of tools that are shown in their own way.
const (
	toolBash     = "Bash"
	toolPlan     = "ExitPlanMode"
	toolTodo     = "TodoWrite"
	toolQuestion = "AskUserQuestion"
	toolRead     = "Read"
	toolEdit     = "Edit"
	toolWrite    = "Write"
)

func isCommand(tool string) bool { return strings.EqualFold(tool, toolBash) }
func isAgent(tool string) bool   { return tool == "Agent" || tool == "Task" }

// toolKind is what sort of thing a tool does, as far as ACP has a word for it.
func toolKind(tool string) string {
	switch tool {
	case toolBash, "bash":
		return "execute"
	case toolEdit, toolWrite, "NotebookEdit", "MultiEdit", "ApplyPatch":
		return "edit"
	case toolRead:
		return "read"
	case "Grep", "Glob":
		return "search"
	case "WebFetch", "WebSearch":
		return "fetch"
	case toolPlan:
		return "switch_mode"
	}
	return "other"
}

// maxSummary is how many characters of a title's summary are shown: a line of a phone in landscape.
const maxSummary = 60

// toolTitle names the tool and says in a few words what it is to do; a command is shown whole.
func toolTitle(tool string, input json.RawMessage) string {
	name := first(tool, "Tool")
	summary := summarize(tool, input)
	if summary == "" {
		return name
	}
	return name + ": " + summary
}

func summarize(tool string, input json.RawMessage) string {
	if command := textOf(input, "command"); command != "" && isCommand(tool) {
		return cut(command, maxRawInput)
	}
	if path := pathOf(input); path != "" && toolKind(tool) != "search" {
		return clipLeft(path, maxSummary)
	}
	for _, key := range []string{"description", "query", "pattern", "prompt", "url", "title", "name", "skill"} {
		if text := strings.Join(strings.Fields(textOf(input, key)), " "); text != "" {
			return clip(text, maxSummary)
		}
	}
	switch tool {
	case toolQuestion:
		for q := range wire.Elements(memberOf(input, "questions")) {
			return clip(textOf(q, "question"), maxSummary)
		}
	case toolTodo:
		return todoSummary(input)
	}
	return clipLeft(pathOf(input), maxSummary)
}

func todoSummary(input json.RawMessage) string {
	entries, ok := planEntries(memberOf(input, "todos"))
	if !ok {
		return ""
	}
	done := 0
	for _, entry := range entries {
		if entry.Status == "completed" {
			done++
		}
	}
	return fmt.Sprintf("%d of %d done", done, len(entries))
}

// pathOf is the file that a call is about.
func pathOf(input []byte) string {
	return first(textOf(input, "file_path"), textOf(input, "notebook_path"), textOf(input, "path"))
}

// placesOf are the places that an editor may follow.
func placesOf(tool string, input json.RawMessage) []location {
	switch toolKind(tool) {
	case "read", "edit", "search":
	default:
		return nil
	}
	path := pathOf(input)
	if path == "" {
		return nil
	}
	at := location{Path: path}
	if line, ok := wire.Int64(memberOf(input, "offset")); ok && line > 0 && line < 1<<31 {
		at.Line = int(line)
	}
	return []location{at}
}

func planContent(input json.RawMessage) []any {
	plan := textOf(input, "plan")
	if plan == "" {
		return nil
	}
	return []any{wrap(textBlock(cut(plan, maxOutput)))}
}

// textOf is a text member of an object, empty if there is none.
func textOf(object []byte, key string) string {
	text, _ := wire.StringValue(memberOf(object, key))
	return text
}

// memberOf is a raw member of an object, nil if there is none.
func memberOf(object []byte, key string) json.RawMessage {
	raw, _ := wire.Get(object, key)
	return raw
}

// planEntries reads todos in any form in which the app-server shows them.
func planEntries(todos []byte) ([]planEntry, bool) {
	if len(todos) == 0 || todos[0] != '[' {
		return nil, false
	}
	entries := []planEntry{}
	for raw := range wire.Elements(todos) {
		var todo struct{ Content, Status, Priority, ActiveForm string }
		if json.Unmarshal(raw, &todo) != nil && todo.Content == "" {
			continue
		}
		entries = append(entries, planEntry{first(todo.Content, todo.ActiveForm, "…"), priority(todo.Priority), progressOf(todo.Status)})
	}
	return entries, true
}

func priority(p string) string {
	switch p {
	case "high", "low":
		return p
	}
	return "medium"
}

func progressOf(status string) string {
	switch status {
	case "in_progress", "inProgress", "active":
		return "in_progress"
	case "completed", "done":
		return "completed"
	}
	return "pending"
}

// Plan tells the todos of a session, as a snapshot has them, whether they changed or not.
func (t *Translator) Plan(todos []byte) []Update {
	entries, ok := planEntries(todos)
	if !ok {
		return nil
	}
	u := newUpdate(updatePlan, planUpdate{updatePlan, entries})
	t.plan = string(u.JSON)
	return []Update{u}
}

// planChanged tells todos that are others than those told last.
func (t *Translator) planChanged(todos []byte) []Update {
	before := t.plan
	updates := t.Plan(todos)
	if len(updates) == 0 || t.plan == before {
		return nil
	}
	return updates
}
