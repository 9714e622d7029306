package simulator

import (
	"cmp"
	"slices"
)

// create answers session/create. The client is asked for preferences first; without them there is no session.
func (s *server) create(r *request, p createParams) (any, *fault) {
	if p.SessionID != "" && p.ImportedHistory == nil {
		return nil, invalidParams([]issue{{Code: "custom", Path: []any{"sessionId"}, Message: "sessionId is only allowed together with importedHistory"}})
	}
	if p.ImportedHistory != nil {
		return nil, &fault{Code: codeNoStore, Message: "Importing history is not available without a store"}
	}
	x, failed := s.newSession(p)
	if failed != nil {
		return nil, failed
	}
	return x.snapshot(x.Messages), nil
}

// newSession asks for preferences and makes a session.
func (s *server) newSession(p createParams) (*session, *fault) {
	m := catalogue[0]
	selection := modelSelection{modelRef: m.modelRef}
	if p.Model != nil {
		known, failed := findModel(p.Model.modelRef)
		if failed != nil {
			return nil, failed
		}
		m, selection = known, *p.Model
	}
	id := s.newSessionID()
	if _, failed := s.askPreferences(id, scopeMaterialization); failed != nil {
		return nil, failed
	}
	now := s.clock.now()
	rec := record{ID: id, TraceID: s.ids.uuid(), Kind: kindInteractive, ParentID: p.ParentSessionID, Workspace: p.Workspace,
		Persistence: cmp.Or(p.Persistence, persistImmediate), NoTitle: p.TitleGeneration != nil && !*p.TitleGeneration,
		Mode: cmp.Or(p.Mode, modeBuild), Denied: p.ToolDenylist, CreatedAt: now, UpdatedAt: now}
	rec.choose(m, selection)
	if slices.Contains(m.levels, p.ThoughtLevel) { // an unsupported level is skipped without a word
		rec.setLevel(p.ThoughtLevel)
	}
	x := s.materialize(rec)
	x.save()
	s.relist(x)
	return x, nil
}

// resume answers session/resume: a session in memory is left as it is, another one is loaded from the store.
func (s *server) resume(r *request, p sessionParams) (any, *fault) {
	if x, ok := s.sessions[p.SessionID]; ok {
		x.touch()
		return x.snapshot(x.Messages), nil
	}
	x, failed := s.load(p.SessionID)
	if failed != nil {
		return nil, failed
	}
	if p.ToolDenylist != nil {
		x.Denied = p.ToolDenylist
	}
	if slices.Contains(x.model().levels, p.ThoughtLevel) {
		x.setLevel(p.ThoughtLevel)
		x.inner("config.changed", nil)
	}
	return x.snapshot(x.Messages), nil
}

// load gives a session in memory, from the store if need be. The client is asked for preferences then.
func (s *server) load(id string) (*session, *fault) {
	if x, ok := s.sessions[id]; ok {
		return x, nil
	}
	rec, ok := s.store.get(id)
	if !ok {
		return nil, notFound(id)
	}
	if _, failed := s.askPreferences(rec.ID, scopeMaterialization); failed != nil {
		return nil, failed
	}
	chosen, failed := s.askPreferences(rec.ID, scopeExecution)
	if failed != nil {
		return nil, failed
	}
	x := s.materialize(rec)
	x.prefs, x.prefsKnown = chosen, true
	x.reportServers()
	x.emit("session.resumed", object{"directory": x.Workspace.WorkspacePath, "interruptedToolCount": x.closeInterrupted(),
		"messageCount": len(x.Messages), "partCount": x.partCount()})
	return x, nil
}

// closeInterrupted ends tool calls that a killed process left open and counts them.
func (x *session) closeInterrupted() int {
	n := 0
	for _, m := range x.Messages {
		for _, p := range m.Parts {
			if p.Call != nil && (p.Call.Status == "pending" || p.Call.Status == "running") {
				p.Call.Status, p.Call.Error = "error", "Tool execution was interrupted"
				n++
			}
		}
	}
	return n
}

func (x *session) partCount() int {
	n := 0
	for _, m := range x.Messages {
		n += len(m.Parts)
	}
	return n
}

// defaultListLimit is how many stored sessions a list shows.
const defaultListLimit = 50

// list answers session/list: rows of the store up to the limit, and whatever else is in memory on top of it.
func (s *server) list(r *request, p listParams) (any, *fault) {
	limit := cmp.Or(p.Limit, defaultListLimit)
	wanted := func(rec *record) bool {
		return rec.Kind != kindSubagent && (p.IncludeArchived || rec.ArchivedAt == 0) &&
			(p.Workspace == nil || rec.Workspace.WorkspacePath == p.Workspace.WorkspacePath) &&
			(p.SessionIDs == nil || slices.Contains(p.SessionIDs, rec.ID))
	}
	sessions := []object{}
	now := s.clock.now()
	for _, x := range s.order {
		if wanted(&x.record) && x.stored() {
			live := x.info()
			delete(live, "target") // recorded: a live row has no target, and both its times are those of the call
			live["createdAt"], live["updatedAt"] = now, now
			sessions = append(sessions, live)
		}
	}
	shown := 0
	for _, rec := range s.store.list() {
		if !wanted(&rec) {
			continue
		}
		if shown++; shown > limit {
			break
		}
		if s.sessions[rec.ID] == nil {
			sessions = append(sessions, rec.info())
		}
	}
	return object{"sessions": sessions}, nil
}

func (x *session) answerClose(r *request, p sessionParams) (any, *fault) {
	if p.Persistence != "" && p.Persistence != x.Persistence {
		return object{"closed": false}, nil
	}
	x.close()
	return object{"closed": true}, nil
}

// close ends the session's work and takes it out of memory; what is stored of it stays.
func (x *session) close() {
	for x.turn != nil { // a queued input may follow the one that is stopped
		x.turn.cancel(errStopped)
		turn := x.turn
		x.s.yield(func() { <-turn.done })
	}
	x.save()
	x.emit("session.closed", object{"reason": "client"})
	x.s.remove(x)
	x.s.unlist(x)
}
