package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"zcodehub/session"
)

// question is something that the agent asks a human, as hub/pendingInteractions lists it.
type question struct {
	ID        string         `json:"id"`
	RequestID string         `json:"requestId"`
	SessionID string         `json:"sessionId"`
	ToolName  string         `json:"toolName"`
	Kind      session.Kind   `json:"kind"`
	OpenedAt  time.Time      `json:"openedAt"`
	Params    questionParams `json:"params"`
}

type questionParams struct {
	RequestID string          `json:"requestId"`
	SessionID string          `json:"sessionId"`
	ToolName  string          `json:"toolName"`
	Reason    string          `json:"reason"`
	RiskLevel string          `json:"riskLevel"`
	Prompt    string          `json:"prompt"`
	Input     json.RawMessage `json:"input"`
	Options   []struct {
		OptionID string          `json:"optionId"`
		Name     string          `json:"name"`
		Kind     string          `json:"kind"`
		Response json.RawMessage `json:"response"`
	} `json:"options"`
	Questions []struct {
		Question    string `json:"question"`
		MultiSelect bool   `json:"multiSelect"`
		Options     []struct {
			Value string `json:"value"`
			Label string `json:"label"`
		} `json:"options"`
	} `json:"questions"`
	Schema struct {
		Interaction     string          `json:"interaction"`
		RequestedSchema json.RawMessage `json:"requestedSchema"`
	} `json:"schema"`
}

// askedOf makes a question of the request by which the hub shows it; ok is false for any other request.
func askedOf(m message) (q question, ok bool) {
	if m.Method != session.MethodPermission && m.Method != session.MethodUserInput {
		return q, false
	}
	var id string
	if json.Unmarshal(m.ID, &id) != nil || json.Unmarshal(m.Params, &q.Params) != nil {
		return q, false
	}
	q.ID, q.RequestID, q.SessionID, q.ToolName, q.Kind = id, q.Params.RequestID, q.Params.SessionID, q.Params.ToolName, session.UserInput
	switch {
	case m.Method == session.MethodPermission:
		q.Kind = session.Permission
	case q.Params.Schema.Interaction == "plan_approval":
		q.Kind = session.Plan
	}
	return q, true
}

// shortID is how people name a question: "ask-3" of "ask-3-RANDOM".
func (q *question) shortID() string {
	if parts := strings.SplitN(q.ID, "-", 3); len(parts) == 3 {
		return parts[0] + "-" + parts[1]
	}
	return q.ID
}

// matches tells whether a person means this question by what they typed.
func (q *question) matches(typed string) bool {
	return typed != "" && (typed == q.shortID() || typed == q.ID || typed == q.RequestID)
}

// findQuestion is the one open question that typed names.
func findQuestion(open []question, typed string) (*question, error) {
	for i := range open {
		if open[i].matches(typed) {
			return &open[i], nil
		}
	}
	if len(open) == 0 {
		return nil, fmt.Errorf("there is no open question %q: nothing waits for an answer", typed)
	}
	ids := make([]string, len(open))
	for i := range open {
		ids[i] = open[i].shortID()
	}
	return nil, fmt.Errorf("there is no open question %q; open are: %s", typed, strings.Join(ids, ", "))
}

// summary is what the question is about, in one line.
func (q *question) summary() string {
	p := &q.Params
	if q.Kind != session.Permission {
		if len(p.Questions) > 0 {
			return p.Questions[0].Question
		}
		return p.Prompt
	}
	return inputSummary(p.Input)
}

// inputSummary picks what tells most about a tool's input.
func inputSummary(input json.RawMessage) string {
	if text := session.InputSummary(input); text != "" {
		return text
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(input, &members) != nil {
		return ""
	}
	var todos []struct{ Status string }
	if json.Unmarshal(members["todos"], &todos) == nil && len(todos) > 0 {
		done := 0
		for _, t := range todos {
			if t.Status == "completed" {
				done++
			}
		}
		return fmt.Sprintf("%d of %d done", done, len(todos))
	}
	if len(members) == 0 {
		return ""
	}
	return clip(plainLine(string(input)))
}

// approval is the result that says yes to a question: the offered option, or the first that allows once; answers are for
// questions with words, one for each in order.
func (q *question) approval(option string, answers []string) (any, error) {
	switch {
	case q.Kind == session.Permission && len(answers) > 0:
		return nil, fmt.Errorf("%s asks for permission: it takes no --answer", q.shortID())
	case q.Kind == session.Permission:
		return q.allowing(option)
	case option != "":
		return nil, fmt.Errorf("%s is not about permission: it has no --option", q.shortID())
	case q.Kind == session.Plan && len(answers) == 0:
		answers = []string{"approve"}
	}
	return q.answering(answers)
}

func (q *question) allowing(option string) (any, error) {
	var offered []string
	for _, o := range q.Params.Options {
		offered = append(offered, o.OptionID)
		if o.OptionID == option || option == "" && o.Kind == "allow_once" {
			return o.Response, nil
		}
	}
	if option == "" && len(offered) == 0 {
		return map[string]string{"decision": "allow"}, nil
	}
	return nil, fmt.Errorf("%s does not offer %q; it offers: %s", q.shortID(), option, plainLine(strings.Join(offered, ", ")))
}

func (q *question) answering(answers []string) (any, error) {
	asked := q.Params.Questions
	if len(asked) == 0 && q.Kind != session.Plan {
		return nil, fmt.Errorf("%s wants a form filled in: answer it on the page", q.shortID())
	}
	if len(answers) != max(len(asked), 1) {
		return nil, fmt.Errorf("%s has %s: give --answer for each, in order", q.shortID(), count(len(asked), "question", "questions"))
	}
	given := map[string]any{}
	for i := range asked {
		given[asked[i].Question] = answers[i]
	}
	content := map[string]any{"answers": given}
	if len(asked) == 0 {
		content = map[string]any{"answer": answers[0]}
	}
	return map[string]any{"action": "accept", "content": content}, nil
}

// denial is the result that says no; why reaches the agent.
func (q *question) denial(why string) (any, error) {
	switch {
	case q.Kind == session.Permission:
		return withReason(map[string]any{"decision": "deny"}, why), nil
	case q.Kind == session.Plan && strings.TrimSpace(why) != "":
		return q.answering([]string{why}) // text that does not approve is feedback to the plan
	}
	return withReason(map[string]any{"action": "decline"}, why), nil
}

func withReason(result map[string]any, why string) map[string]any {
	if why != "" {
		result["reason"] = why
	}
	return result
}

func printQuestions(w io.Writer, open []question, now time.Time) error {
	if len(open) == 0 {
		_, err := fmt.Fprintln(w, "nothing waits for an answer")
		return err
	}
	slices.SortStableFunc(open, func(a, b question) int { return a.OpenedAt.Compare(b.OpenedAt) })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "ID\tSESSION\tWAITS\tKIND\tTOOL\tWHAT")
	for _, q := range open {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", q.shortID(), plainLine(q.SessionID), age(now, q.OpenedAt), q.Kind, plainLine(q.ToolName), clip(plainLine(q.summary())))
	}
	return t.Flush()
}
