package simulator

const (
	planQuestion = "Review this implementation plan."
	demoPlan     = "1. Read the code\n2. Change the button colour\n3. Run the tests"
)

func playPlan(t *turn) {
	if t.x.Mode != modePlan {
		t.x.setMode(modePlan, "tool")
	}
	plan := exitPlanMode(demoPlan)
	t.step(func(m *step) {
		m.think("I have a plan, the user should see it before I start. ")
		m.say("Here is what I would do. ")
		m.call(plan)
	})
	t.step(func(m *step) {
		if plan.status == "completed" {
			m.say("The plan is approved, I start with step one. As a simulation I stop here.")
			return
		}
		m.say("I keep planning. Feedback: " + plan.reason)
	})
}

// exitPlanMode is a call that has a plan approved.
func exitPlanMode(text string) *toolCall {
	c := &toolCall{name: "ExitPlanMode", title: "Plan", input: object{"plan": text}}
	c.decide = c.putPlan
	c.work = func() toolResult { return toolResult{content: "User has approved the plan. Plan mode is off."} }
	return c
}

// putPlan asks for approval. Approving leaves plan mode; any other text is feedback and denies.
func (c *toolCall) putPlan() bool {
	x := c.t.x
	q := question{text: planQuestion, header: "Plan"}
	a := c.requestUserInput(object{
		"prompt": planQuestion, "schema": object{"interaction": "plan_approval", "toolName": c.name},
		"questions": []object{{"question": q.text, "header": q.header, "options": []object{
			{"value": "approve", "label": "Approve", "description": "Exit plan mode and start implementation."}}}},
	}, nil)
	if c.t.stopped() {
		return false
	}
	verdict := answersOf(a, []question{q})
	switch text := verdict[q.text]; {
	case a.Action == "accept" && text == "approve":
		c.userInputResolved(a, verdict)
		if x.Mode == modePlan {
			back := x.ModeBefore
			if back == "" {
				back = modeBuild
			}
			x.setMode(back, "tool")
		}
		return true
	case a.Action == "accept" && text != "":
		c.reason = text
	case a.Reason != "":
		c.reason = a.Reason
	default:
		c.reason = "The user did not approve the plan"
	}
	c.userInputResolved(a, verdict)
	return false
}
