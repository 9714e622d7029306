package simulator

// interactionText is the answer to an interaction in the form of V4.
type interactionText struct {
	Option  string `json:"optionId"`
	Text    string `json:"freeText"`
	Action  string `json:"action"`
	Content object `json:"content"`
}

// maxFeedback is the longest text that goes back to the model with a denial (protocol: 4096 characters).
const maxFeedback = 4096

// resolveInteraction answers an open question. One that is settled or unknown is a success all the same: whoever comes
// second in the race has nothing to do about it.
func (x *session) resolveInteraction(cmd *command) outcome {
	done := outcome{status: ackAccepted, plain: true}
	if x.turn == nil || x.turn.open == nil || x.turn.open.requestID != cmd.p.Interaction || cmd.p.Answer == nil {
		return done
	}
	open := x.turn.open
	var result object
	if open.permission != nil {
		result = x.permissionResult(open, *cmd.p.Answer)
	} else {
		params, _ := open.call.params.(object)
		result = cmd.p.Answer.userInput(params["toolName"] == "ExitPlanMode")
	}
	x.s.settle(open.call, encode(result))
	return done
}

// settle answers a call from the inside; the client's own answers come too late then.
func (s *server) settle(c *call, result raw) {
	if len(c.ids) == 0 || s.calls[c.ids[len(c.ids)-1]] != c {
		return
	}
	s.drop(c)
	c.answered <- answer{result: result}
}

// permissionResult is the decision that an option stands for. Options nobody offered deny.
func (x *session) permissionResult(open *interaction, a interactionText) object {
	offered, _ := open.permission["options"].([]object)
	legacy := map[string]string{"allowOnce": "allow_once", "allow_once": "allow_once", "allowAlways": "allow_project",
		"allow_project": "allow_project", "deny": "deny"}[a.Option]
	switch {
	case a.Option == "fullAccess":
		x.setMode(modeYolo, "command")
		return object{"decision": "allow", "reason": "Full access"}
	case a.Option == "allowSession": // the simulator's rules hold for a project
		legacy = "allow_project"
	case a.Option == "deny" && a.Text != "":
		return object{"decision": "deny", "reason": clip(a.Text, maxFeedback)}
	}
	for _, option := range offered {
		if option["optionId"] == legacy {
			response, _ := option["response"].(object)
			return response
		}
	}
	return object{"decision": "deny", "reason": "Denied"}
}

// userInput is the result of interaction/requestUserInput that the answer stands for.
func (a interactionText) userInput(plan bool) object {
	switch {
	case a.Action != "":
		o := object{"action": a.Action}
		if a.Content != nil {
			o["content"] = a.Content
		}
		if a.Text != "" {
			o["reason"] = a.Text
		}
		return o
	case a.Text != "":
		return object{"action": "accept", "content": object{"answer": a.Text, "answer_0": a.Text}}
	case a.Option == "allowOnce" || a.Option == "allowAlways":
		if plan {
			return object{"action": "accept", "content": object{"answer": "approve"}}
		}
		return object{"action": "accept", "content": object{}}
	}
	return object{"action": "decline"}
}

// snoozeInteraction stops the countdown of a question for good.
func (x *session) snoozeInteraction(cmd *command) outcome {
	if x.turn != nil && x.turn.open != nil && x.turn.open.requestID == cmd.p.Interaction {
		x.turn.snooze()
	}
	return accepted(nil)
}
