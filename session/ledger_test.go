package session

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zcodehub/auth"
)

const (
	onlyAnswer = auth.View | auth.Answer
	operator   = auth.View | auth.Answer | auth.Control

	allowOnce   = `{"decision":"allow","reason":"Approved once"}`
	allowAlways = `{"decision":"allow","permissionUpdates":[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"ls"}]}],"reason":"Approved for this project"}`
	deny        = `{"decision":"deny","reason":"Denied"}`
)

var (
	start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	phone = Author{Name: "phone", Device: "d1"}
	desk  = Author{Name: "desk", Device: "d2"}
)

// permission is the params of a permission request in turn t for tool call c.
func permission(requestID string) []byte {
	return fmt.Appendf(nil, `{"requestId":"%s","sessionId":"s","turnId":"t","toolCallId":"c-%[1]s","toolName":"Bash","reason":"risky","riskLevel":"high","input":{"command":"ls"},"options":[`+
		`{"optionId":"allow_once","kind":"allow_once","name":"Allow once","response":%s},`+
		`{"optionId":"allow_project","kind":"allow_always","name":"Always","response":%s},`+
		`{"optionId":"deny","kind":"deny","name":"Deny","response":%s}]}`, requestID, allowOnce, allowAlways, deny)
}

func question(requestID string) []byte {
	return fmt.Appendf(nil, `{"requestId":"%s","sessionId":"s","turnId":"t","toolCallId":"c-%[1]s","toolName":"AskUserQuestion","schema":{"toolName":"AskUserQuestion"},`+
		`"questions":[{"question":"Which?","header":"H","options":[{"value":"A","label":"A"}]},{"question":"Why?","header":"H","options":[]}]}`, requestID)
}

func plan(requestID string) []byte {
	return fmt.Appendf(nil, `{"requestId":"%s","sessionId":"s","turnId":"t","toolCallId":"c-%[1]s","toolName":"ExitPlanMode","schema":{"interaction":"plan_approval","toolName":"ExitPlanMode"},`+
		`"input":{"plan":"1. do"},"questions":[{"question":"Review it.","header":"Plan","options":[{"value":"approve","label":"Approve"}]}]}`, requestID)
}

func elicitation(requestID string) []byte {
	return fmt.Appendf(nil, `{"requestId":"%s","sessionId":"s","schema":{"interaction":"mcp_elicitation","serverName":"x","requestedSchema":{"type":"object"}}}`, requestID)
}

// announce enters a request that must be accepted.
func announce(t testing.TB, l *Ledger, id, method string, params []byte) (in *Interaction, first bool, result []byte) {
	t.Helper()
	in, first, result, err := l.Announce([]byte(id), method, params, start)
	if err != nil {
		t.Fatalf("Announce(%s): %v", id, err)
	}
	return in, first, result
}

// newLedger has the permission r announced as "server-1".
func newLedger(t testing.TB) *Ledger {
	l := NewLedger("s")
	announce(t, l, `"server-1"`, MethodPermission, permission("r"))
	return l
}

func ids(announced [][]byte) string {
	var list []string
	for _, id := range announced {
		list = append(list, string(id))
	}
	return strings.Join(list, " ")
}

func observe(l *Ledger, eventType, turnID, payload string) []Settlement {
	return l.Observe(Event{SessionID: "s", TurnID: turnID, Type: eventType, Payload: []byte(payload)}, start)
}

// show is settlements as "requestId outcome author" each.
func show(settled ...Settlement) string {
	var list []string
	for _, s := range settled {
		list = append(list, fmt.Sprintf("%s %s %s", s.RequestID, s.Outcome, s.By.Name))
	}
	return strings.Join(list, ", ")
}

func TestInteractionIsEnteredOncePerRequestID(t *testing.T) {
	l := newLedger(t)
	again, first, result := announce(t, l, `"server-2"`, MethodPermission, permission("r"))
	if first || result != nil {
		t.Errorf("second announcement: first = %v, result = %s", first, result)
	}
	open := l.Open()
	if len(open) != 1 || open[0] != again {
		t.Fatalf("Open() = %v, want the one interaction", open)
	}
	in := open[0]
	if in.RequestID != "r" || in.SessionID != "s" || in.TurnID != "t" || in.ToolCallID != "c-r" || in.ToolName != "Bash" ||
		in.Kind != Permission || in.Method != MethodPermission || !in.OpenedAt.Equal(start) || string(in.Params) != string(permission("r")) {
		t.Errorf("interaction = %+v", in)
	}
	if byID, ok := l.LookupID(in.ID); !ok || byID != in {
		t.Errorf("LookupID(%s) = %v, %v", in.ID, byID, ok)
	}
	announce(t, l, "3", MethodUserInput, question("q"))
	if open := l.Open(); len(open) != 2 || open[0].RequestID != "r" || open[1].RequestID != "q" {
		t.Errorf("Open() is not oldest first")
	}
}

func TestAnnounceRefusesWhatIsNoQuestion(t *testing.T) {
	l := NewLedger("s")
	if _, _, _, err := l.Announce([]byte("1"), "interaction/browserList", []byte(`{"requestId":"r"}`), start); err != ErrNotInteraction {
		t.Errorf("other method: %v", err)
	}
	for _, params := range []string{`{}`, `{"requestId":""}`, `{"requestId":5}`} {
		if _, _, _, err := l.Announce([]byte("1"), MethodPermission, []byte(params), start); err == nil {
			t.Errorf("params %s were accepted", params)
		}
	}
}

func TestDecisionGoesOnceToEveryAnnouncedID(t *testing.T) {
	l := newLedger(t)
	announce(t, l, `"server-2"`, MethodPermission, permission("r"))
	v := l.Answer("r", phone, onlyAnswer, []byte(allowOnce), false, start)
	if v.Status != Accepted || string(v.Result) != allowOnce || v.By != phone || v.At != start {
		t.Fatalf("Answer = %+v", v)
	}
	if got, want := ids(v.Announced), `"server-2" "server-1"`; got != want {
		t.Errorf("Announced = %s, want %s", got, want)
	}
	if _, _, result := announce(t, l, `"server-3"`, MethodPermission, permission("r")); result != nil {
		t.Errorf("an id announced before the line was written got the result at once: a failed write could not be taken back")
	}
	if got, want := ids(l.Written("r", start)), `"server-3"`; got != want {
		t.Errorf("Written = %s, want %s", got, want)
	}
	if got := l.Written("r", start); got != nil {
		t.Errorf("Written twice = %s", ids(got))
	}
	if _, first, result := announce(t, l, `"server-4"`, MethodPermission, permission("r")); first || string(result) != allowOnce {
		t.Errorf("announced after the decision: first = %v, result = %s", first, result)
	}
	if _, _, result := announce(t, l, `"server-4"`, MethodPermission, permission("r")); result != nil {
		t.Errorf("the same id got the result twice")
	}
}

func TestLateAnswerLearnsWhoWonAndWhen(t *testing.T) {
	l := newLedger(t)
	l.Answer("r", phone, onlyAnswer, []byte(deny), false, start)
	for _, when := range []string{"reserved", "written", "settled"} {
		v := l.Answer("r", desk, operator, []byte(allowOnce), false, start.Add(time.Second))
		if v.Status != Late || v.By != phone || v.At != start || v.Interaction == nil || !strings.Contains(v.Reason, "phone") || !strings.Contains(v.Reason, "deny") {
			t.Errorf("%s: Answer = %+v", when, v)
		}
		switch when {
		case "reserved":
			l.Written("r", start)
		case "written":
			observe(l, "permission.resolved", "t", `{"requestId":"r","decision":"deny"}`)
		}
	}
	if v := l.Answer("none", desk, operator, []byte(allowOnce), false, start); v.Status != Unknown {
		t.Errorf("unknown requestId: %+v", v)
	}
}

func TestInvalidAndRightlessAnswersSettleNothing(t *testing.T) {
	l := newLedger(t)
	if v := l.Answer("r", desk, auth.View, []byte(allowOnce), false, start); v.Status != Forbidden {
		t.Errorf("a viewer's answer: %+v", v)
	}
	if v := l.Answer("r", desk, onlyAnswer, []byte(allowAlways), false, start); v.Status != Forbidden {
		t.Errorf("always without control: %+v", v)
	}
	if v := l.Answer("r", desk, operator, nil, true, start); v.Status != Invalid || v.Reason == "" {
		t.Errorf("an error frame: %+v", v)
	}
	if v := l.Answer("r", desk, operator, []byte(`"allow_once"`), false, start); v.Status != Invalid || v.Reason == "" {
		t.Errorf("an optionId: %+v", v)
	}
	if v := l.Answer("r", desk, operator, []byte(allowAlways), false, start); v.Status != Accepted {
		t.Errorf("the first valid answer: %+v", v)
	}
}

func TestReleaseOpensAgain(t *testing.T) {
	l := newLedger(t)
	l.Answer("r", phone, onlyAnswer, []byte(allowOnce), false, start)
	if len(l.Open()) != 0 {
		t.Error("a decided interaction is still listed as open")
	}
	if in, open := l.Release("r"); !open || in.RequestID != "r" || len(l.Open()) != 1 {
		t.Errorf("Release = %v, %v", in, open)
	}
	v := l.Answer("r", desk, onlyAnswer, []byte(deny), false, start)
	if v.Status != Accepted || ids(v.Announced) != `"server-1"` {
		t.Errorf("Answer after Release = %+v", v)
	}
	l.Written("r", start)
	if _, open := l.Release("r"); open {
		t.Error("Release took back what was written")
	}
	if v := l.Answer("r", phone, onlyAnswer, []byte(allowOnce), false, start); v.Status != Late {
		t.Errorf("Answer after Written and Release = %+v", v)
	}
}

func TestReservedCommandIsNotSentToAnnouncedIDs(t *testing.T) {
	l := newLedger(t)
	v := l.Reserve("r", phone, onlyAnswer, []byte(`{"optionId":"allowOnce"}`), start)
	if v.Status != Accepted || v.Result != nil || v.Announced != nil {
		t.Fatalf("Reserve = %+v", v)
	}
	if v := l.Answer("r", desk, operator, []byte(deny), false, start); v.Status != Late || v.By != phone {
		t.Errorf("Answer to a reserved one = %+v", v)
	}
	l.Release("r")
	l.Reserve("r", desk, onlyAnswer, []byte(`{"optionId":"deny","freeText":"no"}`), start)
	if got := l.Written("r", start); got != nil {
		t.Errorf("Written = %s, want nothing to send", ids(got))
	}
	if _, _, result := announce(t, l, `"server-2"`, MethodPermission, permission("r")); result != nil {
		t.Errorf("announced again: result = %s", result)
	}
	if got, want := show(observe(l, "permission.resolved", "t", `{"requestId":"r","decision":"deny"}`)...), "r deny desk"; got != want {
		t.Errorf("settled %s, want %s", got, want)
	}
}

func TestSettledIsAnnouncedAgain(t *testing.T) {
	t.Run("with our decision: answered with it", func(t *testing.T) {
		l := newLedger(t)
		l.Answer("r", phone, onlyAnswer, []byte(allowOnce), false, start)
		l.Written("r", start)
		l.Expire("r", start.Add(ConfirmWithin))
		_, first, result := announce(t, l, `"server-2"`, MethodPermission, permission("r"))
		if first || string(result) != allowOnce {
			t.Errorf("first = %v, result = %s", first, result)
		}
	})
	t.Run("without: a fresh interaction", func(t *testing.T) {
		l := newLedger(t)
		old := l.Open()[0]
		observe(l, "turn.completed", "t", `{}`)
		in, first, result := announce(t, l, `"server-2"`, MethodPermission, permission("r"))
		if !first || result != nil || in.ID == old.ID {
			t.Errorf("first = %v, result = %s, id %s after %s", first, result, in.ID, old.ID)
		}
		if _, ok := l.LookupID(old.ID); ok {
			t.Error("the old card can still be answered")
		}
		if v := l.Answer("r", phone, onlyAnswer, []byte(deny), false, start); v.Status != Accepted || ids(v.Announced) != `"server-2"` {
			t.Errorf("Answer = %+v", v)
		}
	})
	t.Run("while the decision is being written: no second question", func(t *testing.T) {
		l := newLedger(t)
		l.Answer("r", phone, onlyAnswer, []byte(allowOnce), false, start)
		if got, want := show(observe(l, "turn.completed", "t", `{}`)...), "r cancelled agent"; got != want {
			t.Fatalf("settled %s, want %s", got, want)
		}
		if _, first, result := announce(t, l, `"server-2"`, MethodPermission, permission("r")); first || result != nil {
			t.Errorf("first = %v, result = %s", first, result)
		}
		if got, want := ids(l.Written("r", start)), `"server-2"`; got != want {
			t.Errorf("Written = %s, want %s", got, want)
		}
	})
}

func TestUnconfirmedDecisionExpires(t *testing.T) {
	l := newLedger(t)
	l.Answer("r", phone, onlyAnswer, []byte(allowOnce), false, start)
	if _, ok := l.Expire("r", start.Add(time.Hour)); ok {
		t.Error("a decision that was not written expired")
	}
	l.Written("r", start.Add(time.Second))
	if _, ok := l.Expire("r", start.Add(ConfirmWithin)); ok {
		t.Error("expired before its time")
	}
	s, ok := l.Expire("r", start.Add(time.Second+ConfirmWithin))
	if got, want := show(s), "r unconfirmed phone"; !ok || got != want {
		t.Errorf("Expire = %s, %v; want %s", got, ok, want)
	}
	if _, ok := l.Expire("r", start.Add(time.Hour)); ok {
		t.Error("expired twice")
	}
	if got := observe(l, "permission.resolved", "t", `{"requestId":"r"}`); got != nil {
		t.Errorf("settled twice: %s", show(got...))
	}
}

func TestOneOfManyAnswersInTheSameInstantWins(t *testing.T) {
	const clients = 50
	l := newLedger(t)
	verdicts := make([]Verdict, clients)
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	ready.Add(clients)
	for i := range clients {
		done.Go(func() {
			ready.Done()
			<-gate
			by := Author{Name: fmt.Sprintf("client-%d", i)}
			verdicts[i] = l.Answer("r", by, operator, []byte([]string{allowOnce, deny}[i%2]), false, start)
			if verdicts[i].Status == Accepted {
				l.Written("r", start)
			}
		})
	}
	ready.Wait()
	close(gate)
	done.Wait()
	winner := slices.IndexFunc(verdicts, func(v Verdict) bool { return v.Status == Accepted })
	if winner < 0 {
		t.Fatal("nobody won")
	}
	for i, v := range verdicts {
		if i == winner {
			if ids(v.Announced) != `"server-1"` {
				t.Errorf("the winner sends to %s", ids(v.Announced))
			}
			continue
		}
		if v.Status != Late || v.By != verdicts[winner].By || v.Result != nil {
			t.Errorf("client %d: %+v, want late, won by %s", i, v, verdicts[winner].By.Name)
		}
	}
}
