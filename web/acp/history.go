package acp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"zcodehub/internal/wire"
)

// A Log is a session's stored messages as clients page through them: each once, oldest first, without those that were
// never meant for people.
type Log struct {
	messages []logged
	turns    int
}

type logged struct {
	id    string
	raw   json.RawMessage
	start bool // a turn begins with it: somebody wrote it
}

// ReadLog reads what session/messages gave, or the messages of a snapshot. Of a message that is in there twice the
// place of the first and the content of the last count.
func ReadLog(messages []json.RawMessage) *Log {
	l := &Log{}
	places := map[string]int{}
	for _, raw := range messages {
		m := readMessage(raw)
		visible := m.visible()
		at, twice := places[m.id]
		switch {
		case twice:
			l.messages[at].raw, l.messages[at].start = raw, m.role == roleUser && visible
		case visible:
			places[m.id] = len(l.messages)
			l.messages = append(l.messages, logged{m.id, raw, m.role == roleUser})
		}
	}
	for _, m := range l.messages {
		if m.start {
			l.turns++
		}
	}
	return l
}

// A Page is a run of messages to replay, and what the client has to know of it.
type Page struct {
	Messages []json.RawMessage
	Meta     ReplayMeta
}

// ReplayMeta tells a client where it stands in the history.
type ReplayMeta struct {
	Cursor           *string `json:"cursor"` // for load_earlier; null: there is nothing earlier
	HasMore          bool    `json:"hasMore"`
	ReplayedMessages int     `json:"replayedMessages"`
	ReplayedTurns    int     `json:"replayedTurns"`
	TotalMessages    int     `json:"totalMessages"`
	TotalTurns       int     `json:"totalTurns"`
	TurnActive       bool    `json:"turnActive,omitempty"`
	LastMessageID    string  `json:"lastMessageId,omitempty"`
}

const (
	// maxPage is how many messages a client gets at a time at most; more makes it stand still.
	maxPage = 500
	// earlierPage is the size of a page if the client does not say.
	earlierPage = 50
)

// ReadLimit reads _meta.zcode.limit of session/load: how many messages the client wants. Without one, or with one that
// makes no sense, it wants all.
func ReadLimit(meta []byte) (limit int, all bool) {
	n, ok := floatOf(memberOf(memberOf(meta, "zcode"), "limit"))
	if !ok || n < 0 {
		return 0, true
	}
	return int(min(n, maxPage)), false
}

// ReadEarlierLimit reads limit of session/load_earlier.
func ReadEarlierLimit(raw []byte) int {
	n, ok := floatOf(raw)
	if !ok || n < 1 {
		return earlierPage
	}
	return int(min(n, maxPage))
}

func floatOf(raw []byte) (float64, bool) {
	var n float64
	if len(raw) == 0 || raw[0] == 'n' || json.Unmarshal(raw, &n) != nil {
		return 0, false
	}
	return n, true
}

// All is the whole history.
func (l *Log) All() Page { return l.page(0, len(l.messages)) }

// Tail is the last limit messages, and before them what their turn began with. A limit of 0 gives none.
func (l *Log) Tail(limit int) Page {
	end := len(l.messages)
	if limit <= 0 {
		return l.page(end, end)
	}
	return l.page(l.turnStart(end-limit), end)
}

// ErrCursorExpired is the answer to a cursor that fits no history, or fits this one no more. Clients load anew on it.
var ErrCursorExpired = errors.New("cursor expired: the history has changed, load the session again")

// Before is up to limit messages before the cursor, and what their turn began with. Turns that came since leave a cursor
// valid; a history that shrank does not.
func (l *Log) Before(cursor string, limit int) (Page, error) {
	c, ok := readCursor(cursor)
	if !ok || c.Index > len(l.messages) || c.Turns > l.turns || c.Index > 0 && l.messages[c.Index-1].id != c.ID {
		return Page{}, ErrCursorExpired
	}
	return l.page(l.turnStart(c.Index-max(limit, 1)), c.Index), nil
}

// turnStart is the last start of a turn at or before i.
func (l *Log) turnStart(i int) int {
	i = min(max(i, 0), len(l.messages))
	for i > 0 && !(i < len(l.messages) && l.messages[i].start) {
		i--
	}
	return i
}

func (l *Log) page(from, to int) Page {
	p := Page{Meta: ReplayMeta{HasMore: from > 0, ReplayedMessages: to - from, TotalMessages: len(l.messages), TotalTurns: l.turns}}
	for _, m := range l.messages[from:to] {
		p.Messages = append(p.Messages, m.raw)
		if m.start {
			p.Meta.ReplayedTurns++
		}
		p.Meta.LastMessageID = m.id
	}
	if from > 0 {
		text := cursor{from, l.turns, l.messages[from-1].id}.encode()
		p.Meta.Cursor = &text
	}
	return p
}

// cursor is a place in a history: so many messages are before it, the last of them has this id.
type cursor struct {
	Index int    `json:"i"`
	Turns int    `json:"t"` // in the whole history, at that time
	ID    string `json:"id"`
}

// cursorVersion begins a cursor, so that one of another form is told from garbage.
const cursorVersion = "1."

func (c cursor) encode() string {
	return cursorVersion + base64.RawURLEncoding.EncodeToString(encode(c))
}

func readCursor(text string) (c cursor, ok bool) {
	text, ok = strings.CutPrefix(text, cursorVersion)
	if !ok {
		return c, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || !wire.Valid(raw) || memberOf(raw, "i") == nil || json.Unmarshal(raw, &c) != nil {
		return c, false
	}
	return c, c.Index >= 0 && c.Turns >= 0
}
