package wire

import (
	"encoding/json"
	"testing"
)

func TestMessagesAreSpliced(t *testing.T) {
	for _, tt := range []struct {
		got  []byte
		want string
	}{
		{AppendRequest(nil, []byte(`"server-1"`), "a/b", []byte(`{"x": 1}`)), `{"id":"server-1","method":"a/b","params":{"x": 1}}`},
		{AppendRequest(nil, []byte(`0`), "a\"b", nil), `{"id":0,"method":"a\"b"}`},
		{AppendNotification(nil, "m", []byte(`{}`)), `{"method":"m","params":{}}`},
		{AppendNotification(nil, "m", nil), `{"method":"m"}`},
		{AppendResult(nil, []byte(`9007199254740993`), []byte(`[1]`)), `{"id":9007199254740993,"result":[1]}`},
		{AppendResult(nil, []byte(`1`), nil), `{"id":1,"result":null}`},
		{AppendError(nil, []byte(`1`), ErrorObject{Code: -32603, Message: "no"}), `{"id":1,"error":{"code":-32603,"message":"no"}}`},
		{AppendError(nil, []byte(`1`), ErrorObject{Code: 1, Message: "bad \xff", Data: json.RawMessage(`{"a":1}`)}), `{"id":1,"error":{"code":1,"message":"bad ` + "\ufffd" + `","data":{"a":1}}}`},
	} {
		var e Envelope
		if err := ParseEnvelope(tt.got, &e); err != nil || string(tt.got) != tt.want {
			t.Errorf("got %s (%v), want %s", tt.got, err, tt.want)
		}
	}
}

func TestOneLineKeepsTheTextOnOneLine(t *testing.T) {
	in := []byte("{\r\n\t\"a\": \"x\\ny\",\n\"b\":1\r}")
	before := string(in)
	if got, want := string(OneLine(in)), "{  \t\"a\": \"x\\ny\", \"b\":1 }"; got != want {
		t.Errorf("OneLine = %q, want %q", got, want)
	}
	if string(in) != before {
		t.Errorf("OneLine wrote to its argument: %q", in)
	}
	plain := []byte(`{"a":1}`)
	if got := OneLine(plain); &got[0] != &plain[0] {
		t.Error("OneLine copied a text that was on one line already")
	}
}
