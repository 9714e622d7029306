package hub_test

import (
	"fmt"
	"strings"
	"testing"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
)

// progress is an event that only the continuous lane carries.
func progress(sessionID string, seq, size int) string {
	return fmt.Sprintf(`{"method":"session/event","params":{"sessionId":%q,"turnId":"t1","seq":%d,"type":"tool.updated","deliveryKind":"desktop-continuous","payload":{"kind":"progress","toolCallId":"c1","outputPreview":"%s"}}}`,
		sessionID, seq, strings.Repeat("x", size))
}

// printRun prints events from..to, made by one, some dozens in each write.
func printRun(p *hubtest.Process, from, to int, one func(seq int) string) {
	for seq := from; seq <= to; {
		var lines []string
		for ; seq <= to && len(lines) < 64; seq++ {
			lines = append(lines, one(seq))
		}
		p.Print(lines...)
	}
}

func sessionStatus(h *hubtest.Hub, id string) (st hub.SessionStatus) {
	for _, s := range h.Status().Sessions {
		if s.ID == id {
			return s
		}
	}
	return st
}

// Clients that do not read at all, for as long as it takes to print and deliver
// more than a log holds, hold up nobody: the others get everything
// meanwhile, and what is kept for the frozen ones has its bound.
func TestStdoutReaderNeverWaitsForAClient(t *testing.T) {
	h, script, p := scripted(t)
	script.Answer("session/read", func(hubtest.Line) string { return `{"session":{"sessionId":"s1"},"messages":[]}` })
	var frozen, healthy []*hubtest.Client
	for i := range 6 {
		c := h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)})
		c.Subscribe("s1", "")
		if i < 2 {
			frozen = append(frozen, c)
		} else {
			healthy = append(healthy, c)
		}
	}
	for _, c := range frozen {
		c.Freeze()
	}
	const events, size = 800, 32 << 10 // 25 MiB: more than a log holds
	printRun(p, 1, events, func(seq int) string {
		if seq%100 == 0 || seq == events {
			return event("s1", seq, fmt.Sprintf(`{"n":%d}`, seq))
		}
		return progress("s1", seq, size)
	})
	for _, c := range healthy {
		c.WantSeq("s1", events)
		var cursor hubtest.Cursor
		c.Track(&cursor, "s1")
		wantChain(t, c.Name, &cursor)
		if n := len(c.All("hub/lagged")); n > 0 {
			t.Errorf("%s, who reads, was told %d times that it lags", c.Name, n)
		}
	}
	// Also their calls are answered while the others sleep.
	healthy[0].MustCall("hub/ping", "{}")
	if ring := sessionStatus(h, "s1").RingBytes; ring > 33<<20 {
		t.Errorf("the session holds %d bytes, want at most two logs of 16 MiB", ring)
	}
	for _, c := range h.Status().Clients {
		if c.QueuedBytes > 9<<20 {
			t.Errorf("%s has %d private bytes queued", c.Name, c.QueuedBytes)
		}
	}
	for _, c := range frozen {
		c.Thaw()
	}
	for _, c := range frozen { // each by what is left of the log, or by a snapshot
		hubtest.Want(t, c.Name+" to catch up", func() bool {
			var cursor hubtest.Cursor
			c.Track(&cursor, "s1")
			return cursor.Seq == events
		})
	}
	printRun(p, events+1, events+50, func(seq int) string { return event("s1", seq, `{}`) })
	for _, c := range frozen {
		c.WantSeq("s1", events+50)
		var cursor hubtest.Cursor
		c.Track(&cursor, "s1")
		wantChain(t, c.Name, &cursor)
	}
}

// A client that was away for more than half a log reads less from then on, and
// gets its own lane back when it has kept up for ten seconds.
func TestLagLadderDowngradesAndRestores(t *testing.T) {
	t.Parallel()
	h, _, p := scripted(t)
	c := h.Connect("slow", hubtest.As{})
	c.Subscribe("s1", "")
	c.Freeze()
	const away = 400
	printRun(p, 1, away-1, func(seq int) string { return progress("s1", seq, 32<<10) }) // 12 MiB
	p.Print(event("s1", away, `{"last":true}`))
	hubtest.Want(t, "the hub to read the burst", func() bool { return sessionStatus(h, "s1").Seq == away })
	c.Thaw()
	c.WantSeq("s1", away)
	c.WantNotice("hub/lagged", `"downgraded"`, `"s1"`)
	seq := away
	next := func() {
		seq++
		p.Print(progress("s1", seq, 10), event("s1", seq+1, `{}`))
		seq++
		c.WantSeq("s1", uint64(seq))
	}
	hubtest.Want(t, "hub/lagged restored", func() bool {
		next()
		return len(c.All("hub/lagged", `"restored"`)) > 0
	})
	n := c.Received()
	p.Print(progress("s1", seq+1, 10))
	c.WantAfter(n, "progress, which only its own lane has", func(m hubtest.Message) bool { return m.Path("params", "payload", "kind") == "progress" })
	var cursor hubtest.Cursor
	c.Track(&cursor, "s1")
	wantChain(t, c.Name, &cursor)
}

// What cannot be coalesced any more is dropped for a snapshot, and after it the
// events go on without a gap.
func TestLagLadderEndsInASnapshot(t *testing.T) {
	for _, profile := range []auth.Profile{auth.Continuous, auth.Replayable} {
		t.Run(profile.Delivery(), func(t *testing.T) {
			h, script, p := scripted(t)
			script.Answer("session/read", func(hubtest.Line) string { return `{"session":{"sessionId":"s1"},"messages":["all"]}` })
			c := h.Connect("slow", hubtest.As{Profile: profile})
			c.Subscribe("s1", "")
			c.Freeze()
			big := `{"text":"` + strings.Repeat("y", 64<<10) + `"}`
			printRun(p, 1, 300, func(seq int) string { return event("s1", seq, big) }) // 19 MiB
			hubtest.Want(t, "the hub to read the burst", func() bool { return sessionStatus(h, "s1").Seq == 300 })
			c.Thaw()
			c.WantNotice("hub/lagged", `"snapshot"`)
			c.WantNotice("hub/snapshot", `"lag"`, `"messages":["all"]`)
			p.Print(event("s1", 301, `{}`))
			c.WantSeq("s1", 301)
			var cursor hubtest.Cursor
			c.Track(&cursor, "s1")
			wantChain(t, c.Name, &cursor)
			if n := len(c.All("hub/snapshot")); n != 1 {
				t.Errorf("the client got %d snapshots, want 1", n)
			}
		})
	}
}

// A client that keeps losing its backlog is asked to come back.
func TestLagLadderClosesWhoNeverKeepsUp(t *testing.T) {
	h, script, p := scripted(t)
	script.Answer("session/read", func(hubtest.Line) string { return `{"session":{"sessionId":"s1"}}` })
	c := h.Connect("slow", hubtest.As{})
	c.Subscribe("s1", "")
	big := `{"text":"` + strings.Repeat("y", 256<<10) + `"}`
	seq := 0
	for round := 0; c.Closed() == 0; round++ {
		if round == 10 {
			t.Fatal("the client was never closed")
		}
		c.Freeze()
		printRun(p, seq+1, seq+36, func(seq int) string { return event("s1", seq, big) })
		seq += 36 // 9 MiB
		hubtest.Want(t, "the hub to read the burst", func() bool { return sessionStatus(h, "s1").Seq == uint64(seq) })
		n := c.Received()
		c.Thaw()
		hubtest.Want(t, "the snapshot, or the end", func() bool {
			if c.Closed() != 0 {
				return true
			}
			for _, m := range c.Messages()[n:] {
				if m.Method == "hub/snapshot" {
					return true
				}
			}
			return false
		})
	}
	c.WantClosed(4408)
	h.Connect("other", hubtest.As{}).MustCall("hub/ping", "{}")
}

// Private messages that nobody reads have their bound too, and its end is the
// end of that connection only.
func TestPrivateQueueIsBoundedInBytes(t *testing.T) {
	h, script, p := scripted(t)
	answer := `{"text":"` + strings.Repeat("z", 1<<20) + `"}`
	script.Answer("test/big", func(hubtest.Line) string { return answer })
	c, other := h.Connect("frozen", hubtest.As{}), h.Connect("other", hubtest.As{})
	c.Freeze()
	for range 12 {
		c.Request("test/big", "{}")
	}
	p.WantRequest("test/big", 12)
	c.WantClosed(4408)
	other.MustCall("test/big", "{}")
}
