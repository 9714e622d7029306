package acp

import (
	"encoding/json"
	"time"

	"zcodehub/internal/wire"
)

// TranslatorOptions is what a translation depends on besides the session's own messages.
type TranslatorOptions struct {
	SessionID string
	// Terminal: the client shows terminals, it sent _meta.terminal_output.
	Terminal bool
	// Window is the model's context window for as long as the app-server has not told a size; 0 means unknown.
	Window int64
	// Pinned: somebody named the session, and the app-server's own titles are not shown.
	Pinned bool
	// Fresh: the session was empty when this connection began to follow it, so all that is stored later is news.
	Fresh bool
}

// A Translator turns what the app-server says about one session into ACP updates, for one connection: it knows what
// this connection has been told, so that nothing is told twice. It is not safe for concurrent use.
//
// The session is told in one of two ways, and both together: [Translator.History] replays stored messages,
// [Translator.Event] follows the events. At the end of a turn [Translator.Reconcile] adds what was stored but never
// streamed.
//
// No input makes it fail. What it does not know it leaves out and counts.
type Translator struct {
	o TranslatorOptions

	turn   string         // the turn that runs, as far as was seen
	joined bool           // that turn was running already when it was first seen
	self   bool           // the app-server started it by itself, to tell of background work
	ended  ring[struct{}] // turns that are over or cancelled: what still comes of them is old

	cards ring[*card]    // tool calls by id
	tasks ring[*card]    // the cards of background work by its id
	said  ring[*spoken]  // messages by id
	loose *spoken        // what was streamed in this turn without a message id
	shown ring[struct{}] // inputs that this connection shows already, by inputId
	half  half

	settings settings
	window   int64  // the model's, 0 while unknown
	used     int64  // tokens in the context
	plan     string // the entries last sent, encoded

	ignored int
}

// NewTranslator starts with a session of which nothing has been told.
func NewTranslator(o TranslatorOptions) *Translator {
	return &Translator{o: o, window: o.Window}
}

// Ignored counts the events of types that this package does not know.
func (t *Translator) Ignored() int { return t.ignored }

// Pin says whether the session has a name that somebody gave it.
func (t *Translator) Pin(pinned bool) { t.o.Pinned = pinned }

// event is a session/event as far as all types have it in common.
type event struct {
	turn    string
	kind    string // its type
	at      int64  // ms
	payload []byte // raw
}

func readEvent(params []byte) (e event) {
	for m := range wire.Members(params) {
		switch string(m.Key) {
		case "turnId":
			e.turn, _ = wire.StringValue(m.Value)
		case "type":
			e.kind, _ = wire.StringValue(m.Value)
		case "timestamp":
			e.at, _ = wire.Int64(m.Value)
		case "payload":
			e.payload = m.Value
		}
	}
	return e
}

// read decodes the payload. Members of another type than the protocol says stay empty.
func (e *event) read(into any) { _ = json.Unmarshal(e.payload, into) }

// Event translates the params of one session/event, of either lane.
func (t *Translator) Event(params []byte) []Update {
	e := readEvent(params)
	switch e.kind {
	case "model.streaming":
		return t.streamed(e)
	case "tool.updated":
		return t.toolUpdated(e)
	case "session.updated":
		return t.sessionUpdated(e)
	case "turn.started":
		return t.turnStarted(e)
	case "turn.completed", "turn.failed":
		return t.turnEnded(e)
	case "turn.steerDrained":
		return t.steered(e)
	case "session.titleUpdated":
		return t.titled(e)
	case "permission.resolved", "userInput.resolved":
		t.resolved(e)
	case "session.created", "session.resumed", "session.closed", "turn.steerQueued",
		"message.upserted", "message.removed", "part.started", "part.upserted", "part.delta", "part.removed",
		"permission.requested", "userInput.requested", "streamRecovery.updated", "checkpoint.created", "rewind.triggered",
		"hub.advanced":
		// Nothing that ACP has a word for.
	default:
		t.ignored++
	}
	return nil
}

// admits says whether an event belongs to the turn that runs. What still comes of an older turn is not shown.
func (t *Translator) admits(e event) bool {
	if e.turn == "" || e.turn == t.turn {
		return true
	}
	if _, over := t.ended.get(e.turn); over {
		return false
	}
	if t.turn != "" && !t.joined {
		return false
	}
	t.turn, t.joined = e.turn, true
	return true
}

// Running names the turn that runs, as a snapshot tells it; "" if none does.
func (t *Translator) Running(turnID string) { t.turn, t.joined = turnID, false }

// Shown says that this connection shows the input with this id already, because it sent it or was told of it.
func (t *Translator) Shown(inputID string) { t.shown.put(inputID, struct{}{}) }

const sourceBackground = "background_task"

// turnStarted shows what was typed, unless this connection shows it already or nobody typed it.
func (t *Translator) turnStarted(e event) []Update {
	var p struct {
		Input, MessageID, InputID, InputSource, InputVisibility string
		Attachments                                             []json.RawMessage
	}
	e.read(&p)
	var updates []Update
	if e.turn != t.turn {
		updates = t.endTurn(t.turn, statusFailed) // its end got lost
	}
	t.turn, t.joined, t.self, t.loose = e.turn, false, p.InputSource == sourceBackground, nil
	if p.InputSource != "" || (p.InputVisibility != "" && p.InputVisibility != "visible") {
		t.markSeen(p.MessageID)
		return updates
	}
	return append(updates, t.showInput(p.InputID, p.MessageID, p.Input, p.Attachments)...)
}

// steered shows inputs that joined the running turn.
func (t *Translator) steered(e event) []Update {
	var p struct {
		DrainedInputs []struct {
			InputID, MessageID, Input string
			Attachments               []json.RawMessage
		}
	}
	e.read(&p)
	var updates []Update
	for _, in := range p.DrainedInputs {
		updates = append(updates, t.showInput(in.InputID, in.MessageID, in.Input, in.Attachments)...)
	}
	return updates
}

func (t *Translator) showInput(inputID, messageID, text string, files []json.RawMessage) (updates []Update) {
	_, here := t.shown.get(inputID)
	seen := t.markSeen(messageID)
	if (inputID != "" && here) || seen {
		return nil
	}
	messageID = first(messageID, "input_"+first(inputID, t.turn, "turn"))
	if text = withoutReminders(text); text != "" {
		updates = append(updates, newChunk(updateUser, messageID, textBlock(text)))
	}
	for _, raw := range files {
		if b, ok := fileOf(raw); ok {
			updates = append(updates, newChunk(updateUser, messageID, b))
		}
	}
	return updates
}

// turnEnded closes what the turn left open and tells how full the context is.
func (t *Translator) turnEnded(e event) []Update {
	if _, over := t.ended.get(e.turn); over && e.turn != "" {
		return nil
	}
	var p struct {
		ResultType string
		TokenCount int64
		Usage      struct{ TotalTokens int64 }
	}
	e.read(&p)
	status := statusFailed
	if e.kind == "turn.completed" && p.ResultType != "cancelled" {
		status = statusCompleted
	}
	updates := t.endTurn(e.turn, status)
	if t.used == 0 { // no step told; the sum over the turn's requests is the best guess
		t.used = max(p.Usage.TotalTokens, p.TokenCount)
	}
	return append(updates, t.usage()...)
}

// Cancel ends the running turn here and now: its cards are closed, and what the app-server still says of it is not
// shown.
func (t *Translator) Cancel() []Update { return t.endTurn(t.turn, statusFailed) }

func (t *Translator) endTurn(turnID, status string) (updates []Update) {
	if turnID != "" {
		t.ended.put(turnID, struct{}{})
	}
	if turnID != t.turn {
		return nil // an older one: what is open belongs to the turn that runs
	}
	updates = append(t.flushHalf(), t.closeCards(status)...)
	t.turn, t.joined, t.self = "", false, false
	return updates
}

// CloseOpen gives a last update to every card that is open, background tasks too: nothing will be heard of them.
func (t *Translator) CloseOpen() []Update {
	updates := t.endTurn(t.turn, statusFailed)
	return append(updates, t.closeTasks()...)
}

func (t *Translator) titled(e event) []Update {
	var p struct{ Title string }
	e.read(&p)
	return t.title(p.Title, e.at)
}

func (t *Translator) title(title string, at int64) []Update {
	if title == "" || t.o.Pinned {
		return nil
	}
	u := infoUpdate{SessionUpdate: updateInfo, Title: title}
	if at > 0 {
		u.UpdatedAt = time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return []Update{newUpdate(updateInfo, u)}
}

// sessionUpdated reads the one event that carries many things.
func (t *Translator) sessionUpdated(e event) []Update {
	var p struct {
		TaskID        string
		Mode          string
		ContextWindow int64
		QuerySource   string
		Usage         *struct{ InputTokens, OutputTokens *int64 }
	}
	e.read(&p)
	switch {
	case p.TaskID != "":
		return t.taskUpdated(e.payload)
	case p.Mode != "":
		return t.setMode(p.Mode)
	case p.Usage != nil && p.Usage.InputTokens != nil && p.ContextWindow > 0 && (p.QuerySource == "" || p.QuerySource == "main_turn"):
		t.window, t.used = p.ContextWindow, max(*p.Usage.InputTokens, 0)
		updates := t.usage()
		if p.Usage.OutputTokens != nil {
			t.used += max(*p.Usage.OutputTokens, 0) // what was said is in the context from the next request on
		}
		return updates
	}
	return nil
}

// Usage tells how full the context is, as a snapshot's runtime.contextUsage or projection has it; a size of 0 keeps the
// window that is known.
func (t *Translator) Usage(used, size int64) []Update {
	t.used = max(used, 0)
	if size > 0 {
		t.window = size
	}
	return t.usage()
}

// usage is empty while the window is unknown: a client would divide by it.
func (t *Translator) usage() []Update {
	if t.window <= 0 {
		return nil
	}
	return []Update{newUpdate(updateUsage, usageUpdate{updateUsage, t.used, t.window})}
}

// ring remembers the newest entries by key and forgets the oldest: a connection that stays for months must not grow.
// The zero ring is empty and ready.
type ring[V any] struct {
	byKey map[string]V
	order []string // keys, oldest first
}

// maxRemembered is how much one connection remembers of a session, of each kind. What is older is of turns long past,
// of which nothing comes any more.
const maxRemembered = 4096

func (r *ring[V]) get(key string) (V, bool) {
	v, ok := r.byKey[key]
	return v, ok
}

func (r *ring[V]) put(key string, v V) {
	if r.byKey == nil {
		r.byKey = map[string]V{}
	}
	if _, known := r.byKey[key]; !known {
		r.order = append(r.order, key)
	}
	r.byKey[key] = v
	if len(r.order) > maxRemembered {
		forget := r.order[:len(r.order)-maxRemembered/2]
		for _, old := range forget {
			delete(r.byKey, old)
		}
		r.order = append([]string(nil), r.order[len(forget):]...)
	}
}
