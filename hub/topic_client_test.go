package hub_test

import (
	"fmt"
	"strings"
	"testing"

	"zcodehub/hub"
	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
)

// scriptedTopic is a scripted app-server that serves one conversation.
func scriptedTopic(t *testing.T, options ...func(*hub.Options)) (*hubtest.Hub, *hubtest.Script, *upstreamTopic) {
	t.Helper()
	h, script, p := scripted(t, options...)
	return h, script, serveTopic(script, p, conversationOne, "e1")
}

// Whatever the number of clients, the app-server sees one subscribe, and a storm
// of reconnects puts nothing on the pipe.
func TestOneSubscribeUpstreamForAllClients(t *testing.T) {
	h, _, u := scriptedTopic(t)
	clients := 1000
	if hubtest.Race || testing.Short() {
		clients = 50 // the race detector looks at every byte of every client
	}
	var followers []*follower
	for i := range clients {
		followers = append(followers, follow(t, h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)}), conversationOne))
	}
	u.p.Print(u.next(appended(textRow(1, "a"))), u.next(piece(1, "text", "b")))
	for _, f := range followers {
		f.wantSeq(2)
	}
	if n := u.p.Count("v4/conversation/subscribe"); n != 1 {
		t.Errorf("the app-server saw %d subscribes", n)
	}
	before := len(u.p.Lines())
	for i, f := range followers { // all of them need a snapshot
		f.client.Leave()
		f.resume(h.Connect(fmt.Sprint("again", i), hubtest.As{Profile: profileOf(i)}), `,"base":{"logEpoch":"gone","seq":1}`)
		f.wantSeq(2)
		if f.mode != "snapshot" || f.kinds[len(f.kinds)-1] != "initial snapshot" {
			t.Errorf("%s: mode %s, %q", f.client.Name, f.mode, f.kinds)
		}
	}
	want := strings.TrimSuffix(strings.TrimPrefix(u.snapshot(textRow(1, "ab")), `{"kind":"snapshot","snapshot":`), "}")
	for _, f := range followers {
		f.wantState([]byte(want))
	}
	if n := len(u.p.Lines()); n != before {
		t.Errorf("the storm put on the pipe: %q", u.p.Lines()[before:])
	}
}

// A subscribe that comes before the app-server is ready is answered when it is.
func TestSubscribeBeforeTheAppServerIsReady(t *testing.T) {
	s := hubtest.NewScript(t)
	s.Answer("runtime/capabilities", nil)
	h := hubtest.Start(t, s)
	p := s.Next()
	u := serveTopic(s, p, conversationOne, "e1")
	probe := p.WantRequest("runtime/capabilities", 1)
	c := h.Connect("early", hubtest.As{})
	id := c.Request("v4/conversation/subscribe", `{"topic":"conversation/s1"}`)
	c.MustCall("hub/ping", `{}`)
	p.Reply(probe, `{}`)
	if m := c.WantReply(id); m.Kind != wire.Response {
		t.Fatalf("the early subscribe got %s", m)
	}
	f := &follower{t: t, client: c, topic: conversationOne, state: newState(conversationOne), ask: id}
	u.p.Print(u.next(appended(textRow(1, "a"))))
	f.wantSeq(1)
	f.wantHealthy()
}

// Params are strict, and every fault is -32603 with the protocol's text.
func TestTopicParamsAreStrict(t *testing.T) {
	h, _, u := scriptedTopic(t)
	c := h.Connect("client", hubtest.As{})
	for params, text := range map[string]string{
		`{}`:                                    "topic: Invalid input: expected string",
		`{"topic":5}`:                           "topic: Invalid input",
		`{"topic":"conversation/s1","extra":1}`: `Unrecognized key: \"extra\"`,
		`{"topic":"conversation/s1","base":{}}`: "base: Invalid input",
		`{"topic":"conversation/s1","base":5}`:  "base: Invalid input",
		`{"topic":"elsewhere/s1"}`:              "fault.subscription.unknownTopic",
		`{"topic":"conversation/s1","base":{"logEpoch":"e","seq":-1}}`: "base: Invalid input",
	} {
		m := c.Call("v4/conversation/subscribe", params)
		if m.Path("error", "code") != "-32603" || !strings.Contains(string(m.Error), text) {
			t.Errorf("subscribe %s: got %s, want -32603 with %s", params, m, text)
		}
	}
	for method, params := range map[string]string{
		"v4/conversation/resync":      `{"topic":"conversation/s1","subscriptionId":"x","base":null,"visibility":"foreground"}`,
		"v4/conversation/unsubscribe": `{"topic":"conversation/s1","subscriptionId":"x","base":null}`,
	} {
		if m := c.Call(method, params); m.Path("error", "code") != "-32603" || !strings.Contains(string(m.Error), "Unrecognized key") {
			t.Errorf("%s %s: got %s", method, params, m)
		}
	}
	if n := u.p.Count("v4/conversation/subscribe"); n != 0 {
		t.Errorf("%d of these came upstream", n)
	}
}

// The ack comes first, then the frame; a second subscribe replaces the first and
// gives a frame of its own.
func TestAckThenFrame(t *testing.T) {
	h, _, u := scriptedTopic(t)
	f := follow(t, h.Connect("client", hubtest.As{}), conversationOne)
	f.wantSeq(0)
	u.p.Print(u.next(appended(textRow(1, "a"))))
	f.wantSeq(1)
	n := len(f.kinds)
	f.subscribe("")
	hubtest.Want(t, "a frame for the second subscribe", func() bool { f.catchUp(); return len(f.kinds) > n })
	if got := strings.Join(f.kinds, ","); got != "initial snapshot,online deltas,initial snapshot" {
		t.Errorf("the frames are %s", got)
	}
	u.p.Print(u.next(piece(1, "text", "b")))
	f.wantSeq(2)
	f.wantHealthy() // also: no frame came twice, none before its ack
}

// Resuming at the present sends no frame; from before it, the deltas in one
// initial frame; from another epoch or the future, a snapshot.
func TestResumeFromABase(t *testing.T) {
	for i := range 2 {
		t.Run(profileOf(i).Delivery(), func(t *testing.T) {
			h, _, u := scriptedTopic(t)
			steady := follow(t, h.Connect("steady", hubtest.As{Profile: profileOf(i)}), conversationOne)
			u.p.Print(u.next(appended(textRow(1, "a"))), u.next(piece(1, "text", "b")), u.next(piece(1, "text", "c")))
			steady.wantSeq(3)
			for name, test := range map[string]struct{ base, mode, kind string }{
				"at the present":  {`{"logEpoch":"e1","seq":3}`, "resume", ""},
				"from before":     {`{"logEpoch":"e1","seq":1}`, "resume", "initial deltas"},
				"another epoch":   {`{"logEpoch":"e0","seq":3}`, "snapshot", "initial snapshot"},
				"from the future": {`{"logEpoch":"e1","seq":4}`, "snapshot", "initial snapshot"},
				"none":            {`null`, "snapshot", "initial snapshot"},
			} {
				c := h.Connect(name, hubtest.As{Profile: profileOf(i)})
				m := c.Call("v4/conversation/subscribe", `{"topic":"conversation/s1","base":`+test.base+`}`)
				c.MustCall("hub/ping", "{}")
				got := ""
				for _, m := range c.All("v4/conversation/frame") {
					got += m.Path("params", "deliveryKind") + " " + m.Path("params", "frame", "payload", "kind")
				}
				if m.Path("result", "ack", "mode") != test.mode || got != test.kind {
					t.Errorf("%s: %s and then %q", name, m, got)
				}
			}
		})
	}
}

// A resync is always followed by one recovery frame, and only the owner may ask.
func TestResyncAlwaysGivesOneRecoveryFrame(t *testing.T) {
	h, _, u := scriptedTopic(t)
	f := follow(t, h.Connect("client", hubtest.As{}), conversationOne)
	u.p.Print(u.next(appended(textRow(1, "a"))), u.next(piece(1, "text", "b")))
	f.wantSeq(2)
	before := len(u.p.Lines())
	for base, kind := range map[string]string{
		`{"logEpoch":"e1","seq":2}`: "recovery deltas", `{"logEpoch":"e1","seq":1}`: "recovery deltas",
		`{"logEpoch":"e1","seq":2},"forceSnapshot":true`: "recovery snapshot", `null`: "recovery snapshot", `{"logEpoch":"e0","seq":2}`: "recovery snapshot",
	} {
		f.catchUp()
		n := len(f.client.All("v4/conversation/frame"))
		f.client.MustCall("v4/conversation/resync", fmt.Sprintf(`{"topic":"conversation/s1","subscriptionId":%q,"base":%s}`, f.id, base))
		f.client.MustCall("hub/ping", "{}")
		frames := f.client.All("v4/conversation/frame")[n:]
		if len(frames) != 1 || frames[0].Path("params", "deliveryKind")+" "+frames[0].Path("params", "frame", "payload", "kind") != kind {
			t.Errorf("resync from %s gave %v, want one %s", base, frames, kind)
		}
	}
	other := h.Connect("other", hubtest.As{})
	for _, c := range []*hubtest.Client{other, f.client} {
		id := f.id
		if c == f.client {
			id = "topic-of-somebody"
		}
		m := c.Call("v4/conversation/resync", fmt.Sprintf(`{"topic":"conversation/s1","subscriptionId":%q,"base":null}`, id))
		if m.Path("error", "message") != "fault.subscription.notOwned" || m.Path("error", "code") != "-32603" {
			t.Errorf("%s: a foreign resync gave %s", c.Name, m)
		}
		if r := c.MustCall("v4/conversation/unsubscribe", fmt.Sprintf(`{"topic":"conversation/s1","subscriptionId":%q}`, id)); string(r) != "{}" {
			t.Errorf("%s: a foreign unsubscribe gave %s", c.Name, r)
		}
	}
	if n := len(u.p.Lines()); n != before {
		t.Errorf("upstream heard of it: %q", u.p.Lines()[before:])
	}
	u.p.Print(u.next(piece(1, "text", "c")))
	f.client.WantNotice("v4/conversation/frame", `"toSeq":3`) // it is still subscribed
}

// Ordinals rise however often a client asks for a frame of its own while nothing
// happens, and beyond.
func TestOrdinalsRise(t *testing.T) {
	h, _, u := scriptedTopic(t)
	f := follow(t, h.Connect("client", hubtest.As{}), conversationOne)
	for step := range 3 {
		for range 70 {
			f.client.MustCall("v4/conversation/resync", fmt.Sprintf(`{"topic":"conversation/s1","subscriptionId":%q,"base":null}`, f.id))
		}
		u.p.Print(u.next(appended(textRow(step+1, "a"))))
		f.wantSeq(uint64(step + 1))
	}
	f.wantHealthy()
}

// After an unsubscribe nothing comes any more.
func TestUnsubscribeEndsTheFrames(t *testing.T) {
	h, _, u := scriptedTopic(t)
	gone := follow(t, h.Connect("gone", hubtest.As{}), conversationOne)
	stays := follow(t, h.Connect("stays", hubtest.As{}), conversationOne)
	gone.wantSeq(0)
	gone.client.MustCall("v4/conversation/unsubscribe", fmt.Sprintf(`{"topic":"conversation/s1","subscriptionId":%q}`, gone.id))
	n := gone.client.Received()
	u.p.Print(u.next(appended(textRow(1, "a"))))
	stays.wantSeq(1)
	gone.client.MustCall("hub/ping", "{}")
	for _, m := range gone.client.Messages()[n:] {
		if m.Method == "v4/conversation/frame" {
			t.Errorf("after the unsubscribe came %s", m)
		}
	}
}

// flow holds back this client only, and upstream does not hear of it.
func TestFlowPausesThisClientOnly(t *testing.T) {
	h, _, u := scriptedTopic(t)
	slow := follow(t, h.Connect("slow", hubtest.As{}), conversationOne)
	other := follow(t, h.Connect("other", hubtest.As{}), conversationOne)
	slow.wantSeq(0)
	slow.client.MustCall("v4/connection/flow", `{"state":"saturated"}`)
	u.p.Print(u.next(appended(textRow(1, "a"))))
	other.wantSeq(1)
	slow.client.MustCall("hub/ping", "{}") // private messages come all the same
	if slow.catchUp(); slow.state.Seq() != 0 {
		t.Error("a frame came although the client was saturated")
	}
	slow.client.MustCall("v4/connection/flow", `{"state":"drained"}`)
	slow.wantSeq(1)
	slow.wantHealthy()
	if m := slow.client.Call("v4/connection/flow", `{"state":"full"}`); m.Path("error", "code") != "-32603" {
		t.Errorf("an unknown state gave %s", m)
	}
	if n := u.p.Count("v4/connection/flow"); n != 0 {
		t.Errorf("upstream heard of it %d times", n)
	}
}

// No message to a client is longer than maxMessageBytes, be it its own or of a
// lane: what is larger comes in fragments.
func TestLargeFramesAreFragmented(t *testing.T) {
	const limit = 64 << 10
	h, _, u := scriptedTopic(t, func(o *hub.Options) { o.MaxMessageBytes = limit })
	var all []*follower
	for i := range 2 {
		all = append(all, follow(t, h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)}), conversationOne))
	}
	text := strings.Repeat("long ", 40<<10)
	u.p.Print(u.next(appended(textRow(1, "a"))), u.next(piece(1, "text", text)), u.next(piece(1, "text", "z")))
	for i := range 2 {
		all = append(all, follow(t, h.Connect(fmt.Sprint("late", i), hubtest.As{Profile: profileOf(i)}), conversationOne))
	}
	want := strings.TrimSuffix(strings.TrimPrefix(u.snapshot(textRow(1, "a"+text+"z")), `{"kind":"snapshot","snapshot":`), "}")
	for _, f := range all {
		f.wantSeq(3)
		f.wantState([]byte(want))
		if f.fragments < 4 {
			t.Errorf("%s got %d fragments", f.client.Name, f.fragments)
		}
		for _, m := range f.client.All("v4/conversation/frame") {
			if len(m.Text) > limit {
				t.Errorf("%s got a message of %d bytes", f.client.Name, len(m.Text))
			}
		}
	}
}

// What only the hub may say is taken out of what clients say, and the hub's own
// stands in its place.
func TestTrustedMembersAreTheHubs(t *testing.T) {
	h, script, u := scriptedTopic(t)
	script.Answer("v4/attachment/begin", func(hubtest.Line) string { return `{"uploadId":"u","state":"staging","nextChunkIndex":0}` })
	script.Answer("v4/command", func(hubtest.Line) string { return `{"commandId":"c","status":"accepted","revisionAtDecision":0}` })
	script.Answer("v4/connection/flow", func(hubtest.Line) string { return `{}` })
	a, b := h.Connect("a", hubtest.As{}), h.Connect("b", hubtest.As{})
	lie := `"connectionId":"stolen","clientMode":"desktop-continuous","deliveryProfile":"x","subscriberScope":"y"`
	a.MustCall("v4/conversation/subscribe", `{"topic":"conversation/s1",`+lie+`}`)
	a.MustCall("v4/attachment/begin", `{"sessionId":"s1","uploadId":"u",`+lie+`}`)
	b.MustCall("v4/attachment/begin", `{"sessionId":"s1","uploadId":"u",`+lie+`}`)
	a.MustCall("v4/command", `{"sessionId":"s1","type":"sendText","clientId":"anybody","payload":{"text":"x"},`+lie+`}`)
	for _, l := range u.p.Lines() {
		if strings.Contains(l.Text, "stolen") || strings.Contains(l.Text, "deliveryProfile") || strings.Contains(l.Text, "subscriberScope") || strings.Contains(l.Text, "anybody") {
			t.Errorf("upstream heard %s", l.Text)
		}
	}
	if l := u.p.WantRequest("v4/command", 1); !strings.Contains(l.Params, `"clientId":"`+a.ID()+`"`) {
		t.Errorf("the command went out as %s", l.Params)
	}
	for i, c := range []*hubtest.Client{a, b} { // uploads belong to one connection, and end with it
		if l := u.p.WantRequest("v4/attachment/begin", i+1); !strings.Contains(l.Params, `"connectionId":"`+c.ID()+`"`) {
			t.Errorf("the upload of %s went out as %s", c.Name, l.Params)
		}
		c.Leave()
		if l := u.p.WantRequest("v4/connection/flow", i+1); !strings.Contains(l.Params, c.ID()) || !strings.Contains(l.Params, `"closed"`) {
			t.Errorf("at the end of %s came %s", c.Name, l.Params)
		}
	}
	never := h.Connect("never", hubtest.As{})
	never.Leave()
	h.Connect("last", hubtest.As{}).MustCall("v4/attachment/begin", `{"sessionId":"s1"}`)
	if n := u.p.Count("v4/connection/flow"); n != 2 {
		t.Errorf("flow went upstream %d times, want once for each who uploaded", n)
	}
}

// A command speaks for the client that its connection is bound to.
func TestCommandsAreBoundToTheClient(t *testing.T) {
	h, script, u := scriptedTopic(t)
	script.Answer("v4/command", func(hubtest.Line) string { return `{"commandId":"c","status":"accepted","revisionAtDecision":0}` })
	c := h.Connect("client", hubtest.As{})
	c.MustCall("hub/initialize", `{"clientId":"me"}`)
	m := c.Call("v4/command", `{"sessionId":"s1","type":"stop","clientId":"you","payload":{}}`)
	if m.Path("error", "message") != "fault.command.clientMismatch" || m.Path("error", "code") != "-32603" {
		t.Errorf("a command as somebody else gave %s", m)
	}
	c.MustCall("v4/command", `{"sessionId":"s1","type":"stop","clientId":"me","payload":{}}`)
	c.MustCall("v4/command", `{"sessionId":"s1","type":"stop","payload":{}}`)
	if m := c.Call("hub/initialize", `{"clientId":"you"}`); m.Path("error", "message") != "fault.connection.clientChanged" {
		t.Errorf("to change the client id gave %s", m)
	}
	for i := range 2 {
		if l := u.p.WantRequest("v4/command", i+1); !strings.Contains(l.Params, `"clientId":"me"`) {
			t.Errorf("the command went out as %s", l.Params)
		}
	}
}
