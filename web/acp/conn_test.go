package acp

import (
	"strconv"
	"testing"

	"zcodehub/hub"
)

func TestRequestsUnderWayAreBoundedInBytes(t *testing.T) {
	c := newConn(&Adapter{}, hub.ClientInfo{}, nil)
	defer c.cancel(nil)
	c.ready = true
	params := append([]byte{'{'}, make([]byte, maxAsked/3)...)
	ask := func(i int) (*request, *Error) {
		r := &request{id: strconv.AppendInt(nil, int64(i), 10), method: "session/load", params: params}
		_, fault := c.admit(r)
		return r, fault
	}
	first, fault := ask(1)
	if fault != nil {
		t.Fatalf("the first request is refused: %v", fault)
	}
	if _, fault := ask(2); fault != nil {
		t.Fatalf("a second request that fits is refused: %v", fault)
	}
	if _, fault := ask(3); fault == nil {
		t.Error("a third request is taken, with which they are too many bytes")
	}
	c.answer(&c.out, first, nil)
	if _, fault := ask(4); fault != nil {
		t.Errorf("a request is refused although another one was answered: %v", fault)
	}
}

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
