package simulator

import "slices"

func (x *session) switchModel(cmd *command) outcome {
	want := modelRef{cmd.p.Provider, cmd.p.Model}
	if !slices.ContainsFunc(catalogue, func(m model) bool { return m.ProviderID == want.ProviderID }) {
		return rejected("provider.notInRegistry")
	}
	m, failed := findModel(want)
	if failed != nil {
		return failure(failed)
	}
	if x.Model.ref() == want && (cmd.p.Thought == "" || cmd.p.Thought == x.ThoughtLevel) {
		return noop("config.unchanged")
	}
	x.choose(m, modelSelection{modelRef: want, Options: &modelOptions{ReasoningLevel: cmd.p.Thought}})
	x.inner("config.changed", nil)
	x.stateUpdated("model_changed", x.settings())
	return accepted(nil)
}

func (x *session) switchMode(cmd *command) outcome {
	if x.Mode == cmd.p.Mode {
		return noop("config.unchanged")
	}
	x.setMode(cmd.p.Mode, "command")
	return accepted(nil)
}

func (x *session) pauseGoal(cmd *command) outcome {
	if x.Goal == nil || x.Goal.Status != goalActive {
		return rejected("guard.actionUnavailable")
	}
	return x.applyGoal(cmd, "pause", "")
}

func (x *session) resumeGoal(cmd *command) outcome {
	if x.Goal == nil || x.Goal.Status != goalPaused {
		return rejected("guard.actionUnavailable")
	}
	if failed := x.ensurePreferences(); failed != nil {
		return failure(failed)
	}
	return x.applyGoal(cmd, "resume", "")
}

// rename needs the session's row in the store, which comes with the first input (recorded).
func (x *session) rename(cmd *command) outcome {
	if len(x.Messages) == 0 {
		return failedWith(reasonExecuted, notFound(x.ID).Message)
	}
	before := x.Title
	x.Title, x.TitleSource = cmd.p.Title, "custom"
	x.emit("session.titleUpdated", object{"previousTitle": before, "source": "custom", "title": x.Title})
	return accepted(nil)
}

func (x *session) deleteSession(cmd *command) outcome {
	x.close()
	return outcome{status: ackAccepted, plain: true}
}

func (x *session) discardContext(cmd *command) outcome {
	return failedWith("fault.command.inputRejected", "shared context is not pending")
}

// cancelWork ends a background command.
func (x *session) cancelWork(cmd *command) outcome {
	id := cmd.p.BackgroundID
	if reason, err := x.cancelTask(id); err != nil {
		return failedWith("fault.command.backgroundWorkCancelRejected."+reason, "background work "+id+" was not cancelled: "+err.Error())
	}
	return accepted(nil)
}
