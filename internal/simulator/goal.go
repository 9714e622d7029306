package simulator

import "strconv"

// goal is what a session works towards over several turns.
type goal struct {
	ID         string `json:"targetId"`
	Objective  string `json:"objective"`
	Status     string `json:"status"` // active, paused, verified
	Iteration  int    `json:"iteration"`
	CreatedAt  int64  `json:"createdAt"`
	TokensUsed int    `json:"tokensUsed"`
}

const (
	goalActive   = "active"
	goalPaused   = "paused"
	goalVerified = "verified"
)

// orNull is the goal as the member target shows it.
func (g *goal) orNull() any {
	if g == nil {
		return nil
	}
	return object{"targetId": g.ID, "objective": g.Objective, "status": g.Status, "iteration": g.Iteration,
		"verifications": []object{}, "iterations": []object{}}
}

func (g *goal) stats(now int64) object {
	return object{"targetId": g.ID, "timeUsedSeconds": (now - g.CreatedAt) / 1000, "tokensUsed": g.TokensUsed, "iteration": g.Iteration}
}

var goalShape = strict(
	req("sessionId", nonEmpty), req("action", oneOf("show", "set", "replace", "pause", "resume", "clear")),
	opt("objective", anyString), opt("inputId", nonEmpty), opt("expectedRevision", sequence))

// answerGoal answers session/goal. Setting, replacing and resuming a goal start a turn that works on it.
func (x *session) answerGoal(r *request, p sessionParams) (any, *fault) {
	if p.Action == "show" {
		return x.goalAnswer(describeGoal(x.Goal), false), nil
	}
	if failed := x.busyWith("Cannot manage goals while a prompt is running"); failed != nil {
		return nil, failed
	}
	if failed := x.checkRevision(p.ExpectedRevision); failed != nil {
		return nil, failed
	}
	reason, failed := x.changeGoal(p.Action, p.Objective)
	if failed != nil {
		return nil, failed
	}
	runs := x.Goal != nil && x.Goal.Status == goalActive
	if runs {
		if failed := x.ensurePreferences(); failed != nil {
			return nil, failed
		}
	}
	x.stateUpdated(reason, object{"target": x.Goal.orNull()})
	x.save()
	if runs && x.turn == nil {
		run := x.beginGoal(turnInput{inputID: p.InputID})
		r.then(func() { x.s.spawn(run) })
	}
	return x.goalAnswer(describeGoal(x.Goal), runs), nil
}

func (x *session) changeGoal(action, objective string) (reason string, failed *fault) {
	switch action {
	case "set", "replace":
		if objective == "" {
			return "", thrown("Error", "Goal objective must not be empty")
		}
		reason = "goal_set"
		if x.Goal != nil {
			reason = "goal_replaced"
		}
		x.Goal = &goal{ID: "target_" + x.ids.uuid(), Objective: objective, Status: goalActive, CreatedAt: x.s.clock.now()}
		x.inner("goal.changed", nil)
		return reason, nil
	case "clear":
		x.Goal = nil
		x.inner("goal.changed", nil)
		return "goal_cleared", nil
	}
	from, to, reason := goalActive, goalPaused, "goal_paused"
	if action == "resume" {
		from, to, reason = goalPaused, goalActive, "goal_resumed"
	}
	if x.Goal == nil || x.Goal.Status != from {
		return "", thrown("Error", "No "+from+" goal to "+action)
	}
	x.Goal.Status = to
	x.inner("goal.changed", nil)
	return reason, nil
}

// beginGoal makes the session busy with its goal and gives what has to run next: one turn, after which the goal counts
// as reached.
func (x *session) beginGoal(in turnInput) func() {
	g := x.Goal
	play, rest := findScript(g.Objective)
	in.text, in.source, in.hidden, in.targetID = g.Objective, "goal", true, g.ID
	in.completed, in.failed = "goal_continuation_completed", "goal_continuation_failed"
	t := x.newTurn(in, turnRegular, func(t *turn) {
		play(t)
		g.Iteration++
		g.TokensUsed += t.usage.total()
		if !t.stopped() && t.failure == nil {
			g.Status = goalVerified
		}
	}, rest)
	return t.run
}

func (x *session) goalAnswer(text string, startedTurn bool) object {
	o := object{"response": text, "snapshot": x.snapshot(x.Messages)}
	if startedTurn {
		o["startedTurn"] = true
	}
	return o
}

func describeGoal(g *goal) string {
	if g == nil {
		return "No goal is set."
	}
	return "Goal (" + g.Status + ", iteration " + strconv.Itoa(g.Iteration) + "): " + g.Objective
}
