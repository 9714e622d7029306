package simulator

import "strings"

// inputAck is the result of a command that brought an input.
func inputAck(delivery, commandID string) object {
	return object{"type": "inputAccepted", "delivery": delivery, "inputId": commandID}
}

// input is what a command has to say to the model.
func (cmd *command) input(p *payload) turnInput {
	in := turnInput{text: p.Text, inputID: cmd.ID, command: cmd.ID, client: cmd.Client, denied: p.Denied, uploads: p.Attachments}
	for _, a := range p.Attachments {
		in.attachments = append(in.attachments, object{"mime": a["mime"], "filename": a["fileName"], "url": a["ref"]})
	}
	return in
}

func (p *payload) empty() bool { return strings.TrimSpace(p.Text) == "" && len(p.Attachments) == 0 }

var emptyInput = failedWith(reasonInvalid, "input must not be empty")

// createFor makes a draft session, with its first input if there is one.
func (s *server) createFor(cmd *command) outcome {
	p := cmd.p
	if p.First != nil && p.First.empty() {
		return emptyInput
	}
	create := createParams{Workspace: workspaceRef{WorkspacePath: p.Workspace, WorkspaceKey: p.Workspace}, Persistence: persistDeferred}
	for _, from := range []*payload{p.Config, p.First} {
		if from != nil && from.Mode != "" {
			create.Mode = from.Mode
		}
		if from != nil && from.Selection != nil {
			create.Model = from.Selection
		}
	}
	x, failed := s.newSession(create)
	if failed != nil {
		return failure(failed)
	}
	result := object{"type": "createSession", "sessionId": x.ID}
	if p.First != nil {
		if failed := x.ensurePreferences(); failed != nil {
			return failure(failed)
		}
		x.start(cmd, "sendText", cmd.input(p.First))
		result["input"] = object{"delivery": deliverStartNow, "inputId": cmd.ID}
	}
	return accepted(result)
}

// start makes the session busy with an input; it runs once the command is answered.
func (x *session) start(cmd *command, kind string, in turnInput) {
	run := x.begin(kind, in)
	cmd.r.then(func() { x.s.spawn(run) })
}

func (x *session) sendText(cmd *command) outcome {
	if cmd.p.empty() {
		return emptyInput
	}
	if failed := x.configure(&cmd.p); failed != nil {
		return failure(failed)
	}
	return x.take(cmd, "sendText", cmd.input(&cmd.p))
}

// configure puts the settings into force that come with an input.
func (x *session) configure(p *payload) *fault {
	if p.Selection != nil {
		m, failed := findModel(p.Selection.modelRef)
		if failed != nil {
			return failed
		}
		x.choose(m, *p.Selection)
		x.inner("config.changed", nil)
	}
	if p.Mode != "" && p.Mode != x.Mode {
		x.setMode(p.Mode, "command")
	}
	return nil
}

func (x *session) sendCompact(cmd *command) outcome {
	c := x.conversation()
	switch {
	case c.control.compacting():
		return rejected("guard.compactOperationLock")
	case c.control.phase == phaseDraft && x.turn == nil:
		return rejected("guard.idleCannotCompact")
	}
	return x.take(cmd, "compact", cmd.input(&cmd.p))
}

// take starts an input, or puts it where it waits for its time.
func (x *session) take(cmd *command, kind string, in turnInput) outcome {
	if failed := x.ensurePreferences(); failed != nil {
		return failure(failed)
	}
	c := x.conversation()
	if x.turn == nil {
		if outcome := c.releaseHeld(cmd.p.Held); outcome != nil {
			return *outcome
		}
		x.start(cmd, kind, in)
		return accepted(inputAck(deliverStartNow, cmd.ID))
	}
	item := &queued{input: in, kind: kind, requested: cmd.p.Delivery, delivery: deliverQueue}
	if item.requested == "" {
		item.requested = "auto"
	}
	guided := item.requested == routeGuide || item.requested == "auto" && c.followup == "guide"
	if guided && kind == "sendText" && x.turn.kind == turnRegular {
		item.delivery = routeGuide
	}
	x.enqueue(item)
	return accepted(inputAck(item.delivery, cmd.ID))
}

// releaseHeld deals with inputs that a stop has held back: whoever sends another one says what becomes of them.
func (c *conversation) releaseHeld(disposition string) *outcome {
	switch held := len(c.queue.items) > 0; {
	case c.queue.autoDrain, held && disposition == "keepQueueAndSend":
		return nil
	case held && disposition != "clearQueueAndSend":
		refusal := rejected(heldQueue)
		return &refusal
	}
	c.queue.items = nil
	c.queue.resume()
	c.x.inner("queue.changed", nil)
	return nil
}

// stopTurn ends the running turn, or only the one that the sender means.
func (x *session) stopTurn(cmd *command) outcome {
	if want := cmd.p.Execution; want != "" && (x.turn == nil || x.turn.execution() != want) {
		return noop("guard.stopTargetChanged")
	}
	cmd.r.then(x.halt)
	return outcome{status: ackAccepted, plain: true}
}

// sendGoal takes what a user types after /goal.
func (x *session) sendGoal(cmd *command) outcome {
	words := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(cmd.p.Text), "/goal"))
	if words == "" {
		return rejected("emptyObjective")
	}
	if x.turn != nil {
		return rejected("activePrompt")
	}
	action, objective := "set", words
	switch first, rest, _ := strings.Cut(words, " "); first {
	case "pause", "resume", "clear":
		action, objective = first, ""
	case "replace":
		action, objective = first, rest
	}
	if failed := x.ensurePreferences(); failed != nil {
		return failure(failed)
	}
	return x.applyGoal(cmd, action, objective)
}

// applyGoal changes the goal and goes to work on it, if it is active then.
func (x *session) applyGoal(cmd *command, action, objective string) outcome {
	reason, failed := x.changeGoal(action, objective)
	if failed != nil {
		return failure(failed)
	}
	x.stateUpdated(reason, object{"target": x.Goal.orNull()})
	x.save()
	if x.turn == nil && x.Goal != nil && x.Goal.Status == goalActive {
		run := x.beginGoal(turnInput{inputID: cmd.ID, command: cmd.ID, client: cmd.Client})
		cmd.r.then(func() { x.s.spawn(run) })
	}
	return accepted(inputAck(deliverStartNow, cmd.ID))
}
