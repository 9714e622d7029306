package session

import (
	"slices"
	"time"
)

// Observe takes an event of the session, in stream order, and returns what it
// settled:
//
//   - permission.resolved and userInput.resolved settle the interaction they
//     name by requestId; without one, by toolCallId; without both, the only one
//     of that kind that is open in that turn.
//   - tool.updated shows that the question before it is over: a permission once
//     its tool call started, any kind once the tool call ended.
//   - the end of a turn settles whatever that turn asked.
//
// A decision of the hub's then gets its own outcome and author; an event that
// contradicts it, or that comes without one, is the agent's own doing. Settling
// too early heals itself: the agent announces what it still waits for again.
func (l *Ledger) Observe(e Event, now time.Time) []Settlement {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) == 0 {
		return nil
	}
	switch e.Type {
	case typePermission:
		return l.resolveLocked(l.namedLocked(e, Permission), e.Text("decision"), now)
	case typeUserInput:
		return l.resolveLocked(l.namedLocked(e, UserInput, Plan), "", now)
	case typeTool:
		return l.observeToolLocked(e, now)
	case typeTurnEnd, typeTurnFailed:
		return l.endLocked(l.ofTurnLocked(e.TurnID), OutcomeCancelled, Agent, now)
	}
	return nil
}

// namedLocked finds what a resolved event is about. An id that it has and that
// is not ours is somebody else's: no guessing then.
func (l *Ledger) namedLocked(e Event, kinds ...Kind) []*record {
	if id := e.Text("requestId"); id != "" {
		if r := l.byRequest[id]; r != nil && r.settlement == nil {
			return []*record{r}
		}
		return nil
	}
	toolCallID := e.Text("toolCallId")
	var found []*record
	for _, r := range l.open {
		switch {
		case !slices.Contains(kinds, r.in.Kind):
		case toolCallID != "" && r.in.ToolCallID == toolCallID,
			toolCallID == "" && r.in.ofTurn(e.TurnID):
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found
}

func (l *Ledger) observeToolLocked(e Event, now time.Time) []Settlement {
	kind, toolCallID := e.Text("kind"), e.Text("toolCallId")
	decision := decisionAllow // that it runs says so
	switch kind {
	case kindStarted, kindResult:
	case kindError:
		decision = ""
	default:
		return nil
	}
	var over []*record
	for _, r := range l.open {
		// A tool that asks while it runs has started before: its question is
		// over when it ends, or goes on after an answer.
		if r.in.ToolCallID == toolCallID && toolCallID != "" &&
			(r.in.Kind == Permission || kind != kindStarted || r.decision != nil) {
			over = append(over, r)
		}
	}
	return l.resolveLocked(over, decision, now)
}

func (l *Ledger) ofTurnLocked(turnID string) (found []*record) {
	for _, r := range l.open {
		if r.in.ofTurn(turnID) {
			found = append(found, r)
		}
	}
	return found
}

// ofTurn reports whether the interaction belongs to the turn; where either side
// names none, it does.
func (in *Interaction) ofTurn(turnID string) bool {
	return turnID == "" || in.TurnID == "" || in.TurnID == turnID || in.parentTurnID == turnID
}

// resolveLocked settles what the agent says it has an answer to. That the line
// is not known to be written yet means nothing: the agent can be faster than
// the report of the write.
func (l *Ledger) resolveLocked(records []*record, decision string, now time.Time) (settled []Settlement) {
	for _, r := range records {
		outcome, by := OutcomeByAgent, Agent
		if d := r.decision; d != nil && !contradicts(r.in.Kind, d.outcome, decision) {
			outcome, by = d.outcome, d.by
		}
		settled = append(settled, l.settleLocked(r, outcome, by, now))
	}
	return settled
}

// contradicts compares our outcome of a permission with the agent's decision,
// empty if unknown. Only a plain yes against a plain no counts: what the agent
// makes of a change or an escalation is its own affair.
func contradicts(kind Kind, outcome, decision string) bool {
	switch {
	case kind != Permission:
		return false
	case decision == decisionAllow:
		return outcome == OutcomeDeny
	case decision == decisionDeny:
		return outcome == OutcomeAllow || outcome == OutcomeAllowAlways || outcome == OutcomeFullAccess
	}
	return false
}

// endLocked settles what nothing was said about. A decision that was written
// keeps its outcome, for the agent had it before the end; one that was not is
// as none.
func (l *Ledger) endLocked(records []*record, outcome string, by Author, now time.Time) (settled []Settlement) {
	for _, r := range records {
		outcome, by := outcome, by
		if r.written() {
			by = r.decision.by
			if outcome == OutcomeExited {
				outcome = OutcomeUnconfirmed // nobody knows whether it was read
			} else {
				outcome = r.decision.outcome
			}
		}
		settled = append(settled, l.settleLocked(r, outcome, by, now))
	}
	return settled
}

// SettleAll settles everything that is open: the session was stopped
// (OutcomeCancelled) or closed, or the app-server exited.
func (l *Ledger) SettleAll(outcome string, by Author, now time.Time) []Settlement {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.endLocked(slices.Clone(l.open), outcome, by, now)
}

// Confirm settles an interaction that the agent no longer lists as pending.
func (l *Ledger) Confirm(requestID string, now time.Time) (Settlement, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.byRequest[requestID]
	if r == nil || r.settlement != nil {
		return Settlement{}, false
	}
	return l.resolveLocked([]*record{r}, "", now)[0], true
}

// Expire settles a decision that was written ConfirmWithin ago and not
// confirmed. Call it so long after Written; it is false if there is nothing to
// settle then.
func (l *Ledger) Expire(requestID string, now time.Time) (Settlement, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.byRequest[requestID]
	if r == nil || r.settlement != nil || !r.written() || now.Sub(r.decision.written) < ConfirmWithin {
		return Settlement{}, false
	}
	return l.settleLocked(r, OutcomeUnconfirmed, r.decision.by, now), true
}

func (l *Ledger) settleLocked(r *record, outcome string, by Author, now time.Time) Settlement {
	i := slices.Index(l.open, r)
	l.open = slices.Delete(l.open, i, i+1)
	l.openBytes -= len(r.in.Params)
	r.in = r.in.withoutParams()
	r.settlement = &Settlement{
		RequestID:   r.in.RequestID,
		SessionID:   r.in.SessionID,
		Outcome:     outcome,
		By:          by,
		At:          now,
		Interaction: r.in,
	}
	r.forgetGiven()
	l.settled = append(l.settled, r)
	l.settledBytes += r.kept
	for len(l.settled) > maxSettled || l.settledBytes > maxSettledBytes && len(l.settled) > 1 {
		l.forgetOldestLocked()
	}
	return *r.settlement
}

// forgetGiven keeps of a settled interaction the result, and only the ids that
// still wait for it.
func (r *record) forgetGiven() {
	waiting := r.ids[r.given:]
	r.ids, r.given = nil, 0
	if r.decision != nil && r.decision.result != nil {
		r.ids = slices.Clone(waiting)
		r.kept = len(r.decision.result)
	}
}

func (l *Ledger) forgetOldestLocked() {
	r := l.settled[0]
	l.settled = slices.Delete(l.settled, 0, 1)
	l.settledBytes -= r.kept
	delete(l.byID, r.in.ID)
	if l.byRequest[r.in.RequestID] == r {
		delete(l.byRequest, r.in.RequestID)
	}
}
