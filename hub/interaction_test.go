package hub_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"zcodehub/auth"
	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
)

const (
	allowOnce    = `{"decision":"allow","reason":"Approved once"}`
	allowProject = `{"decision":"allow","permissionUpdates":[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash"}]}],"reason":"Approved for this project"}`
	deny         = `{"decision":"deny","reason":"Denied"}`
)

// permission is a request for one as an app-server prints it.
func permission(id, sessionID, requestID string) string {
	options := fmt.Sprintf(`[{"optionId":"allow_once","kind":"allow_once","name":"Allow once","response":%s},{"optionId":"allow_project","kind":"allow_always","name":"Always","response":%s},{"optionId":"deny","kind":"deny","name":"Deny","response":%s}]`,
		allowOnce, allowProject, deny)
	return fmt.Sprintf(`{"id":%q,"method":"interaction/requestPermission","params":{"requestId":%q,"sessionId":%q,"turnId":"t1","toolCallId":"call_1","toolName":"Bash","reason":"why","riskLevel":"high","input":{},"options":%s}}`,
		id, requestID, sessionID, options)
}

func resolved(sessionID string, seq int, requestID, decision string) string {
	return fmt.Sprintf(`{"method":"session/event","params":{"sessionId":%q,"turnId":"t1","seq":%d,"type":"permission.resolved","payload":{"requestId":%q,"toolCallId":"call_1","decision":%q}}}`,
		sessionID, seq, requestID, decision)
}

// Fifty clients answer one permission in the same instant: the app-server reads
// one answer, and the other 49 learn who won and when.
func TestOneAnswerPerInteraction(t *testing.T) {
	h, _, p := scripted(t)
	clients := make([]*hubtest.Client, 50)
	for i := range clients {
		clients[i] = h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)})
		clients[i].Subscribe("s1", "")
	}
	p.Print(permission("server-1", "s1", "perm_1"))
	asks := make([]hubtest.Message, len(clients))
	for i, c := range clients {
		asks[i] = c.WantNotice("interaction/requestPermission", "perm_1")
		if asks[i].ID != asks[0].ID {
			t.Errorf("%s was asked under %s, others under %s", c.Name, asks[i].ID, asks[0].ID)
		}
	}
	start := make(chan struct{})
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() {
			<-start
			c.Say(fmt.Sprintf(`{"id":%s,"result":{"decision":"deny","reason":"said %d"}}`, asks[i].ID, i))
		})
	}
	close(start)
	all.Wait()
	winner := ""
	for i, c := range clients {
		m := c.WantNotice("hub/answer", "perm_1")
		switch m.Path("params", "status") {
		case "accepted":
			if winner != "" {
				t.Errorf("%s and %s both won", winner, c.Name)
			}
			winner = c.Name
			if got := p.WantAnswer(`"server-1"`).Result; got != fmt.Sprintf(`{"decision":"deny","reason":"said %d"}`, i) {
				t.Errorf("%s won, but the app-server read %s", c.Name, got)
			}
		case "late":
		default:
			t.Errorf("%s got %s", c.Name, m)
		}
	}
	p.Print(resolved("s1", 1, "perm_1", "deny"))
	for _, c := range clients {
		m := c.WantNotice("hub/answer", "perm_1")
		if by := m.Path("params", "decidedBy", "name"); by != winner || m.Path("params", "decidedAt") == "" {
			t.Errorf("%s was told that %q decided, want %q", c.Name, by, winner)
		}
		settled := c.WantNotice("hub/interactionSettled", "perm_1", `"deny"`, fmt.Sprintf("%q", winner))
		if settled.Path("params", "at") == "" {
			t.Errorf("a settlement without time: %s", settled)
		}
	}
	if n := len(p.Answers(`"server-1"`)); n != 1 {
		t.Errorf("the app-server read %d answers", n)
	}
}

// A question that is announced again is shown once, and its answer goes once to
// every id, the newest first; ids announced later get it too.
func TestReannouncementsAddIDs(t *testing.T) {
	h, _, p := scripted(t)
	c := h.Connect("client", hubtest.As{})
	c.Subscribe("s1", "")
	p.Print(permission("server-1", "s1", "perm_1"), permission("server-2", "s1", "perm_1"), permission("server-3", "s1", "perm_1"))
	ask := c.WantNotice("interaction/requestPermission", "perm_1")
	p.Print(event("s1", 1, `{}`))
	c.WantSeq("s1", 1)
	c.Say(`{"id":` + ask.ID + `,"result":` + allowOnce + `}`)
	c.WantNotice("hub/answer", `"accepted"`)
	p.Print(permission("server-4", "s1", "perm_1"))
	p.WantAnswer(`"server-4"`)
	var order []string
	for _, l := range p.Lines() {
		if l.Method == "" && l.Result == allowOnce {
			order = append(order, l.ID)
		}
	}
	if got := strings.Join(order, " "); got != `"server-3" "server-2" "server-1" "server-4"` {
		t.Errorf("answered were %s", got)
	}
	if n := len(c.All("interaction/requestPermission")); n != 1 {
		t.Errorf("the question was shown %d times", n)
	}
	if n := p.Count("session/subscribe"); n != 1 {
		t.Errorf("%d subscribes", n)
	}
}

// A question that is settled while the hub has yet to learn who may see it is
// not shown as open any more.
func TestSettledQuestionIsNotShown(t *testing.T) {
	h, script, p := scripted(t)
	script.Answer("session/list", nil)
	early := h.Connect("early", hubtest.As{Workspaces: []string{"/work"}})
	p.Print(permission("server-1", "s1", "perm_1"))
	place := p.WantRequest("session/list", 1)
	late := h.Connect("late", hubtest.As{Workspaces: []string{"/work"}})
	again := p.WantRequest("session/list", 2)
	p.WantRequest("session/subscribe", 1)
	hubtest.Want(t, "the session to be listened to", func() bool { return sessionStatus(h, "s1").Listening })
	p.Print(resolved("s1", 1, "perm_1", "deny"))
	list := `{"sessions":[{"sessionId":"s1","workspace":{"workspacePath":"/work"}}]}`
	script.Answer("session/list", func(hubtest.Line) string { return list })
	p.Reply(place, list)
	p.Reply(again, list)
	for _, c := range []*hubtest.Client{early, late} {
		s := c.Subscribe("s1", "")
		if s.EventSeq != 1 {
			t.Errorf("%s began at %d", c.Name, s.EventSeq)
		}
		if n := len(c.All("interaction/requestPermission")); n != 0 {
			t.Errorf("%s was shown a settled question", c.Name)
		}
	}
}

// What an answer must be, and who may give it.
func TestAnswersAndRights(t *testing.T) {
	h, _, p := scripted(t)
	operator := h.Connect("operator", hubtest.As{})
	approver := h.Connect("approver", hubtest.As{Role: auth.RoleApprover})
	viewer := h.Connect("viewer", hubtest.As{Role: auth.RoleViewer})
	p.Print(permission("server-1", "s1", "perm_1"))
	full := operator.WantNotice("interaction/requestPermission", "perm_1")
	limited := approver.WantNotice("interaction/requestPermission", "perm_1")
	look := viewer.WantNotice("hub/interaction", "perm_1")
	if !strings.Contains(string(full.Params), "allow_project") {
		t.Errorf("the operator is offered %s", full.Params)
	}
	if strings.Contains(string(limited.Params), "allow_project") || !strings.Contains(string(limited.Params), "allow_once") || full.ID != limited.ID {
		t.Errorf("the approver is offered %s", limited)
	}
	if look.Kind != wire.Notification || look.Path("params", "kind") != "permission" || strings.Contains(string(look.Params), "allow_project") {
		t.Errorf("the viewer sees %s", look)
	}
	say := func(c *hubtest.Client, answer, status string) {
		t.Helper()
		n := c.Received()
		c.Say(`{"id":` + full.ID + `,` + answer + `}`)
		if m := c.WantNoticeAfter(n, "hub/answer"); m.Path("params", "status") != status {
			t.Errorf("%s answering %s was told %s, want %s", c.Name, answer, m, status)
		}
	}
	say(viewer, `"result":`+deny, "invalid")
	say(approver, `"result":`+allowProject, "invalid")
	say(approver, `"result":{"decision":"modify","modifiedInput":{}}`, "invalid")
	say(approver, `"result":{"decision":"allow","extra":1}`, "invalid")
	say(approver, `"result":"allow_once"`, "invalid")
	say(approver, `"error":{"code":-32603,"message":"no"}`, "invalid")
	operator.Say(`{"id":"ask-1-nonsense","result":` + deny + `}`)
	operator.WantNotice("hub/answer", `"unknown"`, "nonsense")
	if n := len(p.Answers(`"server-1"`)); n != 0 {
		t.Fatalf("the app-server got %d answers that it must not get", n)
	}
	say(operator, `"result":`+allowProject, "accepted")
	if got := p.WantAnswer(`"server-1"`).Result; got != allowProject {
		t.Errorf("the app-server got %s", got)
	}
	say(approver, `"result":`+allowOnce, "late")
}

// Whoever comes while a question is open is shown it: at once on attaching, and
// behind the replay on subscribing, under the id that all others know. Nobody
// being there answers nothing.
func TestOpenInteractionsAreShownAgain(t *testing.T) {
	h, _, p := scripted(t)
	p.Print(permission("server-1", "s1", "perm_1"))
	hubtest.Want(t, "the question", func() bool { return len(h.Status().Pending) == 1 && sessionStatus(h, "s1").Listening })
	p.Print(event("s1", 1, `{}`), event("s1", 2, `{}`))
	first := h.Connect("first", hubtest.As{})
	id := first.WantNotice("interaction/requestPermission", "perm_1").ID
	if hello := first.Messages()[0]; hello.Method != "hub/hello" {
		t.Errorf("the first message is %s", hello)
	}
	sub := first.Subscribe("s1", "")
	first.Leave()
	p.Print(event("s1", 3, `{}`))
	if n := len(p.Answers(`"server-1"`)); n != 0 {
		t.Fatalf("zero clients gave %d answers", n)
	}
	second := h.Connect("second", hubtest.As{Profile: auth.Replayable})
	second.MustCall("hub/initialize", `{"clientId":"c","interactions":"subscribed"}`)
	hubtest.Want(t, "event 3", func() bool { return sessionStatus(h, "s1").Seq == 3 })
	n := second.Received()
	resumed := second.Subscribe("s1", fmt.Sprintf(`,"afterSeq":%d,"epoch":%q`, sub.EventSeq, sub.Epoch))
	again := second.WantNoticeAfter(n, "interaction/requestPermission", "perm_1")
	if again.ID != id || !resumed.Resumed {
		t.Errorf("shown again as %s, first as %s; resumed: %v", again.ID, id, resumed.Resumed)
	}
	for _, m := range second.Messages()[n:] {
		if m.Method == "interaction/requestPermission" {
			t.Error("the question came before the replay")
		}
		if m.ID == resumed.ID && m.Method == "" {
			break
		}
	}
	pending := string(second.MustCall("hub/pendingInteractions", "{}"))
	if !strings.Contains(pending, "perm_1") || !strings.Contains(pending, strings.Trim(id, `"`)) {
		t.Errorf("hub/pendingInteractions tells %s", pending)
	}
	second.Say(`{"id":` + id + `,"result":` + deny + `}`)
	p.WantAnswer(`"server-1"`)
	p.Print(resolved("s1", 4, "perm_1", "deny"))
	second.WantNotice("hub/interactionSettled", "perm_1", `"deny"`, `"second"`)
	third := h.Connect("third", hubtest.As{})
	third.Subscribe("s1", "")
	if pending := string(third.MustCall("hub/pendingInteractions", "{}")); !strings.HasPrefix(pending, `{"pending":[],"settled":[{`) {
		t.Errorf("after the settlement hub/pendingInteractions tells %s", pending)
	}
	if n := len(third.All("interaction/requestPermission")); n != 0 {
		t.Error("a settled question was shown")
	}
	third.Say(`{"id":` + id + `,"result":` + deny + `}`)
	third.WantNotice("hub/answer", `"late"`, `"second"`)
}

// A decision that the agent does not confirm is settled as unconfirmed.
func TestUnconfirmedDecision(t *testing.T) {
	t.Parallel()
	h, _, p := scripted(t)
	c, viewer := h.Connect("client", hubtest.As{}), h.Connect("viewer", hubtest.As{Role: auth.RoleViewer})
	p.Print(permission("server-1", "s1", "perm_1"))
	ask := c.WantNotice("interaction/requestPermission")
	begun := time.Now()
	c.Say(`{"id":` + ask.ID + `,"result":` + allowOnce + `}`)
	c.WantNotice("hub/answer", `"accepted"`)
	for _, who := range []*hubtest.Client{c, viewer} {
		m := who.WantNotice("hub/interactionSettled", "perm_1")
		if m.Path("params", "outcome") != "unconfirmed" || m.Path("params", "by", "name") != "client" {
			t.Errorf("%s was told %s", who.Name, m)
		}
	}
	if waited := time.Since(begun); waited < 9*time.Second {
		t.Errorf("it was given up after %v", waited)
	}
	// It is the agent's own word that counts: asked again, it gets the decision.
	p.Print(permission("server-2", "s1", "perm_1"))
	if got := p.WantAnswer(`"server-2"`).Result; got != allowOnce {
		t.Errorf("the second id got %s", got)
	}
}

// A restart settles what was asked; a decision that was not written by then is
// as none.
func TestRestartSettlesInteractions(t *testing.T) {
	h, script, p := scripted(t)
	c := h.Connect("client", hubtest.As{})
	p.Print(permission("server-1", "s1", "perm_1"), permission("server-2", "s2", "perm_2"))
	c.WantNotice("interaction/requestPermission", "perm_1")
	ask := c.WantNotice("interaction/requestPermission", "perm_2")
	p.Deafen()
	for range 9 { // more than pipes and sockets hold
		c.Request("test/big", `{"text":"`+strings.Repeat("q", 1<<20)+`"}`)
	}
	c.Say(`{"id":` + ask.ID + `,"result":` + allowOnce + `}`)
	unwritten := c.Request("session/send", `{"sessionId":"s1"}`)
	h.Kill()
	if m := c.WantReply(unwritten); m.Path("error", "data", "retryable") != "true" {
		t.Errorf("a call that was never written ended with %s", m)
	}
	c.WantNotice("hub/interactionSettled", "perm_1", `"appServerExited"`, `"app-server"`)
	c.WantNotice("hub/interactionSettled", "perm_2", `"appServerExited"`, `"app-server"`)
	if m := c.WantNotice("hub/answer", "perm_2"); m.Path("params", "status") == "accepted" {
		t.Errorf("a decision that was never written is called %s", m)
	}
	p2 := script.Next()
	h.WantState("ready", 2)
	p2.Print(permission("server-1", "s2", "perm_2"))
	again := c.WantNoticeAfter(0, "interaction/requestPermission", "perm_2")
	hubtest.Want(t, "the fresh question", func() bool { return len(c.All("interaction/requestPermission", "perm_2")) == 2 })
	if fresh := c.All("interaction/requestPermission", "perm_2")[1]; fresh.ID == again.ID {
		t.Error("the fresh question has the id of the settled one")
	}
}

// v4/command resolveInteraction races with the answers: one reservation, given
// back if the ACK says that it failed.
func TestResolveInteractionCommandRaces(t *testing.T) {
	h, script, p := scripted(t)
	script.Answer("v4/command", nil)
	a, b := h.Connect("a", hubtest.As{}), h.Connect("b", hubtest.As{})
	p.Print(permission("server-1", "s1", "perm_1"))
	ask := b.WantNotice("interaction/requestPermission", "perm_1")
	command := func(n int) string {
		return fmt.Sprintf(`{"type":"resolveInteraction","commandId":"cmd%d","sessionId":"s1","payload":{"interactionId":"perm_1","answer":{"optionId":"deny"}}}`, n)
	}
	first := a.Request("v4/command", command(1))
	call := p.WantRequest("v4/command", 1)
	// while it is under way nobody else gets through
	b.Say(`{"id":` + ask.ID + `,"result":` + allowOnce + `}`)
	b.WantNotice("hub/answer", `"late"`, `"a"`)
	loser := b.Call("v4/command", command(2))
	if loser.Path("result", "status") != "accepted" || loser.Path("result", "result", "resolvedBy", "name") != "a" || loser.Path("result", "commandId") != "cmd2" {
		t.Errorf("the loser's ACK is %s", loser)
	}
	// it fails: open again, and shown again
	n := b.Received()
	p.Reply(call, `{"commandId":"cmd1","status":"rejected","reasonCode":"x","revisionAtDecision":0}`)
	if m := a.WantReply(first); m.Path("result", "status") != "rejected" {
		t.Errorf("a's ACK is %s", m)
	}
	if again := b.WantNoticeAfter(n, "interaction/requestPermission", "perm_1"); again.ID != ask.ID {
		t.Errorf("shown again under %s, not %s", again.ID, ask.ID)
	}
	// now it succeeds
	second := b.Request("v4/command", command(3))
	p.Reply(p.WantRequest("v4/command", 2), `{"commandId":"cmd3","status":"accepted","revisionAtDecision":0}`)
	b.WantReply(second)
	p.Print(resolved("s1", 1, "perm_1", "deny"))
	a.WantNotice("hub/interactionSettled", "perm_1", `"deny"`, `"b"`)
	if n := len(p.Answers(`"server-1"`)); n != 0 {
		t.Errorf("the request was answered %d times beside the command", n)
	}
	script.Answer("v4/command", func(hubtest.Line) string { return `{"commandId":"c4","status":"accepted"}` })
	if unknown := a.Call("v4/command", `{"type":"resolveInteraction","commandId":"c4","sessionId":"s1","payload":{"interactionId":"perm_9","answer":{"optionId":"deny"}}}`); string(unknown.Result) != `{"commandId":"c4","status":"accepted"}` {
		t.Errorf("of an unknown interaction the app-server's word counts, but it is %s", unknown)
	}
}

// What the hub answers by itself is answered at once, with nobody attached.
func TestHubAnswersForItself(t *testing.T) {
	h, _, p := scripted(t)
	p.Print(`{"id":"server-1","method":"session/requestRuntimePreferences","params":{"sessionId":"s1","scope":"user-execution"}}`,
		`{"id":"server-2","method":"interaction/requestProviderRuntimeHeaders","params":{"requestId":"r"}}`,
		`{"id":"server-3","method":"interaction/requestOfficialMcpAuthHeaders","params":{"requestId":"r"}}`,
		`{"id":"server-4","method":"interaction/browserList","params":{}}`,
		`{"id":5,"method":"automation/list","params":{}}`,
		`{"id":"server-6","method":"interaction/requestPermission","params":{"requestId":"perm_1"}}`)
	for id, want := range map[string]string{`"server-1"`: "nativeSearchEnhancementsEnabled", `"server-2"`: `"headersApplied":false`, `"server-3"`: `"ok":false`,
		`"server-4"`: "-32601", `5`: "-32601", `"server-6"`: "-32602"} {
		if l := p.WantAnswer(id); !strings.Contains(l.Text, want) {
			t.Errorf("request %s was answered with %s", id, l.Text)
		}
	}
	if n := len(h.Status().Pending); n != 0 {
		t.Errorf("%d interactions are open", n)
	}
}
