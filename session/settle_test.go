package session

import (
	"testing"
)

// Each row: what is open and decided, then an event, then what it settled.
func TestEventsSettleInteractions(t *testing.T) {
	tests := []struct {
		name    string
		event   string
		turn    string
		payload string
		decided string // answer of the phone to r, written; empty for none
		want    string
	}{
		{"by requestId", "permission.resolved", "t", `{"requestId":"r","decision":"allow"}`, allowOnce, "r allow phone"},
		{"always", "permission.resolved", "t", `{"requestId":"r","decision":"allow"}`, allowAlways, "r allowAlways phone"},
		{"without decision", "permission.resolved", "t", `{"requestId":"r"}`, deny, "r deny phone"},
		{"against our decision", "permission.resolved", "t", `{"requestId":"r","decision":"deny"}`, allowOnce, "r resolvedByAgent agent"},
		{"a change that the agent made a denial of", "permission.resolved", "t", `{"requestId":"r","decision":"deny"}`, `{"decision":"modify","modifiedInput":{}}`, "r modify phone"},
		{"a word we do not know", "permission.resolved", "t", `{"requestId":"r","decision":"approved"}`, deny, "r deny phone"},
		{"undecided", "permission.resolved", "t", `{"requestId":"r","decision":"deny"}`, "", "r resolvedByAgent agent"},
		{"another requestId", "permission.resolved", "t", `{"requestId":"x","toolCallId":"c-r"}`, "", ""},
		{"by toolCallId", "permission.resolved", "t", `{"toolCallId":"c-r","decision":"allow"}`, allowOnce, "r allow phone"},
		{"automatic decision on another tool call", "permission.resolved", "t", `{"toolCallId":"x","decision":"allow"}`, "", ""},
		{"the only one of its kind in the turn", "permission.resolved", "t", `{}`, "", "r resolvedByAgent agent"},
		{"the only one, other turn", "permission.resolved", "x", `{}`, "", ""},
		{"not the only one of its kind", "userInput.resolved", "t", `{}`, "", ""},
		{"user input by requestId", "userInput.resolved", "t", `{"requestId":"q"}`, "", "q resolvedByAgent agent"},
		{"user input by toolCallId", "userInput.resolved", "t", `{"toolCallId":"c-p"}`, "", "p resolvedByAgent agent"},
		{"tool started", "tool.updated", "t", `{"kind":"started","toolCallId":"c-r"}`, allowOnce, "r allow phone"},
		{"tool started, undecided", "tool.updated", "t", `{"kind":"started","toolCallId":"c-r"}`, "", "r resolvedByAgent agent"},
		{"tool started though denied", "tool.updated", "t", `{"kind":"started","toolCallId":"c-r"}`, deny, "r resolvedByAgent agent"},
		{"tool failed after denial", "tool.updated", "t", `{"kind":"error","toolCallId":"c-r"}`, deny, "r deny phone"},
		{"tool scheduled", "tool.updated", "t", `{"kind":"scheduled","toolCallId":"c-r"}`, allowOnce, ""},
		{"tool without id", "tool.updated", "t", `{"kind":"result"}`, "", ""},
		{"the asking tool started", "tool.updated", "t", `{"kind":"started","toolCallId":"c-q"}`, "", ""},
		{"the asking tool ended", "tool.updated", "t", `{"kind":"result","toolCallId":"c-q"}`, "", "q resolvedByAgent agent"},
		{"turn completed", "turn.completed", "t", `{"resultType":"cancelled"}`, allowOnce, "r allow phone, q cancelled agent, p cancelled agent"},
		{"turn failed", "turn.failed", "t", `{}`, "", "r cancelled agent, q cancelled agent, p cancelled agent"},
		{"another turn", "turn.completed", "x", `{}`, "", ""},
		{"any other event", "session.updated", "t", `{"requestId":"r"}`, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newLedger(t)
			announce(t, l, "2", MethodUserInput, question("q"))
			announce(t, l, "3", MethodUserInput, plan("p"))
			if test.decided != "" {
				if v := l.Answer("r", phone, operator, []byte(test.decided), false, start); v.Status != Accepted {
					t.Fatalf("Answer = %+v", v)
				}
				l.Written("r", start)
			}
			settled := observe(l, test.event, test.turn, test.payload)
			if got := show(settled...); got != test.want {
				t.Errorf("settled %q, want %q", got, test.want)
			}
			if (test.want != "") && !Settles([]byte(test.event)) {
				t.Errorf("Settles(%s) = false", test.event)
			}
			if got := show(l.Settled()...); got != test.want {
				t.Errorf("Settled() = %q, want %q", got, test.want)
			}
		})
	}
}

func TestAgentMayConfirmBeforeTheWriteIsReported(t *testing.T) {
	l := newLedger(t)
	l.Answer("r", phone, onlyAnswer, []byte(allowOnce), false, start)
	got := observe(l, "permission.resolved", "t", `{"requestId":"r","decision":"allow"}`)
	if want := "r allow phone"; show(got...) != want {
		t.Errorf("settled %s, want %s", show(got...), want)
	}
	if in, open := l.Release("r"); open {
		t.Errorf("a settled interaction was opened again: %+v", in)
	}
}

func TestTurnEndSettlesWhatNamesNoTurnAndWhatItsSubagentsAsk(t *testing.T) {
	l := NewLedger("s")
	announce(t, l, "1", MethodUserInput, elicitation("none"))
	announce(t, l, "2", MethodPermission, []byte(`{"requestId":"sub","turnId":"child","origin":{"kind":"subagent","parentTurnId":"t"}}`))
	announce(t, l, "3", MethodPermission, []byte(`{"requestId":"other","turnId":"u"}`))
	if got, want := show(observe(l, "turn.completed", "t", `{}`)...), "none cancelled agent, sub cancelled agent"; got != want {
		t.Errorf("settled %s, want %s", got, want)
	}
}

func TestSettleAll(t *testing.T) {
	for outcome, want := range map[string]string{
		OutcomeCancelled:     "r allow phone, w cancelled desk, q cancelled desk",
		OutcomeSessionClosed: "r allow phone, w sessionClosed desk, q sessionClosed desk",
		OutcomeExited:        "r unconfirmed phone, w appServerExited desk, q appServerExited desk",
	} {
		l := newLedger(t)
		announce(t, l, "2", MethodPermission, permission("w"))
		announce(t, l, "3", MethodUserInput, question("q"))
		l.Answer("r", phone, onlyAnswer, []byte(allowOnce), false, start)
		l.Written("r", start)
		l.Answer("w", phone, onlyAnswer, []byte(allowOnce), false, start) // not written
		if got := show(l.SettleAll(outcome, desk, start)...); got != want {
			t.Errorf("SettleAll(%s) = %s, want %s", outcome, got, want)
		}
		if again := l.SettleAll(outcome, desk, start); again != nil || len(l.Open()) != 0 {
			t.Errorf("SettleAll(%s) left %v, settled again %s", outcome, l.Open(), show(again...))
		}
	}
}

func TestConfirmSettlesWhatIsNoLongerPending(t *testing.T) {
	l := newLedger(t)
	announce(t, l, "2", MethodUserInput, question("q"))
	l.Answer("r", phone, onlyAnswer, []byte(deny), false, start)
	for requestID, want := range map[string]string{"r": "r deny phone", "q": "q resolvedByAgent agent"} {
		if s, ok := l.Confirm(requestID, start); !ok || show(s) != want || s.At != start || s.SessionID != "s" || s.Interaction.RequestID != requestID {
			t.Errorf("Confirm(%s) = %+v, %v; want %s", requestID, s, ok, want)
		}
		if s, ok := l.Confirm(requestID, start); ok {
			t.Errorf("confirmed twice: %+v", s)
		}
	}
}
