package session

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"zcodehub/auth"
	"zcodehub/internal/wire"
)

const (
	// ConfirmWithin is how long the agent may take to confirm a decision after
	// it was written: some times what a busy agent needs to print its event, and
	// short enough that a human still remembers what the card was about.
	ConfirmWithin = 10 * time.Second

	// maxOpen bounds the interactions that wait in one session. Agents ask for a
	// handful at once, with many subagents some dozens; more than this comes from
	// one that has run wild.
	maxOpen = 256
	// maxOpenBytes bounds their params together. One alone may be of any size:
	// it is as long as a line of the app-server may be.
	maxOpenBytes = 32 << 20
	// maxSettled is how many settled ones are remembered, so that a late answer
	// learns who won: more cards than any screen still shows.
	maxSettled = 512
	// maxSettledBytes bounds the results remembered with them. Ordinary ones
	// have 100 bytes; this keeps 512 of 16 KiB.
	maxSettledBytes = 8 << 20
	// maxAnnounced is how many ids of one interaction are remembered: eleven
	// hours of re-announcements every 10 s. The agent needs no answer to older
	// ids: it drops them all once any is answered.
	maxAnnounced = 4096
)

// Why an announced request is not entered.
var (
	ErrNotInteraction = errors.New("this method asks no human")
	ErrTooManyOpen    = errors.New("too many questions of this session wait for an answer")
)

// Ledger is the record of one session's interactions. It decides which answer
// wins and remembers how each question ended; what follows from that is sent by
// its user. Its methods may be called from any goroutine and never wait for
// anything but its own mutex.
type Ledger struct {
	sessionID string // fixed

	mu           sync.Mutex // a leaf: no other lock is taken under it
	entered      int        // interactions ever
	open         []*record  // not settled, oldest first
	openBytes    int
	settled      []*record // the newest maxSettled, oldest first
	settledBytes int
	byRequest    map[string]*record // the newest of each requestId
	byID         map[string]*record // of the same records
}

// A record is one interaction in the ledger. All of it is guarded by Ledger.mu.
type record struct {
	in         *Interaction
	ids        [][]byte // announced, oldest first
	given      int      // the result was given out for ids[:given]
	decision   *decision
	settlement *Settlement
	kept       int // bytes of the result remembered after the settlement
}

// A decision is the answer that won. It is reserved until it was written.
type decision struct {
	outcome string
	by      Author
	at      time.Time
	result  []byte    // for the announced ids; nil if a V4 command carries it
	written time.Time // zero while reserved
}

func (r *record) written() bool { return r.decision != nil && !r.decision.written.IsZero() }

// NewLedger returns the empty ledger of a session.
func NewLedger(sessionID string) *Ledger {
	return &Ledger{sessionID: sessionID, byRequest: map[string]*record{}, byID: map[string]*record{}}
}

// Announce enters a request of the agent. id is its JSON-RPC id (raw), params
// are valid JSON; both are copied. The first announcement of a requestId opens
// an interaction, later ones add an id to it. A result that is not nil is the
// decision already made: it must be sent to this id, once, and nothing be shown.
//
// A settled interaction that is announced again is answered with the decision
// if the hub made one: the agent did not get it. Without one (the turn ended,
// the agent went on by itself) it is a fresh interaction under a new client id,
// for the agent does wait, whatever was believed about it before.
//
// On an error nothing is entered, and the request should be refused. Over the
// bounds it is the newcomer that is refused: a question that a human may be
// reading is not taken away, and nobody can push one off the list.
func (l *Ledger) Announce(id []byte, method string, params []byte, now time.Time) (in *Interaction, first bool, result []byte, err error) {
	if method != MethodPermission && method != MethodUserInput {
		return nil, false, nil, ErrNotInteraction
	}
	requestID := textOf(params, "requestId")
	if requestID == "" {
		return nil, false, nil, errNoRequestID
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.byRequest[requestID]
	if r == nil || r.forgotten() {
		if r, err = l.enterLocked(method, params, now); err != nil {
			return nil, false, nil, err
		}
		first = true
	}
	return r.in, first, r.announce(bytes.Clone(id)), nil
}

// forgotten reports whether a settled interaction has no decision to repeat.
func (r *record) forgotten() bool {
	return r.settlement != nil && (r.decision == nil || r.decision.result == nil)
}

func (l *Ledger) enterLocked(method string, params []byte, now time.Time) (*record, error) {
	if n := len(l.open); n >= maxOpen || n > 0 && l.openBytes+len(params) > maxOpenBytes {
		return nil, ErrTooManyOpen
	}
	l.entered++
	r := &record{in: newInteraction(l.sessionID, method, bytes.Clone(params), l.entered, now)}
	if old := l.byRequest[r.in.RequestID]; old != nil {
		delete(l.byID, old.in.ID) // an answer to the old card is not one to the new
	}
	l.open = append(l.open, r)
	l.openBytes += len(params)
	l.byRequest[r.in.RequestID] = r
	l.byID[r.in.ID] = r
	return r, nil
}

// announce adds an id and returns what must be sent to it at once.
func (r *record) announce(id []byte) (result []byte) {
	if slices.ContainsFunc(r.ids, func(known []byte) bool { return bytes.Equal(known, id) }) {
		return nil
	}
	r.ids = append(r.ids, id)
	if len(r.ids) > maxAnnounced {
		r.ids = slices.Delete(r.ids, 0, 1)
		r.given = max(0, r.given-1)
	}
	if !r.written() || r.decision.result == nil {
		return nil
	}
	r.given = len(r.ids)
	return r.decision.result
}

// The statuses of a verdict, as hub/answer reports them; a forbidden answer is
// refused by an error.
const (
	Accepted  = "accepted"  // this answer is the decision
	Late      = "late"      // By decided before
	Invalid   = "invalid"   // Reason says what the app-server would not take
	Unknown   = "unknown"   // no such interaction, or settled too long ago
	Forbidden = "forbidden" // Reason says which right is missing
)

// Verdict is what became of an answer.
type Verdict struct {
	Status      string
	Reason      string // a sentence for the client; empty if accepted
	Interaction *Interaction
	Announced   [][]byte // accepted: ids to send Result to, newest first
	Result      []byte   // accepted: one line; nil for a V4 command
	By          Author   // accepted, late: who decided
	At          time.Time
}

// Answer offers a client's answer to the agent's request. The first one that is
// valid and within the client's rights is accepted: it reserves the decision.
// The caller then sends Result to the Announced ids and calls Written when the
// first of them went into the pipe, or Release when it did not.
func (l *Ledger) Answer(requestID string, by Author, rights auth.Right, result []byte, isError bool, now time.Time) Verdict {
	judge := func(in *Interaction) ruling {
		if isError {
			return faulty("an error settles nothing: answer with a result, for instance a denial")
		}
		return in.judge(result)
	}
	return l.decide(requestID, rights, judge, decision{by: by, at: now, result: bytes.Clone(wire.OneLine(result))})
}

// Reserve offers the answer of a V4 resolveInteraction command, which carries
// the decision to the agent by itself: nothing is sent to the announced ids,
// which the agent then drops. The caller forwards the command and calls Written
// when its ACK says that it succeeded, or Release when it failed.
func (l *Ledger) Reserve(requestID string, by Author, rights auth.Right, answer []byte, now time.Time) Verdict {
	judge := func(in *Interaction) ruling { return in.judgeCommand(answer) }
	return l.decide(requestID, rights, judge, decision{by: by, at: now})
}

// decide judges outside the lock: an answer may be megabytes of JSON, and the
// reader of the app-server's lines needs the lock too.
func (l *Ledger) decide(requestID string, rights auth.Right, judge func(*Interaction) ruling, d decision) Verdict {
	in, v := l.undecided(requestID, rights)
	if in == nil {
		return v
	}
	rule := judge(in)
	switch {
	case rule.fault != "":
		return Verdict{Status: Invalid, Reason: rule.fault, Interaction: in}
	case !rights.Has(rule.need):
		return Verdict{Status: Forbidden, Reason: "what lasts or rewrites needs the right control", Interaction: in}
	}
	d.outcome = rule.outcome
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.byRequest[requestID]
	if r == nil || r.in.ID != in.ID {
		return Verdict{Status: Unknown, Reason: unknownReason}
	}
	if v, late := r.late(); late {
		return v
	}
	r.decision = &d
	v = Verdict{Status: Accepted, Interaction: r.in, Result: d.result, By: d.by, At: d.at}
	if d.result != nil {
		v.Announced = r.give()
	}
	return v
}

const unknownReason = "there is no such question, or it was settled long ago"

// undecided returns the interaction if an answer to it may count, else the
// verdict on that answer.
func (l *Ledger) undecided(requestID string, rights auth.Right) (*Interaction, Verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.byRequest[requestID]
	if r == nil {
		return nil, Verdict{Status: Unknown, Reason: unknownReason}
	}
	if !rights.Has(auth.Answer) {
		return nil, Verdict{Status: Forbidden, Reason: "answering needs the right answer", Interaction: r.in}
	}
	if v, late := r.late(); late {
		return nil, v
	}
	return r.in, Verdict{}
}

// late is the verdict on answers that come after the decision or the end.
func (r *record) late() (v Verdict, late bool) {
	switch {
	case r.settlement != nil:
		v = Verdict{Status: Late, By: r.settlement.By, At: r.settlement.At}
		v.Reason = fmt.Sprintf("already settled by %s: %s", v.By.Name, r.settlement.Outcome)
	case r.decision != nil:
		v = Verdict{Status: Late, By: r.decision.by, At: r.decision.at}
		v.Reason = fmt.Sprintf("already answered by %s: %s", v.By.Name, r.decision.outcome)
	default:
		return v, false
	}
	v.Interaction = r.in
	return v, true
}

// give hands out the ids that the result was not given out for, newest first:
// the newest is the one that the agent surely still listens to.
func (r *record) give() [][]byte {
	ids := slices.Clone(r.ids[r.given:])
	slices.Reverse(ids)
	r.given = len(r.ids)
	return ids
}

// Written tells that the accepted decision went into the pipe. It returns the
// ids announced since then, to which the result must be sent too; from now on
// Announce hands the result out by itself.
func (l *Ledger) Written(requestID string, now time.Time) (announced [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.byRequest[requestID]
	if r == nil || r.decision == nil || r.written() {
		return nil
	}
	r.decision.written = now
	if r.decision.result == nil {
		return nil
	}
	return r.give()
}

// Release takes an accepted decision back: it did not reach the agent. The
// interaction is open again, and true is returned, unless it was settled
// meanwhile. After Written it does nothing.
func (l *Ledger) Release(requestID string) (in *Interaction, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.byRequest[requestID]
	if r == nil || r.decision == nil || r.written() {
		return nil, false
	}
	r.decision, r.given = nil, 0
	return r.in, r.settlement == nil
}

// Open lists what waits for an answer, oldest first: neither decided nor settled.
func (l *Ledger) Open() []*Interaction {
	l.mu.Lock()
	defer l.mu.Unlock()
	var waiting []*Interaction
	for _, r := range l.open {
		if r.decision == nil {
			waiting = append(waiting, r.in)
		}
	}
	return waiting
}

// Lookup finds the newest interaction of a requestId, settled ones included.
func (l *Ledger) Lookup(requestID string) (*Interaction, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byRequest[requestID].interaction()
}

// LookupID finds an interaction by the id that clients know, settled ones
// included.
func (l *Ledger) LookupID(id string) (*Interaction, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byID[id].interaction()
}

func (r *record) interaction() (*Interaction, bool) {
	if r == nil {
		return nil, false
	}
	return r.in, true
}

// Settled lists the settlements remembered, oldest first.
func (l *Ledger) Settled() []Settlement {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Settlement, len(l.settled))
	for i, r := range l.settled {
		list[i] = *r.settlement
	}
	return list
}
