package simulator

import (
	"strings"
	"testing"
)

func TestSameTurnInBothSurfaces(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		s.result("session/subscribe", `{"sessionId":"`+id+`","deliveryKind":"desktop-continuous"}`)
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		r := s.follow("conversation/"+id, "b", "web-remote-replayable", "")
		a, said := s.command(id, "sendText", `{"text":"ask"}`)
		wantStatus(t, a, "accepted", "")
		c.take(said)
		r.take(said)
		s.sync(c, r)
		if !strings.Contains(strings.Join(eventNames(said), " "), "turn.completed") {
			t.Errorf("no legacy turn: %v", eventNames(said))
		}
		wantSame(t, "continuous fold", c.canonical(), c.fresh())
		wantSame(t, "replayable fold", r.canonical(), c.fresh())
		said = s.prompt(id, "todo")
		c.take(said)
		s.sync(c)
		wantSame(t, "fold after a legacy turn", c.canonical(), c.fresh())
	})
}
