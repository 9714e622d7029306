package hub_test

import (
	"fmt"
	"strings"
	"testing"

	"zcodehub/auth"
	"zcodehub/internal/hubtest"
)

// sendText is a prompt as a V4 command.
func sendText(session, command, text string) string {
	return fmt.Sprintf(`{"commandId":%q,"sessionId":%q,"type":"sendText","payload":{"text":%q},"issuedAt":1}`, command, session, text)
}

// Who prompted, who answered and who stopped is told to all who follow the
// session, by its events or by its topic, and to nobody else; what is fetched is
// what was told.
func TestActivityTellsWhoDidWhat(t *testing.T) {
	h, _ := simulated(t)
	phone := h.Connect("phone", hubtest.As{Device: "dev-phone"})
	laptop := h.Connect("laptop", hubtest.As{Device: "dev-laptop"})
	viewer := h.Connect("viewer", hubtest.As{Role: auth.RoleViewer})
	stranger := h.Connect("stranger", hubtest.As{})
	session := phone.Create("/work")
	follow(t, phone, "conversation/"+session)
	laptop.Subscribe(session, "")
	viewer.Subscribe(session, "")
	follow(t, viewer, "conversation/"+session)

	phone.MustCall("v4/command", sendText(session, "cmd-1", "ask"))
	for _, c := range []*hubtest.Client{phone, laptop, viewer} {
		m := c.WantNotice("hub/activity", "cmd-1")
		for path, want := range map[string]string{"kind": "prompt", "n": "1", "commandId": "cmd-1", "summary": "sendText", "outcome": "startNow"} {
			if got := m.Path("params", "entry", path); got != want {
				t.Errorf("%s was told %s, want %s %q", c.Name, m, path, want)
			}
		}
		if m.Path("params", "sessionId") != session || m.Path("params", "entry", "by", "device") != "dev-phone" {
			t.Errorf("%s was told %s", c.Name, m)
		}
	}
	ask := laptop.WantNotice("interaction/requestPermission", session)
	laptop.Say(`{"id":` + ask.ID + `,"result":` + allowOnce + `}`)
	answer := phone.WantNotice("hub/activity", `"answer"`)
	for path, want := range map[string]string{"n": "2", "outcome": "allow", "toolName": "Bash", "requestId": ask.Path("params", "requestId"), "toolCallId": ask.Path("params", "toolCallId")} {
		if got := answer.Path("params", "entry", path); got != want {
			t.Errorf("the answer was told as %s, want %s %q", answer, path, want)
		}
	}
	if answer.Path("params", "entry", "summary") == "" || answer.Path("params", "entry", "by", "name") != "laptop" {
		t.Errorf("the answer was told as %s", answer)
	}
	phone.WantNotice("hub/interactionSettled", session)
	laptop.WantTurnEnd(0, session)
	n := laptop.Received()
	laptop.MustCall("session/send", fmt.Sprintf(`{"sessionId":%q,"content":"slow 30s","inputId":"in-1"}`, session))
	laptop.MustCall("session/stop", fmt.Sprintf(`{"sessionId":%q}`, session))
	phone.WantNotice("hub/activity", `"in-1"`, `"prompt"`)
	phone.WantNotice("hub/activity", `"stop"`, `"dev-laptop"`)
	laptop.WantTurnEnd(n, session)
	if again := phone.MustCall("v4/command", sendText(session, "cmd-1", "ask")); !strings.Contains(string(again), `"duplicate"`) {
		t.Fatalf("the repeated command gave %s", again)
	}

	got := string(viewer.MustCall("hub/activity", fmt.Sprintf(`{"sessionId":%q}`, session)))
	var told []string
	for _, m := range viewer.All("hub/activity") {
		told = append(told, m.Path("params", "entry"))
	}
	if want := fmt.Sprintf(`{"entries":[%s],"last":%d}`, strings.Join(told, ","), len(told)); got != want || len(told) != 4 {
		t.Errorf("fetched %s\ntold %s", got, want)
	}
	got = string(viewer.MustCall("hub/activity", fmt.Sprintf(`{"sessionId":%q,"after":3}`, session)))
	if want := fmt.Sprintf(`{"entries":[%s],"last":4}`, told[3]); got != want {
		t.Errorf("after 3 came %s", got)
	}
	if m := viewer.Call("hub/activity", fmt.Sprintf(`{"sessionId":%q,"after":-1}`, session)); m.Path("error", "code") != "-32602" {
		t.Errorf("a negative number gave %s", m)
	}
	if m := viewer.Call("hub/activity", `{}`); m.Path("error", "code") != "-32602" {
		t.Errorf("no session gave %s", m)
	}
	if told := stranger.All("hub/activity"); len(told) > 0 {
		t.Errorf("who does not follow the session was told %s", told[0])
	}
}

// A new session's first prompt is told where the session comes to be; a command
// that the agent refuses is nobody's doing.
func TestActivityNotesWhatTheAgentTook(t *testing.T) {
	h, _ := simulated(t)
	c := h.Connect("c", hubtest.As{})
	ack := c.Call("v4/command", `{"commandId":"cmd-new","sessionId":null,"type":"createSession","payload":{"workspaceId":"/work","firstInput":{"text":"hello"}},"issuedAt":1}`)
	session := ack.Path("result", "result", "sessionId")
	hubtest.Want(t, "the entry", func() bool {
		return strings.Contains(string(c.MustCall("hub/activity", fmt.Sprintf(`{"sessionId":%q}`, session))), `"commandId":"cmd-new"`)
	})
	c.MustCall("v4/command", fmt.Sprintf(`{"commandId":"cmd-bad","sessionId":%q,"type":"sendText","payload":{},"issuedAt":1}`, session))
	c.Call("session/send", fmt.Sprintf(`{"sessionId":%q}`, session))
	if got := string(c.MustCall("hub/activity", fmt.Sprintf(`{"sessionId":%q}`, session))); !strings.Contains(got, `"last":1}`) {
		t.Errorf("refused input was noted: %s", got)
	}
	if got := string(c.MustCall("hub/activity", `{"sessionId":"sess_nobody"}`)); got != `{"entries":[],"last":0}` {
		t.Errorf("of a session that does not exist came %s", got)
	}
}

// A goal that is only shown is no prompt; a member that another method has keeps
// no prompt out of the activity.
func TestActivityNotesEveryPromptAndNoLook(t *testing.T) {
	h, script, _ := scripted(t)
	for _, method := range []string{"session/goal", "session/send"} {
		script.Answer(method, func(hubtest.Line) string { return `{"accepted":true}` })
	}
	c := h.Connect("c", hubtest.As{})
	c.MustCall("session/goal", `{"sessionId":"s1","action":"show"}`)
	c.MustCall("session/send", `{"sessionId":"s1","content":"x","action":"show"}`)
	c.MustCall("session/goal", `{"sessionId":"s1","action":"set","text":"x"}`)
	got := string(c.MustCall("hub/activity", `{"sessionId":"s1"}`))
	if strings.Count(got, `"prompt"`) != 2 || !strings.Contains(got, `"sendText"`) || !strings.Contains(got, `"sendGoalCommand"`) {
		t.Errorf("noted was %s", got)
	}
}

func TestActivityTellsThatTheAgentWasRestarted(t *testing.T) {
	h, _ := simulated(t)
	c := h.Connect("c", hubtest.As{})
	byEvents, byTopic, quiet := c.Create("/work"), c.Create("/work"), c.Create("/work")
	c.Subscribe(byEvents, "")
	follow(t, c, "conversation/"+byTopic)
	h.Kill()
	for _, session := range []string{byEvents, byTopic} {
		c.WantNotice("hub/activity", session, `"kind":"appServer"`, `"restarted"`)
	}
	if got := string(c.MustCall("hub/activity", fmt.Sprintf(`{"sessionId":%q}`, quiet))); got != `{"entries":[],"last":0}` {
		t.Errorf("of a session that nobody follows came %s", got)
	}
}

// What is told of a session never comes before what the app-server printed
// earlier, whichever way the client follows it.
func TestActivityFollowsWhatPrecedes(t *testing.T) {
	h, script, p := scripted(t)
	script.Answer("session/send", func(hubtest.Line) string { return "" })
	c := h.Connect("c", hubtest.As{Profile: auth.Replayable})
	c.Subscribe("s1", "")
	id := c.Request("session/send", `{"sessionId":"s1","content":"x"}`)
	send := p.WantRequest("session/send", 1)
	for seq := 1; seq <= 50; seq++ {
		p.Print(delta("s1", seq, "a"))
	}
	p.Reply(send, `{"accepted":true}`)
	c.WantReply(id)
	last := uint64(0)
	for _, m := range c.Messages() {
		if m.Method == "session/event" {
			var cursor hubtest.Cursor
			cursor.Take(m.Params)
			last = cursor.Seq
		}
		if m.Method == "hub/activity" && last != 50 {
			t.Errorf("the prompt was told after event %d", last)
		}
	}
	if len(c.All("hub/activity")) != 1 {
		t.Error("the prompt was not told")
	}
}

// The same holds for who follows the session's topic: of what was printed before
// the agent took the prompt nothing comes after the notice of it.
func TestActivityFollowsWhatPrecedesInATopic(t *testing.T) {
	h, _, u := scriptedTopic(t)
	c := h.Connect("c", hubtest.As{Profile: auth.Replayable})
	follow(t, c, conversationOne)
	id := c.Request("v4/command", sendText("s1", "cmd-1", "x"))
	command := u.p.WantRequest("v4/command", 1)
	u.p.Print(u.next(appended(textRow(1, "a"))))
	for range 50 {
		u.p.Print(u.next(piece(1, "text", "b")))
	}
	u.p.Reply(command, `{"commandId":"cmd-1","status":"accepted","result":{"type":"inputAccepted","delivery":"queue","inputId":"cmd-1","messageId":"m-1"},"revisionAtDecision":0}`)
	c.WantReply(id)
	last := ""
	for _, m := range c.Messages() {
		if m.Method == "v4/conversation/frame" {
			last = m.Path("params", "frame", "toSeq")
		}
		if m.Method == "hub/activity" && last != "51" {
			t.Errorf("the prompt was told after frame %s", last)
		}
	}
	if told := c.All("hub/activity", `"messageId":"m-1"`, `"outcome":"queue"`); len(told) != 1 {
		t.Errorf("the prompt was told %d times", len(told))
	}
}
