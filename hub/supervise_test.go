package hub_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
)

// kill -9 of the app-server in the middle of a turn: the clients stay, are told,
// get a snapshot under a new epoch from the next generation, and go on.
func TestKilledAppServerMidTurn(t *testing.T) {
	sim := hubtest.NewSimulator(t, hubtest.SimulatorOptions{Speed: 0.05, StateFile: filepath.Join(t.TempDir(), "state.json")})
	h := hubtest.Start(t, sim)
	a, b := h.Connect("a", hubtest.As{}), h.Connect("b", hubtest.As{Profile: profileOf(1)})
	id := a.Create("/work")
	sub := a.Subscribe(id, "")
	b.Subscribe(id, "")
	a.Prompt(id, "slow 1h")
	for _, c := range h.Clients() {
		c.WantNotice("session/event", "text_delta")
	}
	h.Kill()
	for _, c := range h.Clients() {
		c.WantNotice("hub/appServer", `"restarting"`)
		c.WantNotice("hub/appServer", `"ready"`, `"generation":2`)
		snapshot := c.WantNotice("hub/snapshot", id)
		if epoch := snapshot.Path("params", "epoch"); epoch == "" || epoch == sub.Epoch {
			t.Errorf("%s got a snapshot under the epoch %q, which was %q before", c.Name, epoch, sub.Epoch)
		}
		if c.Closed() != 0 {
			t.Errorf("%s was closed with %d", c.Name, c.Closed())
		}
	}
	n := b.Received()
	a.Prompt(id, "help")
	b.WantTurnEnd(n, id)
	for _, c := range h.Clients() {
		var cursor hubtest.Cursor
		c.Track(&cursor, id)
		wantChain(t, c.Name, &cursor)
	}
	old := h.Connect("old cursor", hubtest.As{})
	s := old.Subscribe(id, fmt.Sprintf(`,"afterSeq":3,"epoch":%q`, sub.Epoch))
	if s.Resumed || s.Snapshot == nil {
		t.Errorf("a cursor of the old epoch got %s", s)
	}
	if n := sim.Count("session/subscribe"); n > 3 { // one, one refused, one again
		t.Errorf("the app-server saw %d subscribes", n)
	}
}

// A session that the next generation does not know ends for its followers with
// a word, not with silence.
func TestSessionThatIsGoneAfterARestart(t *testing.T) {
	h, _ := simulated(t)
	c := h.Connect("client", hubtest.As{})
	id := c.Create("/work")
	c.Subscribe(id, "")
	h.Kill()
	c.WantNotice("hub/snapshot", id, `"gone"`)
	if m := c.Call("session/subscribe", fmt.Sprintf(`{"sessionId":%q}`, id)); m.Path("error", "code") != "-32004" {
		t.Errorf("subscribing again gave %s", m)
	}
}

// An evicted session is resumed and the call repeated once; the client notices
// a new epoch at most.
func TestEvictedSessionIsResumedUnseen(t *testing.T) {
	h, sim := simulated(t)
	c, other := h.Connect("client", hubtest.As{}), h.Connect("other", hubtest.As{})
	id := c.Create("/work")
	c.Subscribe(id, "")
	c.Prompt(id, "evict")
	c.WantTurnEnd(0, id)
	n := c.Received()
	var sent hubtest.Message
	hubtest.Want(t, "the session to be evicted", func() bool {
		// Until it is, the prompt is simply taken or refused as busy.
		sent = other.Call("session/send", fmt.Sprintf(`{"sessionId":%q,"content":"help"}`, id))
		return sim.Count("session/resume") > 0
	})
	if sent.Kind != wire.Response {
		t.Errorf("a prompt to an evicted session gave %s", sent)
	}
	c.WantNoticeAfter(n, "hub/snapshot", id, `"resumed"`) // may hold all of that turn
	hubtest.Want(t, "the turn to end", func() bool {
		n = c.Received()
		return c.Call("session/send", fmt.Sprintf(`{"sessionId":%q,"content":"help"}`, id)).Kind == wire.Response
	})
	c.WantTurnEnd(n, id)
	if r := sim.Count("session/resume"); r != 1 {
		t.Errorf("%d resumes", r)
	}
	var cursor hubtest.Cursor
	c.Track(&cursor, id)
	wantChain(t, c.Name, &cursor)
	for _, m := range c.Messages() {
		if strings.Contains(string(m.Text), "not active") {
			t.Errorf("the client saw %s", m)
		}
	}
}

// Many who ask at once for an evicted session wait for one resume; a second
// refusal is final.
// A V4 command loads a session that was evicted or closed, and the app-server then knows nothing of the hub's subscribe:
// those who follow the events still see the turn.
func TestTurnThatAV4CommandBeginsIsSeenByThoseWhoFollowEvents(t *testing.T) {
	for name, leave := range map[string]func(c *hubtest.Client, id string){
		"closed":  func(c *hubtest.Client, id string) { c.MustCall("session/close", fmt.Sprintf(`{"sessionId":%q}`, id)) },
		"evicted": func(c *hubtest.Client, id string) { c.Prompt(id, "evict") },
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := simulated(t)
			editor, phone := h.Connect("editor", hubtest.As{}), h.Connect("phone", hubtest.As{})
			id := editor.Create("/work")
			editor.Subscribe(id, "")
			editor.Prompt(id, "hello")
			editor.WantNotice("state.updated", id, "prompt_completed")
			n := editor.Received()
			leave(editor, id)
			if name == "evicted" {
				editor.WantNoticeAfter(n, "state.updated", id, "prompt_completed")
				n = editor.Received()
			}
			phone.MustCall("v4/command", fmt.Sprintf(`{"commandId":"c1","sessionId":%q,"type":"sendText","payload":{"text":"ask"},"issuedAt":1}`, id))
			editor.WantNoticeAfter(n, "hub/snapshot", id, `"resumed"`)
			ask := editor.WantNoticeAfter(n, "interaction/requestPermission", id)
			editor.Say(`{"id":` + ask.ID + `,"result":` + allowOnce + `}`)
			editor.WantTurnEnd(n, id)
		})
	}
}

func TestResumeIsSharedAndRepeatedOnce(t *testing.T) {
	h, script, p := scripted(t)
	script.Answer("session/resume", nil)
	const notActive = `{"code":-32004,"message":"Session is not active: s1"}`
	var ids []string
	var clients []*hubtest.Client
	for i := range 5 {
		c := h.Connect(fmt.Sprint("client", i), hubtest.As{})
		clients = append(clients, c)
		ids = append(ids, c.Request("session/messages", `{"sessionId":"s1"}`))
	}
	for i := range clients {
		p.ReplyError(p.WantRequest("session/messages", i+1), notActive)
	}
	h.Connect("other", hubtest.As{}).MustCall("hub/ping", "{}")
	p.Reply(p.WantRequest("session/resume", 1), `{"session":{"sessionId":"s1"}}`)
	for i := range clients {
		call := p.WantRequest("session/messages", len(clients)+i+1)
		if i == 0 {
			p.ReplyError(call, notActive)
		} else {
			p.Reply(call, `{"messages":[]}`)
		}
	}
	refused := 0
	for i, c := range clients {
		if m := c.WantReply(ids[i]); m.Kind == wire.Error {
			refused++
		}
	}
	if refused != 1 || p.Count("session/resume") != 1 {
		t.Errorf("%d were refused, %d resumes, want 1 and 1", refused, p.Count("session/resume"))
	}
}

// An app-server that dies at once, again and again: the hub stays, says so and
// keeps trying.
func TestAppServerThatDiesAtOnce(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Mortal{}, func(o *hub.Options) { o.ReadyWait = 100 * time.Millisecond })
	c := h.Connect("client", hubtest.As{})
	h.WantState("failed", 5)
	c.WantNotice("hub/appServer", `"failed"`, "exit status 3")
	if ok, state := h.Ready(); ok || state != "failed" {
		t.Errorf("Ready() = %v, %s", ok, state)
	}
	if m := c.Call("session/list", "{}"); m.Path("error", "code") != "-32043" || m.Path("error", "data", "reason") != "appServer.failed" {
		t.Errorf("a call gave %s", m)
	}
	if !h.Log.Contains("I was told to die") && !h.Log.Contains("exit status 3") {
		t.Error("the log does not say why")
	}
	before := h.Status().AppServer.Generation
	h.Connect("root", hubtest.As{Role: "admin"}).MustCall("hub/restartAppServer", "{}") // cuts the pause short
	hubtest.Want(t, "another try", func() bool { return h.Status().AppServer.Generation > before })
}

// An app-server that says nothing at all while a call waits is restarted, also
// if its last word came after the call, and nobody calls again.
func TestSilentAppServerIsRestarted(t *testing.T) {
	sim := hubtest.NewSimulator(t, hubtest.SimulatorOptions{StateFile: filepath.Join(t.TempDir(), "state.json")})
	h := hubtest.Start(t, sim, func(o *hub.Options) { o.CallTimeout = 4 * time.Second })
	c := h.Connect("client", hubtest.As{})
	id := c.Create("/work")
	c.Subscribe(id, "")
	c.Prompt(id, "hang")
	// The turn falls silent some time after the prompt was accepted: a call that
	// comes sooner is answered.
	var m hubtest.Message
	hubtest.Want(t, "a call that is not answered", func() bool {
		m = c.Call("session/list", "{}")
		return m.Path("error", "code") != ""
	})
	if m.Path("error", "code") != "-32044" {
		t.Errorf("a call to a silent app-server gave %s", m)
	}
	h.WantState("ready", 2)
	n := c.Received()
	c.WantNotice("hub/snapshot", id)
	c.Prompt(id, "help")
	c.WantTurnEnd(n, id)
}

// What an app-server says and asks at once after its start is heard.
func TestFirstWordsAreHeard(t *testing.T) {
	script := hubtest.NewScript(t)
	script.Answer("runtime/capabilities", nil)
	h := hubtest.Start(t, script)
	root := h.Connect("root", hubtest.As{Role: auth.RoleAdmin})
	for range 3 {
		n := root.Received()
		p := script.Next()
		p.Print(`{"method":"startup/storageState","params":{"phase":"migrating","sequence":1}}`, `{"id":"server-1","method":"automation/list","params":{}}`)
		p.WantAnswer(`"server-1"`)
		root.WantNoticeAfter(n, "hub/appServer", `"migrating"`)
		if st := h.Status().AppServer; st.State != "migrating" {
			t.Errorf("the state is %+v", st)
		}
		root.MustCall("hub/restartAppServer", "{}")
		p.WantGone()
	}
	script.Next()
}

// What an app-server said last reaches everybody, although its end cut off the
// batch in which it stood.
func TestLastWordsAreDelivered(t *testing.T) {
	h, script, p := scripted(t)
	c := h.Connect("client", hubtest.As{})
	c.Subscribe("s1", "")
	lines := []string{}
	for seq := 1; seq <= 200; seq++ {
		lines = append(lines, event("s1", seq, `{}`))
	}
	p.Print(strings.Join(lines, "\n") + "\n" + `{"half a line`)
	p.Exit(4)
	c.WantSeq("s1", 200)
	script.Next()
}

// The end of Run is the end of everything: goleak in TestMain sees to the rest.
func TestAfterRunNothingRuns(t *testing.T) {
	h, _, p := scripted(t)
	c := h.Connect("client", hubtest.As{})
	c.Subscribe("s1", "")
	p.Print(permission("server-1", "s1", "perm_1"), delta("s1", 1, "a"), delta("s1", 2, "b"))
	c.WantNotice("interaction/requestPermission")
	c.Request("session/usage", `{"sessionId":"s1"}`)
	h.Drain("test", time.Second)
	m := c.WantNotice("hub/closing")
	if hint := m.Path("params", "retryAfterMs"); len(hint) != 4 {
		t.Errorf("the hint is %s", m)
	}
	c.WantClosed(1001)
	h.Stop()
	p.WantGone()
	c.Say(`{"id":1,"method":"hub/ping"}`)
	c.Say(`{"id":2,"method":"session/subscribe","params":{"sessionId":"s9"}}`)
	c.Say(`{"id":"x","result":{}}`)
}

func TestMissingAppServerIsRefusedAtOnce(t *testing.T) {
	for _, command := range [][]string{{"/nowhere/at/all"}, {"hub-test-no-such-program"}, {t.TempDir()}, nil} {
		if _, err := hub.New(hub.Options{AppServer: command}); err == nil {
			t.Errorf("New with %q did not fail", command)
		}
	}
}
