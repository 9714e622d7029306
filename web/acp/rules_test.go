package acp

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Rule 1: the ids of requests that the hub sends are JSON numbers, unique on their connection.
func TestRule1IdsAreNumbersAndUnique(t *testing.T) {
	s := serve(t, simulated(t))
	a := s.connect("a", as{})
	id := a.newSession()
	seen := map[string]bool{}
	for range 3 {
		n := a.mark()
		prompt := a.request("session/prompt", promptParams(id, "ask echo"))
		ask, _ := a.wantAsk(n)
		if _, err := strconv.ParseInt(ask.id, 10, 64); err != nil || seen[ask.id] {
			t.Errorf("a question came under the id %s", ask.id)
		}
		seen[ask.id] = true
		a.option(ask, "allow_once")
		if m := a.wantAnswer(prompt); m.path("result", "stopReason") != "end_turn" {
			t.Errorf("the turn ended with %s", m)
		}
	}
}

// Rule 2: at most one permission and one form are open on a connection; the rest waits its turn.
func TestRule2OneOpenQuestionOfEachKind(t *testing.T) {
	s := serve(t, simulated(t))
	a := s.connect("a", as{})
	var prompts []string
	for _, text := range []string{"ask one", "ask two", "question", "ask three", "question"} {
		id := a.newSession()
		prompts = append(prompts, a.request("session/prompt", promptParams(id, text)))
	}
	open := map[string]string{} // id by method
	answered := 0
	for n := 0; answered < len(prompts); {
		ask, at := a.wantAsk(n)
		n = at + 1
		if open[ask.method] != "" {
			t.Fatalf("%s came while %s was open", ask, open[ask.method])
		}
		open[ask.method] = ask.id
		// Look at what else is there before answering.
		a.flush()
		if more := a.index(func(m incomingMessage) bool { return m.method == ask.method && a.index(is(m)) > at }); more >= 0 {
			t.Fatalf("%s is open beside %s", a.all()[more], ask)
		}
		if ask.method == methodElicit {
			a.answer(ask, `{"action":"accept","content":{"q_0":"Blue","q_1":["Tests"]}}`)
		} else {
			a.option(ask, "allow_once")
		}
		open[ask.method] = ""
		answered++
	}
	for _, id := range prompts {
		if m := a.wantAnswer(id); m.path("result", "stopReason") != "end_turn" {
			t.Errorf("a turn ended with %s", m)
		}
	}
}

// is tells one message from all others.
func is(one incomingMessage) func(incomingMessage) bool {
	return func(m incomingMessage) bool { return bytes.Equal(m.text, one.text) }
}

// Rule 2, the second half: a load voids the questions of all sessions that the client shows, and none of them blocks
// the queue. The one of the loaded session comes again, the other one when its session is loaded.
func TestRule2ALoadVoidsQuestionsOfOtherSessionsToo(t *testing.T) {
	s := serve(t, simulated(t))
	a := s.connect("a", as{})
	first, second := a.newSession(), a.newSession()
	p1 := a.request("session/prompt", promptParams(first, "ask one"))
	ask1, n := a.wantAsk(0, first)
	p2 := a.request("session/prompt", promptParams(second, "ask two"))
	a.wantMethod(0, "session/update", second, "Bash: two", "tool_call") // it waits behind the first

	a.load(second, 30)
	ask2, n2 := a.wantAsk(n + 1)
	if !strings.Contains(string(ask2.text), second) {
		t.Fatalf("after the load came %s, not the question of the loaded session", ask2)
	}
	a.option(ask2, "allow_once")
	a.wantAnswer(p2)

	a.load(first, 30)
	again, _ := a.wantAsk(n2+1, first)
	if again.id == ask1.id {
		t.Errorf("the question came again under its old id %s", again.id)
	}
	a.option(again, "allow_once")
	if m := a.wantAnswer(p1); m.path("result", "stopReason") != "end_turn" {
		t.Errorf("the first turn ended with %s", m)
	}
}

// Rule 3: a question is withdrawn with both names of its id, and nothing is waited for.
func TestRule3WithdrawnUnderBothNames(t *testing.T) {
	s := serve(t, simulated(t))
	a, b := s.connect("a", as{}), s.connect("b", as{params: plainEditor})
	id := a.newSession()
	b.load(id, 30)
	prompt := a.request("session/prompt", promptParams(id, "ask echo"))
	askA, _ := a.wantAsk(0)
	askB, _ := b.wantAsk(0)
	b.option(askB, "allow_once")
	m := a.wantMethod(0, "$/cancel_request")
	if m.path("params", "requestId") != askA.id || m.path("params", "id") != askA.id || m.id != "" {
		t.Errorf("the question %s was withdrawn with %s", askA.id, m)
	}
	for _, c := range []*peer{a, b} {
		settled := c.wantMethod(0, "$/zcode/ask_settled")
		if settled.path("params", "kind") != "permission" || settled.path("params", "toolCallId") == "" || settled.path("params", "sessionId") != id {
			t.Errorf("%s was told %s", c.name, settled)
		}
	}
	if b.count("$/cancel_request") != 0 {
		t.Error("the question was withdrawn from the one who had answered it")
	}
	a.option(askA, "deny") // late
	if m := a.wantAnswer(prompt); m.path("result", "stopReason") != "end_turn" {
		t.Errorf("the turn ended with %s", m)
	}
}

// Rule 4: a client that renders only choices gets no form without one: it would decline at once for everybody.
func TestRule4NoFormWithoutAChoice(t *testing.T) {
	s, p := scripted(t)
	a := s.connect("a", as{})
	a.load("s1", 30)
	p.Print(`{"id":"server-1","method":"interaction/requestUserInput","params":{"requestId":"q1","sessionId":"s1","toolCallId":"call_1","toolName":"AskUserQuestion","schema":{"toolName":"AskUserQuestion"},"questions":[{"question":"What is its name?","header":"Name","options":[]}]}}`)
	ask, _ := a.wantAsk(0)
	if ask.method != methodAskPermission {
		t.Fatalf("it was asked by %s", ask)
	}
	a.option(ask, "continue")
	if got := p.WantAnswer(`"server-1"`); !strings.Contains(got.Result, `"accept"`) {
		t.Errorf("the app-server got %s", got.Text)
	}
}

// Rule 5 and 6: every update and every question passes strict checks, and no card is updated or asked about before it
// was begun. The checks are in the peer: this test drives every kind of them past it.
func TestRule5And6EveryMessageIsSoundAndCardsComeFirst(t *testing.T) {
	for name, params := range map[string]string{"remote": remoteClient, "editor": plainEditor, "forms": formEditor} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, simulated(t))
			a := s.connect("a", as{params: params})
			id := a.newSession()
			for _, text := range []string{"hello", "ask echo", "question", "plan", "todo", "edit", "subagent ask", "unicode", "big 300kb", "background 2s", "fail"} {
				n := a.mark()
				prompt := a.request("session/prompt", promptParams(id, text))
				for over := false; !over; {
					m, at := a.wantAfter(n, "the end of "+text, func(m incomingMessage) bool { return m.id == prompt && m.method == "" || m.id != "" && m.method != "" })
					n = at + 1
					switch {
					case m.method == "":
						over = true
					case m.method == methodElicit && strings.Contains(string(m.text), "approval"):
						a.answer(m, `{"action":"accept","content":{"approval":"approve"}}`)
					case m.method == methodElicit:
						a.answer(m, `{"action":"accept","content":{"q_0":"Blue","q_1":["Tests"]}}`)
					default:
						a.option(m, firstOption(m))
					}
				}
			}
			b := s.connect("b", as{params: params})
			b.load(id, -1)
			if open := b.stories[id].open(); len(open) > 0 {
				t.Errorf("after a replay cards are open: %v", open)
			}
		})
	}
}

// firstOption is the first answer that a permission offers.
func firstOption(m incomingMessage) string {
	return optionIn(m.params)
}

// Rule 7: a replay goes to whoever asked for it, in one piece: nothing live comes between.
func TestRule7AReplayIsOnePieceAndForOneClient(t *testing.T) {
	s := serve(t, paced(t, 0.2))
	a := s.connect("a", as{})
	id := a.newSession()
	a.prompt(id, "hello")
	prompt := a.request("session/prompt", promptParams(id, "slow 10s"))
	a.wantMethod(0, "session/update", "tick5 ")
	b := s.connect("b", as{})
	quiet := a.mark()
	for range 5 {
		n := b.mark()
		answer := b.wantAnswer(b.request("session/load", loadParams(id, -1)))
		if answer.path("result", "replayMeta", "turnActive") != "true" {
			t.Errorf("a turn runs, but the load says %s", answer.path("result", "replayMeta"))
		}
		b.wantMethod(n, "$/zcode/turnState", `"running":true`)
		end := b.index(is(answer))
		replay := b.all()[n:end]
		for i, m := range replay {
			if m.method != "session/update" {
				t.Errorf("message %d of the replay is %s", i, m)
			}
		}
		if kinds := []string{replay[len(replay)-2].kind(), replay[len(replay)-1].kind()}; !slices.Equal(kinds, []string{updatePlan, updateUsage}) {
			t.Errorf("the replay ends with %v", kinds)
		}
		if got := b.all()[end+1]; got.kind() != updateCommands {
			t.Errorf("behind the answer comes %s", got)
		}
	}
	a.wantAnswer(prompt)
	for _, m := range a.all()[quiet:] {
		if m.kind() == updateUser {
			t.Errorf("the replay went to another client: %s", m)
		}
	}
	last := b.mark()
	b.load(id, -1)
	whole := b.transcript(id, last)
	if !strings.Contains(whole, "tick1 ") || strings.Count(whole, "tick7 ") != 1 {
		t.Errorf("the last replay is %s", whole)
	}
}

// What was replayed of a running turn and what came live after it are the turn: nothing is missing, nothing is there twice.
func TestALoadDuringATurnJoinsWithoutASeam(t *testing.T) {
	s := serve(t, paced(t, 0.1))
	a := s.connect("a", as{})
	id := a.newSession()
	prompt := a.request("session/prompt", promptParams(id, "slow 20s"))
	a.wantMethod(0, "session/update", "tick3 ")
	var late []*peer
	for i := range 4 {
		c := s.connect("late"+strconv.Itoa(i), as{})
		c.load(id, []int{-1, 30, 1, 500}[i])
		late = append(late, c)
	}
	a.wantAnswer(prompt)
	want := a.transcript(id, 0)
	for _, c := range late {
		c.wantMethod(0, "$/zcode/turnState", `"running":false`)
		if got := c.transcript(id, 0); got != "\nuser: slow 20s"+want {
			t.Errorf("%s shows %s\nnot %s", c.name, got, want)
		}
	}
}

// Rule 7, the second half: between session/load_earlier and its answer comes nothing but the page.
func TestRule7NothingLiveComesDuringAPage(t *testing.T) {
	s := serve(t, paced(t, 0.05))
	a := s.connect("a", as{})
	id := a.newSession()
	for range 4 {
		a.prompt(id, "reply with exactly: one more")
	}
	b := s.connect("b", as{})
	cursor := stringIn(b.load(id, 1), "replayMeta", "cursor")
	if cursor == "" {
		t.Fatal("there is nothing earlier")
	}
	prompt := a.request("session/prompt", promptParams(id, "slow 30s"))
	b.wantMethod(0, "session/update", "tick3 ")
	for cursor != "null" {
		n := b.mark()
		request := b.request("session/load_earlier", `{"sessionId":`+quoted(id)+`,"before":`+quoted(cursor)+`,"limit":1}`)
		answer := b.wantAnswer(request)
		if answer.result == nil {
			t.Fatal(answer)
		}
		end := b.index(is(answer))
		pages := 0
		for _, m := range b.all()[n:end] {
			switch {
			case strings.Contains(string(m.text), `"earlierPage":true`):
				pages++
			case pages > 0:
				t.Errorf("in the page came %s", m)
			}
		}
		if pages == 0 {
			t.Error("the page is empty")
		}
		cursor = answer.path("result", "replayMeta", "cursor")
	}
	a.wantAnswer(prompt)
	b.wantMethod(0, "$/zcode/turnState", `"running":false`)
	live := ""
	for _, m := range b.all() {
		if m.kind() == updateAgent && !strings.Contains(string(m.text), "earlierPage") {
			live += m.path("params", "update", "content", "text")
		}
	}
	if !strings.Contains(live, ticks(300)) {
		t.Errorf("what was held back is lost: %s", live)
	}
}

// ticks is what "slow" says in n steps.
func ticks(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		b.WriteString("tick" + strconv.Itoa(i) + " ")
	}
	return b.String()
}

// Rule 8: what belongs to a prompt comes before its answer.
func TestRule8TheAnswerComesLast(t *testing.T) {
	s := serve(t, simulated(t))
	a, b := s.connect("a", as{}), s.connect("b", as{})
	id := a.newSession()
	b.load(id, 30)
	n := a.mark()
	answer := a.prompt(id, "todo")
	a.flush()
	b.wantMethod(0, "$/zcode/turnState", `"running":false`)
	end := a.index(is(answer))
	kinds := map[string]bool{}
	for _, m := range a.all()[n:end] {
		kinds[m.kind()] = true
		if m.kind() == updateUser {
			t.Errorf("the client was shown its own prompt: %s", m)
		}
	}
	for _, kind := range []string{updateAgent, updateTool, updatePlan, updateUsage} {
		if !kinds[kind] {
			t.Errorf("%s did not come before the answer", kind)
		}
	}
	if before := a.all()[end-1]; before.method != "$/zcode/turnState" || before.path("params", "running") != "false" {
		t.Errorf("before the answer came %s", before)
	}
	for _, m := range a.all()[end+1:] {
		if m.path("params", "sessionId") == id {
			t.Errorf("behind the answer came %s", m)
		}
	}
	if first := b.index(func(m incomingMessage) bool { return m.kind() == updateUser }); first < 0 || !strings.Contains(string(b.all()[first].text), "uprompt_") {
		t.Error("the other client was not shown the prompt")
	}
}

// Rule 8, the second half: a cancelled prompt is answered so, at once, and the next one is taken.
func TestRule8ACancelledPromptIsNoError(t *testing.T) {
	s := serve(t, paced(t, 1))
	a := s.connect("a", as{})
	id := a.newSession()
	prompt := a.request("session/prompt", promptParams(id, "slow 600s"))
	a.wantMethod(0, "session/update", "tick1 ")
	a.notify("session/cancel", session(id))
	n := a.mark()
	next := a.request("session/prompt", promptParams(id, "reply with exactly: next"))
	if m := a.wantAnswer(prompt); m.path("result", "stopReason") != "cancelled" {
		t.Errorf("the cancelled prompt was answered %s", m)
	}
	if m := a.wantAnswer(next); m.path("result", "stopReason") != "end_turn" {
		t.Errorf("the next prompt was answered %s", m)
	}
	if got := a.transcript(id, n); strings.Contains(got, "tick9 ") || !strings.Contains(got, "next") {
		t.Errorf("after the cancel came %s", got)
	}
}
