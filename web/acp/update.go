package acp

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"zcodehub/internal/wire"
)

// The session updates that this package sends. A client may reject a whole notification with another one in it.
const (
	updateUser     = "user_message_chunk"
	updateAgent    = "agent_message_chunk"
	updateThought  = "agent_thought_chunk"
	updateTool     = "tool_call"
	updateToolMore = "tool_call_update"
	updatePlan     = "plan"
	updateUsage    = "usage_update"
	updateOptions  = "config_option_update"
	updateMode     = "current_mode_update"
	updateInfo     = "session_info_update"
	updateCommands = "available_commands_update"
)

// An Update is one change of a session as ACP tells it: the update member of a session/update notification.
type Update struct {
	Kind string // its sessionUpdate member
	JSON []byte // the whole object, valid UTF-8; nobody may change it
}

// MarshalJSON gives the update as it stands.
func (u Update) MarshalJSON() ([]byte, error) { return u.JSON, nil }

// Notification is the whole session/update message.
func (u Update) Notification(sessionID string) []byte {
	b := make([]byte, 0, len(u.JSON)+len(sessionID)+96)
	b = append(b, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`...)
	b = wire.AppendString(b, sessionID)
	b = append(b, `,"update":`...)
	b = append(b, u.JSON...)
	return append(b, `}}`...)
}

// newUpdate encodes an update object.
func newUpdate(kind string, object any) Update { return Update{kind, encode(object)} }

// encode is JSON without the escapes that only HTML needs. What it is given always encodes: raw members come from
// checked JSON, other members are of this package's own types.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("null")
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
	if !utf8.Valid(text) { // raw members are copied as they are
		return bytes.ToValidUTF8(text, []byte(string(utf8.RuneError)))
	}
	return text
}

// object is a JSON object whose members are few and known where it is made.
type object = map[string]any

// chunk is a piece of a message: one content block, never a list.
type chunk struct {
	SessionUpdate string `json:"sessionUpdate"`
	Content       block  `json:"content"`
	MessageID     string `json:"messageId,omitempty"`
	Meta          object `json:"_meta,omitempty"`
}

func newChunk(kind, messageID string, content block) Update {
	return newUpdate(kind, chunk{SessionUpdate: kind, Content: content, MessageID: messageID})
}

// toolUpdate is tool_call and tool_call_update. What is left out of the latter stays as the client knows it; content
// that is there takes the place of all that was.
type toolUpdate struct {
	SessionUpdate string          `json:"sessionUpdate,omitempty"` // empty in a permission request
	ToolCallID    string          `json:"toolCallId"`
	Title         string          `json:"title,omitempty"`
	Kind          string          `json:"kind,omitempty"`
	Status        string          `json:"status,omitempty"`
	Content       []any           `json:"content,omitempty"` // of wrapped, diff and terminalRef
	Locations     []location      `json:"locations,omitempty"`
	RawInput      json.RawMessage `json:"rawInput,omitempty"`
	RawOutput     string          `json:"rawOutput,omitempty"`
	Meta          object          `json:"_meta,omitempty"`
}

// The states of a tool card.
const (
	statusPending   = "pending"
	statusRunning   = "in_progress"
	statusCompleted = "completed"
	statusFailed    = "failed"
)

// location is a place in a file that a tool works on.
type location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // from 1
}

// wrapped is a content block as tool cards hold it.
type wrapped struct {
	Type    string `json:"type"` // content
	Content block  `json:"content"`
}

func wrap(b block) wrapped { return wrapped{"content", b} }

// diff is a change of one file.
type diff struct {
	Type    string  `json:"type"` // diff
	Path    string  `json:"path"`
	OldText *string `json:"oldText"` // null: the file is new
	NewText string  `json:"newText"`
}

// terminalRef shows a terminal in a card.
type terminalRef struct {
	Type       string `json:"type"` // terminal
	TerminalID string `json:"terminalId"`
}

// planEntry is one thing to do.
type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"` // high, medium, low
	Status   string `json:"status"`   // pending, in_progress, completed
}

type planUpdate struct {
	SessionUpdate string      `json:"sessionUpdate"`
	Entries       []planEntry `json:"entries"`
}

type usageUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Used          int64  `json:"used"`
	Size          int64  `json:"size"`
}

type infoUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Title         string `json:"title"`
	UpdatedAt     string `json:"updatedAt,omitempty"` // ISO 8601
}

type modeUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	CurrentModeID string `json:"currentModeId"`
}

type optionsUpdate struct {
	SessionUpdate string          `json:"sessionUpdate"`
	ConfigOptions json.RawMessage `json:"configOptions"` // all of them
}

type commandsUpdate struct {
	SessionUpdate     string    `json:"sessionUpdate"`
	AvailableCommands []Command `json:"availableCommands"`
}
