package acp

import (
	"encoding/json"
	"strconv"
	"strings"

	"zcodehub/internal/wire"
)

const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// message is a stored message in either of its forms: as a snapshot shows it (messageId, partId, callId) or as the
// store keeps it (id, callID).
type message struct {
	id, role string
	info     messageInfo
	parts    []storedPart
}

// storedPart is a part that is not decoded yet: a result in it can have megabytes.
type storedPart struct {
	kind string // its type
	raw  json.RawMessage
}

type messageInfo struct {
	ID, MessageID, Role, Visibility string
	Synthetic                       bool
	Semantics                       semantics
}

// semantics says what a message is for.
type semantics struct {
	Origin, Kind                       string
	UIVisibility, TranscriptVisibility string
}

func readMessage(raw json.RawMessage) message {
	var m message
	for member := range wire.Members(raw) {
		switch string(member.Key) {
		case "info":
			_ = json.Unmarshal(member.Value, &m.info)
		case "parts":
			for part := range wire.Elements(member.Value) {
				m.parts = append(m.parts, storedPart{textOf(part, "type"), part})
			}
		}
	}
	m.id, m.role = first(m.info.MessageID, m.info.ID), m.info.Role
	if m.id == "" { // no known build stores such, but chunks without an id run together
		m.id = "hist_" + strconv.FormatUint(sumOf(sumStart, string(raw)), 36)
	}
	return m
}

// hidden says that a message was meant for the model only.
func (m *message) hidden() bool {
	s := m.info.Semantics
	switch {
	case s.TranscriptVisibility == "hidden", s.UIVisibility == "hidden", s.UIVisibility == "debug":
		return true
	case m.info.Visibility != "" && m.info.Visibility != "visible":
		return true
	case m.role != roleUser:
		return false
	}
	switch s.Kind {
	case "system_reminder", "todo_reminder", "synthetic_input", "tool_result":
		return true
	}
	written := s.Origin != "agent_runtime" && s.Origin != "system" && !m.info.Synthetic
	return !written && m.foldKind() == ""
}

// visible says whether a client gets anything of the message to see.
func (m *message) visible() bool {
	if m.foldKind() == foldSummary {
		return true
	}
	if m.hidden() {
		return false
	}
	if m.role == roleAssistant || m.foldKind() != "" {
		return true
	}
	if m.role != roleUser {
		return false
	}
	for _, p := range m.parts {
		if p.kind == "file" || p.kind == "text" && withoutReminders(readPart(p.raw).words()) != "" {
			return true
		}
	}
	return false
}

// Kinds of messages that are shown folded: long texts that the app-server wrote for the model.
const (
	foldHandoff      = "context-handoff"
	foldSummary      = "compact-summary"
	foldTools        = "tool-transcript"
	foldNotification = "task-notification"
)

// foldTexts begin messages of versions that do not say what they are for.
var foldTexts = []struct{ prefix, kind string }{
	{"<task-notification>", foldNotification},
	{"<context-handoff", foldHandoff},
	{"<tool-transcript", foldTools},
	{"This session is being continued from a previous conversation", foldSummary},
}

// foldKind says as what a message is folded; "" if it is not.
func (m *message) foldKind() string {
	switch m.info.Semantics.Kind {
	case "compact_summary":
		return foldSummary
	case "shared_context", "context_handoff":
		return foldHandoff
	case "tool_transcript":
		return foldTools
	case "background_notification", "subagent_notification":
		return foldNotification
	}
	for _, p := range m.parts {
		switch {
		case p.kind == "compaction":
			return foldSummary
		case m.role == roleUser && p.kind == "text":
			if kind := foldKindOfText(readPart(p.raw).words()); kind != "" {
				return kind
			}
		}
	}
	return ""
}

func foldKindOfText(text string) string {
	text = strings.TrimSpace(text)
	for _, f := range foldTexts {
		if strings.HasPrefix(text, f.prefix) {
			return f.kind
		}
	}
	return ""
}

// foldTitles are what a client shows of a folded message before it is opened.
var foldTitles = map[string]string{
	foldHandoff:      "Context from another session",
	foldSummary:      "Summary of the conversation so far",
	foldTools:        "Tool calls of another session",
	foldNotification: "Background task finished",
}

// part is one part of a message.
type part struct {
	Text, Content string
	CallID, Tool  string
	State         toolState
}

// toolState is where a call stood when it was stored.
type toolState struct {
	Status, Title string
	Input         json.RawMessage
	Output, Error json.RawMessage
	Metadata      struct {
		Display  json.RawMessage
		ExitCode *int64
	}
}

func readPart(raw json.RawMessage) (p part) {
	_ = json.Unmarshal(raw, &p)
	return p
}

// text is the text of a message's parts of one type, joined.
func (m *message) text(kind string) string {
	var b strings.Builder
	for _, p := range m.parts {
		if p.kind == kind {
			b.WriteString(readPart(p.raw).words())
		}
	}
	return b.String()
}

// words is what a part says; some builds name it content.
func (p part) words() string { return first(p.Text, p.Content) }
