package acp

import (
	"encoding/json"
	"errors"
	"strconv"
)

// ClientKind is what a client can show of a question.
type ClientKind struct {
	// Form: it shows forms with any fields; it said so with the capability elicitation.form.
	Form bool
	// ChoiceForm: it shows forms, but of their fields only those with choices, and declines at once what has none. The
	// remote clients that do not say who they are do so, without any capability.
	ChoiceForm bool
}

// A Dialog puts one question to one client, as one request or as several in turn, and makes of what it says an answer
// that the app-server accepts. It is not safe for concurrent use.
type Dialog struct {
	ask    *Ask
	steps  []step
	at     int
	given  answers
	opened string // the card that the current step brought along
}

// A Request is what a client is asked.
type Request struct {
	Method string // session/request_permission or elicitation/create
	Params []byte
	Before []Update // to be sent first: cards that the client has to know
}

// An Outcome is what became of a client's answer.
type Outcome struct {
	After []Update        // to be sent, whatever else
	Next  *Request        // there is more to ask
	Reply json.RawMessage // the answer for the app-server, nil while there is none
}

// ErrNoAnswer means that the client did not answer the question: it failed, or it sent what is no answer. That is not
// the decision of anybody; the client is out, and the question stays open for others.
var ErrNoAnswer = errors.New("this is no answer to the question")

// step is one request of a dialog.
type step struct {
	method string
	params any
	before []Update
	card   string                                                 // one of before that has to be closed afterwards
	read   func(result []byte) (reply json.RawMessage, err error) // nil reply: go on
}

// NewDialog decides how a client is asked.
func NewDialog(a *Ask, client ClientKind) *Dialog {
	d := &Dialog{ask: a, given: make(answers, len(a.questions))}
	switch a.Kind {
	case AskPermission:
		d.askPermission()
	case AskPlan:
		d.askPlan(client)
	case AskForm:
		d.askServerForm(client)
	default:
		d.askQuestions(client)
	}
	return d
}

// Request is what to ask first, or again: the client may have lost it.
func (d *Dialog) Request() Request {
	s := d.steps[d.at]
	d.opened = s.card
	return Request{s.method, encode(s.params), s.before}
}

// Kind is the kind of dialog the current request opens in the client: permission or elicitation.
func (d *Dialog) Kind() string {
	if d.steps[d.at].method == methodElicit {
		return "elicitation"
	}
	return "permission"
}

const (
	methodAskPermission = "session/request_permission"
	methodElicit        = "elicitation/create"
)

// Answer takes the result of the current request.
func (d *Dialog) Answer(result []byte) (Outcome, error) {
	reply, err := d.steps[d.at].read(result)
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{After: d.Close(), Reply: reply}
	if reply != nil {
		return o, nil
	}
	if d.at++; d.at < len(d.steps) {
		next := d.Request()
		o.Next = &next
		return o, nil
	}
	d.at = len(d.steps) - 1
	o.Reply = d.given.reply(d.ask.questions)
	return o, nil
}

// Close ends what the dialog opened in the client besides the dialog itself: the question is settled.
func (d *Dialog) Close() []Update {
	if d.opened == "" {
		return nil
	}
	id := d.opened
	d.opened = ""
	return []Update{newUpdate(updateToolMore, toolUpdate{SessionUpdate: updateToolMore, ToolCallID: id, Status: statusCompleted})}
}

func (d *Dialog) askPermission() {
	d.steps = []step{{method: methodAskPermission, params: d.ask.permission(), read: func(result []byte) (json.RawMessage, error) {
		id, _, ok := chosen(result)
		if !ok {
			return nil, ErrNoAnswer
		}
		return d.ask.permissionAnswer(id), nil // without an option that was chosen it denies
	}}}
}

// askPlan asks for a permission; only who shows any form gets one with room for feedback.
func (d *Dialog) askPlan(client ClientKind) {
	if client.Form {
		d.steps = []step{{method: methodElicit, params: d.ask.planForm(), read: readPlanForm}}
		return
	}
	u := d.ask.toolCall()
	u.Kind, u.Title, u.Content = "switch_mode", "Approve this plan?", []any{wrap(textBlock(cut(d.ask.plan(), maxOutput)))}
	u.RawInput = shortInput(encode(object{"plan": d.ask.plan()}))
	u.Meta = object{"claudeCode": object{"toolName": toolPlan}}
	params := permissionParams{SessionID: d.ask.SessionID, ToolCall: u, Options: []permissionOption{
		{"approve", "Approve", allowOnce}, {"reject", "Keep planning", rejectOnce}}}
	d.steps = []step{{method: methodAskPermission, params: params, read: func(result []byte) (json.RawMessage, error) {
		id, _, ok := chosen(result)
		if !ok {
			return nil, ErrNoAnswer
		}
		return planReply(id == "approve", ""), nil
	}}}
}

func readPlanForm(result []byte) (json.RawMessage, error) {
	content, accepted, err := readForm(result)
	if err != nil {
		return nil, err
	}
	feedback := textOf(content, "feedback")
	switch textOf(content, "approval") {
	case "approve":
		return planReply(accepted, feedback), nil
	case "":
		if accepted && feedback == "" {
			return nil, ErrNoAnswer // a plan is not approved by saying nothing
		}
	}
	return planReply(false, feedback), nil
}

// readForm reads the result of elicitation/create.
func readForm(result []byte) (content []byte, accepted bool, err error) {
	switch textOf(result, "action") {
	case "accept":
		return memberOf(result, "content"), true, nil
	case "decline", "cancel":
		return nil, false, nil
	}
	return nil, false, ErrNoAnswer
}

// askServerForm passes an MCP server's form on to who can show it.
func (d *Dialog) askServerForm(client ClientKind) {
	form := d.ask.serverForm()
	if !client.Form && !(client.ChoiceForm && form.hasChoices()) {
		empty := encode(object{"action": "accept", "content": object{}})
		if form.needsText() {
			empty = encode(object{"action": "cancel"})
		}
		d.steps = []step{d.goOn(form.Message, empty)}
		return
	}
	d.steps = []step{{method: methodElicit, params: form, read: func(result []byte) (json.RawMessage, error) {
		content, accepted, err := readForm(result)
		switch {
		case err != nil:
			return nil, err
		case !accepted:
			return decline(""), nil
		}
		if len(content) == 0 || content[0] != '{' {
			content = []byte("{}")
		}
		return encode(object{"action": "accept", "content": json.RawMessage(content)}), nil
	}}}
}

func (d *Dialog) askQuestions(client ClientKind) {
	form := d.ask.questionForm()
	choices := form.hasChoices()
	switch {
	case choices && client.ChoiceForm, client.Form && len(d.ask.questions) > 0:
		d.steps = []step{{method: methodElicit, params: form, read: func(result []byte) (json.RawMessage, error) {
			content, _, err := readForm(result)
			if err != nil {
				return nil, err
			}
			return d.ask.foldForm(content).reply(d.ask.questions), nil
		}}}
	case !choices:
		d.steps = []step{d.goOn(d.ask.message(), encode(object{"action": "accept", "content": object{"answers": object{}}}))}
	default:
		for i, q := range d.ask.questions {
			d.steps = append(d.steps, d.questionSteps(i, q)...)
		}
	}
}

// goOn is for a question that the client cannot show: it may go on without an answer, or decline.
func (d *Dialog) goOn(message string, empty json.RawMessage) step {
	u := d.ask.toolCall()
	u.Title = clip(message, 4*maxSummary)
	params := permissionParams{SessionID: d.ask.SessionID, ToolCall: u, Options: []permissionOption{
		{"continue", "Continue without an answer", allowOnce}, {"decline", "Decline", rejectOnce}}}
	return step{method: methodAskPermission, params: params, read: func(result []byte) (json.RawMessage, error) {
		id, _, ok := chosen(result)
		switch {
		case !ok:
			return nil, ErrNoAnswer
		case id == "continue":
			return empty, nil
		}
		return decline(""), nil
	}}
}

// questionSteps asks one question by permissions: which option it is, or for each option whether it is one.
func (d *Dialog) questionSteps(i int, q question) (steps []step) {
	if len(q.choices()) == 0 {
		return nil // there is no way to write an answer
	}
	id := d.ask.callID() + "_" + strconv.Itoa(i)
	if !q.MultiSelect {
		var options []permissionOption
		for _, c := range q.choices() {
			options = append(options, permissionOption{c.Const, c.Title, allowOnce})
		}
		options = append(options, permissionOption{skip, "Skip", rejectOnce})
		return []step{d.choiceStep(id, q.title(), q.description(), options, func(optionID string) { d.given.add(i, optionID) })}
	}
	for j, c := range q.choices() {
		options := []permissionOption{{c.Const + ":yes", "Yes", allowOnce}, {c.Const + ":no", "No", rejectOnce}}
		steps = append(steps, d.choiceStep(id+"_"+strconv.Itoa(j), q.title()+" "+c.Title+"?", q.description(), options, func(optionID string) {
			if optionID == c.Const+":yes" {
				d.given.add(i, c.Const)
			}
		}))
	}
	return steps
}

// choiceStep asks one thing in a card of its own. Who cancels it declines all.
func (d *Dialog) choiceStep(id, title, description string, options []permissionOption, take func(optionID string)) step {
	u := toolUpdate{ToolCallID: id, Title: title, Kind: "other", Status: statusPending,
		Meta: object{"claudeCode": object{"toolName": toolQuestion}}}
	if description != "" {
		u.Content = []any{wrap(textBlock(description))}
	}
	card := u
	card.SessionUpdate = updateTool
	return step{method: methodAskPermission, params: permissionParams{SessionID: d.ask.SessionID, ToolCall: u, Options: options},
		before: []Update{newUpdate(updateTool, card)}, card: id,
		read: func(result []byte) (json.RawMessage, error) {
			optionID, cancelled, ok := chosen(result)
			switch {
			case !ok:
				return nil, ErrNoAnswer
			case cancelled:
				return decline(""), nil
			}
			for _, o := range options {
				if o.OptionID == optionID {
					take(optionID)
				}
			}
			return nil, nil
		}}
}
