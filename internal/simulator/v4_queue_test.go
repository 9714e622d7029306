package simulator

import (
	"fmt"
	"strings"
	"testing"
)

// texts are the inputs in the queue.
func texts(c *v4Client) string {
	var list []string
	for _, item := range at(c.state, "queue.items").([]any) {
		list = append(list, fmt.Sprint(at(item, "text"), ":", at(item, "delivery.admitted")))
	}
	return strings.Join(list, " ")
}

// inputs are the texts of the rows that users wrote, with a mark on those that joined a running turn.
func inputs(c *v4Client) string {
	var list []string
	for _, r := range at(c.state, "rows.window").([]any) {
		if at(r, "kind") == rowUserInput {
			mark := ""
			if at(r, "guided") == true {
				mark = "!"
			}
			list = append(list, fmt.Sprint(at(r, "text"), mark))
		}
	}
	return strings.Join(list, " ")
}

// queueClient is a V4 client that knows revision and epoch.
type queueClient struct {
	*v4Client
	id string
}

func (q queueClient) do(kind, payload string) map[string]any {
	a, said := q.s.command(q.id, kind, payload, fmt.Sprintf(`"baseRevision":%v`, q.state["revision"]), fmt.Sprintf(`"baseLogEpoch":%q`, q.state["logEpoch"]))
	q.take(said)
	q.s.sync(q.v4Client)
	return a
}

func (q queueClient) item(i int) string {
	return at(at(q.state, "queue.items").([]any)[i], "queueItemId").(string)
}

func TestQueue(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id, c := waiting(s)
		q := queueClient{c, id}
		for _, text := range []string{"one", "two", "three", "four"} {
			a := q.do("sendText", fmt.Sprintf(`{"text":%q}`, text))
			if at(a, "result.delivery") != "queue" {
				t.Errorf("delivery of %s: %s", text, show(a))
			}
		}
		q.do("deleteQueueItem", fmt.Sprintf(`{"queueItemId":%q}`, q.item(1)))
		q.do("editQueueItem", fmt.Sprintf(`{"queueItemId":%q,"newText":"uno"}`, q.item(0)))
		q.do("reorderQueueItem", fmt.Sprintf(`{"queueItemId":%q,"beforeQueueItemId":%q}`, q.item(2), q.item(0)))
		q.do("sendQueuedNow", fmt.Sprintf(`{"queueItemId":%q}`, q.item(2)))
		if got, want := texts(c), "four:queue uno:queue three:guide"; got != want {
			t.Errorf("queue %q, want %q", got, want)
		}
		if got := at(c.state, "inputRouting.mode"); got != "enqueue" {
			t.Errorf("inputs go %v", got)
		}
		s.decide = allowAll
		a := q.do("resolveInteraction", fmt.Sprintf(`{"interactionId":%q,"answer":{"optionId":"allowOnce"}}`, pendingID(c)))
		wantStatus(t, a, "accepted", "")
		if got, want := inputs(c), "ask three! four uno"; got != want || texts(c) != "" {
			t.Errorf("inputs %q, want %q; queue %q", got, want, texts(c))
		}
		wantSame(t, "fold", c.canonical(), c.fresh())
	})
}

func TestGuideAndFollowupMode(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id, c := waiting(s)
		q := queueClient{c, id}
		q.do("setFollowupMode", `{"mode":"guide"}`)
		if got := at(c.state, "inputRouting.mode"); got != "guide" {
			t.Errorf("inputs go %v", got)
		}
		if a := q.do("sendText", `{"text":"be quick"}`); at(a, "result.delivery") != "guide" {
			t.Errorf("got %s", show(a))
		}
		q.do("resolveInteraction", fmt.Sprintf(`{"interactionId":%q,"answer":{"optionId":"deny"}}`, pendingID(c)))
		header := at(c.state, "rows.window").([]any)[0]
		if inputs(c) != "ask be quick!" || len(at(header, "workSegments").([]any)) != 1 {
			t.Errorf("inputs %q, header %s", inputs(c), show(header))
		}
	})
}

func TestAStopHoldsTheQueue(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id, c := waiting(s)
		q := queueClient{c, id}
		q.do("sendText", `{"text":"later","requestedDelivery":"guide"}`)
		q.do("stop", `{}`)
		if got := fmt.Sprintf("%v %v %v %v", at(c.state, "queue.autoDrain"), at(c.state, "queue.pauseReason"), at(c.state, "inputRouting.mode"), texts(c)); got != "false stopped choice later:queue" {
			t.Errorf("after the stop: %s", got)
		}
		wantStatus(t, q.do("sendText", `{"text":"hello"}`), "rejected", heldQueue)
		q.do("sendText", `{"text":"hello","heldQueueDisposition":"keepQueueAndSend"}`)
		if inputs(c) != "ask hello" || texts(c) != "later:queue" {
			t.Errorf("kept: inputs %q, queue %q", inputs(c), texts(c))
		}
		q.do("setAutoDrain", `{"autoDrain":true}`)
		if inputs(c) != "ask hello later" || texts(c) != "" {
			t.Errorf("released: inputs %q, queue %q", inputs(c), texts(c))
		}
		q.do("sendText", `{"text":"ask"}`)
		q.do("sendText", `{"text":"never"}`)
		q.do("stop", `{}`)
		q.do("sendText", `{"text":"hello","heldQueueDisposition":"clearQueueAndSend"}`)
		if inputs(c) != "ask hello later ask hello" || texts(c) != "" || at(c.state, "queue.autoDrain") != true {
			t.Errorf("cleared: inputs %q, queue %s", inputs(c), show(c.state["queue"]))
		}
	})
}

func TestCompactionLocksAndQueues(t *testing.T) {
	inBubble(t, Options{Speed: 1}, func(s *sim) {
		id := s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		q := queueClient{c, id}
		q.do("sendText", `{"text":"help"}`)
		c.take(s.pass(30e9))
		q.do("compact", `{}`)
		if got := fmt.Sprintf("%v %v %v", at(c.state, "control.phase"), at(c.state, "inputRouting.reasonCode"), at(c.state, "availability.fork.reasonCode")); got != "running compactingAcceptsFutureInput compactOperationLock" {
			t.Errorf("while compacting: %s", got)
		}
		wantStatus(t, q.do("compact", `{}`), "rejected", "guard.compactOperationLock")
		q.do("sendText", `{"text":"help"}`)
		c.take(s.pass(30e9))
		if inputs(c) != "help help" || !strings.Contains(outline(c.state), rowMarker) || at(c.state, "control.phase") != phaseSuccess {
			t.Errorf("afterwards: %q\n%s", inputs(c), outline(c.state))
		}
		wantSame(t, "fold", c.canonical(), c.fresh())
	})
}

func TestRewindAndFork(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		q := queueClient{c, id}
		for _, text := range []string{"hello", "todo", "plan"} {
			q.do("sendText", fmt.Sprintf(`{"text":%q}`, text))
		}
		find := func(kind string, n int) string {
			for _, r := range at(c.state, "rows.window").([]any) {
				if at(r, "kind") == kind {
					if n--; n < 0 {
						return fmt.Sprintf(`"target":{"rowId":%v,"entityId":%q}`, at(r, "rowId"), at(r, "entityId"))
					}
				}
			}
			t.Fatalf("no %s", kind)
			return ""
		}
		wantStatus(t, q.do("retryTurn", `{`+find(rowAssistantText, 0)+`}`), "rejected", "guard.actionUnavailable")
		a := q.do("editUserQuery", `{`+find(rowUserInput, 1)+`,"newText":"ask"}`)
		wantStatus(t, a, "accepted", "")
		if inputs(c) != "hello ask" {
			t.Errorf("edited: %q", inputs(c))
		}
		last := strings.Count(outline(c.state), "\n"+rowAssistantText) - 1
		wantStatus(t, q.do("retryTurn", `{`+find(rowAssistantText, last)+`}`), "accepted", "")
		if inputs(c) != "hello ask" {
			t.Errorf("retried: %q", inputs(c))
		}
		wantSame(t, "fold after rewinds", c.canonical(), c.fresh())

		a = q.do("forkAssistant", `{`+find(rowAssistantText, 1)+`}`)
		fork := s.follow("conversation/"+at(a, "result.sessionId").(string), "a", "desktop-continuous", "")
		if inputs(fork) != "hello" || !strings.Contains(fork.canonical(), "forkNotice") || !strings.Contains(c.canonical(), "forkCreated") {
			t.Errorf("fork: %q\n%s\n%s", inputs(fork), outline(fork.state), outline(c.state))
		}
		wantSame(t, "fold of the parent", c.canonical(), c.fresh())
	})
}

func TestFeedbackStaysWithItsAnswer(t *testing.T) {
	state := t.TempDir() + "/state.json"
	var id string
	inBubble(t, Options{StateFile: state}, func(s *sim) {
		id = s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		q := queueClient{c, id}
		q.do("sendText", `{"text":"hello"}`)
		judge := func(kind, feedback string) map[string]any {
			r := lastRow(c.state, kind)
			return q.do("setAssistantFeedback", fmt.Sprintf(`{"target":{"rowId":%v,"entityId":%q},"feedback":%s}`, at(r, "rowId"), at(r, "entityId"), feedback))
		}
		wantStatus(t, judge(rowUserInput, `"like"`), "rejected", "guard.actionUnavailable")
		wantStatus(t, judge(rowAssistantText, `"so-so"`), "rejected", "proto.invalidPayload")
		for _, feedback := range []string{`"dislike"`, `null`, `"like"`} {
			wantStatus(t, judge(rowAssistantText, feedback), "accepted", "")
			if got := show(lastRow(c.state, rowAssistantText)["feedback"]); got != feedback {
				t.Errorf("feedback is %s, want %s", got, feedback)
			}
		}
		wantSame(t, "fold", c.canonical(), c.fresh())
	})
	inBubble(t, Options{StateFile: state}, func(s *sim) {
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		if got := lastRow(c.state, rowAssistantText)["feedback"]; got != "like" {
			t.Errorf("after a restart the feedback is %v", got)
		}
	})
}

// lastRow is the newest row of a kind in a conversation's window.
func lastRow(state map[string]any, kind string) (last map[string]any) {
	for _, r := range at(state, "rows.window").([]any) {
		if at(r, "kind") == kind {
			last = r.(map[string]any)
		}
	}
	return last
}

func TestGoals(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		q := queueClient{c, id}
		s.decide = nobody
		q.do("sendGoalCommand", `{"text":"/goal ask"}`)
		if at(c.state, "goal.status") != goalActive || at(at(c.state, "rows.window").([]any)[0], "origin") != "goalContinuation" {
			t.Errorf("working on a goal: %s", show(c.state))
		}
		q.do("stop", `{}`)
		if at(c.state, "goal.status") != goalPaused || at(c.state, "availability.resumeGoal.allowed") != true {
			t.Errorf("after a stop: %s", show(c.state["goal"]))
		}
		s.decide = allowAll
		wantStatus(t, q.do("pauseGoal", `{}`), "rejected", "guard.actionUnavailable")
		wantStatus(t, q.do("resumeGoal", `{}`), "accepted", "")
		if at(c.state, "goal.status") != goalVerified {
			t.Errorf("in the end: %s", show(c.state["goal"]))
		}
		wantSame(t, "fold", c.canonical(), c.fresh())
	})
}
