package hub_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"zcodehub/auth"
	"zcodehub/internal/hubtest"
)

// lifetime is one device that goes through many connections with one cursor.
type lifetime struct {
	t       *testing.T
	h       *hubtest.Hub
	name    string
	session string
	cursor  hubtest.Cursor
	client  *hubtest.Client
	seen    int // messages of the client that the cursor has
	number  int
}

// connect attaches anew and resumes; the first time it begins at the present.
func (l *lifetime) connect(profile auth.Profile) {
	l.t.Helper()
	l.number++
	l.client, l.seen = l.h.Connect(fmt.Sprint(l.name, "-", l.number), hubtest.As{Device: l.name, Profile: profile}), 0
	more := ""
	if l.cursor.Epoch != "" {
		more = l.cursor.More()
	}
	if s := l.client.Subscribe(l.session, more); more != "" && !s.Resumed {
		l.t.Fatalf("%s at %d: not resumed: %s", l.client.Name, l.cursor.Seq, s)
	}
}

// catchUp feeds the cursor with what came since.
func (l *lifetime) catchUp() {
	all := l.client.Messages()
	for _, m := range all[l.seen:] {
		l.cursor.See(m, l.session)
	}
	l.seen = len(all)
}

// drop ends the connection; what was not received by then is lost with it.
func (l *lifetime) drop() {
	l.client.Leave()
	l.catchUp()
}

func (l *lifetime) wantSeq(seq uint64) {
	l.t.Helper()
	hubtest.Want(l.t, fmt.Sprintf("%s to have event %d", l.name, seq), func() bool { l.catchUp(); return l.cursor.Seq >= seq })
}

// A client drops its connection at a hundred random points and resumes each time
// with its cursor: it has every event exactly once, in either profile, also if
// it changes the profile between connections or in the middle of one.
func TestReconnectIsExactlyOnce(t *testing.T) {
	h, _, p := scripted(t)
	steady := h.Connect("steady", hubtest.As{})
	steady.Subscribe("s1", "")
	random := rand.New(rand.NewPCG(1, 2))
	lives := []*lifetime{
		{t: t, h: h, name: "continuous", session: "s1"}, {t: t, h: h, name: "replayable", session: "s1"},
		{t: t, h: h, name: "changing", session: "s1"}, {t: t, h: h, name: "switching", session: "s1"},
	}
	profile := func(i int) auth.Profile {
		if i < 2 {
			return profileOf(i)
		}
		return profileOf(random.IntN(2))
	}
	for i, l := range lives {
		l.connect(profile(i))
	}
	seq := 0
	one := func(seq int) string {
		switch random.IntN(6) {
		case 0:
			return progress("s1", seq, 20)
		case 1:
			return event("s1", seq, fmt.Sprintf(`{"n":%d}`, seq))
		}
		return delta("s1", seq, fmt.Sprint("word", seq, " "))
	}
	for range 100 {
		run := random.IntN(60)
		printRun(p, seq+1, seq+run, one)
		seq += run
		for i, l := range lives {
			switch {
			case i == 3:
				l.client.MustCall("hub/setProfile", fmt.Sprintf(`{"profile":%q}`, profile(i)))
				l.catchUp()
				if random.IntN(4) > 0 {
					continue
				}
				fallthrough
			default:
				if random.IntN(2) == 0 { // at an event, else wherever it is now
					l.client.WantSeq("s1", l.cursor.Seq) // has been, or there was none
				}
				l.drop()
				l.connect(profile(i))
			}
		}
	}
	p.Print(event("s1", seq+1, `{"last":true}`))
	seq++
	steady.WantSeq("s1", uint64(seq))
	var want hubtest.Cursor
	steady.Track(&want, "s1")
	wantChain(t, "steady", &want)
	if want.Count != seq {
		t.Errorf("the steady client got %d of %d events", want.Count, seq)
	}
	for _, l := range lives {
		l.wantSeq(uint64(seq))
		wantChain(t, l.name, &l.cursor)
		if !bytes.Equal(l.cursor.Fold.JSON(), want.Fold.JSON()) {
			t.Errorf("%s ends in another state:\n%.400s\nwant\n%.400s", l.name, l.cursor.Fold.JSON(), want.Fold.JSON())
		}
		if l.name == "continuous" && l.cursor.Count != seq {
			t.Errorf("%s got %d of %d events", l.name, l.cursor.Count, seq)
		}
	}
	if n := p.Count("session/subscribe"); n != 1 {
		t.Errorf("the app-server saw %d subscribes", n)
	}
}

// A cursor that cannot be resumed gets an explicit verdict and a snapshot, and
// the events go on from there.
func TestCursorThatCannotBeResumed(t *testing.T) {
	h, script, p := scripted(t)
	script.Answer("session/read", func(hubtest.Line) string { return `{"session":{"sessionId":"s1"},"messages":["state"]}` })
	c := h.Connect("steady", hubtest.As{})
	first := c.Subscribe("s1", "")
	big := `{"text":"` + strings.Repeat("y", 64<<10) + `"}`
	printRun(p, 1, 300, func(seq int) string { return event("s1", seq, big) }) // 19 MiB: the first are evicted
	c.WantSeq("s1", 300)
	if st := sessionStatus(h, "s1"); st.Seq != 300 || st.RingBytes > 17<<20 {
		t.Errorf("the session holds %+v", st)
	}
	for name, more := range map[string]string{
		"evicted number":  fmt.Sprintf(`,"afterSeq":1,"epoch":%q`, first.Epoch),
		"stale epoch":     `,"afterSeq":299,"epoch":"old"`,
		"no epoch":        `,"afterSeq":299`,
		"from the future": fmt.Sprintf(`,"afterSeq":301,"epoch":%q`, first.Epoch),
	} {
		for i := range 2 {
			c := h.Connect(fmt.Sprint(name, i), hubtest.As{Profile: profileOf(i)})
			s := c.Subscribe("s1", more)
			if s.Resumed || len(s.Events) > 0 || !strings.Contains(string(s.Snapshot), `"state"`) || s.EventSeq != 300 || s.Epoch != first.Epoch || s.FloorSeq == 0 {
				t.Errorf("%s: got %s", name, s)
			}
		}
	}
	last := h.Connect("in reach", hubtest.As{})
	s := last.Subscribe("s1", fmt.Sprintf(`,"afterSeq":299,"epoch":%q`, first.Epoch))
	if !s.Resumed || len(s.Events) != 1 || s.Snapshot != nil {
		t.Errorf("a cursor in reach: got %s", s)
	}
	p.Print(event("s1", 301, `{}`))
	for _, c := range h.Clients() {
		c.WantSeq("s1", 301)
		var cursor hubtest.Cursor
		if c == last {
			cursor.Seq = 299
		}
		c.Track(&cursor, "s1")
		wantChain(t, c.Name, &cursor)
	}
}

// The app-server's numbers break off: everybody gets a snapshot under a new
// epoch, and nobody a gap.
func TestBrokenNumbersBeginANewEpoch(t *testing.T) {
	h, script, p := scripted(t)
	script.Answer("session/read", func(hubtest.Line) string { return `{"session":{"sessionId":"s1"}}` })
	for i := range 4 {
		h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)}).Subscribe("s1", "")
	}
	p.Print(event("s1", 1, `{}`), event("s1", 2, `{}`), event("s1", 2, `{}`), event("s1", 5, `{}`), event("s1", 6, `{}`))
	for _, c := range h.Clients() {
		c.WantNotice("hub/snapshot", `"gap"`)
	}
	p.Print(event("s1", 7, `{}`))
	for _, c := range h.Clients() {
		c.WantSeq("s1", 7)
		var cursor hubtest.Cursor
		c.Track(&cursor, "s1")
		wantChain(t, c.Name, &cursor)
	}
}

// includeSnapshot asks upstream once for all who wait; the snapshot and eventSeq
// belong together, and the events after it go on without a gap.
func TestSnapshotsAreConsistentAndAskedOnce(t *testing.T) {
	h, script, p := scripted(t)
	script.Answer("session/read", nil)
	starter := h.Connect("starter", hubtest.As{})
	starter.Subscribe("s1", "")
	printRun(p, 1, 10, func(seq int) string { return delta("s1", seq, "a") })
	starter.WantSeq("s1", 10)
	var clients []*hubtest.Client
	var ids []string
	for i := range 20 {
		c := h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)})
		clients = append(clients, c)
		ids = append(ids, c.Request("session/subscribe", `{"sessionId":"s1","includeSnapshot":true}`))
	}
	read := p.WantRequest("session/read", 1)
	p.Print(delta("s1", 11, "b"), delta("s1", 12, "c"),
		fmt.Sprintf(`{"id":%s,"result":{"session":{"sessionId":"s1"},"upTo":12}}`, read.ID),
		delta("s1", 13, "d"), event("s1", 14, `{}`))
	for i, c := range clients {
		m := c.WantReply(ids[i])
		if m.Path("result", "eventSeq") != "12" || m.Path("result", "snapshot", "upTo") != "12" || m.Path("result", "resumed") != "false" {
			t.Errorf("%s got %s", c.Name, m)
		}
		c.WantSeq("s1", 14)
		var cursor hubtest.Cursor
		c.Track(&cursor, "s1")
		wantChain(t, c.Name, &cursor)
	}
	if n := p.Count("session/read"); n != 1 {
		t.Errorf("upstream was asked %d times", n)
	}
}

// A busy app-server does not keep a client from its stream: after two seconds
// the subscribe is answered without the snapshot, which follows.
func TestLateSnapshotFollows(t *testing.T) {
	t.Parallel()
	h, script, p := scripted(t)
	script.Answer("session/read", nil)
	c := h.Connect("client", hubtest.As{})
	s := c.Subscribe("s1", `,"includeSnapshot":true`)
	if s.Snapshot != nil {
		t.Fatalf("a snapshot that nobody gave: %s", s)
	}
	p.Print(event("s1", 1, `{}`))
	c.WantSeq("s1", 1)
	read := p.WantRequest("session/read", 1)
	p.Print(event("s1", 2, `{}`), fmt.Sprintf(`{"id":%s,"result":{"session":{"sessionId":"s1"},"upTo":2}}`, read.ID), event("s1", 3, `{}`))
	m := c.WantNotice("hub/snapshot", `"late"`)
	if m.Path("params", "eventSeq") != "2" || m.Path("params", "epoch") != s.Epoch {
		t.Errorf("the late snapshot is %s", m)
	}
	c.WantSeq("s1", 3)
	var cursor hubtest.Cursor
	c.Track(&cursor, "s1")
	wantChain(t, c.Name, &cursor)
}

// Attaching is atomic: clients that come at any moment of a burst, with the
// cursor of one who was there before, have every event once.
func TestAttachDuringABurst(t *testing.T) {
	h, _, p := scripted(t)
	lead := h.Connect("lead", hubtest.As{})
	begin := lead.Subscribe("s1", "")
	const events = 2000
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		printRun(p, 1, events, func(seq int) string { return delta("s1", seq, fmt.Sprint(seq, " ")) })
	}()
	var comers []*hubtest.Client
	for i := range 30 {
		c := h.Connect(fmt.Sprint("comer", i), hubtest.As{Profile: profileOf(i)})
		c.Subscribe("s1", fmt.Sprintf(`,"afterSeq":0,"epoch":%q`, begin.Epoch))
		comers = append(comers, c)
	}
	<-printed
	p.Print(event("s1", events+1, `{}`))
	var want []byte
	for _, c := range append([]*hubtest.Client{lead}, comers...) {
		l := &lifetime{t: t, h: h, name: c.Name, session: "s1", client: c}
		l.wantSeq(events + 1)
		wantChain(t, c.Name, &l.cursor)
		if want == nil {
			want = l.cursor.Fold.JSON()
		}
		if !bytes.Equal(l.cursor.Fold.JSON(), want) {
			t.Errorf("%s has another state", c.Name)
		}
	}
}
