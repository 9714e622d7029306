package session

import (
	"testing"
)

func TestUpdateKeepsTheParamsThatCame(t *testing.T) {
	for params, want := range map[string]string{
		`{"seq":5,"payload":{"a":"é"}}`: `{"fromSeq":4,"seq":5,"payload":{"a":"é"}}`,
		`{ "seq":5}`:                    `{"fromSeq":4,"seq":5}`,
		`{}`:                            `{"fromSeq":4}`,
		`{ }`:                           `{"fromSeq":4}`,
	} {
		msg := AppendUpdate(nil, 4, []byte(params))
		if got := string(UpdateParams(msg)); got != want {
			t.Errorf("UpdateParams(AppendUpdate(4, %s)) = %s, want %s", params, got, want)
		}
		if got, want := string(msg), `{"method":"session/event","params":`+want+`}`; got != want {
			t.Errorf("AppendUpdate(4, %s) = %s, want %s", params, got, want)
		}
	}
}

func TestEventIsReadWithoutItsPayload(t *testing.T) {
	e := ParseEvent([]byte(`{"eventId":"e","payload":{"kind":"started","n":1},"seq":7,"sessionId":"s\u0031","turnId":"t","type":"tool.updated"}`))
	if e.SessionID != "s1" || e.TurnID != "t" || e.Type != "tool.updated" || e.Seq != 7 || string(e.Payload) != `{"kind":"started","n":1}` {
		t.Errorf("got %+v", e)
	}
	if e.Text("kind") != "started" || e.Text("n") != "" || e.Text("none") != "" {
		t.Errorf("Text: kind %q, n %q, none %q", e.Text("kind"), e.Text("n"), e.Text("none"))
	}
	odd := ParseEvent([]byte(`{"seq":-1,"sessionId":5,"type":null}`))
	if odd.Seq != 0 || odd.SessionID != "" || odd.Type != "" || odd.Text("kind") != "" {
		t.Errorf("odd event: got %+v", odd)
	}
}
