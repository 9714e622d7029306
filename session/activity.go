package session

import (
	"sync"
	"time"
	"unicode/utf8"
)

// The kinds of an entry.
const (
	ActPrompt    = "prompt"    // somebody gave the agent something to do
	ActStop      = "stop"      // somebody stopped it
	ActAnswer    = "answer"    // a question of the agent was settled
	ActAppServer = "appServer" // the app-server was started anew
	ActControl   = "control"   // who steers the session changed
)

// An Entry tells one thing that happened to a session and that its own stream
// does not tell: above all who did it.
type Entry struct {
	N          uint64    `json:"n"` // 1, 2, 3, … within the session
	At         time.Time `json:"at"`
	Kind       string    `json:"kind"`
	By         *Author   `json:"by,omitempty"`
	CommandID  string    `json:"commandId,omitempty"`
	MessageID  string    `json:"messageId,omitempty"`
	RequestID  string    `json:"requestId,omitempty"`
	Outcome    string    `json:"outcome,omitempty"`
	ToolCallID string    `json:"toolCallId,omitempty"`
	ToolName   string    `json:"toolName,omitempty"`
	Summary    string    `json:"summary,omitempty"`
}

const (
	// maxEntries of a session are kept: a long day of prompts and approvals.
	maxEntries = 256
	// maxEntriesBytes bounds them together: 256 of ordinary size, and fewer of
	// those whose texts are as long as they may be.
	maxEntriesBytes = 64 << 10
	// maxActive is of how many sessions entries are kept, so that all together
	// hold 16 MiB at most. Nobody works in more at a time.
	maxActive = 256
	// maxEntryText bounds each text of an entry, in bytes: ids have fewer.
	maxEntryText = 256
	// entryBytes is what an entry takes beside its texts.
	entryBytes = 256
)

// Activity is what happened lately in all sessions. It is for people who look at
// a session, not a record: that is the audit. Its methods may be called from any
// goroutine and never wait.
type Activity struct {
	mu       sync.Mutex // a leaf
	sessions map[string]*acts
}

// acts are the newest entries of one session, oldest first.
type acts struct {
	entries []Entry
	bytes   int
	last    uint64
	at      time.Time
}

// NewActivity returns one without entries.
func NewActivity() *Activity { return &Activity{sessions: map[string]*acts{}} }

// Add enters e, which gets its number, and returns it as it is kept.
func (a *Activity) Add(sessionID string, e Entry) Entry {
	for _, text := range []*string{&e.CommandID, &e.MessageID, &e.RequestID, &e.Outcome, &e.ToolCallID, &e.ToolName, &e.Summary} {
		*text = Cut(*text, maxEntryText)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[sessionID]
	if s == nil {
		a.makeRoomLocked()
		s = &acts{}
		a.sessions[sessionID] = s
	}
	s.last++
	e.N, s.at = s.last, e.At
	s.entries = append(s.entries, e)
	s.bytes += e.size()
	for len(s.entries) > maxEntries || s.bytes > maxEntriesBytes {
		s.bytes -= s.entries[0].size()
		s.entries = s.entries[1:]
	}
	return e
}

func (e *Entry) size() int {
	n := entryBytes + len(e.CommandID) + len(e.MessageID) + len(e.RequestID) + len(e.Outcome) + len(e.ToolCallID) + len(e.ToolName) + len(e.Summary)
	if e.By != nil {
		n += len(e.By.Name) + len(e.By.Device)
	}
	return n
}

// makeRoomLocked forgets the session in which nothing has happened for longest
// if there are as many as there may be.
func (a *Activity) makeRoomLocked() {
	if len(a.sessions) < maxActive {
		return
	}
	oldest := ""
	for id, s := range a.sessions {
		if oldest == "" || s.at.Before(a.sessions[oldest].at) {
			oldest = id
		}
	}
	delete(a.sessions, oldest)
}

// After lists the entries of a session with a number above n, oldest first, and
// the newest number. A number that was never given out asks for all: it is of
// another run of the hub, or of before the session was forgotten.
func (a *Activity) After(sessionID string, n uint64) (entries []Entry, last uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[sessionID]
	if s == nil {
		return nil, 0
	}
	if n > s.last {
		n = 0
	}
	first := s.last - uint64(len(s.entries)) // number before the oldest
	skip := 0
	if n > first {
		skip = int(n - first)
	}
	return append([]Entry(nil), s.entries[skip:]...), s.last
}

// Sessions lists the sessions of which something is kept.
func (a *Activity) Sessions() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids := make([]string, 0, len(a.sessions))
	for id := range a.sessions {
		ids = append(ids, id)
	}
	return ids
}

// Forget drops all of a session.
func (a *Activity) Forget(sessionID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.sessions, sessionID)
}

// Cut shortens a text to at most n bytes, at the end of a character, and says so
// by an ellipsis.
func Cut(text string, n int) string {
	const ellipsis = "…"
	if len(text) <= n {
		return text
	}
	end := n - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
