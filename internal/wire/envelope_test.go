package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// show is an envelope as one string: kind, then every member that is set.
func show(e *Envelope) string {
	var s strings.Builder
	s.WriteString(e.Kind.String())
	for _, f := range []struct {
		name  string
		value []byte
	}{
		{"id", e.ID}, {"method", e.Method}, {"params", e.Params}, {"result", e.Result}, {"error", e.Error},
		{"trace", e.Trace}, {"sessionId", e.SessionID}, {"type", e.Type}, {"payload", e.Payload},
	} {
		if f.value != nil {
			fmt.Fprintf(&s, " %s=%s", f.name, f.value)
		}
	}
	if e.HasSeq {
		fmt.Fprintf(&s, " seq=%d", e.Seq)
	}
	return s.String()
}

func TestEnvelopeIsFoundAndPayloadLeftAlone(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{`{"id":1,"method":"a/b"}`, `request id=1 method=a/b`},
		{` { "method" : "a/b" , "id" : "x" } `, `request id="x" method=a/b`},
		{`{"method":"m","params":null}`, `notification method=m params=null`},
		{`{"method":"m","params":[1,"sessionId"]}`, `notification method=m params=[1,"sessionId"]`},
		{`{"id":0,"result":null}`, `response id=0 result=null`},
		{`{"result":{},"id":"server-1"}`, `response id="server-1" result={}`},
		{`{"error":{"code":-32004,"message":"no"},"id":7}`, `error id=7 error={"code":-32004,"message":"no"}`},
		{`{"method":"m","trace":{"traceId":"t"}}`, `notification method=m trace={"traceId":"t"}`},
		{`{"params":{"sessionId":"s1","seq":18446744073709551615,"type":"t","payload":{"a": 1}},"method":"m"}`,
			`notification method=m params={"sessionId":"s1","seq":18446744073709551615,"type":"t","payload":{"a": 1}} sessionId=s1 type=t payload={"a": 1} seq=18446744073709551615`},
		{`{"method":"m","params":{"payload":{"sessionId":"no","seq":1}}}`,
			`notification method=m params={"payload":{"sessionId":"no","seq":1}} payload={"sessionId":"no","seq":1}`},
		{`{"\u0069d":1,"m\u0065thod":"\u0061b","params":{"session\u0049d":"\ud83d\ude00"}}`,
			`request id=1 method=ab params={"session\u0049d":"\ud83d\ude00"} sessionId=😀`},
		{`{"method":"m","params":{"sessionId":"a","sessionId":"b","seq":1,"seq":-1,"type":"t","type":5}}`,
			`notification method=m params={"sessionId":"a","sessionId":"b","seq":1,"seq":-1,"type":"t","type":5} sessionId=b`},
	} {
		var e Envelope
		if err := ParseEnvelope([]byte(tt.line), &e); err != nil {
			t.Errorf("ParseEnvelope(%s): %v", tt.line, err)
		} else if got := show(&e); got != tt.want {
			t.Errorf("ParseEnvelope(%s)\n got %s\nwant %s", tt.line, got, tt.want)
		}
	}
}

func TestIDsStayVerbatim(t *testing.T) {
	for _, id := range []string{`0`, `-0`, `-17`, `9007199254740993`, `123456789012345678901234567890`, `""`, `"server-1"`, `"\u0031"`, `" 1"`} {
		var e Envelope
		line := `{"id": ` + id + ` ,"result":1}`
		if err := ParseEnvelope([]byte(line), &e); err != nil || string(e.ID) != id {
			t.Errorf("ParseEnvelope(%s): id %s, error %v", line, e.ID, err)
		}
	}
}

func TestNotAMessage(t *testing.T) {
	for _, tt := range []struct {
		line   string
		want   error
		wantID string
	}{
		{`[]`, errNotObject, ""},
		{` null `, errNotObject, ""},
		{`{}`, errMixed, ""},
		{`{"id":1}`, errMixed, "1"},
		{`{"result":1}`, errMixed, ""},
		{`{"id":1,"method":"m","result":1}`, errMixed, "1"},
		{`{"id":1,"error":{},"result":1}`, errMixed, "1"},
		{`{"id":1,"result":1,"params":{}}`, errMixed, "1"},
		{`{"id":1,"result":1,"trace":{}}`, errMixed, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"m"}`, errUnknownKey, "1"},
		{`{"id":1,"method":"m","ID":2}`, errUnknownKey, "1"},
		{`{"id":"a","method":"m","method":"n"}`, errDuplicateKey, `"a"`},
		{`{"id":1,"method":"m","\u0069d":2}`, errDuplicateKey, ""},
		{`{"id":null,"method":"m"}`, errBadID, ""},
		{`{"id":1.0,"method":"m"}`, errBadID, ""},
		{`{"id":1e3,"method":"m"}`, errBadID, ""},
		{`{"id":true,"method":"m"}`, errBadID, ""},
		{`{"id":{},"method":"m"}`, errBadID, ""},
		{`{"id":1,"method":""}`, errBadMethod, "1"},
		{`{"id":1,"method":5}`, errBadMethod, "1"},
		{`{"id":1,"method":" m"}`, errBadMethod, "1"},
		{`{"id":1,"method":"m\u00a0"}`, errBadMethod, "1"},
		{`{"id":1,"method":"\ufeffm"}`, errBadMethod, "1"},
		{`{"id":1,"error":"no"}`, errBadError, "1"},
		{`{"method":"m","trace":null}`, errBadTrace, ""},
	} {
		var e Envelope
		err := ParseEnvelope([]byte(tt.line), &e)
		if err != tt.want || !errors.Is(err, ErrNotMessage) || string(e.ID) != tt.wantID || e.Kind != Invalid {
			t.Errorf("ParseEnvelope(%s): error %v, id %s, kind %v; want %v, %s", tt.line, err, e.ID, e.Kind, tt.want, tt.wantID)
		}
	}
}

// notJSON are texts that a lax scanner lets through.
var notJSON = []string{
	``, ` `, `{`, `{"id":1`, `{"id":1,}`, `{,"id":1}`, `{"id" 1}`, `{id:1}`, `{"id":01}`, `{"id":-}`, `{"id":1.}`, `{"id":.5}`,
	`{"id":1e}`, `{"id":+1}`, `{"id":tru}`, `{"id":nul}`, `{"id":"a}`, `{"id":"\x"}`, `{"id":"\u12g4"}`, `{"id":"\u123"}`,
	"{\"id\":\"a\tb\"}", "{\"id\":\"\x00\"}", `{"id":1}}`, `{"id":1}{}`, `{"id":[1,]}`, `{"id":[,1]}`, `{"id":[1 2]}`, `{"id":{"a":1,}}`,
	"{\"id\":\"\xff\"}", "{\"id\":\"aaaaaaaaaaaaaaaa\xc3\"}", "{\"id\":\"\xed\xa0\x80\"}", "{\"id\":\"\xc0\xaf\"}", "\ufeff{\"id\":1}",
	"{\"id\":1}\x00", "{\"id\":1}\f", "{\"id\":NaN}", `{'id':1}`, `{"id":1}//`, "{\"id\":\"\\",
}

func TestNotJSON(t *testing.T) {
	for _, line := range notJSON {
		var e Envelope
		if err := ParseEnvelope([]byte(line), &e); err != ErrNotJSON || show(&e) != "invalid" {
			t.Errorf("ParseEnvelope(%q): %v, %s; want ErrNotJSON and nothing filled", line, err, show(&e))
		}
	}
}

func TestDepthBoundIsThatOfEncodingJSON(t *testing.T) {
	for _, depth := range []int{maxDepth - 2, maxDepth - 1, maxDepth, maxDepth + 1, 300 * maxDepth} {
		for _, pair := range []string{`[]`, `{}`} {
			open := pair[:1]
			if open == `{` {
				open = `{"":`
			}
			nest := strings.Repeat(open, depth-1) + pair + strings.Repeat(pair[1:], depth-1)
			if got, want := Valid([]byte(nest)), json.Valid([]byte(nest)); got != want {
				t.Errorf("Valid(%d times %s) = %v, want %v", depth, pair, got, want)
			}
			line := `{"method":"m","params":` + nest + `}`
			var e Envelope
			if got, want := ParseEnvelope([]byte(line), &e) == nil, json.Valid([]byte(line)); got != want {
				t.Errorf("ParseEnvelope(params %d times %s) accepts: %v, want %v", depth, pair, got, want)
			}
		}
	}
}

func TestOrdinaryLinesCostNoAllocation(t *testing.T) {
	lines := [][]byte{
		sampleLine(200), sampleLine(64 << 10), structuredLine(64 << 10),
		[]byte(`{"id":1,"method":"m","jsonrpc":"2.0"}`), []byte(`{"id":1`), []byte(`[]`),
	}
	for _, line := range lines {
		var e Envelope
		if n := testing.AllocsPerRun(20, func() { _ = ParseEnvelope(line, &e) }); n != 0 {
			t.Errorf("ParseEnvelope(%.40s…) made %v allocations", line, n)
		}
	}
	obj := []byte(`{"a":1,"b":"x","c":[1,2,{"d":3}]}`)
	if n := testing.AllocsPerRun(20, func() {
		v, _ := Path(obj, "c")
		for range Elements(v) {
		}
		HasDuplicateKeys(obj)
	}); n != 0 {
		t.Errorf("Path, Elements and HasDuplicateKeys made %v allocations", n)
	}
}

func FuzzParseEnvelope(f *testing.F) {
	for _, s := range notJSON {
		f.Add([]byte(s))
	}
	for _, s := range []string{
		`{"id":1,"method":"m","params":{"sessionId":"s","seq":3,"type":"t","payload":{"a":[1,2.5e-3,true,null,"\ud800"]}},"trace":{}}`,
		`{"\u0069d":1,"id":2,"result":{}}`, `{"id":"x","error":{"code":1,"message":"m"}}`, `[{"a":"é\u2028"}]`, `{"id":-0,"result":"日本語テキスト"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		wantJSON := json.Valid(line) && utf8.Valid(line)
		if got := Valid(line); got != wantJSON {
			t.Fatalf("Valid(%q) = %v, want %v", line, got, wantJSON)
		}
		var e Envelope
		err := ParseEnvelope(line, &e)
		if gotJSON := err == nil || errors.Is(err, ErrNotMessage); gotJSON != wantJSON {
			t.Fatalf("ParseEnvelope(%q): %v, but encoding/json says valid=%v", line, err, wantJSON)
		}
		if err != nil {
			return
		}
		compareEnvelope(t, line, &e)
	})
}

// compareEnvelope checks an accepted line against encoding/json.
func compareEnvelope(t *testing.T, line []byte, e *Envelope) {
	t.Helper()
	var want map[string]json.RawMessage
	if err := json.Unmarshal(line, &want); err != nil {
		t.Fatalf("ParseEnvelope accepted %q: %v", line, err)
	}
	for key, got := range map[string][]byte{"id": e.ID, "params": e.Params, "result": e.Result, "error": e.Error, "trace": e.Trace} {
		if string(got) != string(want[key]) {
			t.Fatalf("%s of %q = %q, want %q", key, line, got, want[key])
		}
		delete(want, key)
	}
	checkString(t, line, "method", e.Method, want["method"])
	delete(want, "method")
	if len(want) != 0 {
		t.Fatalf("ParseEnvelope accepted %q with unknown keys %v", line, want)
	}
	var params map[string]json.RawMessage
	_ = json.Unmarshal(e.Params, &params) // no object: no members
	checkString(t, line, "sessionId", e.SessionID, params["sessionId"])
	checkString(t, line, "type", e.Type, params["type"])
	if string(e.Payload) != string(params["payload"]) {
		t.Fatalf("payload of %q = %q, want %q", line, e.Payload, params["payload"])
	}
	var seq uint64
	hasSeq := params["seq"] != nil && params["seq"][0] != 'n' && json.Unmarshal(params["seq"], &seq) == nil
	if e.HasSeq != hasSeq || hasSeq && e.Seq != seq {
		t.Fatalf("seq of %q = %d %v, want %d %v", line, e.Seq, e.HasSeq, seq, hasSeq)
	}
}

func checkString(t *testing.T, line []byte, name string, got []byte, raw json.RawMessage) {
	t.Helper()
	var want *string
	if raw != nil && raw[0] == '"' {
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
	}
	if (got == nil) != (want == nil) || want != nil && string(got) != *want {
		t.Fatalf("%s of %q = %q, want %v", name, line, got, reflect.ValueOf(want))
	}
}
