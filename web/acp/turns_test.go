package acp

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"zcodehub/auth"
	"zcodehub/internal/hubtest"
)

// ended is why a prompt ended.
func ended(m incomingMessage) string { return m.path("result", "stopReason") }

// Prompts that meet a running turn run after it, in order, whoever sent them, and each gets its own answer.
func TestPromptsOfManyClientsRunOneAfterTheOther(t *testing.T) {
	s := serve(t, paced(t, 0.02))
	a, b := s.connect("a", as{}), s.connect("b", as{})
	id := a.newSession()
	b.load(id, 30)
	var prompts []string
	for i := range 6 {
		c := []*peer{a, b}[i%2]
		prompts = append(prompts, c.request("session/prompt", promptParams(id, fmt.Sprint("reply with exactly: number ", i))))
		hubtest.Want(t, "the prompt to be queued", func() bool { return queued(s, id) > 0 && (i == 0 || queued(s, id) == i+1 || done(a, b, prompts)) })
	}
	for i, p := range prompts {
		if m := []*peer{a, b}[i%2].wantAnswer(p); ended(m) != "end_turn" {
			t.Errorf("prompt %d was answered %s", i, m)
		}
	}
	last := s.connect("last", as{})
	last.load(id, -1)
	at := -1
	for i := range 6 {
		next := strings.Index(last.transcript(id, 0), fmt.Sprint("user: reply with exactly: number ", i))
		if next <= at {
			t.Errorf("prompt %d does not follow the one before it:\n%s", i, last.transcript(id, 0))
		}
		at = next
	}
}

func queued(s *stage, id string) int {
	r := s.adapter.room(id)
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.prompts)
}

func done(a, b *peer, prompts []string) bool {
	answered := func(c *peer, id string) bool {
		return c.index(func(m incomingMessage) bool { return m.id == id && m.method == "" }) >= 0
	}
	for i, p := range prompts {
		if answered([]*peer{a, b}[i%2], p) {
			return true
		}
	}
	return false
}

// A prompt that meets a turn of a native client waits for its end.
func TestAPromptWaitsForATurnThatAnotherClientBegan(t *testing.T) {
	s := serve(t, paced(t, 0.1))
	page := s.Connect("page", hubtest.As{})
	id := page.Create("/w/demo")
	page.Prompt(id, "slow 10s")
	a := s.connect("a", as{})
	a.load(id, 30)
	if m := a.prompt(id, "reply with exactly: after"); ended(m) != "end_turn" {
		t.Errorf("it was answered %s", m)
	}
	if got := a.transcript(id, 0); strings.Index(got, "tick99 ") > strings.LastIndex(got, "after") || !strings.Contains(got, "tick99 ") {
		t.Errorf("the client shows %s", got)
	}
	if a.count("session/update", updateUser, "slow 10s") != 1 {
		t.Error("what the page typed is not shown, or twice")
	}
}

// Storms of cancels, by all clients and in any state, end each prompt once, and the session takes the next one.
func TestStormsOfCancelsLeaveTheSessionUsable(t *testing.T) {
	s := serve(t, paced(t, 0.3))
	a, b := s.connect("a", as{}), s.connect("b", as{})
	id := a.newSession()
	b.load(id, 30)
	a.notify("session/cancel", session(id)) // nothing runs
	for round := range 8 {
		prompts := map[string]*peer{}
		n := a.mark()
		prompts[a.request("session/prompt", promptParams(id, "slow 600s"))] = a
		if round%2 == 1 {
			a.wantMethod(n, "$/zcode/turnState", `"running":true`)
		}
		if round%4 > 1 {
			prompts[b.request("session/prompt", promptParams(id, "reply with exactly: from b"))] = b
		}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() { []*peer{a, b}[i%2].notify("session/cancel", session(id)) })
		}
		all.Wait()
		for p, c := range prompts {
			want := "cancelled"
			m := c.wantAnswer(p)
			if got := ended(m); got != want && !(c == b && got == "end_turn") {
				t.Fatalf("round %d: a prompt of %s was answered %s", round, c.name, m)
			}
		}
		if m := a.prompt(id, "reply with exactly: fine"); ended(m) != "end_turn" {
			t.Fatalf("round %d: the prompt after the storm was answered %s", round, m)
		}
	}
	for _, c := range []*peer{a, b} {
		hubtest.Want(t, c.name+" to see no turn run", func() (idle bool) {
			for _, m := range c.all() {
				if m.method == "$/zcode/turnState" {
					idle = m.path("params", "running") == "false"
				}
			}
			return idle
		})
		if open := c.stories[id].open(); len(open) > 0 {
			t.Errorf("%s has open cards: %v", c.name, open)
		}
	}
	hubtest.Want(t, "the queue to be empty", func() bool { return queued(s, id) == 0 })
}

// Any client of the session may cancel a turn; the one whose prompt it is gets its answer, and questions go away.
func TestAnotherClientCancels(t *testing.T) {
	s := serve(t, simulated(t))
	a, b := s.connect("a", as{}), s.connect("b", as{})
	id := a.newSession()
	b.load(id, 30)
	prompt := a.request("session/prompt", promptParams(id, "ask echo"))
	ask, _ := a.wantAsk(0)
	b.wantAsk(0)
	b.notify("session/cancel", session(id))
	if m := a.wantAnswer(prompt); ended(m) != "cancelled" {
		t.Errorf("the prompt was answered %s", m)
	}
	for _, c := range []*peer{a, b} {
		c.wantMethod(0, "$/cancel_request")
		c.wantMethod(0, "$/zcode/ask_settled")
	}
	a.answer(ask, `{"outcome":{"outcome":"cancelled"}}`) // as the specification wants it: too late to matter
	if m := a.prompt(id, "reply with exactly: next"); ended(m) != "end_turn" {
		t.Errorf("the next prompt was answered %s", m)
	}
}

// $/cancel_request ends a prompt as session/cancel does.
func TestACancelledRequestOfAPromptIsACancelledTurn(t *testing.T) {
	s := serve(t, paced(t, 1))
	a := s.connect("a", as{})
	id := a.newSession()
	prompt := a.request("session/prompt", promptParams(id, "slow 600s"))
	a.wantMethod(0, "session/update", "tick1 ")
	a.notify("$/cancel_request", `{"requestId":`+prompt+`}`)
	if m := a.wantAnswer(prompt); ended(m) != "cancelled" {
		t.Errorf("it was answered %s", m)
	}
}

// A failed turn is an error that says why, and closes what it left open.
func TestAFailedTurnIsAnError(t *testing.T) {
	s := serve(t, simulated(t))
	a := s.connect("a", as{})
	id := a.newSession()
	m := a.prompt(id, "fail")
	if m.path("error", "code") != "-32603" || !strings.HasPrefix(m.path("error", "message"), "ZCode turn failed: ") || m.path("error", "data", "type") != "zcode_turn_failed" {
		t.Errorf("it was answered %s", m)
	}
}

// A failure that may pass is tried again, as long as nothing was shown of the turn.
func TestAPassingFailureIsTriedAgainBeforeAnyOutput(t *testing.T) {
	s, p := scripted(t)
	a := s.connect("a", as{})
	a.load("s1", 30)
	prompt := a.request("session/prompt", promptParams("s1", "hello"))
	turn := func(n, seq int, output bool) (lines []string) {
		sent := p.WantRequest("session/send", n)
		id := fmt.Sprint("turn_", n)
		add := func(kind, payload string) {
			seq++
			lines = append(lines, fmt.Sprintf(`{"method":"session/event","params":{"sessionId":"s1","turnId":%q,"seq":%d,"type":%q,"payload":%s}}`, id, seq, kind, payload))
		}
		add("turn.started", fmt.Sprintf(`{"turnNumber":0,"input":"hello","inputId":%q,"messageId":"m%d"}`, stringIn([]byte(sent.Params), "inputId"), n))
		if output {
			add("model.streaming", `{"kind":"text_delta","assistantMessageId":"a1","delta":"Well"}`)
		}
		add("turn.failed", `{"error":{"type":"provider_error","message":"overloaded","retryable":true}}`)
		return lines
	}
	p.Print(turn(1, 0, false)...)
	p.Print(turn(2, 2, true)...)
	m := a.wantAnswer(prompt)
	if !strings.Contains(m.path("error", "message"), "overloaded") || m.path("error", "data", "retryable") != "true" {
		t.Errorf("it was answered %s", m)
	}
	if n := p.Count("session/send"); n != 2 {
		t.Errorf("it was sent %d times", n)
	}
	if n := a.count("$/zcode/turnState"); n != 2 {
		t.Errorf("the client saw %d changes of the turn, want one begin and one end", n)
	}
}

// Silence ends no turn: the client gets a sign of life as long as the app-server says that it works.
func TestSilenceEndsNoTurn(t *testing.T) {
	s, p := scripted(t)
	s.adapter.silence = 100 * time.Millisecond
	running := strings.Replace(idleSnapshot, `"runtime":{"eventSeq":0}`, `"runtime":{"eventSeq":1,"activeTurnId":"turn_1","activeTurnKind":"regular"}`, 1)
	a := s.connect("a", as{})
	a.load("s1", 30)
	n := a.mark()
	prompt := a.request("session/prompt", promptParams("s1", "hello"))
	sent := p.WantRequest("session/send", 1)
	s.script.Answer("session/read", func(hubtest.Line) string { return running })
	p.Print(fmt.Sprintf(`{"method":"session/event","params":{"sessionId":"s1","turnId":"turn_1","seq":1,"type":"turn.started","payload":{"turnNumber":0,"input":"hello","inputId":%q,"messageId":"m1"}}}`, stringIn([]byte(sent.Params), "inputId")))
	for range 3 {
		_, n = a.wantAfter(n+1, "a sign of life", func(m incomingMessage) bool { return m.kind() == updateUsage })
	}
	if a.index(func(m incomingMessage) bool { return m.id == prompt && m.method == "" }) >= 0 {
		t.Fatal("the turn was ended")
	}
	// Its end gets lost: the app-server says that nothing runs.
	s.script.Answer("session/read", func(hubtest.Line) string { return idleSnapshot })
	if m := a.wantAnswer(prompt); ended(m) != "end_turn" {
		t.Errorf("it was answered %s", m)
	}
}

// An app-server that was started again may have begun a turn before the hub follows its session: the turn ends for the
// client all the same, and not only when a silence is looked into.
func TestTurnWhoseBeginWasMissedEndsItsPrompt(t *testing.T) {
	s, p := scripted(t)
	s.adapter.silence = time.Hour
	a := s.connect("a", as{})
	a.load("s1", 30)
	s.script.Answer("session/subscribe", nil)
	p.Exit(9)
	p = s.script.Next()
	s.WantState("ready", 2)
	follows := p.WantRequest("session/subscribe", 1)
	prompt := a.request("session/prompt", promptParams("s1", "hello"))
	p.WantRequest("session/send", 1)
	running := strings.Replace(idleSnapshot, `"runtime":{"eventSeq":0}`, `"runtime":{"eventSeq":1,"activeTurnId":"turn_1","activeTurnKind":"regular"}`, 1)
	s.script.Answer("session/read", func(hubtest.Line) string { return running })
	n := a.mark()
	p.Reply(follows, `{"sessionId":"s1","eventSeq":1,"events":[]}`)
	a.wantMethod(n, "$/zcode/turnState", `"running":true`)
	p.Print(`{"method":"session/event","params":{"sessionId":"s1","turnId":"turn_1","seq":2,"type":"turn.completed","payload":{"response":"hi","resultType":"success"}}}`)
	if m := a.wantAnswer(prompt); ended(m) != "end_turn" {
		t.Errorf("it was answered %s", m)
	}
}

// A prompt during a compaction is refused: it would end it.
func TestNoPromptDuringACompaction(t *testing.T) {
	s := serve(t, paced(t, 0.5))
	a, b := s.connect("a", as{}), s.connect("b", as{})
	id := a.newSession()
	a.prompt(id, "reply with exactly: something to compact")
	b.load(id, 30)
	n := b.mark()
	compact := a.request("session/prompt", promptParams(id, "/compact"))
	b.wantMethod(n, "$/zcode/turnState", `"running":true`)
	if m := b.prompt(id, "hello"); !strings.Contains(m.path("error", "message"), "compacted") {
		t.Errorf("it was answered %s", m)
	}
	if m := a.wantAnswer(compact); ended(m) != "end_turn" {
		t.Errorf("the compaction was answered %s", m)
	}
	b.wantMethod(n, "$/zcode/turnState", `"running":false`)
}

// When the app-server dies in a turn its prompt is answered, cards are closed, and the session goes on with the next one.
func TestTheAppServerDiesInATurn(t *testing.T) {
	sim := hubtest.NewSimulator(t, hubtest.SimulatorOptions{Speed: 1, StateFile: t.TempDir() + "/state.json"})
	s := serve(t, hubtest.Start(t, sim))
	a, b := s.connect("a", as{}), s.connect("b", as{})
	id := a.newSession()
	b.load(id, 30)
	n := b.mark()
	prompt := a.request("session/prompt", promptParams(id, "ask echo"))
	b.wantAsk(0)
	s.Kill()
	if m := a.wantAnswer(prompt); m.path("error", "code") != "-32603" || !strings.Contains(m.path("error", "message"), "ZCode ended") {
		t.Errorf("it was answered %s", m)
	}
	b.wantMethod(n, "$/zcode/turnState", `"running":false`)
	b.wantMethod(n, "$/cancel_request")
	if open := b.stories[id].open(); len(open) > 0 {
		t.Errorf("cards are open: %v", open)
	}
	s.WantState("ready", 2)
	if m := a.prompt(id, "reply with exactly: again"); ended(m) != "end_turn" {
		t.Errorf("the next prompt was answered %s", m)
	}
}

// Rights are the hub's: a viewer sees and is never asked, an approver answers, and what is out of scope does not exist.
func TestRights(t *testing.T) {
	s := serve(t, simulated(t))
	a := s.connect("a", as{})
	id, other := a.newSession(), a.newSession()
	a.prompt(id, "reply with exactly: hello")
	viewer := s.connect("viewer", as{role: auth.RoleViewer})
	approver := s.connect("approver", as{role: auth.RoleApprover})
	scoped := s.connect("scoped", as{sessions: []string{id}})
	viewer.load(id, -1)
	approver.load(id, -1)
	for method, params := range map[string]string{
		"session/prompt":            promptParams(id, "hello"),
		"session/new":               `{"cwd":"/w/demo","mcpServers":[]}`,
		"session/set_mode":          `{"sessionId":"` + id + `","modeId":"plan"}`,
		"session/set_config_option": `{"sessionId":"` + id + `","configId":"mode","value":"plan"}`,
		"session/close":             session(id),
		"session/delete":            session(id),
		"session/fork":              session(id),
		"session/compact":           session(id),
	} {
		for _, c := range []*peer{viewer, approver} {
			if m := c.call(method, params); m.path("error", "code") != "-32000" || m.path("error", "message") == "" {
				t.Errorf("%s by %s: %s", method, c.name, m)
			}
		}
	}
	unknown := scoped.call("session/load", loadParams("sess_unknown", 30))
	hidden := scoped.call("session/load", loadParams(other, 30))
	if unknown.path("error", "code") != "-32002" || strings.ReplaceAll(string(hidden.failed), other, "sess_unknown") != string(unknown.failed) {
		t.Errorf("out of scope: %s\nunknown:      %s", hidden, unknown)
	}
	if m := scoped.call("session/load", loadParams(id, 30)); m.result == nil {
		t.Errorf("within scope: %s", m)
	}
	viewer.notify("session/cancel", session(id))
	prompt := a.request("session/prompt", promptParams(id, "ask echo"))
	ask, _ := approver.wantAsk(0)
	if strings.Contains(string(ask.text), allowAlways) {
		t.Errorf("the approver is offered what lasts: %s", ask)
	}
	viewer.wantMethod(0, "session/update", "Bash: echo")
	approver.option(ask, "allow_once")
	if m := a.wantAnswer(prompt); ended(m) != "end_turn" {
		t.Errorf("the turn ended with %s", m)
	}
	viewer.wantMethod(0, "session/update", "command ran and printed")
	if len(viewer.questions()) > 0 {
		t.Errorf("the viewer was asked %s", viewer.questions()[0])
	}
}

// Why a turn ended, and what it used, as section 5.1 of the contract has them.
func TestHowATurnEndedIsSaidInACP(t *testing.T) {
	const used = `"usage":{"inputTokens":100,"outputTokens":7,"totalTokens":107,"cacheReadTokens":60,"cacheWriteTokens":30,"reasoningTokens":3}`
	for _, c := range []struct{ result, last, want string }{
		{"success", "stop", "end_turn"},
		{"success", "", "end_turn"},
		{"success", "length", "max_tokens"},
		{"success", "context_length_exceeded", "max_tokens"},
		{"success", "content-filter", "refusal"},
		{"cancelled", "length", "cancelled"},
		{"error_max_turns", "tool-calls", "max_turn_requests"},
		{"error_max_tool_calls", "", "max_turn_requests"},
		{"error_max_budget", "", "max_turn_requests"},
	} {
		end := readEnd(event{kind: "turn.completed", payload: []byte(`{"resultType":"` + c.result + `",` + used + `}`)}, c.last)
		if end.stopReason != c.want || end.failure != nil {
			t.Errorf("%s after %q: %q, %v, want %q", c.result, c.last, end.stopReason, end.failure, c.want)
		}
		var u map[string]int
		if err := json.Unmarshal(end.usage, &u); err != nil || u["inputTokens"] != 10 || u["outputTokens"] != 7 || u["totalTokens"] != 107 ||
			u["cachedReadTokens"] != 60 || u["cachedWriteTokens"] != 30 || u["thoughtTokens"] != 3 {
			t.Errorf("%s: usage %s, %v", c.result, end.usage, err)
		}
	}
	end := readEnd(event{kind: "turn.completed", payload: []byte(`{"resultType":"error_during_execution","error":{"message":"no room","statusCode":507,"retryable":false}}`)}, "")
	if end.stopReason != "" || end.transient || end.failure == nil || end.failure.Code != codeInternal || end.failure.Message != "ZCode turn failed: no room" ||
		string(end.failure.Data) != `{"retryable":false,"statusCode":507,"type":"zcode_turn_failed"}` {
		t.Errorf("a failure: %+v, %+v", end, end.failure)
	}
}
