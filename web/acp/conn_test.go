package acp

import "testing"

func TestASessionIsMadePromptedAndLoaded(t *testing.T) {
	s := serve(t, simulated(t))
	a := s.connect("a", as{})
	id := a.newSession()
	if m := a.prompt(id, "hello"); m.path("result", "stopReason") != "end_turn" {
		t.Errorf("the prompt was answered %s", m)
	}
	b := s.connect("b", as{params: formEditor})
	before := b.mark()
	b.load(id, -1)
	if got, want := b.transcript(id, before), "\nuser: hello"; len(got) < 100 || got[:len(want)] != want {
		t.Errorf("the replay is %s", got)
	}
}
