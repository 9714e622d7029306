package simulator

import (
	"fmt"
	"slices"
)

// session is a session in memory. Guarded by the loop.
type session struct {
	record
	s   *server
	ids ids

	revision   int    // stateRevision: counts state.updated of this session since it was materialised
	delivery   string // last deliveryKind set; "" before the first subscription
	subscribed bool   // events go out as session/event

	events eventLog
	batch  batcher

	turn       *turn     // running turn or compaction
	reported   streamKey // the stream whose first chunk telemetry has reported
	prefs      preferences
	prefsKnown bool // preferences for executions were asked for
	tasks      []*task
	chat       *conversation // the V4 side; nil until it is needed
	touchedAt  int64         // when a request last used the session, on the real clock
	evicting   bool          // leaves memory when its turn has ended (the prompt "evict")
	closed     bool
}

// materialize makes the session for r resident.
func (s *server) materialize(r record) *session {
	x := &session{record: r, s: s, ids: newIDs(s.seed, fmt.Sprintf("%s/%d", r.ID, len(r.Messages)))}
	s.sessions[r.ID] = x
	s.order = append(s.order, x)
	x.touch()
	return x
}

// newSessionID draws until the id is free: a restarted process with the same seed draws the same ones again.
func (s *server) newSessionID() string {
	for {
		id := "sess_" + s.ids.uuid()
		if _, stored := s.store.get(id); s.sessions[id] == nil && !stored {
			return id
		}
	}
}

// resident finds a session in memory and counts as use of it.
func (s *server) resident(id string) (*session, *fault) {
	x, ok := s.sessions[id]
	if !ok {
		return nil, notActive(id)
	}
	x.touch()
	return x, nil
}

// remove takes the session and its helpers' sessions out of memory. Its event log and with it all seqs are gone.
func (s *server) remove(x *session) {
	s.order = slices.DeleteFunc(s.order, func(y *session) bool {
		goes := y == x || (y.Kind == kindSubagent && y.ParentID == x.ID)
		if goes {
			y.closed, y.subscribed = true, false
			y.endTasks()
			s.detach(y)
			delete(s.sessions, y.ID)
		}
		return goes
	})
}

// save writes the session's row; the state file is written with the loop given up.
func (x *session) save() {
	if x.stored() && x.Kind != kindSubagent {
		x.s.store.put(x.record)
		x.s.persist()
	}
}

// busyWith is the fault for what cannot be done while a turn runs.
func (x *session) busyWith(message string) *fault {
	if x.Kind == kindSubagent {
		return &fault{codeBusy, object{"reasonCode": "guard.subagentReadOnly"}, "Subagent sessions are read-only"}
	}
	if x.turn != nil {
		return busy(message)
	}
	return nil
}

// checkRevision compares what the client believes the state revision to be.
func (x *session) checkRevision(expected *int) *fault {
	if expected == nil || *expected == x.revision {
		return nil
	}
	return &fault{codeRevision, object{"actualRevision": x.revision, "expectedRevision": *expected}, "Session state revision mismatch"}
}

// stateUpdated tells the client about a change of the session's state. It needs no subscription.
func (x *session) stateUpdated(reason string, patch any) {
	x.revision++
	x.s.notify("state.updated", object{
		"type": "state.updated", "scope": "session", "workspace": x.Workspace, "sessionId": x.ID,
		"revision": x.revision, "reason": reason, "patch": patch,
	})
}

// status of the session as clients see it.
func (x *session) status() string {
	switch {
	case x.turn != nil && x.turn.open != nil:
		return "waiting"
	case x.turn != nil:
		return "running"
	case x.LastError != nil:
		return "error"
	case x.Goal != nil && x.Goal.Status == goalPaused:
		return "paused"
	}
	return "idle"
}

// info is the SessionInfo of snapshots and lists.
func (x *session) info() object {
	o := x.record.info()
	o["status"] = x.status()
	return o
}

func (r *record) info() object {
	o := object{
		"sessionId": r.ID, "workspace": r.Workspace, "traceId": r.TraceID, "sessionKind": r.Kind, "title": r.Title,
		"mode": r.Mode, "status": "idle", "model": r.Model.ref(), "target": r.Goal.orNull(),
		"createdAt": r.CreatedAt, "updatedAt": r.UpdatedAt,
	}
	if r.ParentID != "" {
		o["parentSessionId"] = r.ParentID
	}
	if r.TitleSource != "" {
		o["titleSource"] = r.TitleSource
	}
	if r.ArchivedAt != 0 {
		o["archivedAt"] = r.ArchivedAt
	}
	return o
}
