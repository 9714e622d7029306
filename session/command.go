package session

import (
	"unicode/utf8"

	"zcodehub/auth"
	"zcodehub/internal/wire"
)

// maxFeedback is the most characters of free text that the app-server takes
// with the answer to a permission.
const maxFeedback = 4096

// commandOptions are the optionIds by which a V4 resolveInteraction command
// answers a permission (protocol document 3.7): those that snapshots advertise
// and the two old ones that the app-server takes as well.
var commandOptions = map[string]ruling{
	"allowOnce":      {outcome: OutcomeAllow, need: auth.Answer},
	"allow_once":     {outcome: OutcomeAllow, need: auth.Answer},
	"allowAlways":    {outcome: OutcomeAllowAlways, need: auth.Control},
	"allowSession":   {outcome: OutcomeAllowAlways, need: auth.Control},
	"allow_project":  {outcome: OutcomeAllowAlways, need: auth.Control},
	"workflowRefine": {outcome: OutcomeModify, need: auth.Control},
	"fullAccess":     {outcome: OutcomeFullAccess, need: auth.Control},
	"deny":           {outcome: OutcomeDeny, need: auth.Answer},
}

// judgeCommand rules on the answer of a V4 resolveInteraction command.
func (in *Interaction) judgeCommand(answer []byte) ruling {
	m, fault := strictMembers(answer, "optionId", "freeText", "action", "content")
	if fault != "" {
		return faulty("an answer is {optionId?, freeText?, action?, content?}: %s", fault)
	}
	for _, key := range []string{"optionId", "freeText"} {
		if m[key] != nil && !isKind(m[key], '"') {
			return faulty("%s must be a string", key)
		}
	}
	optionID, _ := wire.StringValue(m["optionId"])
	freeText, _ := wire.StringValue(m["freeText"])
	switch {
	case in.Kind == Permission:
		return in.judgeOptionID(optionID, freeText)
	case m["action"] != nil:
		return in.judgeAction(m["action"], m["content"])
	}
	return in.judgeShortAnswer(optionID, freeText)
}

// judgeOptionID refuses ids it does not know: the app-server would deny the
// tool call and not say why.
func (in *Interaction) judgeOptionID(optionID, freeText string) ruling {
	if utf8.RuneCountInString(freeText) > maxFeedback {
		return faulty("freeText may have %d characters", maxFeedback)
	}
	for _, o := range in.options {
		if o.id == optionID {
			return ruling{outcome: o.outcome, need: o.need}
		}
	}
	if r, known := commandOptions[optionID]; known {
		return r
	}
	return faulty("no option %.40q was offered", optionID)
}

// judgeShortAnswer rules on a question answered without an action.
func (in *Interaction) judgeShortAnswer(optionID, freeText string) ruling {
	r := ruling{outcome: OutcomeDecline, need: auth.Answer}
	switch {
	case freeText != "" && in.Kind == Plan: // feedback
	case freeText != "":
		r.outcome = OutcomeAccept
	case optionID == "allowOnce", optionID == "allowAlways" && in.Kind == UserInput:
		r.outcome = OutcomeAccept
	case optionID == "":
		return faulty("the answer is empty: give an action, an optionId or freeText")
	}
	return r
}
