package session

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"zcodehub/auth"
	"zcodehub/internal/wire"
)

// The methods by which the agent asks a human.
const (
	MethodPermission = "interaction/requestPermission"
	MethodUserInput  = "interaction/requestUserInput"
)

// Kind tells what an interaction asks for.
type Kind string

const (
	Permission Kind = "permission" // may this tool call run?
	UserInput  Kind = "userInput"  // questions, or the form of an MCP server
	Plan       Kind = "plan"       // is this plan approved?
)

// Interaction is a question from the agent to a human. It is immutable.
type Interaction struct {
	ID         string // for clients: the same for every connection and every showing
	RequestID  string // the agent's own
	SessionID  string
	TurnID     string // empty if the agent named none
	ToolCallID string
	ToolName   string
	Method     string
	Kind       Kind
	Summary    string // what is asked, in one line for people
	Params     []byte // as they came; nil once settled
	OpenedAt   time.Time

	parentTurnID string        // of a subagent's question
	options      []option      // of a permission
	questions    []string      // texts of the questions, in order
	narrow       func() []byte // Params for those without control; made once
}

// An option is one of the answers that a permission request offers.
type option struct {
	id      string
	effect  any // decoded response less its reason
	outcome string
	need    auth.Right
}

var errNoRequestID = errors.New("an interaction needs a requestId")

// newInteraction reads a request of the agent. params is valid JSON and is kept.
func newInteraction(sessionID, method string, params []byte, number int, now time.Time) *Interaction {
	in := &Interaction{
		// The number is for people who read logs; the random part keeps ids of
		// other sessions and of other runs apart.
		ID:        fmt.Sprintf("ask-%d-%s", number, rand.Text()),
		SessionID: sessionID,
		Method:    method,
		Kind:      Permission,
		Params:    params,
		OpenedAt:  now,
	}
	if method == MethodUserInput {
		in.Kind = UserInput
	}
	in.read(params)
	in.Summary = in.summaryOf(params)
	in.narrow = sync.OnceValue(func() []byte { return withoutLasting(params) })
	return in
}

// read takes what is of use from the params, in one pass: they may be long.
func (in *Interaction) read(params []byte) {
	for m := range wire.Members(params) {
		switch string(m.Key) {
		case "requestId":
			in.RequestID, _ = wire.StringValue(m.Value)
		case "turnId":
			in.TurnID, _ = wire.StringValue(m.Value)
		case "toolCallId":
			in.ToolCallID, _ = wire.StringValue(m.Value)
		case "toolName":
			in.ToolName, _ = wire.StringValue(m.Value)
		case "origin":
			in.parentTurnID = textOf(m.Value, "parentTurnId")
		case "options":
			in.options = optionsOf(m.Value)
		case "questions":
			in.questions = questionsOf(m.Value)
		case "schema":
			if in.Kind == UserInput && textOf(m.Value, "interaction") == "plan_approval" {
				in.Kind = Plan
			}
		}
	}
}

func questionsOf(list []byte) (texts []string) {
	for q := range wire.Elements(list) {
		if text := textOf(q, "question"); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

func optionsOf(list []byte) (options []option) {
	for raw := range wire.Elements(list) {
		if o, ok := parseOption(raw); ok {
			options = append(options, o)
		}
	}
	return options
}

func parseOption(raw []byte) (o option, ok bool) {
	response, ok := wire.Get(raw, "response")
	if !ok {
		return o, false
	}
	o.id = textOf(raw, "optionId")
	if o.effect, ok = effectOf(response); !ok {
		return o, false
	}
	decision := textOf(response, "decision")
	_, updates := wire.Get(response, "permissionUpdates")
	_, rewrites := wire.Get(response, "modifiedInput")
	o.outcome, o.need = decision, auth.Control
	switch {
	case updates || rewrites:
	case decision == decisionDeny:
		o.need = auth.Answer
	case decision == decisionAllow && textOf(raw, "kind") == "allow_once":
		o.need = auth.Answer
	}
	if decision == decisionAllow && o.need == auth.Control {
		o.outcome = OutcomeAllowAlways
	}
	return o, true
}

// Offered returns the params as a holder of these rights is shown them. Without
// control the options that last or rewrite are not there; nothing else is taken
// away, suggestedPermissionUpdates included: they inform, they do not act.
func (in *Interaction) Offered(rights auth.Right) []byte {
	if rights.Has(auth.Control) || in.Kind != Permission || in.Params == nil {
		return in.Params
	}
	return in.narrow()
}

// withoutLasting leaves out the options that need control.
func withoutLasting(params []byte) []byte {
	out := make([]byte, 0, len(params))
	at := 0
	for m := range wire.Members(params) {
		if string(m.Key) != "options" {
			continue
		}
		out = append(out, params[at:m.End-len(m.Value)]...)
		out = append(out, '[')
		kept := 0
		for raw := range wire.Elements(m.Value) {
			if o, ok := parseOption(raw); !ok || o.need == auth.Control {
				continue
			}
			if kept++; kept > 1 {
				out = append(out, ',')
			}
			out = append(out, raw...)
		}
		out = append(out, ']')
		at = m.End
	}
	return append(out, params[at:]...)
}

// withoutParams is the interaction as it is remembered once it is settled.
func (in *Interaction) withoutParams() *Interaction {
	slim := *in
	slim.Params, slim.options, slim.questions, slim.narrow = nil, nil, nil, nil
	return &slim
}

// Author is who settled an interaction.
type Author struct {
	Name   string `json:"name"`
	Device string `json:"device,omitempty"`
}

// Agent is the author of what nobody at the hub decided.
var Agent = Author{Name: "agent"}

// The outcomes of a settlement: first the decisions, then the other ends.
const (
	OutcomeAllow         = "allow"
	OutcomeAllowAlways   = "allowAlways" // allow, and change the rules
	OutcomeDeny          = "deny"
	OutcomeModify        = "modify"
	OutcomeEscalate      = "escalate"
	OutcomeFullAccess    = "fullAccess" // by V4 command only: allow, and everything from now on
	OutcomeAccept        = "accept"
	OutcomeDecline       = "decline" // also a plan that is sent back with feedback
	OutcomeCancel        = "cancel"
	OutcomeUnconfirmed   = "unconfirmed"     // decided and written, but the agent never said so
	OutcomeByAgent       = "resolvedByAgent" // the agent went on without, or against, our decision
	OutcomeCancelled     = "cancelled"       // the turn ended or was stopped
	OutcomeExited        = "appServerExited"
	OutcomeSessionClosed = "sessionClosed"
)

// Settlement is how an interaction ended. It has exactly one.
type Settlement struct {
	RequestID string    `json:"requestId"`
	SessionID string    `json:"sessionId"`
	Outcome   string    `json:"outcome"`
	By        Author    `json:"by"`
	At        time.Time `json:"at"`

	Interaction *Interaction `json:"-"` // without Params
}
