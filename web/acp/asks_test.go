package acp

import (
	"strings"
	"testing"

	"zcodehub/internal/hubtest"
)

// A question that nobody was there to see waits, and is shown after the next load, behind its answer.
func TestAQuestionWaitsForTheNextClient(t *testing.T) {
	s := serve(t, simulated(t))
	page := s.Connect("page", hubtest.As{})
	id := page.Create("/w/demo")
	page.Prompt(id, "ask echo")
	hubtest.Want(t, "the question", func() bool { return len(s.Status().Pending) == 1 })
	page.Leave()

	a := s.connect("a", as{})
	load := a.request("session/load", loadParams(id, 30))
	ask, at := a.wantAsk(0)
	if answered := a.index(is(a.wantAnswer(load))); answered > at {
		t.Error("the question came before the load was answered")
	}
	a.leave()

	b := s.connect("b", as{params: plainEditor})
	b.must("session/resume", `{"sessionId":`+quoted(id)+`,"cwd":"/w/demo","mcpServers":[]}`)
	again, _ := b.wantAsk(0)
	if again.path("params", "toolCall", "toolCallId") != ask.path("params", "toolCall", "toolCallId") {
		t.Errorf("after a reconnect came %s", again)
	}
	b.option(again, "allow_once")
	b.wantMethod(0, "$/zcode/turnState", `"running":false`)
}

// A plan is approved or refused by a person, never by what a client does by itself.
func TestNoAutomatismSettlesAPlan(t *testing.T) {
	s := serve(t, simulated(t))
	remote, editor, forms := s.connect("remote", as{}), s.connect("editor", as{params: plainEditor}), s.connect("forms", as{params: formEditor})
	id := remote.newSession()
	editor.load(id, 30)
	forms.load(id, 30)
	prompt := remote.request("session/prompt", promptParams(id, "plan"))
	ask, _ := remote.wantAsk(0)
	other, _ := editor.wantAsk(0)
	form, _ := forms.wantAsk(0)
	for _, m := range []incomingMessage{ask, other} {
		if m.method != methodAskPermission || m.path("params", "toolCall", "kind") != "switch_mode" || !strings.Contains(string(m.params), `"approve"`) {
			t.Errorf("a plan was put as %s", m)
		}
	}
	if form.method != methodElicit || !strings.Contains(string(form.params), "approval") {
		t.Errorf("an editor with forms got %s", form)
	}
	editor.say(`{"jsonrpc":"2.0","id":` + other.id + `,"error":{"code":-32601,"message":"Method not found"}}`)
	forms.answer(form, `{"action":"accept","content":{}}`)
	forms.flush()
	editor.flush()
	if len(s.Status().Pending) != 1 {
		t.Fatal("the plan was settled by what is no answer")
	}
	remote.option(ask, "approve")
	if m := remote.wantAnswer(prompt); ended(m) != "end_turn" {
		t.Errorf("the turn ended with %s", m)
	}
	remote.wantMethod(0, "session/update", updateAgent, "approved")
	remote.wantMethod(0, "session/update", updateMode)
}

// A client that failed to show a question is out until it loads the session again; the question is still there for it.
func TestAFailureIsNoAnswer(t *testing.T) {
	s := serve(t, simulated(t))
	a := s.connect("a", as{})
	id := a.newSession()
	prompt := a.request("session/prompt", promptParams(id, "ask echo"))
	ask, n := a.wantAsk(0)
	a.say(`{"jsonrpc":"2.0","id":` + ask.id + `,"error":{"code":-32603,"message":"no dialogs here"}}`)
	a.load(id, 30)
	again, _ := a.wantAsk(n + 1)
	if again.id == ask.id {
		t.Error("the id was used again")
	}
	a.option(again, "allow_once")
	if m := a.wantAnswer(prompt); ended(m) != "end_turn" {
		t.Errorf("the turn ended with %s", m)
	}
}

// A client that did not forget its dialog at a load of another session may still answer it.
func TestAnAnswerToAVoidedQuestionCounts(t *testing.T) {
	s := serve(t, simulated(t))
	a := s.connect("a", as{params: plainEditor})
	first, second := a.newSession(), a.newSession()
	prompt := a.request("session/prompt", promptParams(first, "ask echo"))
	ask, _ := a.wantAsk(0)
	a.load(second, 30)
	a.option(ask, "allow_once")
	if m := a.wantAnswer(prompt); ended(m) != "end_turn" {
		t.Errorf("the turn ended with %s", m)
	}
}

// Questions and answers of a form reach the agent; a client without forms is asked by permissions.
func TestQuestionsByFormAndByPermissions(t *testing.T) {
	s := serve(t, simulated(t))
	remote, editor := s.connect("remote", as{}), s.connect("editor", as{params: plainEditor})
	id := remote.newSession()
	prompt := remote.request("session/prompt", promptParams(id, "question"))
	form, _ := remote.wantAsk(0)
	remote.answer(form, `{"action":"accept","content":{"q_0":"Red","q_1":["Tests","Lint"]}}`)
	remote.wantAnswer(prompt)
	remote.wantMethod(0, "session/update", "Red", "Tests, Lint")

	id = editor.newSession()
	prompt = editor.request("session/prompt", promptParams(id, "question"))
	for n := 0; ; {
		m, at := editor.wantAfter(n, "a question or the end", func(m incomingMessage) bool { return m.id == prompt && m.method == "" || m.id != "" && m.method != "" })
		if m.method == "" {
			break
		}
		n = at + 1
		if m.method != methodAskPermission {
			t.Fatalf("a client without forms got %s", m)
		}
		editor.option(m, optionIn(m.params))
	}
	editor.wantMethod(0, "session/update", "Blue", "Tests, Build, Lint")
}
