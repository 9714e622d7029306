package simulator

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAcknowledgements(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		base := `"baseRevision":0`
		epoch := fmt.Sprintf(`"baseLogEpoch":%q`, c.state["logEpoch"])
		target := `{"target":{"rowId":1,"entityId":"x"},"newText":"n"}`
		for name, test := range map[string]struct {
			session, kind, payload string
			more                   []string
			want                   string
		}{
			"bad payload":           {id, "sendText", `{}`, nil, "rejected proto.invalidPayload"},
			"empty input":           {id, "sendText", `{"text":"  "}`, nil, "failed proto.invalidPayload"},
			"unknown type":          {id, "noSuch", `{}`, nil, "rejected proto.invalidPayload"},
			"unknown session":       {"sess_x", "sendText", `{"text":"x"}`, nil, "rejected proto.sessionNotFound"},
			"no session":            {"", "stop", `{}`, nil, "rejected proto.sessionNotFound"},
			"no revision":           {id, "setFollowupMode", `{"mode":"guide"}`, nil, "rejected proto.missingBaseRevision"},
			"stale revision":        {id, "setFollowupMode", `{"mode":"guide"}`, []string{`"baseRevision":7`}, "stale proto.staleRevision"},
			"no epoch":              {id, "retryTurn", target, []string{base}, "rejected proto.invalidPayload"},
			"stale epoch":           {id, "retryTurn", target, []string{base, `"baseLogEpoch":"old"`}, "stale proto.staleLogEpoch"},
			"stale target":          {id, "editUserQuery", target, []string{base, epoch}, "stale proto.staleTarget"},
			"unknown provider":      {id, "switchModelConfig", `{"provider":"x","model":"y","thought":"low"}`, []string{base}, "rejected provider.notInRegistry"},
			"same model":            {id, "switchModelConfig", `{"provider":"demo","model":"demo-flash","thought":"high"}`, []string{base}, "noop config.unchanged"},
			"same mode":             {id, "switchCollaborationMode", `{"mode":"build"}`, []string{base}, "noop config.unchanged"},
			"stop when idle":        {id, "stop", `{}`, nil, "accepted "},
			"stop of another turn":  {id, "stop", `{"expectedForegroundExecutionId":"runtime_command_9"}`, nil, "noop guard.stopTargetChanged"},
			"unknown interaction":   {id, "resolveInteraction", `{"interactionId":"x","answer":{"optionId":"deny"}}`, nil, "accepted "},
			"rename of a draft":     {id, "renameSession", `{"title":"x"}`, nil, "failed fault.command.executionFailed"},
			"missing queue item":    {id, "deleteQueueItem", `{"queueItemId":"x"}`, []string{base}, "noop queue.itemMissing"},
			"no goal":               {id, "pauseGoal", `{}`, []string{base}, "rejected guard.actionUnavailable"},
			"compaction of a draft": {id, "compact", `{}`, nil, "rejected guard.idleCannotCompact"},
			"unknown work":          {id, "cancelBackgroundWork", `{"workId":"x"}`, nil, "failed fault.command.backgroundWorkCancelRejected.not_found"},
			"not here":              {id, "applyFileRewind", `{}`, nil, "failed fault.command.notImplemented"},
		} {
			a, _ := s.command(test.session, test.kind, test.payload, test.more...)
			if got := fmt.Sprint(a["status"], " ", orEmpty(a["reasonCode"])); got != test.want {
				t.Errorf("%s: %s, want %s", name, show(a), test.want)
			}
		}
		m, _ := s.call("v4/command", `{"commandId":7,"payload":[]}`)
		wantStatus(t, at(m, "result").(map[string]any), "rejected", "proto.invalidPayload")
	})
}

func TestACommandIsCarriedOutOnce(t *testing.T) {
	state := t.TempDir() + "/state.json"
	var id string
	inBubble(t, Options{StateFile: state}, func(s *sim) {
		a, _ := s.commandAs("make", "", "createSession", `{"workspaceId":"/w/demo"}`)
		id = at(a, "result.sessionId").(string)
		again, _ := s.commandAs("make", "", "createSession", `{"workspaceId":"/w/demo"}`)
		wantStatus(t, again, "duplicate", "")
		if at(again, "result.sessionId") != id {
			t.Errorf("a second session was made: %s", show(again))
		}
		s.commandAs("say", id, "sendText", `{"text":"hello"}`)
		again, _ = s.commandAs("say", id, "sendText", `{"text":"hello"}`)
		wantStatus(t, again, "duplicate", "")
		if got := len(at(s.result("session/messages", `{"sessionId":"`+id+`"}`), "messages").([]any)); got != 3 {
			t.Errorf("%d messages", got)
		}
		s.commandAs("bad", id, "cancelBackgroundWork", `{"workId":"x"}`)
		again, _ = s.commandAs("bad", id, "cancelBackgroundWork", `{"workId":"x"}`)
		wantStatus(t, again, "failed", "fault.command.backgroundWorkCancelRejected.not_found")
		for i := range settledCommands {
			s.commandAs(fmt.Sprint("filler-", i), id, "stop", `{}`)
		}
		query := func(command string) any {
			q := s.result("v4/commands/query", fmt.Sprintf(`{"commands":[{"sessionId":%q,"commandId":%q}]}`, id, command))
			return at(q["results"].([]any)[0], "result")
		}
		if got := query("bad"); got != "unknown" {
			t.Errorf("a forgotten command: %s", show(got))
		}
		if got := at(query("say"), "status"); got != "accepted" {
			t.Errorf("a command that the conversation remembers: %v", got)
		}
	})
	inBubble(t, Options{StateFile: state}, func(s *sim) { // another process
		a, _ := s.commandAs("say", id, "sendText", `{"text":"hello"}`)
		wantStatus(t, a, "duplicate", "")
	})
}

// waiting makes a turn that waits for a permission.
func waiting(s *sim) (string, *v4Client) {
	s.decide = nobody
	id := s.draft()
	c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
	s.command(id, "sendText", `{"text":"ask"}`)
	s.sync(c)
	return id, c
}

func pendingID(c *v4Client) string {
	return at(at(c.state, "pendingInteractions").([]any)[0], "interactionId").(string)
}

func TestAnswersToPermissions(t *testing.T) {
	for answer, want := range map[string]string{
		`{"optionId":"allowOnce"}`: "success", `{"optionId":"allowAlways"}`: "success", `{"optionId":"allow_project"}`: "success",
		`{"optionId":"deny","freeText":"use make"}`: "cancelled", `{"optionId":"unheard-of"}`: "cancelled", `{"optionId":"fullAccess"}`: "success",
	} {
		t.Run(answer, func(t *testing.T) {
			inBubble(t, Options{}, func(s *sim) {
				id, c := waiting(s)
				s.result("session/subscribe", `{"sessionId":"`+id+`","deliveryKind":"desktop-continuous"}`)
				a, said := s.command(id, "resolveInteraction", fmt.Sprintf(`{"interactionId":%q,"answer":%s}`, pendingID(c), answer))
				wantStatus(t, a, "accepted", "")
				c.take(said)
				s.sync(c)
				row := at(c.state, "rows.window").([]any)[3]
				if at(row, "status") != want || len(at(c.state, "pendingInteractions").([]any)) != 0 {
					t.Errorf("the call is %s, pending %s", show(row), show(c.state["pendingInteractions"]))
				}
				resolved := findEvent(t, said, "permission.resolved")
				if strings.Contains(answer, "use make") && at(resolved, "payload.reason") != "use make" {
					t.Errorf("resolved with %s", show(resolved))
				}
				wantSame(t, "fold", c.canonical(), c.fresh())
			})
		})
	}
}

func TestFirstAnswerWins(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id, c := waiting(s)
		s.send(`{"id":"server-3","result":{"decision":"deny","reason":"No"}}`)
		a, said := s.command(id, "resolveInteraction", fmt.Sprintf(`{"interactionId":%q,"answer":{"optionId":"allowOnce"}}`, pendingID(c)))
		wantStatus(t, a, "accepted", "")
		c.take(said)
		s.sync(c)
		if got := at(at(c.state, "rows.window").([]any)[3], "status"); got != "cancelled" {
			t.Errorf("the call is %v", got)
		}
	})
}

func TestStopMeansOneTurn(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id, c := waiting(s)
		work := at(c.state, "control.activeWorks").([]any)[0]
		a, _ := s.command(id, "stop", `{"expectedForegroundExecutionId":"runtime_command_2"}`)
		wantStatus(t, a, "noop", "guard.stopTargetChanged")
		_, said := s.command(id, "stop", fmt.Sprintf(`{"expectedForegroundExecutionId":%q}`, at(work, "foregroundExecutionId")))
		c.take(said)
		s.sync(c)
		if at(c.state, "control.phase") != phaseInterrupted || at(at(c.state, "rows.window").([]any)[3], "status") != "cancelled" {
			t.Errorf("after the stop: %s", show(c.state))
		}
	})
}

func TestQuestionsAnswerThemselvesUnlessSnoozed(t *testing.T) {
	states := func(c *v4Client) string {
		list, _ := at(c.state, "pendingInteractions").([]any)
		if len(list) == 0 {
			return "none"
		}
		return fmt.Sprint(at(list[0], "autoResolution.state"))
	}
	for _, snooze := range []bool{false, true} {
		t.Run(fmt.Sprint("snooze ", snooze), func(t *testing.T) {
			inBubble(t, Options{}, func(s *sim) {
				s.decide = nobody
				id := s.draft()
				c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
				s.command(id, "sendText", `{"text":"question"}`)
				s.sync(c)
				got := []string{states(c)}
				for i, d := range []time.Duration{58 * time.Second, 3 * time.Second, 230 * time.Second, 20 * time.Second} {
					time.Sleep(d)
					s.sync(c)
					if snooze && i == 1 {
						s.command(id, "snoozeInteractionAutoResolution", fmt.Sprintf(`{"interactionId":%q}`, pendingID(c)))
						s.sync(c)
					}
					got = append(got, states(c))
				}
				want := "[hiddenGrace hiddenGrace visibleCountdown visibleCountdown none]"
				if snooze {
					want = "[hiddenGrace hiddenGrace snoozed snoozed snoozed]"
				}
				if fmt.Sprint(got) != want {
					t.Errorf("at 0, 58, 61, 291 and 311 s: %v, want %v", got, want)
				}
				wantSame(t, "fold", c.canonical(), c.fresh())
			})
		})
	}
}

func TestAnswersToQuestionsAndPlans(t *testing.T) {
	for _, test := range []struct{ prompt, answer, want string }{
		{"question", `{"action":"accept","content":{"answers":{"Which colour should the button have?":"Red"}}}`, `"Red"`},
		{"question", `{"optionId":"allowOnce"}`, "without answering"},
		{"question", `{"action":"decline"}`, "I could not do it"},
		{"plan", `{"optionId":"allowOnce"}`, "The plan is approved"},
		{"plan", `{"freeText":"smaller steps"}`, "Feedback: smaller steps"},
	} {
		t.Run(test.prompt+" "+test.answer, func(t *testing.T) {
			inBubble(t, Options{}, func(s *sim) {
				s.decide = nobody
				id := s.draft()
				c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
				s.command(id, "sendText", fmt.Sprintf(`{"text":%q}`, test.prompt))
				s.sync(c)
				_, said := s.command(id, "resolveInteraction", fmt.Sprintf(`{"interactionId":%q,"answer":%s}`, pendingID(c), test.answer))
				c.take(said)
				s.sync(c)
				if got := outline(c.state); !strings.Contains(got, test.want) {
					t.Errorf("want %q in\n%s", test.want, got)
				}
			})
		})
	}
}
