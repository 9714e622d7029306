package simulator

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// userInputAnswer is the result of interaction/requestUserInput.
type userInputAnswer struct {
	Action  string `json:"action"`
	Content object `json:"content"`
	Reason  string `json:"reason"`
}

var userInputAnswerSchema = strict(
	req("action", oneOf("accept", "decline", "cancel")),
	opt("content", recordOf(anything)),
	opt("reason", anyString),
)

// userInput reads the answer to a user input request; whatever is not a valid answer declines.
func (a answer) userInput() userInputAnswer {
	failed := userInputAnswer{Action: "decline", Reason: "User input request failed"}
	if a.fault != nil || a.failed != nil {
		return failed
	}
	p, issues := decodeStrict[userInputAnswer](a.result, userInputAnswerSchema)
	if len(issues) > 0 {
		return failed
	}
	return p
}

// question is one question of AskUserQuestion.
type question struct {
	text, header string
	multi        bool
	options      []object // label and description
}

func (q question) input() object {
	return object{"question": q.text, "header": q.header, "multiSelect": q.multi, "options": q.options}
}

// asked is the same with the value that an answer names: the label.
func (q question) asked() object {
	var options []object
	for _, o := range q.options {
		options = append(options, object{"value": o["label"], "label": o["label"], "description": o["description"]})
	}
	return object{"question": q.text, "header": q.header, "multiSelect": q.multi, "options": options}
}

var demoQuestions = []question{
	{"Which colour should the button have?", "Colour", false, []object{
		{"label": "Blue", "description": "calm"}, {"label": "Red", "description": "loud"}}},
	{"Which checks should run?", "Checks", true, []object{
		{"label": "Tests", "description": "unit tests"}, {"label": "Build", "description": "compile"}, {"label": "Lint", "description": "style"}}},
}

func playQuestion(t *turn) {
	ask := askUser(demoQuestions)
	t.step(func(m *step) {
		m.think("Two things are open, I ask. ")
		m.call(ask)
	})
	t.step(func(m *step) { m.say(reportOn(ask, "Thank you. "+ask.result.content)) })
}

// askUser is an AskUserQuestion call.
func askUser(questions []question) *toolCall {
	var input []object
	for _, q := range questions {
		input = append(input, q.input())
	}
	c := &toolCall{name: "AskUserQuestion", title: "Question", input: object{"questions": input}}
	var content string
	c.decide = func() bool {
		var ok bool
		content, ok = c.putQuestions(questions)
		return ok
	}
	c.work = func() toolResult { return toolResult{content: content} }
	return c
}

// putQuestions asks and gives the text that the model gets to read.
func (c *toolCall) putQuestions(questions []question) (string, bool) {
	var asked []object
	for _, q := range questions {
		asked = append(asked, q.asked())
	}
	var auto *autoAnswer
	if c.t.x.prefs.AutoResolution && !c.t.x.s.workspace(c.t.x.Workspace).noAutoResolution {
		auto = &autoAnswer{result: raw(`{"action":"accept","content":{"answers":{}}}`)}
	}
	a := c.requestUserInput(object{"prompt": "The agent has a question", "schema": object{"toolName": c.name}, "questions": asked}, auto)
	if c.t.stopped() {
		return "", false
	}
	answers := answersOf(a, questions)
	if a.Action != "accept" {
		a.Reason = cmp.Or(a.Reason, "The user declined to answer")
		c.reason = a.Reason
		c.userInputResolved(a, nil)
		return "", false
	}
	c.userInputResolved(a, answers)
	if len(answers) == 0 {
		return "The user continued without answering.", true
	}
	var parts []string
	for _, q := range questions {
		if text, ok := answers[q.text]; ok {
			parts = append(parts, strconv.Quote(q.text)+"="+strconv.Quote(text))
		}
	}
	return "The user answered: " + strings.Join(parts, ", ") + ".", true
}

// requestUserInput puts params to the user, with the event that tells of it.
func (c *toolCall) requestUserInput(more object, auto *autoAnswer) userInputAnswer {
	x := c.t.x
	requestID := "perm_" + x.ids.uuid()
	params := object{"requestId": requestID, "sessionId": x.ID, "turnId": c.t.id, "toolCallId": c.id, "toolName": c.name, "input": c.input}
	requested := object{"requestId": requestID, "toolCallId": c.id, "toolName": c.name}
	for key, value := range more {
		params[key], requested[key] = value, value
	}
	c.requestID = requestID
	x.emit("userInput.requested", requested)
	return c.t.interact("interaction/requestUserInput", requestID, params, auto).userInput()
}

func (c *toolCall) userInputResolved(a userInputAnswer, answers map[string]string) {
	o := object{"requestId": c.requestID, "toolCallId": c.id, "toolName": c.name, "action": a.Action}
	if answers != nil {
		o["answers"] = answers
	}
	if a.Reason != "" {
		o["reason"] = a.Reason
	}
	c.t.x.emit("userInput.resolved", o)
}

// answersOf collects the answers by question: content.answers, content.answer_<i>, and for a single question
// content.answer. Lists are joined, blank answers do not count.
func answersOf(a userInputAnswer, questions []question) map[string]string {
	answers := map[string]string{}
	named, _ := a.Content["answers"].(map[string]any)
	for i, q := range questions {
		text := answerText(named[q.text])
		if text == "" {
			text = answerText(a.Content["answer_"+strconv.Itoa(i)])
		}
		if text == "" && len(questions) == 1 {
			text = answerText(a.Content["answer"])
		}
		if text != "" {
			answers[q.text] = text
		}
	}
	return answers
}

func answerText(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case []any:
		var parts []string
		for _, e := range v {
			if text := answerText(e); text != "" {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, ", ")
	case float64, bool:
		text, _ := json.Marshal(v)
		return string(text)
	}
	return ""
}
