package conversation

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func session(id, title string) string {
	return fmt.Sprintf(`{"sessionId":"%s","title":"%s"}`, id, title)
}

func indexFrame(seq uint64, sessions ...string) *Frame {
	return frameOf(0, seq, `{"kind":"snapshot","snapshot":{"protocolVersion":1,"workspaceId":"/w","logEpoch":"e","sessions":[`+strings.Join(sessions, ",")+`],"novel":1}}`)
}

func upsertedSession(s string) string { return `{"op":"session.upserted","session":` + s + `}` }

func removedSession(id string) string {
	return fmt.Sprintf(`{"op":"session.removed","sessionId":"%s"}`, id)
}

func TestIndexFollowsItsSessions(t *testing.T) {
	var p IndexProjection
	if p.Snapshot() != nil {
		t.Error("a snapshot before the first one came")
	}
	must(t, p.Apply(indexFrame(3, session("a", "1"), session("b", "1"), session("c", "1"))))
	must(t, p.Apply(deltasFrame(3, 5, removedSession("a"), removedSession("zz"), upsertedSession(session("c", "2")), upsertedSession(session("d", "1")), `{"op":"pluginUi.x"}`)))
	must(t, p.Apply(deltasFrame(5, 6, upsertedSession(session("b", "2")), removedSession("d"), upsertedSession(session("a", "9")))))
	wantSnapshot(t, &p, `{"protocolVersion":1,"workspaceId":"/w","logEpoch":"e","sessions":[`+session("b", "2")+`,`+session("c", "2")+`,`+session("a", "9")+`],"novel":1}`)
	if got := string(p.Session("c")); got != session("c", "2") {
		t.Errorf("session c is %s", got)
	}
	if p.Session("d") != nil {
		t.Error("session d is still there")
	}
	if p.Seq() != 6 || p.Epoch() != "e" {
		t.Errorf("at %s, %d", p.Epoch(), p.Seq())
	}
}

func TestIndexAppliesAFrameWholeOrNotAtAll(t *testing.T) {
	good := removedSession("a")
	for _, c := range []struct {
		frame *Frame
		want  error
	}{
		{deltasFrame(0, 1, good), ErrGap},
		{deltasFrame(1, 2, good, `{"op":"row.removed"}`), ErrUnknownOp},
		{deltasFrame(1, 2, good, `{}`), ErrUnknownOp},
		{deltasFrame(1, 2, good, `[]`), ErrMalformed},
		{deltasFrame(1, 2, good, `{"op":"session.removed"}`), ErrMalformed},
		{deltasFrame(1, 2, good, `{"op":"session.upserted","session":{}}`), ErrMalformed},
		{frameOf(0, 9, `{"kind":"snapshot","snapshot":{"sessions":[]}}`), ErrMalformed},
		{frameOf(0, 9, `{"kind":"snapshot","snapshot":{"logEpoch":"e"}}`), ErrMalformed},
		{frameOf(0, 9, `{"kind":"snapshot","snapshot":{"logEpoch":"e","sessions":[7]}}`), ErrMalformed},
	} {
		var p IndexProjection
		must(t, p.Apply(indexFrame(1, session("a", "1"))))
		before := string(p.Snapshot())
		if err := p.Apply(c.frame); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.frame.Payload, err, c.want)
		}
		if p.cached = nil; string(p.Snapshot()) != before || p.Seq() != 1 {
			t.Errorf("%s: the state went from\n%s to\n%s", c.frame.Payload, before, p.Snapshot())
		}
	}
}

func TestFilterIndexShowsNothingOfOtherSessions(t *testing.T) {
	sees := func(id string, _ []byte) bool { return id == "a" }
	for _, c := range []struct{ in, want string }{
		{string(indexFrame(1, session("a", "mine"), session("secret", "secret")).Payload),
			`{"kind":"snapshot","snapshot":{"protocolVersion":1,"workspaceId":"/w","logEpoch":"e","sessions":[` + session("a", "mine") + `]}}`},
		{string(deltasFrame(0, 1, upsertedSession(session("secret", "s")), upsertedSession(session("a", "2")), removedSession("secret"), removedSession("a"), `{"op":"novel","sessionId":"secret"}`).Payload),
			`{"kind":"deltas","deltas":[` + upsertedSession(session("a", "2")) + `,` + removedSession("a") + `]}`},
		{string(deltasFrame(0, 1, upsertedSession(session("secret", "s"))).Payload), `{"kind":"deltas","deltas":[]}`},
		{`{"kind":"novel","secret":1}`, `{"kind":"deltas","deltas":[]}`},
		{``, `{"kind":"deltas","deltas":[]}`},
	} {
		if got := string(FilterIndex([]byte(c.in), sees)); got != c.want {
			t.Errorf("of %s\ngot  %s\nwant %s", c.in, got, c.want)
		}
	}
	var given string
	FilterIndex(deltasFrame(0, 1, upsertedSession(session("a", "t")), removedSession("a")).Payload, func(id string, summary []byte) bool {
		given += id + string(summary) + ";"
		return false
	})
	if want := "a" + session("a", "t") + ";a;"; given != want {
		t.Errorf("asked for %s, want %s", given, want)
	}
}

func TestConfigIsTheLastOne(t *testing.T) {
	var p ConfigProjection
	if p.Snapshot() != nil {
		t.Error("a snapshot before the first one came")
	}
	first := frameOf(0, 1, `{"kind":"snapshot","snapshot":{"workspaceId":"/w","logEpoch":"e","seq":1,"config":{"configOptions":[]},"novel":[]}}`)
	must(t, p.Apply(first))
	must(t, p.Apply(deltasFrame(1, 3, `{"op":"config.updated","config":{"a":1}}`, `{"op":"config.updated","config":{"b":2}}`)))
	must(t, p.Apply(deltasFrame(3, 4, `{"op":"pluginUi.x"}`)))
	const want = `{"workspaceId":"/w","logEpoch":"e","seq":4,"config":{"b":2},"novel":[]}`
	wantSnapshot(t, &p, want)
	for _, c := range []struct {
		frame *Frame
		want  error
	}{
		{deltasFrame(1, 2), ErrGap},
		{deltasFrame(4, 5, `{"op":"config.updated","config":1}`, `{"op":"novel"}`), ErrUnknownOp},
		{deltasFrame(4, 5, `{"op":"config.updated"}`), ErrMalformed},
		{deltasFrame(4, 5, `1`), ErrMalformed},
		{frameOf(0, 9, `{"kind":"snapshot","snapshot":{}}`), ErrMalformed},
	} {
		if err := p.Apply(c.frame); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.frame.Payload, err, c.want)
		}
	}
	p.cached = nil
	wantSnapshot(t, &p, want)
	if p.Seq() != 4 || p.Epoch() != "e" {
		t.Errorf("at %s, %d", p.Epoch(), p.Seq())
	}
}
