package simulator

// send answers session/send: the turn runs in the background and starts right after the response.
func (s *server) send(r *request, p sendParams) (any, *fault) {
	x, failed := s.resident(p.SessionID)
	if failed != nil {
		return nil, failed
	}
	if failed := x.busyWith("A prompt is already running for this session"); failed != nil {
		return nil, failed
	}
	if failed := x.checkRevision(p.ExpectedRevision); failed != nil {
		return nil, failed
	}
	if p.ModelSelection != nil {
		m, failed := findModel(p.ModelSelection.modelRef)
		if failed != nil {
			return nil, failed
		}
		x.choose(m, *p.ModelSelection)
		x.inner("config.changed", nil)
	}
	if failed := x.ensurePreferences(); failed != nil {
		return nil, failed
	}
	if x.closed {
		return nil, notActive(x.ID)
	}
	if failed := x.busyWith("A prompt is already running for this session"); failed != nil {
		return nil, failed // a turn that no client asked for has started meanwhile
	}
	in := turnInput{text: p.Content, inputID: p.InputID, queryID: p.QueryID, denied: p.ToolDenylist}
	for _, a := range p.Attachments {
		in.attachments = append(in.attachments, a.part())
	}
	run := x.begin("sendText", in)
	r.then(func() { s.spawn(run) })
	return object{"accepted": true, "sessionId": x.ID, "stateRevision": x.revision}, nil
}

func (a attachment) part() object {
	url := "attachment:" + a.Filename
	if a.LocalPath != "" {
		url = "file://" + a.LocalPath
	}
	return object{"mime": a.MimeType, "filename": a.Filename, "url": url}
}

// answerStop answers session/stop: the turn ends after the response, its open question is dropped.
func (x *session) answerStop(r *request, p sessionParams) (any, *fault) {
	r.then(x.halt)
	return object{}, nil
}

// halt stops the running turn and pauses the goal it may work on.
func (x *session) halt() {
	if x.turn != nil {
		x.turn.cancel(errStopped)
	}
	if x.Goal != nil && x.Goal.Status == goalActive {
		x.Goal.Status = goalPaused
		x.inner("goal.changed", nil)
		x.stateUpdated("session_stop_goal_paused", object{"target": x.Goal.orNull()})
	}
}

func (x *session) answerSetMode(r *request, p sessionParams) (any, *fault) {
	if failed := x.checkRevision(p.ExpectedRevision); failed != nil {
		return nil, failed
	}
	x.setMode(p.Mode, "command")
	x.save()
	return x.snapshot(x.Messages), nil
}

func (x *session) answerSetModel(r *request, p sessionParams) (any, *fault) {
	if failed := x.checkRevision(p.ExpectedRevision); failed != nil {
		return nil, failed
	}
	m, failed := findModel(p.Model.modelRef)
	if failed != nil {
		return nil, failed
	}
	x.choose(m, *p.Model)
	x.inner("config.changed", nil)
	x.stateUpdated("model_changed", x.settings())
	x.save()
	return x.snapshot(x.Messages), nil
}

func (x *session) answerSetThoughtLevel(r *request, p sessionParams) (any, *fault) {
	if failed := x.checkRevision(p.ExpectedRevision); failed != nil {
		return nil, failed
	}
	if failed := x.supportsLevel(p.ThoughtLevel); failed != nil {
		return nil, failed
	}
	x.setLevel(p.ThoughtLevel)
	x.inner("config.changed", nil)
	x.stateUpdated("thought_level_changed", x.settings())
	x.save()
	return x.snapshot(x.Messages), nil
}
