package simulator

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// put is one showing of an interaction.
type put struct {
	id    string
	after time.Duration
}

// watch records the requests of one method until d has passed.
func (s *sim) watch(method string, d time.Duration) []put {
	began := time.Now()
	var list []put
	for time.Since(began) < d {
		for _, m := range only(s.settle(), method) {
			list = append(list, put{m["id"].(string), time.Since(began)})
		}
		time.Sleep(100 * time.Millisecond)
	}
	return list
}

func TestInteractionsAreAnnouncedAgainUnderNewIds(t *testing.T) {
	for _, test := range []struct{ prompt, method string }{
		{"ask", "interaction/requestPermission"}, {"plan", "interaction/requestUserInput"},
	} {
		inBubble(t, Options{}, func(s *sim) {
			id := s.open()
			s.decide = nobody
			first := only(s.prompt(id, test.prompt), test.method)[0]
			var got []string
			for _, p := range s.watch(test.method, 46*time.Second) {
				got = append(got, fmt.Sprintf("%s@%v", p.id, p.after.Round(100*time.Millisecond)))
			}
			want := "server-4@1s server-5@3s server-6@7s server-7@15s server-8@25s server-9@35s server-10@45s"
			if strings.Join(got, " ") != want {
				t.Errorf("%s: announced %v, want %s", test.prompt, got, want)
			}
			again := s.log[len(s.log)-1]
			if first["id"] != "server-3" || !strings.Contains(again, at(first, "params.requestId").(string)) {
				t.Errorf("%s: the first was %s, the last %s", test.prompt, show(first), again)
			}
		})
	}
}

func TestAnyAnnouncedIdSettlesAndLateAnswersAreIgnored(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		s.decide = nobody
		s.prompt(id, "ask")
		s.pass(4 * time.Second) // server-3, -4, -5
		s.send(`{"id":"server-4","result":{"decision":"allow","reason":"yes"}}`)
		s.send(`{"id":"server-5","result":{"decision":"deny"}}`)
		s.send(`{"id":"server-3","error":{"code":-1,"message":"late"}}`)
		said := s.settle()
		if p := findEvent(t, said, "permission.resolved"); at(p, "payload.decision") != "allow" || at(p, "payload.reason") != "yes" {
			t.Errorf("resolved as %s", show(p))
		}
		findEvent(t, said, "tool.updated:result")
		if more := s.pass(time.Minute); len(only(more, "interaction/requestPermission")) > 0 {
			t.Error("announced again after the answer")
		}
	})
}

// TestPermissionAnswers covers what an answer does to the tool: it runs, or it is denied without an event of its own.
func TestPermissionAnswers(t *testing.T) {
	for name, test := range map[string]struct{ answer, decision, reason string }{
		"allow":            {`"result":{"decision":"allow","reason":"Approved once"}`, "allow", "Approved once"},
		"allow, no reason": {`"result":{"decision":"allow"}`, "allow", "Approved"},
		"deny":             {`"result":{"decision":"deny","reason":"not now"}`, "deny", "not now"},
		"escalate":         {`"result":{"decision":"escalate","reason":"ask the boss"}`, "escalate", "ask the boss"},
		"modify":           {`"result":{"decision":"modify","modifiedInput":{"command":"ls"}}`, "modify", "Approved with changes"},
		"empty":            {`"result":{}`, "deny", "Permission request failed"},
		"option id":        {`"result":{"optionId":"allow_once"}`, "deny", "Permission request failed"},
		"extra key":        {`"result":{"decision":"allow","extra":1}`, "deny", "Permission request failed"},
		"wrong type":       {`"result":{"decision":"allow","reason":1}`, "deny", "Permission request failed"},
		"null":             {`"result":null`, "deny", "Permission request failed"},
		"error":            {`"error":{"code":-32000,"message":"probe"}`, "deny", "Permission request failed"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(s *sim) {
				id := s.open()
				s.decide = func(msg) string { return test.answer }
				said := s.prompt(id, "ask")
				resolved := findEvent(t, said, "permission.resolved")
				if at(resolved, "payload.decision") != test.decision || at(resolved, "payload.reason") != test.reason {
					t.Errorf("resolved as %s", show(resolved))
				}
				names := strings.Join(eventNames(said), " ")
				ran := test.decision == "allow" || test.decision == "modify"
				if got := strings.Contains(names, "tool.updated:started"); got != ran {
					t.Errorf("tool started: %v, want %v (%s)", got, ran, names)
				}
				batch := findEvent(t, said, "tool.updated:batch")
				if failed := at(batch, "payload.errorCount") == 1.0; failed == ran {
					t.Errorf("batch: %s", show(batch))
				}
				kind := "streamRecovery.updated:tool_error"
				if ran {
					kind = "streamRecovery.updated:tool_result"
				}
				findEvent(t, said, kind)
				if test.decision == "modify" && at(resolved, "payload.modifiedInput.command") != "ls" {
					t.Errorf("modified input: %s", show(resolved))
				}
			})
		})
	}
}

func TestLastingPermissionsHoldForTheProject(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		asked := func(said []msg) int { return len(only(said, "interaction/requestPermission")) }
		always := func(m msg) string {
			options := at(m, "params.options").([]any)
			return `"result":` + string(encode(at(options[1], "response")))
		}
		first, second := s.open(), s.open()
		s.decide = always
		if n := asked(s.prompt(first, "ask make test")); n != 1 {
			t.Fatalf("asked %d times", n)
		}
		said := s.prompt(second, "ask make test")
		resolved := findEvent(t, said, "permission.resolved")
		if asked(said) != 0 || at(resolved, "payload.decision") != "allow" || at(resolved, "payload.requestId") != nil ||
			at(resolved, "payload.toolName") != "Bash" || at(resolved, "payload.inputSummary") == nil {
			t.Errorf("the same command in another session of the project: %s", show(resolved))
		}
		s.decide = allowAll
		if n := asked(s.prompt(second, "ask make install")); n != 1 {
			t.Errorf("another command was asked for %d times", n)
		}
		other := s.result("session/create", `{"workspace":{"workspacePath":"/w/other","workspaceKey":"other"}}`)
		if n := asked(s.prompt(at(other, "session.sessionId").(string), "ask make test")); n != 1 {
			t.Errorf("another project was asked %d times", n)
		}
	})
}

func TestModesDecideBeforeAnybodyIsAsked(t *testing.T) {
	for _, test := range []struct {
		mode, prompt, decision string // decision "" means that a human was asked
	}{
		{"build", "ask", ""}, {"build", "edit", ""}, {"guarded", "edit", ""},
		{"edit", "edit", "allow"}, {"edit", "ask", ""},
		{"yolo", "ask", "allow"}, {"yolo", "edit", "allow"},
		{"plan", "edit", "deny"}, {"plan", "ask", ""}, {"auto", "ask", "deny"},
	} {
		inBubble(t, Options{}, func(s *sim) {
			id := s.open()
			s.result("session/setMode", fmt.Sprintf(`{"sessionId":%q,"mode":%q}`, id, test.mode))
			said := s.prompt(id, test.prompt)
			asked := len(only(said, "interaction/requestPermission")) == 1
			resolved := findEvent(t, said, "permission.resolved")
			if asked != (test.decision == "") || (!asked && at(resolved, "payload.decision") != test.decision) {
				t.Errorf("%s in mode %s: asked %v, %s", test.prompt, test.mode, asked, show(resolved))
			}
		})
	}
}

// TestQuestionAnswers covers the accepted forms of answers to AskUserQuestion.
func TestQuestionAnswers(t *testing.T) {
	for name, test := range map[string]struct{ answer, content, reason string }{
		"by question": {`"result":{"action":"accept","content":{"answers":{"Which colour should the button have?":"Red","Which checks should run?":["Tests","Build"]}}}`,
			`"Which colour should the button have?"="Red", "Which checks should run?"="Tests, Build"`, ""},
		"by number":        {`"result":{"action":"accept","content":{"answer_0":"Blue"}}`, `The user answered: "Which colour should the button have?"="Blue".`, ""},
		"nothing":          {`"result":{"action":"accept","content":{"answers":{}}}`, "The user continued without answering.", ""},
		"blanks":           {`"result":{"action":"accept","content":{"answer_0":" ","answer_1":[]}}`, "The user continued without answering.", ""},
		"without content":  {`"result":{"action":"accept"}`, "The user continued without answering.", ""},
		"decline":          {`"result":{"action":"decline","reason":"no time"}`, "", "no time"},
		"cancel":           {`"result":{"action":"cancel"}`, "", "The user declined to answer"},
		"invalid":          {`"result":{"action":"maybe"}`, "", "User input request failed"},
		"permission shape": {`"result":{"decision":"allow"}`, "", "User input request failed"},
		"error":            {`"error":{"code":1,"message":"x"}`, "", "User input request failed"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(s *sim) {
				id := s.open()
				s.decide = func(msg) string { return test.answer }
				said := s.prompt(id, "question")
				resolved := findEvent(t, said, "userInput.resolved")
				if test.reason != "" {
					if at(resolved, "payload.reason") != test.reason {
						t.Errorf("resolved as %s", show(resolved))
					}
					findEvent(t, said, "streamRecovery.updated:tool_error")
					return
				}
				result := findEvent(t, said, "tool.updated:result")
				if got := at(result, "payload.result.content").(string); !strings.Contains(got, test.content) {
					t.Errorf("the model reads %q, want %q", got, test.content)
				}
			})
		})
	}
}

func TestPlanApproval(t *testing.T) {
	for name, test := range map[string]struct{ answer, mode, reason string }{
		"by question": {`"result":{"action":"accept","content":{"answers":{"Review this implementation plan.":"approve"}}}`, "edit", ""},
		"by number":   {`"result":{"action":"accept","content":{"answer_0":"approve"}}`, "edit", ""},
		"alone":       {`"result":{"action":"accept","content":{"answer":"approve"}}`, "edit", ""},
		"feedback":    {`"result":{"action":"accept","content":{"answer":"split step 2"}}`, "plan", "split step 2"},
		"no content":  {`"result":{"action":"accept"}`, "plan", "The user did not approve the plan"},
		"decline":     {`"result":{"action":"decline","reason":"later"}`, "plan", "later"},
		"cancel":      {`"result":{"action":"cancel"}`, "plan", "The user did not approve the plan"},
		"error":       {`"error":{"code":1,"message":"x"}`, "plan", "User input request failed"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(s *sim) {
				id := s.open()
				s.result("session/setMode", `{"sessionId":"`+id+`","mode":"edit"}`)
				s.decide = func(msg) string { return test.answer }
				said := s.prompt(id, "plan")
				request := only(said, "interaction/requestUserInput")[0]
				if at(request, "params.schema.interaction") != "plan_approval" || at(request, "params.input.plan") == nil {
					t.Errorf("asked with %s", show(request))
				}
				snapshot := s.result("session/read", `{"sessionId":"`+id+`"}`)
				if got := at(snapshot, "settings.mode.current"); got != test.mode {
					t.Errorf("mode afterwards: %v, want %s", got, test.mode)
				}
				findEvent(t, said, "userInput.resolved")
				denied := strings.Contains(strings.Join(eventNames(said), " "), "streamRecovery.updated:tool_error")
				if denied != (test.reason != "") {
					t.Errorf("denied: %v; %v", denied, eventNames(said))
				}
				if last := at(findEvent(t, said, "turn.completed"), "payload.response").(string); !strings.Contains(last, test.reason) {
					t.Errorf("the model knows %q, want %q in it", last, test.reason)
				}
			})
		})
	}
}

func TestQuestionsAnswerThemselvesAfterFiveMinutes(t *testing.T) {
	resolvedAfter := func(s *sim, before func()) time.Duration {
		id := s.open()
		s.decide = nobody
		s.prompt(id, "question")
		before()
		began := time.Now()
		for time.Since(began) < 20*time.Minute {
			for _, name := range eventNames(s.settle()) {
				if name == "userInput.resolved" {
					return time.Since(began).Round(time.Second)
				}
			}
			time.Sleep(time.Second)
		}
		return 0
	}
	t.Run("preferred", func(t *testing.T) {
		inBubble(t, Options{}, func(s *sim) {
			if got := resolvedAfter(s, func() {}); got != 5*time.Minute {
				t.Errorf("resolved after %v", got)
			}
		})
	})
	t.Run("not preferred", func(t *testing.T) {
		inBubble(t, Options{}, func(s *sim) {
			s.preferences = `"result":{"nativeSearchEnhancementsEnabled":false,"askUserQuestionAutoResolutionEnabled":false}`
			if got := resolvedAfter(s, func() {}); got != 0 {
				t.Errorf("resolved after %v", got)
			}
		})
	})
	t.Run("switched off meanwhile", func(t *testing.T) {
		inBubble(t, Options{}, func(s *sim) {
			off := `{"workspace":` + demoWorkspace + `,"preferences":{"askUserQuestionAutoResolutionEnabled":false}}`
			got := resolvedAfter(s, func() {
				if n := s.result("workspace/updateInteractionPreferences", off)["snoozedInteractionCount"]; n != 1.0 {
					t.Errorf("snoozed %v interactions", n)
				}
				if n := s.result("workspace/updateInteractionPreferences", off)["snoozedInteractionCount"]; n != 0.0 {
					t.Errorf("snoozed %v interactions twice", n)
				}
			})
			if got != 0 {
				t.Errorf("resolved after %v", got)
			}
		})
	})
}

func TestStopDropsTheOpenInteraction(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		s.decide = nobody
		s.prompt(id, "ask")
		snapshot := s.result("session/read", `{"sessionId":"`+id+`"}`)
		pending := at(snapshot, "projection.pendingPermissions").([]any)
		if len(pending) != 1 || at(snapshot, "session.status") != "waiting" || len(at(snapshot, "runtime.pendingRequestIds").([]any)) != 1 {
			t.Errorf("while asking: %s", show(snapshot))
		}
		_, said := s.call("session/stop", `{"sessionId":"`+id+`"}`)
		if said[0]["method"] != nil || len(said[0]["result"].(map[string]any)) != 0 {
			t.Errorf("stop was answered with %s", show(said[0]))
		}
		if p := findEvent(t, said, "turn.completed"); at(p, "payload.resultType") != "cancelled" {
			t.Errorf("turn ended with %s", show(p))
		}
		if names := strings.Join(eventNames(said), " "); names != "turn.completed" {
			t.Errorf("events of the stop: %s", names)
		}
		s.send(`{"id":"server-3","result":{"decision":"allow"}}`)
		if said := s.pass(time.Minute); len(only(said, "session/event")) > 0 || len(only(said, "interaction/requestPermission")) > 0 {
			t.Errorf("after the stop: %s", show(said))
		}
		messages := s.result("session/messages", `{"sessionId":"`+id+`"}`)["messages"].([]any)
		parts := at(messages[len(messages)-1], "parts").([]any)
		found := false
		for _, p := range parts {
			if at(p, "type") == "tool" {
				found = at(p, "state.status") == "error" && at(p, "state.error") == "Tool execution was interrupted"
			}
		}
		if !found {
			t.Errorf("parts of the interrupted message: %s", show(parts))
		}
	})
}

func TestHelperAgentAsksWithItsOrigin(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		said := s.prompt(id, "subagent ask")
		request := only(said, "interaction/requestPermission")[0]
		child, _ := at(request, "params.origin.childSessionId").(string)
		if at(request, "params.origin.kind") != "subagent" || at(request, "params.origin.parentSessionId") != id || child == "" {
			t.Errorf("asked with %s", show(request))
		}
		var mirrored int
		for _, m := range only(said, "session/event") {
			if at(m, "params.payload.source") == "subagent" && at(m, "params.payload.childSessionId") == child {
				mirrored++
			}
		}
		if mirrored < 6 {
			t.Errorf("%d events of the helper were mirrored", mirrored)
		}
		list := s.result("session/subagents", `{"sessionId":"`+id+`"}`)
		if at(list, "ended.total") != 1.0 || at(list, "childSessionIds").([]any)[0] != child {
			t.Errorf("subagents: %s", show(list))
		}
		s.fails("session/send", `{"sessionId":"`+child+`","content":"x"}`, -32010, "Subagent sessions are read-only")
		if n := len(s.result("session/messages", `{"sessionId":"`+child+`"}`)["messages"].([]any)); n != 1 {
			t.Errorf("the helper's session has %d messages", n)
		}
	})
}
