package simulator

// snapshot is the answer of most session methods: where the session stands.
func (x *session) snapshot(messages []*storedMsg) object {
	s := object{
		"protocol":      object{"name": "ZCode Protocol", "version": 1},
		"session":       x.info(),
		"settings":      x.settings(),
		"projection":    x.projection(),
		"runtime":       x.runtime(),
		"messages":      x.protocolForm(messages),
		"todos":         listOrEmpty(x.Todos),
		"todoGroups":    x.todoGroups(),
		"slashCommands": slashCommands,
	}
	if x.Goal != nil {
		s["goalStats"] = x.Goal.stats(x.s.clock.now())
	}
	return s
}

func (x *session) projection() object {
	id := x.ID
	if x.events.raw == 0 {
		id = "unknown"
	}
	p := object{
		"sessionId": id, "status": x.status(), "mode": x.Mode, "turnCount": x.Turns,
		"totalTokenCount": x.Usage.total(), "contextUsed": x.ContextUsed, "contextWindow": x.model().contextWindow,
		"pendingPermissions": x.pendingPermissions(), "activeToolCalls": x.activeToolCalls(),
		"backgroundJobs": x.backgroundJobs(), "target": x.Goal.orNull(),
	}
	if x.turn != nil {
		p["currentTurnId"] = x.turn.id
	}
	if x.LastError != nil {
		p["lastError"] = x.LastError
	}
	return p
}

func (x *session) runtime() object {
	r := object{
		"eventSeq": x.eventSeq(), "stateRevision": x.revision, "pendingRequestIds": x.pendingRequestIDs(),
		"goalVerifications": []object{}, "goalVerificationTimeline": []object{},
	}
	if x.delivery != "" {
		r["deliveryKind"] = x.delivery
	}
	if x.turn != nil {
		r["activeTurnId"], r["activeTurnKind"] = x.turn.id, x.turn.kind
	}
	if x.ContextUsed > 0 {
		r["contextUsage"] = object{"used": x.ContextUsed, "size": x.model().contextWindow, "cost": 0}
	}
	return r
}

func (x *session) pendingPermissions() []object {
	list := []object{}
	if x.turn == nil || x.turn.open == nil || x.turn.open.permission == nil {
		return list
	}
	asked := x.turn.open
	p := object{"requestedAt": asked.openedAt}
	for _, key := range []string{"requestId", "toolCallId", "toolName", "reason", "riskLevel", "input", "origin", "options"} {
		if value, ok := asked.permission[key]; ok {
			p[key] = value
		}
	}
	return append(list, p)
}

func (x *session) pendingRequestIDs() []string {
	if x.turn == nil || x.turn.open == nil {
		return []string{}
	}
	return []string{x.turn.open.requestID}
}

func (x *session) activeToolCalls() []object {
	list := []object{}
	if x.turn == nil {
		return list
	}
	for _, c := range x.turn.active {
		o := object{"toolCallId": c.id, "toolName": c.name, "status": c.status}
		if c.startedAt != 0 {
			o["startedAt"] = c.startedAt
		}
		list = append(list, o)
	}
	return list
}

func listOrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
