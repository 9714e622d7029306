package session

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"
	"zcodehub/auth"
)

// life is what the test knows of one interaction, by its client id.
type life struct {
	requestID string
	announced []string          // ids, all of them
	sent      map[string]string // result that was sent to an id, writes that failed not counted
	tentative map[string]string // given out with a decision that is not written yet
	decided   bool
	command   bool   // the decision went by V4 command
	result    string // of the decision
	written   bool
	settled   int
}

// world drives a ledger as the hub does, and keeps the books.
type world struct {
	t      *rapid.T
	ledger *Ledger
	now    time.Time
	ids    int              // ids announced so far
	lives  map[string]*life // by client id
	newest map[string]*life // by requestId
}

func (w *world) requestID() string {
	return rapid.SampledFrom([]string{"r1", "r2", "r3"}).Draw(w.t, "requestId")
}

func (w *world) announce() {
	requestID := w.requestID()
	w.ids++
	id := fmt.Sprintf(`"server-%d"`, w.ids)
	in, first, result, err := w.ledger.Announce([]byte(id), MethodPermission, permission(requestID), w.now)
	if err != nil {
		w.t.Fatalf("Announce: %v", err)
	}
	old := w.newest[requestID]
	if first {
		if old != nil && (old.settled == 0 || old.written && !old.command) {
			w.t.Fatalf("%s was entered again while %+v", requestID, old)
		}
		w.newest[requestID] = &life{requestID: requestID, sent: map[string]string{}, tentative: map[string]string{}}
		w.lives[in.ID] = w.newest[requestID]
	}
	l := w.lives[in.ID]
	if l != w.newest[requestID] {
		w.t.Fatalf("announcing %s gave another interaction", requestID)
	}
	l.announced = append(l.announced, id)
	if result != nil {
		w.send(l, id, string(result))
	}
}

func (w *world) send(l *life, id, result string) {
	if _, twice := l.sent[id]; twice {
		w.t.Fatalf("%s gets a result twice", id)
	}
	if !l.written || result != l.result {
		w.t.Fatalf("%s gets %s, decided %+v", id, result, l)
	}
	l.sent[id] = result
}

func (w *world) answer() {
	requestID := w.requestID()
	rights := rapid.SampledFrom([]auth.Right{auth.View, onlyAnswer, operator}).Draw(w.t, "rights")
	answer := rapid.SampledFrom([]string{allowOnce, allowAlways, deny, `{}`, `"allow_once"`}).Draw(w.t, "answer")
	isError := rapid.IntRange(0, 5).Draw(w.t, "isError") == 0
	v := w.ledger.Answer(requestID, phone, rights, []byte(answer), isError, w.now)
	good := !isError && (answer == allowOnce || answer == deny || answer == allowAlways && rights == operator)
	w.judge(requestID, v, good && rights != auth.View, answer)
	if v.Status != Accepted {
		return
	}
	l := w.newest[requestID]
	for _, id := range v.Announced {
		if _, twice := l.tentative[string(id)]; twice {
			w.t.Fatalf("%s gets a result twice", id)
		}
		l.tentative[string(id)] = string(v.Result)
	}
}

func (w *world) reserve() {
	requestID := w.requestID()
	v := w.ledger.Reserve(requestID, desk, onlyAnswer, []byte(`{"optionId":"deny"}`), w.now)
	w.judge(requestID, v, true, "")
	if v.Status == Accepted {
		w.newest[requestID].command = true
	}
}

// judge checks a verdict and enters the decision.
func (w *world) judge(requestID string, v Verdict, good bool, result string) {
	l := w.newest[requestID]
	wanted := l != nil && !l.decided && l.settled == 0 && good
	if (v.Status == Accepted) != wanted {
		w.t.Fatalf("%s %q: verdict %+v, accepted wanted: %v", requestID, result, v, wanted)
	}
	if v.Status == Late && v.By == (Author{}) {
		w.t.Fatalf("a late answer is not told who won: %+v", v)
	}
	if wanted {
		l.decided, l.command, l.result = true, false, result
	}
}

func (w *world) written() { w.write(w.requestID()) }

func (w *world) write(requestID string) {
	l := w.newest[requestID]
	late := w.ledger.Written(requestID, w.now)
	if l == nil || !l.decided || l.written {
		if late != nil {
			w.t.Fatalf("Written(%s) = %s with nothing to write", requestID, ids(late))
		}
		return
	}
	l.written = true
	for id, result := range l.tentative {
		w.send(l, id, result)
	}
	for _, id := range late {
		w.send(l, string(id), l.result)
	}
}

func (w *world) release() {
	requestID := w.requestID()
	_, open := w.ledger.Release(requestID)
	l := w.newest[requestID]
	reserved := l != nil && l.decided && !l.written
	if open != (reserved && l.settled == 0) {
		w.t.Fatalf("Release(%s) = %v for %+v", requestID, open, l)
	}
	if reserved {
		l.decided, l.command, l.result = false, false, ""
		clear(l.tentative)
	}
}

func (w *world) observe() {
	requestID := w.requestID()
	event := rapid.SampledFrom([]Event{
		{Type: "permission.resolved", TurnID: "t", Payload: fmt.Appendf(nil, `{"requestId":"%s","decision":"allow"}`, requestID)},
		{Type: "permission.resolved", TurnID: "t", Payload: []byte(`{}`)},
		{Type: "tool.updated", TurnID: "t", Payload: fmt.Appendf(nil, `{"kind":"started","toolCallId":"c-%s"}`, requestID)},
		{Type: "turn.completed", TurnID: "t"},
		{Type: "turn.failed", TurnID: "other"},
		{Type: "session.updated"},
	}).Draw(w.t, "event")
	w.settle(w.ledger.Observe(event, w.now)...)
}

func (w *world) confirm() {
	if s, ok := w.ledger.Confirm(w.requestID(), w.now); ok {
		w.settle(s)
	}
}

func (w *world) expire() {
	w.now = w.now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, ConfirmWithin}).Draw(w.t, "passed"))
	if s, ok := w.ledger.Expire(w.requestID(), w.now); ok {
		w.settle(s)
	}
}

func (w *world) settle(settled ...Settlement) {
	for _, s := range settled {
		l := w.lives[s.Interaction.ID]
		if l == nil || l.requestID != s.RequestID {
			w.t.Fatalf("settled what was never entered: %+v", s)
		}
		if l.settled++; l.settled > 1 {
			w.t.Fatalf("settled twice: %+v", s)
		}
		if s.Outcome == "" || s.By.Name == "" || s.At != w.now {
			w.t.Fatalf("settlement without outcome, author or time: %+v", s)
		}
		if byUs := s.By == phone || s.By == desk; byUs && !l.decided {
			w.t.Fatalf("settled in the name of one who did not decide: %+v", s)
		}
	}
}

// finish ends everything and checks the books.
func (w *world) finish() {
	for requestID := range maps.Keys(w.newest) {
		w.write(requestID)
	}
	w.settle(w.ledger.SettleAll(OutcomeExited, Agent, w.now)...)
	for id, l := range w.lives {
		if l.settled != 1 {
			w.t.Fatalf("%s has %d settlements", id, l.settled)
		}
		want := 0
		if l.written && !l.command {
			want = len(l.announced)
		}
		if len(l.sent) != want {
			w.t.Fatalf("%s: %d of the ids %v got the result, want %d", id, len(l.sent), l.announced, want)
		}
	}
}

// Whatever happens in whatever order: at most one decision per interaction, its
// result once to every announced id, and exactly one settlement.
func TestLedgerKeepsItsPromisesInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, ledger: NewLedger("s"), now: start, lives: map[string]*life{}, newest: map[string]*life{}}
		steps := []func(){w.announce, w.announce, w.answer, w.answer, w.reserve, w.written, w.release, w.observe, w.confirm, w.expire}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")]()
		}
		w.finish()
	})
}
