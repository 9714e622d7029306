package hub_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
	"zcodehub/session/conversation"
)

// pendingOf is what a follower's state and the ledger say is open, by request id.
func pendingOf(f *follower) (shown, listed string) {
	f.catchUp()
	shown = strings.Join(f.state.(*conversation.Projection).PendingInteractions(), ",")
	result := f.client.MustCall("hub/pendingInteractions", `{}`)
	list, _ := wire.Get(result, "pending")
	var ids []string
	for in := range wire.Elements(list) {
		raw, _ := wire.Get(in, "requestId")
		id, _ := wire.StringValue(raw)
		ids = append(ids, id)
	}
	return shown, strings.Join(ids, ",")
}

// An answer to the agent's request and a resolveInteraction race for the same
// question, fifty times: one of them decides, it alone reaches the app-server,
// the other learns who was first, and the conversation's list of open questions
// says the same as the hub's.
func TestOneDecisionBetweenAnswerAndCommand(t *testing.T) {
	h, sim := simulated(t)
	owner := h.Connect("owner", hubtest.As{})
	session := owner.Create("/work")
	byRequest, byCommand := h.Connect("by request", hubtest.As{}), h.Connect("by command", hubtest.As{})
	watcher := follow(t, h.Connect("watcher", hubtest.As{}), "conversation/"+session)
	owner.Subscribe(session, "")
	const questions = 50
	wins := map[string]int{}
	for i := range questions {
		n := owner.Received()
		mark := byRequest.Received()
		owner.Prompt(session, "ask")
		ask := byRequest.WantAfter(mark, "the question", func(m hubtest.Message) bool { return m.Method == "interaction/requestPermission" })
		requestID := ask.Path("params", "requestId")
		hubtest.Want(t, "the conversation to show the question", func() bool { shown, _ := pendingOf(watcher); return shown == requestID })
		if shown, listed := pendingOf(watcher); listed != shown {
			t.Errorf("the conversation shows %s, the hub lists %s", shown, listed)
		}
		var ack hubtest.Message
		var both sync.WaitGroup
		answer := func() { byRequest.Say(`{"id":` + ask.ID + `,"result":` + allowOnce + `}`) }
		command := func() {
			ack = byCommand.Call("v4/command", fmt.Sprintf(`{"commandId":"c%d","sessionId":%q,"type":"resolveInteraction","payload":{"interactionId":%q,"answer":{"optionId":"deny"}},"issuedAt":1}`, i, session, requestID))
		}
		if i%2 == 0 {
			answer, command = command, answer
		}
		both.Go(answer)
		both.Go(command)
		both.Wait()
		settled := owner.WantNoticeAfter(n, "hub/interactionSettled", requestID)
		verdict := byRequest.WantNotice("hub/answer", requestID)
		winner := settled.Path("params", "by", "name")
		wins[winner]++
		if status := ack.Path("result", "status"); status != "accepted" {
			t.Errorf("the ACK is %s", ack)
		}
		resolvedBy := ack.Path("result", "result", "resolvedBy", "name")
		switch winner {
		case "by request":
			if settled.Path("params", "outcome") != "allow" || verdict.Path("params", "status") != "accepted" || resolvedBy != winner {
				t.Errorf("the answer won: settled %s, told %s, ACK %s", settled, verdict, ack)
			}
			byCommand.WantNotice("hub/answer", `"late"`, requestID)
		case "by command":
			if settled.Path("params", "outcome") != "deny" || verdict.Path("params", "status") != "late" || verdict.Path("params", "decidedBy", "name") != winner || resolvedBy != "" {
				t.Errorf("the command won: settled %s, told %s, ACK %s", settled, verdict, ack)
			}
		default:
			t.Errorf("settled %s", settled)
		}
		owner.WantTurnEnd(n, session)
		hubtest.Want(t, "the conversation to show no question", func() bool { shown, _ := pendingOf(watcher); return shown == "" })
		if _, listed := pendingOf(watcher); listed != "" {
			t.Errorf("the conversation shows no question, the hub lists %s", listed)
		}
	}
	if n := len(owner.All("hub/interactionSettled")); n != questions {
		t.Errorf("%d settlements of %d questions", n, questions)
	}
	heard := map[string]int{}
	for _, line := range sim.Heard() {
		switch {
		case strings.Contains(string(line), `"resolveInteraction"`):
			heard["by command"]++
		case strings.Contains(string(line), `"decision"`):
			heard["by request"]++
		}
	}
	if heard["by command"] != wins["by command"] || heard["by request"] != wins["by request"] || wins["by command"] == 0 || wins["by request"] == 0 {
		t.Errorf("the app-server heard %v, the wins are %v", heard, wins)
	}
	watcher.wantHealthy()
	t.Logf("wins: %v", wins)
}

// A resolveInteraction that the app-server does not accept decides nothing: the
// question is open again, and the next answer wins.
func TestFailedCommandReleasesTheQuestion(t *testing.T) {
	h, script, u := scriptedTopic(t)
	script.Answer("v4/command", nil)
	script.Answer("session/read", func(hubtest.Line) string { return `{"session":{"sessionId":"s1"}}` })
	a, b := h.Connect("a", hubtest.As{}), h.Connect("b", hubtest.As{})
	u.p.Print(permission("server-1", "s1", "perm-1"))
	ask := b.WantNotice("interaction/requestPermission", "perm-1")
	n := b.Received()
	id := a.Request("v4/command", `{"commandId":"c1","sessionId":"s1","type":"resolveInteraction","payload":{"interactionId":"perm-1","answer":{"optionId":"deny"}},"issuedAt":1}`)
	line := u.p.WantRequest("v4/command", 1)
	b.Say(`{"id":` + ask.ID + `,"result":` + allowOnce + `}`)
	b.WantNotice("hub/answer", `"late"`)
	u.p.Reply(line, `{"commandId":"c1","status":"failed","reasonCode":"fault.command.executionFailed","revisionAtDecision":1}`)
	if m := a.WantReply(id); m.Path("result", "status") != "failed" {
		t.Errorf("the ACK is %s", m)
	}
	again := b.WantNoticeAfter(n, "interaction/requestPermission", "perm-1")
	if again.ID != ask.ID {
		t.Errorf("shown again under %s, before %s", again.ID, ask.ID)
	}
	b.Say(`{"id":` + ask.ID + `,"result":` + allowOnce + `}`)
	b.WantNotice("hub/answer", `"accepted"`)
	u.p.WantAnswer(`"server-1"`)
}

// A question that the conversation lists no more is settled, also if no event
// said so.
func TestConversationSettlesWhatItListsNoMore(t *testing.T) {
	h, script, u := scriptedTopic(t)
	script.Answer("session/read", func(hubtest.Line) string { return `{"session":{"sessionId":"s1"}}` })
	f := follow(t, h.Connect("client", hubtest.As{}), conversationOne)
	u.p.Print(permission("server-1", "s1", "perm-1"), u.next(`{"op":"state.updated","patch":{"pendingInteractions":[{"interactionId":"perm-1","kind":"permission"}]}}`))
	f.wantSeq(1)
	f.client.WantNotice("interaction/requestPermission", "perm-1")
	if shown, listed := pendingOf(f); shown != "perm-1" || listed != "perm-1" {
		t.Errorf("shown %s, listed %s", shown, listed)
	}
	u.p.Print(u.next(`{"op":"state.updated","patch":{"pendingInteractions":[]}}`))
	f.wantSeq(2)
	f.client.WantNotice("hub/interactionSettled", "perm-1", `"resolvedByAgent"`)
	if shown, listed := pendingOf(f); shown != "" || listed != "" {
		t.Errorf("shown %s, listed %s", shown, listed)
	}
}
