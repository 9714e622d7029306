package simulator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestBadLinesAreAnsweredAsTheDocumentSays covers what is refused before a method is looked at.
func TestBadLinesAreAnsweredAsTheDocumentSays(t *testing.T) {
	tests := map[string]struct {
		line    string
		id      any
		code    float64
		message string
	}{
		"not JSON":            {`not json`, "parse-error", -32700, "Parse error"},
		"half a message":      {`{"id":1,`, "parse-error", -32700, "Parse error"},
		"two messages":        {`{"id":1,"method":"a"}{"id":2,"method":"a"}`, "parse-error", -32700, "Parse error"},
		"array":               {`[{"id":1,"method":"runtime/capabilities"}]`, "invalid-message", -32600, "Invalid ZCode Protocol message"},
		"null":                {`null`, "invalid-message", -32600, "Invalid ZCode Protocol message"},
		"jsonrpc key":         {`{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}`, "invalid-message", -32600, "Invalid ZCode Protocol message"},
		"unknown key":         {`{"id":2,"method":"session/list","extra":1}`, "invalid-message", -32600, "Invalid ZCode Protocol message"},
		"no method":           {`{"id":2}`, "invalid-message", -32600, "Invalid ZCode Protocol message"},
		"blank method":        {`{"id":2,"method":"  "}`, "invalid-message", -32600, "Invalid ZCode Protocol message"},
		"null id":             {`{"id":null,"method":"session/list"}`, "invalid-message", -32600, "Invalid ZCode Protocol message"},
		"fractional id":       {`{"id":1.5,"method":"session/list"}`, "invalid-message", -32600, "Invalid ZCode Protocol message"},
		"id beyond 2^53":      {`{"id":9007199254740993,"method":"session/list"}`, "invalid-message", -32600, "Invalid ZCode Protocol message"},
		"infinite id":         {`{"id":1e999,"method":"session/list"}`, "invalid-message", -32600, "Invalid ZCode Protocol message"},
		"result and error":    {`{"id":1,"result":1,"error":{"code":1,"message":"x"}}`, "invalid-message", -32600, "Invalid ZCode Protocol message"},
		"trace on a response": {`{"id":1,"result":1,"trace":{}}`, "invalid-message", -32600, "Invalid ZCode Protocol message"},
		"empty error message": {`{"id":1,"error":{"code":1,"message":""}}`, "invalid-message", -32600, "Invalid ZCode Protocol message"},
		"unknown method":      {`{"id":3,"method":"no/such","params":{}}`, 3.0, -32601, "Method not found: no/such"},
		"removed method":      {`{"id":3,"method":"session/steer","params":{}}`, 3.0, -32601, "Method not found: session/steer"},
		"never there":         {`{"id":3,"method":"session/unsubscribe","params":{}}`, 3.0, -32601, "Method not found: session/unsubscribe"},
		"the Host's part":     {`{"id":3,"method":"v4/controller/subscribe","params":{}}`, 3.0, -32601, "Method not found: v4/controller/subscribe"},
		"our own method":      {`{"id":3,"method":"interaction/requestPermission"}`, 3.0, -32601, "Method not found: interaction/requestPermission"},
		"array as params":     {`{"id":3,"method":"runtime/capabilities","params":[]}`, 3.0, -32602, "Invalid params — Invalid input: expected object, received array"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(s *sim) {
				s.settle()
				s.send(test.line)
				said := s.settle()
				if len(said) != 1 {
					t.Fatalf("got %s", show(said))
				}
				m := said[0]
				if m["id"] != test.id || at(m, "error.code") != test.code || at(m, "error.message") != test.message {
					t.Errorf("got %s", show(m))
				}
			})
		})
	}
}

func TestInvalidMessageNamesTheIssuesOfAllFourClasses(t *testing.T) {
	_, bad := decodeMessage([]byte(`{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}`))
	var got struct {
		Error struct {
			Data struct {
				Issues []struct {
					Code    string
					Errors  [][]struct{ Code, Message string }
					Message string
				}
			}
		}
	}
	decodeInto(t, encode(bad), &got)
	issues := got.Error.Data.Issues
	if len(issues) != 1 || issues[0].Code != "invalid_union" || len(issues[0].Errors) != 4 {
		t.Fatalf("issues: %s", encode(bad))
	}
	if first := issues[0].Errors[0]; len(first) != 1 || first[0].Message != `Unrecognized key: "jsonrpc"` {
		t.Errorf("issues of the request class: %v", first)
	}
	if third := issues[0].Errors[2][0].Message; third != "Invalid input: expected nonoptional, received undefined" {
		t.Errorf("issue of the response class: %s", third)
	}
}

func TestIdsComeBackAsTheyWere(t *testing.T) {
	for sent, want := range map[string]string{
		`"a"`: `"a"`, `""`: `""`, `"1"`: `"1"`, `0`: `0`, `-7`: `-7`, `9007199254740991`: `9007199254740991`, `1e2`: `100`, `3.0`: `3`,
		`"\u2028\ud83d\ude00"`: "\"\u2028\U0001F600\"",
	} {
		inBubble(t, Options{}, func(s *sim) {
			s.settle()
			s.send(`{"id":` + sent + `,"method":" runtime/capabilities ","trace":{"traceId":"x"}}`)
			s.settle()
			if line := s.log[len(s.log)-1]; !strings.Contains(line, `"id":`+want+`,`) {
				t.Errorf("id %s came back in %s", sent, line)
			}
		})
	}
}

func TestNotificationsOfTheClientAreIgnored(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		s.decide = nobody
		s.prompt(id, "ask")
		s.send(`{"method":"session/stop","params":{"sessionId":"` + id + `"}}`)
		s.send(`{"method":"no/such"}`)
		if said := s.settle(); len(said) > 0 {
			t.Errorf("notifications had an effect: %s", show(said))
		}
	})
}

// TestParamsAreStrict covers the text of -32602.
func TestParamsAreStrict(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		tests := []struct{ method, params, text string }{
			{"session/create", `{}`, "Invalid params — workspace: Invalid input: expected object, received undefined"},
			{"session/create", `{"workspace":{"workspacePath":"","workspaceKey":1,"x":2}}`,
				`Invalid params — workspace.workspacePath: Too small: expected string to have >=1 characters; workspace.workspaceKey: Invalid input: expected string, received number; workspace: Unrecognized key: "x"`},
			{"session/create", `{"workspace":` + demoWorkspace + `,"runtimeModel":"x"}`, `Invalid params — Unrecognized key: "runtimeModel"`},
			{"session/create", `{"workspace":` + demoWorkspace + `,"mode":"fast"}`,
				`Invalid params — mode: Invalid option: expected one of "plan"|"build"|"edit"|"yolo"|"guarded"|"auto"`},
			{"session/subscribe", `{"sessionId":"x"}`,
				`Invalid params — deliveryKind: Invalid option: expected one of "desktop-continuous"|"web-remote-replayable"`},
			{"session/list", `{"limit":0,"sessionIds":[],"includeArchived":1,"a":1,"b":2}`,
				`Invalid params — sessionIds: Too small: expected array to have >=1 items; includeArchived: Invalid input: expected boolean, received number; limit: Too small: expected number to be >=1; Unrecognized keys: "a", "b"`},
			{"session/events", `{"sessionId":"x","afterSeq":1.5}`, `Invalid params — afterSeq: Invalid input: expected int, received number`},
			{"session/fork", `{"sessionId":"x","target":{"kind":"moon"}}`, `Invalid params — target.kind: Invalid input`},
			{"session/send", `{"sessionId":5,"content":5,"modelSelection":5,"inputId":5,"queryId":5,"attachments":5,"automationId":5}`, `(+2 more)`},
		}
		for _, test := range tests {
			m := s.fails(test.method, test.params, -32602, test.text)
			if at(m, "error.data.name") != "ZodError" {
				t.Errorf("%s: data %s", test.method, show(m))
			}
			var issues []issue
			if err := json.Unmarshal([]byte(at(m, "error.data.message").(string)), &issues); err != nil || len(issues) == 0 {
				t.Errorf("%s: data.message is not a list of issues: %v", test.method, err)
			}
		}
	})
}

func TestLinesHoldWhatJavaScriptWouldWrite(t *testing.T) {
	text := "<&>\u2028\u2029\U0001F600\r\n\x00\\u2028 \\\u2028"
	got := string(encode(text))
	want := `"<&>` + "\u2028\u2029\U0001F600" + `\r\n\u0000\\u2028 \\` + "\u2028" + `"`
	if got != want {
		t.Errorf("encode: got %s, want %s", got, want)
	}
	var back string
	decodeInto(t, []byte(got), &back)
	if back != text {
		t.Errorf("decoded %q, want %q", back, text)
	}
}

// FuzzDecodeMessage holds the decoder to one rule: a line is either accepted as one of the four classes or answered
// with one of the two fixed error ids, and it never ends the process.
func FuzzDecodeMessage(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"method":"session/list","params":{}}`, `{"id":"server-1","result":{"decision":"allow"}}`,
		`{"id":"server-1","error":{"code":-32000,"message":"x","data":[1]}}`, `{"method":"a","trace":{"spanId":"1"}}`,
		`{"id":1e999,"method":"x","params":1e999}`, `[]`, `"x"`, ` {}`, `{"id":1,"id":2,"method":"x"}`, "{\"method\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, bad := decodeMessage(line)
		switch {
		case !json.Valid(line):
			if bad == nil || bad.ID != parseErrorID {
				t.Fatalf("invalid JSON was taken: %v", m)
			}
		case bad != nil:
			if bad.ID != invalidMessageID || bad.Error.Code != codeInvalidMessage {
				t.Fatalf("refused with %v", bad)
			}
			if !utf8.Valid(encode(bad)) {
				t.Fatal("the refusal is not UTF-8")
			}
		case m.answer:
			if m.id == nil || (m.result == nil) == (m.failed == nil) {
				t.Fatalf("taken for an answer: %v", m)
			}
		default:
			if strings.TrimSpace(m.method) == "" {
				t.Fatalf("no method: %v", m)
			}
			if _, known := methods[m.method]; known && m.params != nil {
				decodeStrict[sendParams](m.params, sendShape)
			}
		}
	})
}

// FuzzParams holds every method's schema to the rule that what it accepts also decodes.
func FuzzParams(f *testing.F) {
	f.Add(`{"sessionId":"x","content":"y","expectedRevision":1e0}`)
	f.Add(`{"sessionId":"x","target":{"kind":"turn","turnIndex":2.0},"limit":1e999}`)
	f.Add(`{"workspace":{"workspacePath":"a","workspaceKey":"b"},"model":{"providerId":"a","modelId":"b","options":{"reasoningLevel":"c"}}}`)
	f.Fuzz(func(t *testing.T, params string) {
		if !json.Valid([]byte(params)) {
			return
		}
		check(t, params, createShape, new(createParams))
		check(t, params, listShape, new(listParams))
		check(t, params, sendShape, new(sendParams))
		for _, shape := range []schema{resumeShape, readShape, forkShape, goalShape, setModelShape, subagentsShape} {
			check(t, params, shape, new(sessionParams))
		}
	})
}

func check[P any](t *testing.T, params string, shape schema, _ *P) {
	t.Helper()
	if len(shape(decodeAny([]byte(params)), nil)) > 0 {
		return
	}
	if _, issues := decodeStrict[P]([]byte(params), shape); len(issues) > 0 {
		t.Fatalf("accepted by the schema, but not decoded: %s: %s", params, fmt.Sprint(issues))
	}
}

func decodeInto(t *testing.T, text []byte, out any) {
	t.Helper()
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
}
