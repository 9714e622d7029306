package hub_test

import (
	"fmt"
	"strings"
	"testing"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
)

// A command is judged by what it does, not by the session that it names.
func TestScopedCommandsStayInTheirSession(t *testing.T) {
	h, script, _ := scripted(t)
	script.Answer("v4/command", func(hubtest.Line) string { return `{"commandId":"c","status":"accepted","revisionAtDecision":0}` })
	script.Answer("session/list", func(hubtest.Line) string {
		return `{"sessions":[{"sessionId":"s1","workspace":{"workspacePath":"/w/demo","workspaceKey":"/w/demo"}}]}`
	})
	bySession := h.Connect("bySession", hubtest.As{Sessions: []string{"s1"}})
	byWorkspace := h.Connect("byWorkspace", hubtest.As{Workspaces: []string{"/w/demo"}})
	for _, c := range []*hubtest.Client{bySession, byWorkspace} {
		for _, command := range []string{
			`{"commandId":"c","sessionId":"s1","type":"createSession","payload":{"workspaceId":"/etc"}}`,
			`{"commandId":"c","sessionId":null,"type":"createSession","payload":{"workspaceId":"/etc"}}`,
			`{"commandId":"c","sessionId":"s1","type":"createSelectionSideSession","payload":{}}`,
			`{"commandId":"c","sessionId":"s1","type":"someFutureCommand","payload":{}}`,
			`{"commandId":"c","sessionId":null,"type":"sendText","payload":{"text":"x"}}`,
		} {
			if m := c.Call("v4/command", command); m.Path("error", "code") == "" {
				t.Errorf("%s: %s was taken: %s", c.Name, command, m)
			}
		}
	}
	if m := bySession.Call("v4/command", `{"commandId":"c","sessionId":"s1","type":"forkAssistant","payload":{}}`); m.Path("error", "code") == "" {
		t.Errorf("a token limited to sessions made another one: %s", m)
	}
	if m := bySession.Call("session/fork", `{"sessionId":"s1","target":{"kind":"latestCheckpoint"}}`); m.Path("error", "code") == "" {
		t.Errorf("a token limited to sessions made another one: %s", m)
	}
	bySession.MustCall("v4/command", `{"commandId":"c","sessionId":"s1","type":"sendText","payload":{"text":"x"}}`)
}

// Who may not give lasting answers does not give them to what the ledger does
// not know either.
func TestUnknownInteractionIsNotForwardedForApprovers(t *testing.T) {
	h, _, p := scripted(t)
	approver := h.Connect("approver", hubtest.As{Role: auth.RoleApprover})
	m := approver.MustCall("v4/command", `{"commandId":"c","sessionId":"s1","type":"resolveInteraction","payload":{"interactionId":"nobody","answer":{"optionId":"fullAccess"}}}`)
	if n := p.Count("v4/command"); !strings.Contains(string(m), "accepted") || n != 0 {
		t.Errorf("answered %s, forwarded %d times", m, n)
	}
}

// Ids and names are bounded: they stay while a call waits, and go to the log.
func TestLongNamesAreRefused(t *testing.T) {
	h, _, _ := scripted(t)
	c := h.Connect("client", hubtest.As{})
	long := strings.Repeat("x", 300)
	for _, frame := range []string{
		fmt.Sprintf(`{"id":"%s","method":"hub/ping"}`, long),
		fmt.Sprintf(`{"id":1,"method":"%s"}`, long),
		fmt.Sprintf(`{"id":1,"method":"session/read","params":{"sessionId":"%s"}}`, long),
	} {
		n := c.Received()
		c.Say(frame)
		m := c.WantAfter(n, "a refusal", func(m hubtest.Message) bool { return strings.Contains(string(m.Text), `"invalid-message"`) })
		if len(m.Text) > 1000 {
			t.Errorf("the refusal repeats what was too long: %d bytes", len(m.Text))
		}
	}
	c.MustCall("hub/ping", "{}")
}

// What waits for an app-server that does not answer is bounded for each client,
// and what is thrown away of a frame is not kept.
func TestWaitingCallsAreBoundedInBytes(t *testing.T) {
	h, _, _ := scripted(t, func(o *hub.Options) { o.MaxMessageBytes = 1 << 20 })
	c, other := h.Connect("client", hubtest.As{}), h.Connect("other", hubtest.As{})
	params := fmt.Sprintf(`{"sessionId":"s1","pad":"%s"}`, strings.Repeat("x", 400<<10))
	refused := 0
	for i := range 5 {
		n := c.Received()
		c.Say(fmt.Sprintf(`{"id":%d,"method":"session/usage","params":%s}`, 100+i, params))
		if i >= 2 {
			c.WantAfter(n, "-32042", func(m hubtest.Message) bool { return m.Path("error", "code") == "-32042" })
			refused++
		}
	}
	if refused != 3 {
		t.Errorf("%d of 5 calls were refused, want 3", refused)
	}
	other.MustCall("hub/ping", "{}")
}

// One client cannot follow without end.
func TestFollowedSessionsAreBounded(t *testing.T) {
	h, _, _ := scripted(t, func(o *hub.Options) { o.RateLimit, o.RateBurst = 1e6, 1e6 })
	c := h.Connect("client", hubtest.As{})
	last := ""
	for i := range 300 {
		last = c.Call("session/subscribe", fmt.Sprintf(`{"sessionId":"t%d"}`, i)).Path("error", "code")
		if last != "" {
			break
		}
	}
	if last != "-32042" {
		t.Errorf("the last answer had error %q, want -32042", last)
	}
}

// A device's connections have a pace in common: a token that floods from many
// of them is slowed like one that floods from one.
func TestConnectionsOfADeviceShareAPace(t *testing.T) {
	h, _, _ := scripted(t, func(o *hub.Options) { o.RateLimit, o.RateBurst = 0.001, 1 })
	refused := 0
	for i := range 120 {
		c := h.Connect(fmt.Sprint("window", i), hubtest.As{Device: "one"})
		if c.Call("hub/ping", "{}").Path("error", "code") == "-32042" {
			refused++
		}
	}
	if refused != 20 {
		t.Errorf("%d of 120 connections were refused their first call, want 20", refused)
	}
	if m := h.Connect("another", hubtest.As{Device: "two"}).Call("hub/ping", "{}"); m.Path("error", "code") != "" {
		t.Errorf("another device was refused: %s", m)
	}
}
