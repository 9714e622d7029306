package hub_test

import (
	"fmt"
	"strings"
	"testing"

	"zcodehub/auth"
	"zcodehub/internal/hubtest"
)

// One conversation as people have it: a command is allowed by a phone, questions
// and a plan are answered, and everybody sees how it ended.
func TestQuestionsOfATurnAreAnsweredByAPhone(t *testing.T) {
	h, _ := simulated(t)
	laptop := h.Connect("laptop", hubtest.As{})
	phone := h.Connect("phone", hubtest.As{Role: auth.RoleApprover, Profile: auth.Replayable})
	viewer := h.Connect("viewer", hubtest.As{Role: auth.RoleViewer, Profile: auth.Replayable})
	id := laptop.Create("/work")
	for _, c := range h.Clients() {
		c.Subscribe(id, "")
	}
	for _, step := range []struct{ prompt, method, result, outcome, said string }{
		{"ask", "interaction/requestPermission", allowOnce, "allow", "printed `hi`"},
		{"ask", "interaction/requestPermission", "{\n \"decision\": \"deny\",\n\n \"reason\": \"not\\nnow\"\n}", "deny", "not\\nnow"},
		{"question", "interaction/requestUserInput",
			`{"action":"accept","content":{"answers":{"Which colour should the button have?":"Blue","Which checks should run?":["Tests","Lint"]}}}`, "accept", "Tests, Lint"},
		{"question", "interaction/requestUserInput", `{"action":"decline","reason":"later"}`, "decline", "later"},
		{"plan", "interaction/requestUserInput", `{"action":"accept","content":{"answer":"shorter please"}}`, "decline", "shorter please"},
		{"plan", "interaction/requestUserInput", `{"action":"accept","content":{"answer":"approve"}}`, "accept", "The plan is approved"},
	} {
		marks := map[*hubtest.Client]int{}
		for _, c := range h.Clients() {
			marks[c] = c.Received()
		}
		laptop.Prompt(id, step.prompt)
		ask := phone.WantNoticeAfter(marks[phone], step.method, id)
		viewer.WantNoticeAfter(marks[viewer], "hub/interaction", ask.Path("params", "requestId"))
		phone.Say(`{"id":` + ask.ID + `,"result":` + step.result + `}`)
		phone.WantNoticeAfter(marks[phone], "hub/answer", `"accepted"`)
		for _, c := range h.Clients() {
			settled := c.WantNoticeAfter(marks[c], "hub/interactionSettled", ask.Path("params", "requestId"))
			if settled.Path("params", "outcome") != step.outcome || settled.Path("params", "by", "name") != "phone" {
				t.Errorf("%s: %s was told %s", step.prompt, c.Name, settled)
			}
			c.WantTurnEnd(marks[c], id)
			text := ""
			for _, m := range c.Messages()[marks[c]:] {
				text += string(m.Text)
			}
			if !strings.Contains(text, step.said) {
				t.Errorf("%s answered with %s: %s did not read %q", step.prompt, step.result, c.Name, step.said)
			}
		}
	}
	var want string
	for _, c := range h.Clients() {
		var cursor hubtest.Cursor
		c.Track(&cursor, id)
		wantChain(t, c.Name, &cursor)
		if want == "" {
			want = string(cursor.Fold.JSON())
		}
		if got := string(cursor.Fold.JSON()); got != want {
			t.Errorf("%s ends with\n%.500s\nwant\n%.500s", c.Name, got, want)
		}
	}
}

// A question that waits is announced again by the agent: nobody is shown it
// twice, and the answer still counts. A stop, and a close, settle what waits.
func TestWaitingQuestionEndsWithItsTurnOrSession(t *testing.T) {
	h, _ := simulated(t)
	c := h.Connect("client", hubtest.As{})
	id := c.Create("/work")
	c.Subscribe(id, "")
	c.Prompt(id, "ask")
	first := c.WantNotice("interaction/requestPermission", id)
	c.MustCall("session/stop", fmt.Sprintf(`{"sessionId":%q}`, id))
	c.WantNotice("hub/interactionSettled", first.Path("params", "requestId"), `"cancelled"`)
	n := c.Received()
	c.Prompt(id, "question")
	second := c.WantNoticeAfter(n, "interaction/requestUserInput", id)
	c.MustCall("session/close", fmt.Sprintf(`{"sessionId":%q}`, id))
	settled := c.WantNoticeAfter(n, "hub/interactionSettled", second.Path("params", "requestId"))
	if outcome := settled.Path("params", "outcome"); outcome != "sessionClosed" && outcome != "cancelled" {
		t.Errorf("closing the session settled its question as %s", settled)
	}
	if pending := h.Status().Pending; len(pending) != 0 {
		t.Errorf("still open: %+v", pending)
	}
}
