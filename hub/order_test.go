package hub_test

import (
	"bytes"
	"fmt"
	"testing"

	"zcodehub/auth"
	"zcodehub/internal/hubtest"
)

// Twenty clients of both profiles follow one session during a burst: each gets
// every event exactly once and in order, or a chain of intervals without a gap,
// all end in the same state, and the app-server was subscribed once.
func TestOrderPerSessionForEveryClient(t *testing.T) {
	h, sim := simulated(t)
	const events = 20_000
	clients := make([]*hubtest.Client, 20)
	for i := range clients {
		clients[i] = h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)})
	}
	id := clients[0].Create("/work")
	for _, c := range clients {
		c.Subscribe(id, "")
	}
	clients[0].Prompt(id, fmt.Sprint("burst ", events))
	end := clients[0].WantTurnEnd(0, id)
	folds := map[string][]byte{} // by what was received, since folding costs much
	var want []byte
	for i, c := range clients {
		c.WantTurnEnd(0, id)
		var cursor hubtest.Cursor
		key, tracked := receivedKey(c, id), false
		if want == nil || folds[key] == nil {
			c.Track(&cursor, id)
			tracked = true
			folds[key] = cursor.Fold.JSON()
		}
		if want == nil {
			want = folds[key]
		}
		if !bytes.Equal(folds[key], want) {
			t.Errorf("%s ends in another state: %.300s, want %.300s", c.Name, folds[key], want)
		}
		wantChain(t, c.Name, &cursor)
		if tracked && profileOf(i) == auth.Continuous && (cursor.Count < events || uint64(cursor.Count) != cursor.Seq) {
			t.Errorf("%s got %d events up to %d, want each of more than %d once", c.Name, cursor.Count, cursor.Seq, events)
		}
	}
	if end.Path("params", "payload", "resultType") != "success" {
		t.Errorf("the turn ended with %s", end)
	}
	if n := sim.Count("session/subscribe"); n != 1 {
		t.Errorf("the app-server saw %d session/subscribe, want 1", n)
	}
}

// receivedKey is equal for clients that received the same events in the same
// order.
func receivedKey(c *hubtest.Client, sessionID string) string {
	h := newDigest()
	for _, m := range c.Messages() {
		if m.Method == "session/event" && m.SessionID == sessionID {
			h.Write(m.Text)
		}
	}
	return h.String()
}
