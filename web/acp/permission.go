package acp

import (
	"encoding/json"
	"strings"

	"zcodehub/internal/wire"
)

// Methods of the app-server's questions.
const (
	methodPermission = "interaction/requestPermission"
	methodUserInput  = "interaction/requestUserInput"
)

// AskKind is what sort of answer a question wants.
type AskKind int

const (
	AskPermission AskKind = iota
	AskQuestions          // AskUserQuestion
	AskPlan               // ExitPlanMode: a plan to approve
	AskForm               // the form of an MCP server
)

// An Ask is a question of the agent.
type Ask struct {
	Kind                             AskKind
	RequestID, SessionID, TurnID     string
	ToolCallID, ToolName             string
	Input                            json.RawMessage
	Prompt, Reason, Risk, parentCall string
	helper                           string // the kind of helper agent that asks, "" for the main agent

	options   []askOption // of a permission
	questions []question
	schema    json.RawMessage // requestedSchema of a form
}

type askOption struct {
	OptionID, Kind, Name, Description string
	Response                          json.RawMessage
}

// ReadAsk reads a request of the app-server; ok is false for one that asks nobody anything.
func ReadAsk(method string, params []byte) (a *Ask, ok bool) {
	if method != methodPermission && method != methodUserInput {
		return nil, false
	}
	var p struct {
		RequestID, SessionID, TurnID, ToolCallID, ToolName string
		Input                                              json.RawMessage
		Prompt, Reason, RiskLevel                          string
		Origin                                             struct{ Kind, AgentType, ParentToolCallID string }
		Options                                            []askOption
		Questions                                          []question
		Schema                                             struct {
			Interaction     string
			RequestedSchema json.RawMessage
		}
	}
	_ = json.Unmarshal(params, &p)
	if p.RequestID == "" || p.SessionID == "" {
		return nil, false
	}
	a = &Ask{RequestID: p.RequestID, SessionID: p.SessionID, TurnID: p.TurnID, ToolCallID: p.ToolCallID, ToolName: p.ToolName,
		Input: p.Input, Prompt: p.Prompt, Reason: p.Reason, Risk: p.RiskLevel, parentCall: p.Origin.ParentToolCallID, helper: p.Origin.AgentType,
		options: p.Options, questions: p.Questions, schema: p.Schema.RequestedSchema}
	if method == methodPermission {
		return a, true
	}
	if len(a.questions) == 0 {
		_ = json.Unmarshal(memberOf(p.Input, "questions"), &a.questions)
	}
	switch {
	case p.Schema.Interaction == "plan_approval":
		a.Kind = AskPlan
	case len(p.Schema.RequestedSchema) > 0:
		a.Kind = AskForm
	default:
		a.Kind = AskQuestions
	}
	return a, true
}

// callID is the id of the card that the question belongs to.
func (a *Ask) callID() string { return first(a.ToolCallID, a.RequestID) }

// permissionParams are the params of session/request_permission.
type permissionParams struct {
	SessionID string             `json:"sessionId"`
	ToolCall  toolUpdate         `json:"toolCall"`
	Options   []permissionOption `json:"options"`
	Meta      object             `json:"_meta,omitempty"`
}

type permissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

// The kinds of options.
const (
	allowOnce   = "allow_once"
	allowAlways = "allow_always"
	rejectOnce  = "reject_once"
	rejectEver  = "reject_always"
)

// optionKind is an option's kind as ACP has it. What is not surely a permission is a refusal.
func optionKind(kind, optionID string) string {
	switch kind {
	case allowOnce, allowAlways, rejectOnce, rejectEver:
		return kind
	case "allow", "allow_project", "allow_session":
		return allowAlways
	}
	if kind == "" && strings.HasPrefix(optionID, "allow") {
		return allowOnce
	}
	return rejectOnce
}

// permission asks whether the call may run.
func (a *Ask) permission() permissionParams {
	p := permissionParams{SessionID: a.SessionID, ToolCall: a.toolCall()}
	for _, o := range a.options {
		if o.OptionID != "" {
			p.Options = append(p.Options, permissionOption{o.OptionID, first(o.Name, o.OptionID), optionKind(o.Kind, o.OptionID)})
		}
	}
	if len(p.Options) == 0 { // nothing was offered, and one may always deny
		p.Options = []permissionOption{{"deny", "Deny", rejectOnce}}
	}
	meta := object{"requestId": a.RequestID}
	for key, value := range map[string]string{"riskLevel": a.Risk, "reason": a.Reason, "agentType": a.helper} {
		if value != "" {
			meta[key] = value
		}
	}
	p.Meta = object{"zcode": meta}
	return p
}

// toolCall is the call that the question is about, as dialogs show it.
func (a *Ask) toolCall() toolUpdate {
	u := toolUpdate{ToolCallID: a.callID(), Title: toolTitle(a.ToolName, a.Input), Kind: toolKind(a.ToolName), Status: statusPending,
		RawInput: shortInput(a.Input), Locations: placesOf(a.ToolName, a.Input), Meta: object{"claudeCode": object{"toolName": first(a.ToolName, "unknown")}}}
	for _, d := range diffsOf(a.ToolName, a.Input, nil) {
		u.Content = append(u.Content, d.diff)
	}
	return u
}

// permissionAnswer is what the app-server accepts for the option that a client chose: the response that the option
// came with. An option that was not offered denies.
func (a *Ask) permissionAnswer(optionID string) json.RawMessage {
	for _, o := range a.options {
		if optionID != "" && o.OptionID == optionID && len(o.Response) > 0 && o.Response[0] == '{' {
			return o.Response
		}
	}
	return encode(object{"decision": "deny", "reason": "Denied"})
}

// chosen reads the result of session/request_permission. ok is false for a result that is none.
func chosen(result []byte) (optionID string, cancelled, ok bool) {
	outcome := memberOf(result, "outcome")
	switch textOf(outcome, "outcome") {
	case "cancelled":
		return "", true, true
	case "selected":
		id, isText := wire.StringValue(memberOf(outcome, "optionId"))
		return id, false, isText
	}
	return "", false, false
}
