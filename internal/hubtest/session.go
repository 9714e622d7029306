package hubtest

import (
	"bytes"
	"fmt"
	"strconv"

	"zcodehub/internal/wire"
	"zcodehub/session"
)

// Create makes a session in a workspace and returns its id.
func (c *Client) Create(workspacePath string) (sessionID string) {
	c.t.Helper()
	result := c.MustCall("session/create", fmt.Sprintf(`{"workspace":{"workspacePath":%q,"workspaceKey":"w"},"titleGenerationEnabled":false}`, workspacePath))
	raw, _ := wire.Path(result, "session", "sessionId")
	sessionID, _ = wire.StringValue(raw)
	return sessionID
}

// Prompt sends a prompt and returns when it was accepted.
func (c *Client) Prompt(sessionID, text string) {
	c.t.Helper()
	c.MustCall("session/send", fmt.Sprintf(`{"sessionId":%q,"content":%q}`, sessionID, text))
}

// Subscribed is the result of session/subscribe.
type Subscribed struct {
	Message
	Epoch    string
	EventSeq uint64
	FloorSeq uint64
	Resumed  bool
	Events   [][]byte
	Snapshot []byte // nil if there was none
}

// Subscribe follows a session; more are further members, with a comma before them.
func (c *Client) Subscribe(sessionID, more string) Subscribed {
	c.t.Helper()
	m := c.Call("session/subscribe", fmt.Sprintf(`{"sessionId":%q%s}`, sessionID, more))
	if m.Kind != wire.Response {
		c.t.Fatalf("%s: subscribe failed: %s", c.Name, m)
	}
	return readSubscribed(m)
}

func readSubscribed(m Message) Subscribed {
	s := Subscribed{Message: m}
	raw, _ := wire.Get(m.Result, "epoch")
	s.Epoch, _ = wire.StringValue(raw)
	s.EventSeq = number(m.Result, "eventSeq")
	s.FloorSeq = number(m.Result, "floorSeq")
	raw, _ = wire.Get(m.Result, "resumed")
	s.Resumed = string(raw) == "true"
	list, _ := wire.Get(m.Result, "events")
	for event := range wire.Elements(list) {
		s.Events = append(s.Events, event)
	}
	s.Snapshot, _ = wire.Get(m.Result, "snapshot")
	return s
}

func number(obj []byte, key string) uint64 {
	raw, _ := wire.Get(obj, key)
	n, _ := strconv.ParseUint(string(raw), 10, 64)
	return n
}

// Cursor is where a client is in a session's stream, and what it has of it.
type Cursor struct {
	Epoch string
	Seq   uint64
	Fold  session.Fold
	Count int // events
	Gaps  []string
}

// More is the cursor as members of session/subscribe.
func (c *Cursor) More() string { return fmt.Sprintf(`,"epoch":%q,"afterSeq":%d`, c.Epoch, c.Seq) }

// Take adds one event, in either lane.
func (c *Cursor) Take(params []byte) {
	from, seq := number(params, "fromSeq"), number(params, "seq")
	if from != c.Seq || seq <= from {
		if len(c.Gaps) < 5 {
			c.Gaps = append(c.Gaps, fmt.Sprintf("at %d came (%d, %d]", c.Seq, from, seq))
		}
	}
	c.Seq = seq
	c.Count++
	c.Fold.Add(params)
}

// Track follows all that a client received about a session, from its first
// subscribe on: replies to subscribe, events and snapshots. It reports what
// breaks the chain of intervals.
func (c *Client) Track(cursor *Cursor, sessionID string) {
	for _, m := range c.Messages() {
		cursor.See(m, sessionID)
	}
}

// See takes one message if it is about the session's stream.
func (c *Cursor) See(m Message, sessionID string) {
	switch {
	case m.Method == "session/event" && m.SessionID == sessionID:
		c.Take(m.Params)
	case m.Method == "hub/snapshot" && m.SessionID == sessionID:
		c.Epoch, c.Seq = m.Path("params", "epoch"), number(m.Params, "eventSeq")
	case m.Kind == wire.Response && m.Path("result", "sessionId") == sessionID && m.Path("result", "epoch") != "":
		s := readSubscribed(m)
		if !s.Resumed {
			c.Epoch, c.Seq = s.Epoch, s.EventSeq
			return
		}
		for _, event := range s.Events {
			c.Take(event)
		}
		if c.Seq != s.EventSeq {
			c.Gaps = append(c.Gaps, fmt.Sprintf("a reply said %d after events up to %d", s.EventSeq, c.Seq))
			c.Seq = s.EventSeq
		}
	}
}

// WantSeq waits until a client has an event of a session that ends at seq or
// later.
func (c *Client) WantSeq(sessionID string, seq uint64) {
	c.t.Helper()
	c.Want(fmt.Sprintf("event %d of %s", seq, sessionID), func(m Message) bool {
		return m.Method == "session/event" && m.SessionID == sessionID && number(m.Params, "seq") >= seq
	})
}

// WantTurnEnd waits for the end of a session's turn among the messages that are
// not the first n.
func (c *Client) WantTurnEnd(n int, sessionID string) Message {
	c.t.Helper()
	return c.WantAfter(n, "the end of a turn", func(m Message) bool {
		if m.Method != "session/event" || m.SessionID != sessionID || !bytes.Contains(m.Text, []byte(`"turn.`)) {
			return false // quickly: there may be tens of thousands
		}
		kind := m.Path("params", "type")
		return kind == "turn.completed" || kind == "turn.failed"
	})
}
