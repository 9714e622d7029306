package hub_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
)

func TestHello(t *testing.T) {
	h, _, _ := scripted(t)
	c := h.Connect("phone", hubtest.As{Role: auth.RoleApprover, Profile: auth.Replayable, Sessions: []string{"s1"}})
	m := c.WantNotice("hub/hello")
	for path, want := range map[string]string{
		"protocolVersion": "1", "hubVersion": "0.0.0-test", "instance.id": "hub-test", "connectionId": c.ID(), "clientMode": "web-remote-replayable",
		"deliveryProfile": "replayable", "principal.name": "phone", "principal.rights": `["view","answer"]`, "principal.sessions": `["s1"]`,
		"appServer.state": "ready", "appServer.generation": "1", "appServer.capabilities": `{"independentPlanState":true}`, "limits.maxMessageBytes": "33554432",
	} {
		if got := m.Path(append([]string{"params"}, strings.Split(path, ".")...)...); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
	if c.Messages()[0].Method != "hub/hello" {
		t.Errorf("the first message is %s", c.Messages()[0])
	}
}

// Whatever happens to all clients meanwhile, hello comes first.
func TestHelloIsTheFirstMessage(t *testing.T) {
	h, _, p := scripted(t)
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				p.Print(`{"method":"test/notice","params":{}}`, permission(fmt.Sprint("server-", i), "s1", fmt.Sprint("perm_", i%200)))
			}
		}
	}()
	for i := range 100 {
		c := h.Connect(fmt.Sprint("client", i), hubtest.As{})
		c.WantNotice("hub/hello")
		if first := c.Messages()[0]; first.Method != "hub/hello" {
			t.Fatalf("the first message is %s", first)
		}
		c.Leave()
	}
	close(stop)
	<-ended
}

func TestSetProfileMidStream(t *testing.T) {
	h, _, p := scripted(t)
	c := h.Connect("client", hubtest.As{Profile: auth.Replayable})
	only := h.Connect("only", hubtest.As{Profile: auth.Replayable, Profiles: []auth.Profile{auth.Replayable}})
	c.Subscribe("s1", "")
	seq := 0
	for i := range 20 {
		printRun(p, seq+1, seq+7, func(seq int) string { return progress("s1", seq, 5) })
		seq += 7
		profile := profileOf(i)
		got := string(c.MustCall("hub/setProfile", fmt.Sprintf(`{"profile":%q}`, profile)))
		if got != fmt.Sprintf(`{"clientMode":%q,"deliveryProfile":%q}`, profile, profile.Delivery()) {
			t.Errorf("setProfile gave %s", got)
		}
	}
	p.Print(event("s1", seq+1, `{}`))
	c.WantSeq("s1", uint64(seq+1))
	var cursor hubtest.Cursor
	c.Track(&cursor, "s1")
	wantChain(t, c.Name, &cursor)
	if m := only.Call("hub/setProfile", `{"profile":"desktop-continuous"}`); m.Path("error", "code") != "-32040" {
		t.Errorf("a profile that the token does not allow gave %s", m)
	}
	if m := only.Call("hub/setProfile", `{"profile":"other"}`); m.Path("error", "code") != "-32602" {
		t.Errorf("a profile that does not exist gave %s", m)
	}
}

func TestPresence(t *testing.T) {
	h, _, _ := scripted(t)
	a := h.Connect("a", hubtest.As{Device: "laptop"})
	a.MustCall("hub/initialize", `{"clientId":"c1","clientKind":"page","appVersion":"1"}`)
	b := h.Connect("b", hubtest.As{Device: "phone", Role: auth.RoleViewer})
	a.Subscribe("s1", "")
	b.Subscribe("s1", "")
	m := a.WantNotice("hub/presence", `"total":2`, "laptop", "phone", `"page"`)
	if strings.Contains(string(m.Text), "192.0.2.1") {
		t.Errorf("an address was told: %s", m)
	}
	if got := string(b.MustCall("hub/presence", `{"sessionId":"s1"}`)); !strings.Contains(got, `"total":2`) {
		t.Errorf("hub/presence = %s", got)
	}
	n := a.Received()
	b.MustCall("session/unsubscribe", `{"sessionId":"s1"}`)
	a.WantNoticeAfter(n, "hub/presence", `"total":1`)
	n = a.Received()
	b.Subscribe("s1", "")
	b.Leave()
	a.WantNoticeAfter(n, "hub/presence", `"total":1`)
}

// extending is a sink that ends with its credential.
type extending struct {
	*hubtest.Client
	until chan time.Time
}

func (e extending) ExtendUntil(at time.Time) { e.until <- at }

func TestRefreshToken(t *testing.T) {
	next := time.Now().Add(5 * time.Hour).Truncate(time.Second)
	verify := func(token string, _ time.Time) (*auth.Principal, error) {
		p := &auth.Principal{Name: "client", Device: "client", Role: auth.RoleViewer, Rights: auth.RoleViewer.Rights(), ExpiresAt: next,
			Profiles: []auth.Profile{auth.Continuous}}
		switch token {
		case "good":
		case "more rights":
			p.Role, p.Rights = auth.RoleAdmin, auth.RoleAdmin.Rights()
		case "other device":
			p.Device = "another"
		default:
			return nil, errors.New("bad token")
		}
		return p, nil
	}
	h, script, _ := scripted(t, func(o *hub.Options) { o.Verify = verify })
	script.Answer("session/send", func(hubtest.Line) string { return `{}` })
	until := make(chan time.Time, 4)
	c := h.Connect("client", hubtest.As{Sink: func(c *hubtest.Client) hub.Sink { return extending{c, until} }})
	c.MustCall("session/send", `{"sessionId":"s1"}`)
	for _, token := range []string{"more rights", "other device", "nonsense", ""} {
		m := c.Call("hub/refreshToken", fmt.Sprintf(`{"token":%q}`, token))
		if m.Path("error", "code") != "-32040" || strings.Contains(string(m.Text), "bad token") {
			t.Errorf("token %q gave %s", token, m)
		}
	}
	c.MustCall("hub/refreshToken", `{"token":"good"}`)
	if at := <-until; !at.Equal(next) || len(until) > 0 {
		t.Errorf("the connection was extended until %v, want once until %v", at, next)
	}
	if m := c.Call("session/send", `{"sessionId":"s1"}`); m.Path("error", "code") != "-32040" {
		t.Errorf("rights did not shrink with the token: %s", m)
	}
}

// Notifications about a session go to those who follow it, others to those who
// may control everything; telemetry to nobody.
func TestNotificationsOfTheAppServer(t *testing.T) {
	h, _, p := scripted(t)
	follower, viewer := h.Connect("follower", hubtest.As{Role: auth.RoleViewer}), h.Connect("viewer", hubtest.As{Role: auth.RoleViewer})
	operator, scoped := h.Connect("operator", hubtest.As{}), h.Connect("scoped", hubtest.As{Sessions: []string{"s1"}})
	follower.Subscribe("s1", "")
	p.Print(`{"method":"state.updated","params":{"type":"state.updated","scope":"session","sessionId":"s1","revision":1,"patch":{}}}`,
		`{"method":"state.updated","params":{"type":"state.updated","scope":"server","revision":2,"patch":{}}}`,
		`{"method":"v4/telemetry/event","params":{"sessionId":"s1","kind":"stream.chunk"}}`,
		event("s1", 1, `{}`), event("s2", 1, `{}`))
	follower.WantSeq("s1", 1)
	operator.WantNotice("state.updated", `"server"`)
	for _, c := range []*hubtest.Client{viewer, scoped, operator, follower} {
		c.MustCall("hub/ping", "{}")
	}
	for who, want := range map[*hubtest.Client]int{follower: 1, operator: 1, viewer: 0, scoped: 0} {
		if n := len(who.All("state.updated")); n != want {
			t.Errorf("%s got %d state.updated, want %d", who.Name, n, want)
		}
		for _, m := range who.Messages() {
			if m.Method == "v4/telemetry/event" || strings.Contains(string(m.Text), `"s2"`) {
				t.Errorf("%s got %s", who.Name, m)
			}
		}
	}
}

func TestSubscribeParamsAreStrict(t *testing.T) {
	h, _, p := scripted(t)
	c := h.Connect("client", hubtest.As{})
	for _, params := range []string{`{}`, `{"sessionId":1}`, `{"sessionId":"s1","afterSeq":-1}`, `{"sessionId":"s1","afterSeq":"1"}`, `{"sessionId":"s1","extra":1}`,
		`{"sessionId":"s1","includeSnapshot":1}`, `{"sessionId":"s1","deliveryKind":"other"}`, `{"sessionId":"s1","epoch":1}`, `{"sessionId":"s1","sessionId":"s2"}`} {
		if m := c.Call("session/subscribe", params); m.Path("error", "code") != "-32602" {
			t.Errorf("subscribe %s gave %s", params, m)
		}
	}
	if n := len(h.Status().Sessions); n != 0 {
		t.Errorf("%d sessions were entered for them", n)
	}
	if m := c.Call("session/subscribe", `{"sessionId":"s1","deliveryKind":"web-remote-replayable"}`); m.Kind != wire.Response {
		t.Errorf("a kind that is not the profile gave %s", m)
	}
	if l := p.WantRequest("session/subscribe", 1); !strings.Contains(l.Params, "desktop-continuous") {
		t.Errorf("upstream was subscribed with %s", l.Params)
	}
}

// A newer token that covers less ends what it does not cover, at once.
func TestNarrowerTokenEndsWhatItDoesNotCover(t *testing.T) {
	verify := func(string, time.Time) (*auth.Principal, error) {
		return &auth.Principal{Name: "client", Device: "client", Role: auth.RoleViewer, Rights: auth.View, Sessions: []string{"s1"},
			Profiles: []auth.Profile{auth.Continuous, auth.Replayable}, ExpiresAt: time.Now().Add(time.Hour)}, nil
	}
	h, _, p := scripted(t, func(o *hub.Options) { o.Verify = verify })
	c := h.Connect("client", hubtest.As{Role: auth.RoleViewer})
	c.Subscribe("s1", "")
	c.Subscribe("s2", "")
	c.MustCall("hub/refreshToken", `{"token":"narrower"}`)
	c.WantNotice("hub/snapshot", `"sessionId":"s2"`)
	p.Print(event("s2", 1, `{}`), event("s1", 1, `{}`))
	c.WantSeq("s1", 1)
	for _, m := range c.All("session/event") {
		if m.Path("params", "sessionId") == "s2" {
			t.Errorf("an update of a session outside the new scope: %s", m)
		}
	}
}
