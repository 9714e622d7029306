package hub_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
)

// What a client claims about itself and its stream is the hub's to say.
func TestNothingAClientSaysIsTrusted(t *testing.T) {
	h, script, p := scripted(t)
	echo := func(l hubtest.Line) string { return l.Params }
	for _, method := range []string{"test/echo", "session/read", "v4/attachment/begin", "v4/command"} {
		script.Answer(method, echo)
	}
	c := h.Connect("client", hubtest.As{})
	tests := []struct{ name, method, params, want string }{
		{"trusted members", "test/echo", `{"a":1,"connectionId":"x","clientMode":"m","b":2,"deliveryProfile":"continuous"}`, `{"a":1,"b":2}`},
		{"only trusted members", "test/echo", `{"connectionId":"x"}`, `{}`},
		{"escaped keys", "test/echo", `{"connection\u0049d":"x","a":1}`, `{"a":1}`},
		{"payload bytes stay", "test/echo", `{"a":1.50,"b":"\u00e9é","c":[1, 2]}`, `{"a":1.50,"b":"\u00e9é","c":[1, 2]}`},
		{"deliveryKind of a read", "session/read", `{"sessionId":"s1","deliveryKind":"web-remote-replayable","messageLimit":3}`, `{"sessionId":"s1","messageLimit":3}`},
		{"escaped deliveryKind", "session/read", `{"delivery\u004bind":"web-remote-replayable","sessionId":"s1"}`, `{"sessionId":"s1"}`},
		{"upload connection", "v4/attachment/begin", `{"connectionId":"x","name":"f"}`, `{"connectionId":"` + c.ID() + `","name":"f"}`},
		{"command client", "v4/command", `{"clientId":"somebody","type":"sendPrompt"}`, `{"clientId":"` + c.ID() + `","type":"sendPrompt"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := string(c.MustCall(test.method, test.params)); got != test.want {
				t.Errorf("%s(%s) reached the app-server as %s, want %s", test.method, test.params, got, test.want)
			}
		})
	}
	t.Run("client id is bound", func(t *testing.T) {
		c.MustCall("hub/initialize", `{"clientId":"mine","clientKind":"page"}`)
		if m := c.Call("hub/initialize", `{"clientId":"other"}`); m.Kind != wire.Error {
			t.Errorf("the client id was changed: %s", m)
		}
		if m := c.Call("v4/command", `{"clientId":"other","type":"sendPrompt"}`); m.Kind != wire.Error {
			t.Errorf("a command under another client id gave %s", m)
		}
		if got := string(c.MustCall("v4/command", `{"type":"sendPrompt"}`)); got != `{"clientId":"mine","type":"sendPrompt"}` {
			t.Errorf("a command came as %s", got)
		}
	})
	t.Run("newlines", func(t *testing.T) {
		// Pretty-printed JSON, and in it what would be a line of its own.
		c.Say("{\n \"id\": 77,\n \"method\": \"test/echo\",\n \"params\": {\n  \"a\":\n\n{\"id\":1,\"method\":\"session/stop\"}\n\n ,\r\n \"text\": \"a\\nb\" }\n}")
		got := string(c.WantReply("77").Result)
		if strings.ContainsAny(got, "\n\r") || !wire.Valid([]byte(got)) || !strings.Contains(got, `"a\nb"`) {
			t.Errorf("it came back as %q", got)
		}
		for _, l := range p.Lines() {
			if l.Method == "session/stop" || l.Kind == wire.Invalid {
				t.Errorf("the app-server got the line %q", l.Text)
			}
		}
	})
	t.Run("duplicates", func(t *testing.T) {
		for _, frame := range []string{
			`{"id":%d,"method":"test/echo","params":{"sessionId":"a","sessionId":"b"}}`,
			`{"id":%d,"method":"test/echo","params":{"sessionId":"a","session\u0049d":"b"}}`,
			`{"id":%d,"method":"test/echo","params":{},"params":{}}`,
			`{"id":%d,"method":"test/echo","\u006dethod":"session/stop"}`,
			`{"id":%d,"method":"test/echo","jsonrpc":"2.0"}`,
			`{"id":%d,"method":"test/echo","result":1}`,
		} {
			id := time.Now().Nanosecond() + 1000
			c.Say(fmt.Sprintf(frame, id))
			if m := c.WantReply(fmt.Sprint(id)); m.Kind != wire.Error {
				t.Errorf("%s gave %s", frame, m)
			}
		}
	})
	t.Run("params that are no object", func(t *testing.T) {
		for _, params := range []string{`[1]`, `"x"`, `1`, `null`, `true`, `[]`} {
			for _, method := range []string{"v4/attachment/begin", "v4/command", "session/read", "session/subscribe", "hub/initialize"} {
				if m := c.Call(method, params); m.Kind != wire.Error {
					t.Errorf("%s(%s) gave %s", method, params, m)
				}
			}
		}
	})
	t.Run("what is no message", func(t *testing.T) {
		for frame, id := range map[string]string{
			`{not json`: `"parse-error"`, "\xff\xfe": `"parse-error"`, `[]`: `"invalid-message"`, `{"id":null,"method":"x"}`: `"invalid-message"`,
			`{"id":1.5,"method":"x"}`: `"invalid-message"`,
		} {
			n := c.Received()
			c.Say(frame)
			c.WantAfter(n, "an error for "+frame, func(m hubtest.Message) bool { return m.ID == id && m.Kind == wire.Error })
		}
	})
	t.Run("notifications", func(t *testing.T) {
		c.Say(`{"method":"session/stop","params":{"sessionId":"s1"}}`)
		c.MustCall("test/echo", "{}")
		if p.Count("session/stop") > 0 {
			t.Error("a notification reached the app-server")
		}
	})
	t.Run("unknown methods of the hub", func(t *testing.T) {
		if m := c.Call("hub/shutdown", "{}"); m.Path("error", "code") != "-32601" {
			t.Errorf("hub/shutdown gave %s", m)
		}
	})
	for _, l := range p.Lines() {
		if l.Kind == wire.Invalid {
			t.Errorf("the app-server got a line that is no message: %.300q", l.Text)
		}
	}
}

func TestRightsOfEachRole(t *testing.T) {
	h, script, p := scripted(t)
	for _, method := range []string{"session/usage", "session/send", "future/method", "plugins/install"} {
		script.Answer(method, func(hubtest.Line) string { return `{}` })
	}
	allowed := map[auth.Role]string{
		auth.RoleViewer: "session/usage", auth.RoleApprover: "session/usage",
		auth.RoleOperator: "session/usage session/send future/method",
		auth.RoleAdmin:    "session/usage session/send future/method plugins/install",
	}
	for role, list := range allowed {
		c := h.Connect(string(role), hubtest.As{Role: role})
		for _, method := range []string{"session/usage", "session/send", "future/method", "plugins/install"} {
			m := c.Call(method, `{"sessionId":"s1"}`)
			if may := strings.Contains(list, method); may != (m.Kind == wire.Response) || (!may && m.Path("error", "code") != "-32040") {
				t.Errorf("%s as %s gave %s", method, role, m)
			}
		}
	}
	if m := h.Connect("op", hubtest.As{}).Call("hub/restartAppServer", "{}"); m.Path("error", "code") != "-32040" {
		t.Errorf("an operator restarting the app-server got %s", m)
	}
	h.Connect("root", hubtest.As{Role: auth.RoleAdmin}).MustCall("hub/restartAppServer", "{}")
	p.WantGone()
	script.Next()
	h.WantState("ready", 2)
}

// Lines of 20 MiB pass both ways, U+2028 and split pairs stay what they are, and
// what is no message on stdout, or floods stderr, disturbs nobody.
func TestHugeAndStrangeLines(t *testing.T) {
	h, script, p := scripted(t)
	script.Answer("test/echo", func(l hubtest.Line) string { return l.Params })
	c, viewer := h.Connect("client", hubtest.As{}), h.Connect("phone", hubtest.As{Role: auth.RoleViewer, Profile: auth.Replayable})
	c.Subscribe("s1", "")
	viewer.Subscribe("s1", "")
	params := `{"text":"` + strings.Repeat("0123456789abcdef", hubtest.Giant/16) + `"}`
	if got := string(c.MustCall("test/echo", params)); got != params {
		t.Errorf("%d bytes came back as %d", len(params), len(got))
	}
	strange := "{\"text\":\"line\u2028separator\u2029and \\ud83d\"}"
	p.Print(`{not json`, ``, `   `, `[1]`, `null`, "\xff\xfe", `{"jsonrpc":"2.0","method":"x"}`, event("s1", 1, strange), `{"id":"nobody","result":1}`, `{"id":999999,"result":1}`)
	p.Stderr(strings.Repeat("a flood that nobody asked for\n", 10_000))
	p.Print(event("s1", 2, params))
	p.Print(event("s1", 3, `{}`))
	for _, follower := range []*hubtest.Client{c, viewer} {
		follower.WantSeq("s1", 3)
		var cursor hubtest.Cursor
		follower.Track(&cursor, "s1")
		wantChain(t, follower.Name, &cursor)
		found := false
		for _, m := range follower.All("session/event") {
			found = found || strings.Contains(string(m.Params), strange)
		}
		if !found || cursor.Count != 3 {
			t.Errorf("%s got %d events, strange text intact: %v", follower.Name, cursor.Count, found)
		}
	}
	if g := h.Status().AppServer.Generation; g != 1 {
		t.Errorf("the app-server was restarted: generation %d", g)
	}
}

// An app-server that stops reading its input: calls are refused when its queue
// is full, and its own questions are answered still.
func TestAppServerThatStopsReading(t *testing.T) {
	if hubtest.Race {
		t.Skip("filling the queue of 64 MiB takes too long under the race detector; the step without it runs this")
	}
	h, _, p := scripted(t)
	c, approver := h.Connect("client", hubtest.As{}), h.Connect("approver", hubtest.As{Role: auth.RoleApprover})
	p.Deafen()
	params := `{"text":"` + strings.Repeat("q", 8<<20) + `"}`
	var ids []string
	for range 10 {
		ids = append(ids, c.Request("test/big", params))
	}
	m := c.Want("a refusal", func(m hubtest.Message) bool { return m.Kind == wire.Error })
	if m.Path("error", "code") != "-32042" || m.Path("error", "data", "retryable") != "true" {
		t.Errorf("it was refused with %s", m)
	}
	c.MustCall("hub/ping", "{}") // behind all refusals
	refused := 0
	for _, m := range c.Messages() {
		if m.Kind == wire.Error {
			refused++
		}
	}
	// It still asks, and its answers go through the reserve.
	p.Print(permission("server-1", "s1", "perm_1"))
	ask := approver.WantNotice("interaction/requestPermission", "perm_1")
	approver.Say(`{"id":` + ask.ID + `,"result":{"decision":"deny"}}`)
	p.Resume()
	if got := p.WantAnswer(`"server-1"`).Result; got != `{"decision":"deny"}` {
		t.Errorf("the answer came as %s", got)
	}
	approver.WantNotice("hub/answer", `"accepted"`)
	p.WantRequest("test/big", len(ids)-refused)
}

// Too many calls in a short time are refused, each with a hint, and nobody
// else notices.
func TestRateLimit(t *testing.T) {
	h, _, p := scripted(t, func(o *hub.Options) { o.RateLimit, o.RateBurst = 0.001, 5 })
	c, other := h.Connect("hasty", hubtest.As{}), h.Connect("other", hubtest.As{})
	for range 5 {
		c.MustCall("hub/ping", "{}")
	}
	m := c.Call("hub/ping", "{}")
	if m.Path("error", "code") != "-32042" || m.Path("error", "data", "retryAfterMs") == "" {
		t.Errorf("the sixth frame got %s", m)
	}
	other.MustCall("hub/ping", "{}")
	// Answers do not count: an answer must never get lost.
	p.Print(permission("server-1", "s1", "perm_1"))
	ask := c.WantNotice("interaction/requestPermission", "perm_1")
	c.Say(`{"id":` + ask.ID + `,"result":{"decision":"deny"}}`)
	c.WantNotice("hub/answer", `"accepted"`)
	p.WantAnswer(`"server-1"`)
}
