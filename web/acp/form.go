package acp

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"zcodehub/internal/wire"
)

// question is one question of AskUserQuestion.
type question struct {
	Question, Header string
	Options          []choice
	MultiSelect      bool
}

type choice struct{ Value, Label, Description string }

func (c choice) label() string { return first(c.Label, c.Value) }
func (c choice) value() string { return first(c.Value, c.Label) }

// skip is the choice that leaves a question open.
const skip = "__skip__"

// formParams are the params of elicitation/create.
type formParams struct {
	Mode            string `json:"mode"` // form
	SessionID       string `json:"sessionId"`
	ToolCallID      string `json:"toolCallId,omitempty"`
	Message         string `json:"message"`
	RequestedSchema any    `json:"requestedSchema"`
}

type formSchema struct {
	Type       string                  `json:"type"` // object
	Properties map[string]formProperty `json:"properties"`
	Required   []string                `json:"required"`
}

type formProperty struct {
	Type        string       `json:"type"`
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	OneOf       []formChoice `json:"oneOf,omitempty"`
	Items       *formItems   `json:"items,omitempty"`
}

type formItems struct {
	AnyOf []formChoice `json:"anyOf"`
}

type formChoice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// questionForm is the questions as one form: a field of choices for each and one for another answer.
func (a *Ask) questionForm() formParams {
	fields := map[string]formProperty{}
	for i, q := range a.questions {
		name := fieldName(i)
		field := formProperty{Type: "string", Title: q.title(), Description: q.description()}
		switch {
		case len(q.choices()) == 0:
			fields[name] = field
			continue
		case q.MultiSelect:
			field.Type, field.Items = "array", &formItems{q.choices()}
		default:
			field.OneOf = append(q.choices(), formChoice{skip, "Skip"})
		}
		fields[name] = field
		fields[otherName(i)] = formProperty{Type: "string", Title: "Other answer"}
	}
	return formParams{"form", a.SessionID, a.ToolCallID, a.message(), formSchema{"object", fields, []string{}}}
}

func fieldName(i int) string { return "q_" + strconv.Itoa(i) }
func otherName(i int) string { return fieldName(i) + "_other" }

func (a *Ask) message() string {
	if len(a.questions) == 1 {
		return a.questions[0].title()
	}
	return first(a.Prompt, "The agent has a question")
}

func (q question) title() string { return first(q.Question, q.Header, "Question") }

// description says what the choices mean; a choice itself has room for its name only.
func (q question) description() string {
	var lines []string
	for _, o := range q.Options {
		if o.Description != "" {
			lines = append(lines, o.label()+": "+o.Description)
		}
	}
	return strings.Join(lines, "\n")
}

// choices are the options of which each has a value of its own.
func (q question) choices() (list []formChoice) {
	for _, o := range q.Options {
		known := slices.ContainsFunc(list, func(c formChoice) bool { return c.Const == o.value() })
		if o.value() != "" && o.value() != skip && !known {
			list = append(list, formChoice{o.value(), o.label()})
		}
	}
	return list
}

// foldForm makes answers of what a client filled in: another answer takes the place of a single choice and joins several.
func (a *Ask) foldForm(content []byte) answers {
	given := make(answers, len(a.questions))
	for i, q := range a.questions {
		value := memberOf(content, fieldName(i))
		other := strings.TrimSpace(textOf(content, otherName(i)))
		if q.MultiSelect {
			for element := range wire.Elements(value) {
				given.add(i, stringOf(element))
			}
			if text, ok := wire.StringValue(value); ok {
				given.add(i, text)
			}
			given.add(i, other)
			continue
		}
		given.add(i, first(other, stringOf(value)))
	}
	return given
}

func stringOf(raw []byte) string {
	text, _ := wire.StringValue(raw)
	return text
}

// answers are the answers to each question, several where several could be chosen.
type answers [][]string

func (g answers) add(i int, text string) {
	text = strings.TrimSpace(text)
	if text != "" && text != skip && !slices.Contains(g[i], text) {
		g[i] = append(g[i], text)
	}
}

// reply is the result for the app-server. No answer at all declines.
func (g answers) reply(questions []question) json.RawMessage {
	byText, byPlace := map[string]string{}, object{}
	twice := false
	for i, q := range questions {
		if len(g[i]) == 0 {
			continue
		}
		text := strings.Join(g[i], ", ")
		if _, known := byText[q.Question]; known {
			twice = true
		}
		byText[q.Question] = text
		byPlace["answer_"+strconv.Itoa(i)] = text
	}
	switch {
	case len(byPlace) == 0:
		return decline("")
	case twice: // two questions of the same words
		return encode(object{"action": "accept", "content": byPlace})
	}
	return encode(object{"action": "accept", "content": object{"answers": byText}})
}

// decline is the result of somebody who does not want to answer.
func decline(reason string) json.RawMessage {
	if reason == "" {
		return encode(object{"action": "decline"})
	}
	return encode(object{"action": "decline", "reason": reason})
}

// planForm asks for a plan's approval with room for what should be other.
func (a *Ask) planForm() formParams {
	return formParams{"form", a.SessionID, a.ToolCallID, "Approve this plan?", formSchema{"object", map[string]formProperty{
		"approval": {Type: "string", Title: "Approve this plan?", Description: cut(a.plan(), maxOutput),
			OneOf: []formChoice{{"approve", "Approve"}, {"reject", "Keep planning"}}},
		"feedback": {Type: "string", Title: "What should be different"},
	}, []string{}}}
}

// plan is the text of the plan to approve.
func (a *Ask) plan() string {
	return first(textOf(a.Input, "plan"), a.Prompt, "The agent did not say what it plans.")
}

// planReply is the result for the app-server.
func planReply(approved bool, feedback string) json.RawMessage {
	if approved {
		return encode(object{"action": "accept", "content": object{"answer_0": "approve"}})
	}
	return decline(strings.TrimSpace(feedback))
}

// serverForm is the form of an MCP server. Choices are put into the form that all clients show.
func (a *Ask) serverForm() formParams {
	schema, ok := decoded(a.schema).(map[string]any)
	if !ok {
		schema = object{"type": "object"}
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		properties = object{}
	}
	for _, value := range properties {
		if field, ok := value.(map[string]any); ok {
			titleChoices(field)
		}
	}
	schema["properties"] = properties
	return formParams{"form", a.SessionID, a.ToolCallID, first(a.Prompt, "A tool asks for input"), schema}
}

// titleChoices turns a plain enum into choices with titles.
func titleChoices(field map[string]any) {
	values, ok := field["enum"].([]any)
	if !ok || field["oneOf"] != nil {
		return
	}
	names, _ := field["enumNames"].([]any)
	var list []formChoice
	for i, v := range values {
		text, ok := v.(string)
		if !ok {
			return
		}
		name := text
		if i < len(names) {
			if said, ok := names[i].(string); ok && said != "" {
				name = said
			}
		}
		list = append(list, formChoice{text, name})
	}
	delete(field, "enum")
	delete(field, "enumNames")
	field["oneOf"] = list
}

// hasChoices says whether a client that renders only choices shows anything of the form.
func (p formParams) hasChoices() bool {
	var schema struct {
		Properties map[string]struct {
			OneOf []json.RawMessage
			Items struct{ AnyOf []json.RawMessage }
		}
	}
	_ = json.Unmarshal(encode(p.RequestedSchema), &schema)
	for name, field := range schema.Properties {
		if !strings.HasSuffix(name, "_other") && len(field.OneOf)+len(field.Items.AnyOf) > 0 {
			return true
		}
	}
	return false
}

// needsText says whether a form cannot be sent without a field that has no choices.
func (p formParams) needsText() bool {
	var schema struct{ Required []string }
	_ = json.Unmarshal(encode(p.RequestedSchema), &schema)
	return len(schema.Required) > 0
}
