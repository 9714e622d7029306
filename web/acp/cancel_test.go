package acp

import (
	"testing"

	"zcodehub/hub"
	"zcodehub/internal/hubtest"
)

func TestACancelOfWhoDoesNotHoldControlEndsNothing(t *testing.T) {
	s := serve(t, hubtest.Start(t, hubtest.NewSimulator(t, hubtest.SimulatorOptions{}), func(o *hub.Options) { o.Control = hub.ControlLease }))
	a := s.connect("a", as{})
	id := a.newSession()
	a.prompt(id, "hello") // and holds control from now on
	b := s.connect("b", as{params: formEditor})
	b.load(id, -1)
	from := a.mark()
	prompt := a.request("session/prompt", `{"sessionId":"`+id+`","prompt":[{"type":"text","text":"ask"}]}`)
	question, _ := a.wantAsk(from)
	b.notify("session/cancel", `{"sessionId":"`+id+`"}`)
	b.must("session/list", `{}`) // the cancel was taken
	a.option(question, "allow_once")
	if m := a.wantAnswer(prompt); m.path("result", "stopReason") != "end_turn" {
		t.Errorf("the prompt was answered %s", m)
	}
	if a.count("$/cancel_request") != 0 {
		t.Error("the question was withdrawn from who holds control")
	}
}
