package hub_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
)

// pusher plays the push service: it keeps what devices are told.
type pusher struct {
	mu      sync.Mutex
	holders []*auth.Principal
	waiting map[string]bool // device+tag of what was not sent yet: none if unreachable is not set
	held    bool            // nothing is sent
	sent    []notice
}

type notice struct {
	device, tag string
	payload     payload
}

type payload struct {
	Kind, SessionID, RequestID, Title, Body, AskKind, ToolName, Language, Allow, Deny, Outcome, By string
	OpenedAt                                                                                       time.Time
}

func (p *pusher) Holders(time.Time) []*auth.Principal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.holders)
}

func (p *pusher) Send(device, tag string, make func(string) []byte) {
	var content payload
	raw := make("en")
	if err := json.Unmarshal(raw, &content); err != nil || len(raw) > 3993 {
		panic(fmt.Sprintf("%d bytes: %v", len(raw), err))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held {
		p.waiting[device+tag] = true
		return
	}
	p.sent = append(p.sent, notice{device, tag, content})
}

func (p *pusher) Withdraw(device, tag string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	none := p.waiting[device+tag]
	delete(p.waiting, device+tag)
	return none
}

func (p *pusher) set(holders ...*auth.Principal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holders = holders
}

// to are the notices that a device got.
func (p *pusher) to(device string) (found []notice) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.sent {
		if n.device == device {
			found = append(found, n)
		}
	}
	return found
}

func (p *pusher) want(t *testing.T, device string, nth int) payload {
	t.Helper()
	hubtest.Want(t, fmt.Sprintf("notice %d to %s", nth, device), func() bool { return len(p.to(device)) >= nth })
	return p.to(device)[nth-1].payload
}

func subscribed(device string, role auth.Role, change ...func(*auth.Principal)) *auth.Principal {
	p := &auth.Principal{Name: "my " + device, Device: device, Role: role, Rights: role.Rights()}
	for _, f := range change {
		f(p)
	}
	return p
}

// pushing is a hub with a scripted app-server that knows session s1 as "Build the
// page" in /work.
func pushing(t *testing.T, holders ...*auth.Principal) (*hubtest.Hub, *pusher, *hubtest.Process) {
	t.Helper()
	push := &pusher{holders: holders, waiting: map[string]bool{}}
	h, script, p := scripted(t, func(o *hub.Options) { o.Push = push })
	script.Answer("session/list", func(hubtest.Line) string {
		return `{"sessions":[{"sessionId":"s1","title":"Build the page","workspace":{"workspacePath":"/work","workspaceKey":"/work"}}]}`
	})
	return h, push, p
}

// act answers by token and waits for what became of it.
func act(t *testing.T, h *hubtest.Hub, token, decision string) (hub.Acted, error) {
	t.Helper()
	became := make(chan hub.Acted, 1)
	if err := h.Act(token, decision, func(a hub.Acted) { became <- a }); err != nil {
		return hub.Acted{}, err
	}
	select {
	case a := <-became:
		return a, nil
	case <-time.After(hubtest.Patience):
		t.Fatal("an answer by token never ended")
		return hub.Acted{}, nil
	}
}

// A question reaches every subscribed device that may answer it and on which
// nobody looks, and no other; when it is settled they are told, and only they.
func TestWhoDoesNotLookIsToldOfQuestions(t *testing.T) {
	h, push, p := pushing(t,
		subscribed("phone", auth.RoleApprover), subscribed("desk", auth.RoleOperator), subscribed("blind", auth.RoleOperator),
		subscribed("wall", auth.RoleViewer),
		subscribed("guest", auth.RoleOperator, func(p *auth.Principal) { p.Sessions = []string{"another"} }),
		subscribed("colleague", auth.RoleOperator, func(p *auth.Principal) { p.Workspaces = []string{"/elsewhere"} }),
		subscribed("teammate", auth.RoleApprover, func(p *auth.Principal) { p.Workspaces = []string{"/work"} }))
	desk := h.Connect("desk", hubtest.As{Device: "desk"})
	desk.MustCall("hub/attention", `{"visible":true}`)
	h.Connect("blind", hubtest.As{Device: "blind"}).MustCall("hub/attention", `{"visible":false}`)
	if !strings.Contains(string(desk.Messages()[0].Text), `"push":true`) {
		t.Errorf("hub/hello does not say it: %s", desk.Messages()[0])
	}
	p.Print(strings.Replace(permission("server-1", "s1", "perm_1"), `"input":{}`, `"input":{"command":"rm -rf build\nls"}`, 1))
	for _, device := range []string{"phone", "blind", "teammate"} {
		got := push.want(t, device, 1)
		if got.Kind != "ask" || got.SessionID != "s1" || got.RequestID != "perm_1" || got.Title != "Build the page" || got.Body != "Bash: rm -rf build …" ||
			got.AskKind != "permission" || got.ToolName != "Bash" || got.Language != "en" || got.OpenedAt.IsZero() || len(got.Allow) < 26 || len(got.Deny) < 26 || got.Allow == got.Deny {
			t.Errorf("%s was told %+v", device, got)
		}
	}
	ask := desk.WantNotice("interaction/requestPermission", "perm_1")
	desk.Say(`{"id":` + ask.ID + `,"result":` + deny + `}`)
	p.WantAnswer(`"server-1"`)
	p.Print(resolved("s1", 1, "perm_1", "deny"))
	for _, device := range []string{"phone", "blind", "teammate"} {
		got := push.want(t, device, 2)
		if got.Kind != "settled" || got.RequestID != "perm_1" || got.SessionID != "s1" || got.Outcome != "deny" || got.By != "desk" || got.Allow != "" {
			t.Errorf("%s was told %+v", device, got)
		}
		if told := push.to(device); told[0].tag != told[1].tag || len(told) != 2 {
			t.Errorf("%s was told %+v", device, told)
		}
	}
	for _, device := range []string{"desk", "wall", "guest", "colleague"} {
		if told := push.to(device); len(told) > 0 {
			t.Errorf("%s was told %+v", device, told)
		}
	}
}

// Who looked when the question came and then does not any more is told, once.
func TestWhoStopsLookingIsToldWhatWaits(t *testing.T) {
	t.Parallel()
	h, push, p := pushing(t, subscribed("phone", auth.RoleApprover), subscribed("tablet", auth.RoleApprover))
	phone := h.Connect("phone", hubtest.As{Device: "phone", Role: auth.RoleApprover})
	tablet := h.Connect("tablet", hubtest.As{Device: "tablet", Role: auth.RoleApprover})
	phone.MustCall("hub/attention", `{"visible":true}`)
	tablet.MustCall("hub/attention", `{"visible":true,"sessionId":"s1"}`)
	p.Print(permission("server-1", "s1", "perm_1"), permission("server-2", "s1", "perm_2"))
	ask := phone.WantNotice("interaction/requestPermission", "perm_1")
	phone.WantNotice("interaction/requestPermission", "perm_2")
	tablet.Leave()
	if got := push.want(t, "tablet", 2); got.Kind != "ask" {
		t.Errorf("the tablet was told %+v", got)
	}
	if told := push.to("phone"); len(told) > 0 {
		t.Errorf("the phone was told %+v", told)
	}
	phone.Say(`{"id":` + ask.ID + `,"result":` + deny + `}`)
	p.WantAnswer(`"server-1"`)
	phone.MustCall("hub/attention", `{"visible":false}`)
	if got := push.want(t, "phone", 1); got.RequestID != "perm_2" {
		t.Errorf("the phone was told %+v", got)
	}
	phone.MustCall("hub/attention", `{"visible":true}`)
	phone.Leave()
	h.Connect("tablet", hubtest.As{Device: "tablet", Role: auth.RoleApprover}).MustCall("hub/attention", `{"visible":true}`)
	p.Print(permission("server-3", "s1", "perm_3"))
	if got := push.want(t, "phone", 2); got.RequestID != "perm_3" {
		t.Errorf("the phone was told %+v", got)
	}
	if told := push.to("tablet"); len(told) != 2 {
		t.Errorf("the tablet was told %+v", told)
	}
}

// A token answers once, for its device and its decision, with no more than a yes
// or no to this one question.
func TestActionTokenAnswersOnce(t *testing.T) {
	h, push, p := pushing(t, subscribed("phone", auth.RoleOperator))
	watcher := h.Connect("watcher", hubtest.As{Role: auth.RoleViewer})
	p.Print(permission("server-1", "s1", "perm_1"))
	told := push.want(t, "phone", 1)
	for _, try := range [][2]string{{told.Allow, "deny"}, {told.Deny, "allow"}, {"", "allow"}, {"x", "allow"}, {told.Allow + "x", "allow"}, {told.Allow, ""}} {
		if a, err := act(t, h, try[0], try[1]); !errors.Is(err, hub.ErrBadAction) {
			t.Errorf("token %q for %q gave %+v, %v", try[0], try[1], a, err)
		}
	}
	a, err := act(t, h, told.Allow, "allow")
	if err != nil || a.Status != "accepted" || a.DecidedBy == nil || *a.DecidedBy != (struct {
		Name   string `json:"name"`
		Device string `json:"device,omitempty"`
	}{"my phone", "phone"}) {
		t.Errorf("the token gave %+v, %v", a, err)
	}
	if got := p.WantAnswer(`"server-1"`).Result; got != allowOnce {
		t.Errorf("the app-server got %s", got)
	}
	for _, try := range [][2]string{{told.Allow, "allow"}, {told.Deny, "deny"}} {
		if a, err := act(t, h, try[0], try[1]); !errors.Is(err, hub.ErrBadAction) {
			t.Errorf("the spent token for %s gave %+v, %v", try[1], a, err)
		}
	}
	p.Print(resolved("s1", 1, "perm_1", "allow"))
	watcher.WantNotice("hub/interactionSettled", "perm_1", `"allow"`, `"phone"`)
	if n := len(p.Answers(`"server-1"`)); n != 1 {
		t.Errorf("the app-server got %d answers", n)
	}
}

// A token dies with its question and with its device; whoever answered first is
// named to a token that comes between the decision and its confirmation.
func TestActionTokenDiesWithQuestionAndDevice(t *testing.T) {
	h, push, p := pushing(t, subscribed("phone", auth.RoleApprover), subscribed("tablet", auth.RoleApprover), subscribed("lost", auth.RoleApprover))
	desk := h.Connect("desk", hubtest.As{Device: "desk"})
	p.Print(permission("server-1", "s1", "perm_1"))
	phone, tablet, lost := push.want(t, "phone", 1), push.want(t, "tablet", 1), push.want(t, "lost", 1)
	h.Revoke("lost")
	if a, err := act(t, h, lost.Allow, "allow"); !errors.Is(err, hub.ErrBadAction) {
		t.Errorf("a revoked device's token gave %+v, %v", a, err)
	}
	ask := desk.WantNotice("interaction/requestPermission", "perm_1")
	desk.Say(`{"id":` + ask.ID + `,"result":` + deny + `}`)
	desk.WantNotice("hub/answer", `"accepted"`)
	if a, err := act(t, h, phone.Allow, "allow"); err != nil || a.Status != "late" || a.DecidedBy == nil || a.DecidedBy.Name != "desk" {
		t.Errorf("a late token gave %+v, %v", a, err)
	}
	p.Print(resolved("s1", 1, "perm_1", "deny"))
	push.want(t, "tablet", 2)
	if a, err := act(t, h, tablet.Allow, "allow"); !errors.Is(err, hub.ErrBadAction) {
		t.Errorf("a token of what is settled gave %+v, %v", a, err)
	}
	if len(push.to("lost")) != 1 {
		t.Errorf("the revoked device was told %+v", push.to("lost"))
	}
	p.Print(permission("server-2", "s1", "perm_2"))
	narrowed, outside := push.want(t, "phone", 3), push.want(t, "tablet", 3)
	push.set(subscribed("phone", auth.RoleViewer), subscribed("tablet", auth.RoleApprover, func(p *auth.Principal) { p.Sessions = []string{"another"} }))
	for _, token := range []string{narrowed.Allow, outside.Allow} {
		if a, err := act(t, h, token, "allow"); !errors.Is(err, hub.ErrBadAction) {
			t.Errorf("a token of a device that may not answer any more gave %+v, %v", a, err)
		}
	}
	if n := len(p.Answers(`"server-2"`)); n != 0 {
		t.Errorf("the app-server got %d answers", n)
	}
}

// Questions that a yes or no does not answer come without tokens.
func TestOnlyPlainQuestionsHaveTokens(t *testing.T) {
	_, push, p := pushing(t, subscribed("phone", auth.RoleOperator))
	p.Print(`{"id":"server-1","method":"interaction/requestUserInput","params":{"requestId":"q_1","sessionId":"s1","toolName":"AskUserQuestion","questions":[{"question":"Which color?","header":"Color","options":[{"value":"a","label":"a"}],"multiSelect":false}]}}`)
	if got := push.want(t, "phone", 1); got.AskKind != "userInput" || got.Body != "Which color?" || got.Allow != "" || got.Deny != "" {
		t.Errorf("told %+v", got)
	}
	only := fmt.Sprintf(`[{"optionId":"allow_project","kind":"allow_always","name":"Always","response":%s}]`, allowProject)
	line := permission("server-2", "s1", "perm_2")
	p.Print(line[:strings.Index(line, `"options":`)] + `"options":` + only + `}}`)
	if got := push.want(t, "phone", 2); got.RequestID != "perm_2" || got.Allow != "" || got.Deny != "" {
		t.Errorf("told %+v", got)
	}
}

// What did not go out yet is taken back when the question is settled, and the
// device never hears of it; of many questions it hears of some.
func TestDevicesAreNotFloodedWithOldQuestions(t *testing.T) {
	h, push, p := pushing(t, subscribed("phone", auth.RoleApprover))
	desk := h.Connect("desk", hubtest.As{Device: "desk"})
	push.mu.Lock()
	push.held = true
	push.mu.Unlock()
	p.Print(permission("server-0", "s1", "perm_0"))
	hubtest.Want(t, "the notice to wait", func() bool { push.mu.Lock(); defer push.mu.Unlock(); return len(push.waiting) == 1 })
	ask := desk.WantNotice("interaction/requestPermission", "perm_0")
	desk.Say(`{"id":` + ask.ID + `,"result":` + deny + `}`)
	p.WantAnswer(`"server-0"`)
	p.Print(resolved("s1", 1, "perm_0", "deny"))
	desk.WantNotice("hub/interactionSettled", "perm_0")
	hubtest.Want(t, "the notice to be taken back", func() bool { push.mu.Lock(); defer push.mu.Unlock(); return len(push.waiting) == 0 })
	push.mu.Lock()
	push.held = false
	push.mu.Unlock()
	for i := 1; i <= 40; i++ {
		p.Print(permission(fmt.Sprint("server-", i), "s1", fmt.Sprint("perm_", i)))
	}
	desk.WantNotice("interaction/requestPermission", `"perm_40"`)
	push.want(t, "phone", 32)
	desk.MustCall("hub/ping", `{}`)
	if told := push.to("phone"); len(told) != 32 || told[0].payload.RequestID == "perm_0" {
		t.Errorf("the phone was told of %d questions, the first is %+v", len(told), told[0])
	}
}

// Of all who answer at once, by token or by connection, one decides.
func TestOneDecisionBetweenTokensAndAnswers(t *testing.T) {
	var holders []*auth.Principal
	for i := range 10 {
		holders = append(holders, subscribed(fmt.Sprint("phone", i), auth.RoleApprover))
	}
	h, push, p := pushing(t, holders...)
	desk := h.Connect("desk", hubtest.As{Device: "desk"})
	p.Print(permission("server-1", "s1", "perm_1"))
	ask := desk.WantNotice("interaction/requestPermission", "perm_1")
	tokens := make([]string, len(holders))
	for i := range holders {
		tokens[i] = push.want(t, holders[i].Device, 1).Deny
	}
	accepted := make(chan string, len(holders)+1)
	var all sync.WaitGroup
	for i, token := range tokens {
		all.Go(func() {
			if a, err := act(t, h, token, "deny"); err == nil && a.Status == "accepted" {
				accepted <- holders[i].Device
			}
		})
	}
	desk.Say(`{"id":` + ask.ID + `,"result":` + allowOnce + `}`)
	if m := desk.WantNotice("hub/answer", "perm_1"); m.Path("params", "status") == "accepted" {
		accepted <- "desk"
	}
	all.Wait()
	if len(accepted) != 1 {
		t.Errorf("%d answers were accepted", len(accepted))
	}
	p.WantAnswer(`"server-1"`)
	if n := len(p.Answers(`"server-1"`)); n != 1 {
		t.Errorf("the app-server got %d answers", n)
	}
}
