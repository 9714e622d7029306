package simulator

import (
	"strconv"
	"time"
)

// compactDelay is how long summarising a conversation takes at real pace.
const compactDelay = 2 * time.Second

var compactShape = strict(
	req("sessionId", nonEmpty), opt("inputId", nonEmpty), opt("instructions", anyString), opt("expectedRevision", sequence))

// answerCompact answers session/compact: the compaction runs in the background and keeps the session busy.
func (x *session) answerCompact(r *request, p sessionParams) (any, *fault) {
	state := "accepted"
	if x.turn != nil && x.turn.kind == turnCompact {
		state = "already_running"
	} else {
		if failed := x.busyWith("Cannot compact while a prompt is running"); failed != nil {
			return nil, failed
		}
		if failed := x.checkRevision(p.ExpectedRevision); failed != nil {
			return nil, failed
		}
		run := x.begin("compact", turnInput{text: p.Instructions, inputID: p.InputID})
		r.then(func() { x.s.spawn(run) })
	}
	compact := object{"state": state}
	if p.InputID != "" {
		compact["inputId"] = p.InputID
	}
	return object{"response": "", "snapshot": x.snapshot(x.Messages), "compact": compact}, nil
}

// compact replaces what the model remembers by a summary. The messages stay.
func (t *turn) compact() {
	x := t.x
	defer x.s.end()
	before := x.ContextUsed
	x.emit("session.updated", object{"type": "compaction_started", "trigger": "manual", "contextUsed": before})
	reason := "session_compacted"
	if !t.pause(compactDelay) {
		reason = "session_compacted_cancelled"
		x.inner("session.updated", object{"type": "compaction_completed", "trigger": "manual", "cancelled": true})
	} else {
		x.ContextUsed = before / 10
		m := x.newMessage("assistant", "")
		m.Hidden, m.Completed = true, m.Created
		x.newPart(m, "compaction").Text = "Summary of " + strconv.Itoa(len(x.Messages)-1) + " messages."
		x.emit("session.updated", object{"type": "compaction_completed", "trigger": "manual", "contextUsedBefore": before, "contextUsed": x.ContextUsed})
	}
	t.closeOpenParts()
	if !x.s.ending() {
		x.save()
		x.turn = nil
		x.stateUpdated(reason, x.settings())
	}
	t.release()
	x.advance()
}
