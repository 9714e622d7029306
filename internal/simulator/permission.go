package simulator

import (
	"encoding/json"
	"slices"
)

// rule lets matching tool calls through without asking.
type rule struct {
	ToolName    string `json:"toolName"`
	RuleContent string `json:"ruleContent,omitempty"`
}

func (r rule) matches(c *toolCall) bool {
	return r.ToolName == c.name && (r.RuleContent == "" || r.RuleContent == c.rule)
}

// permitted decides whether the call may run, asking a human where rules and mode leave it open.
func (c *toolCall) permitted() bool {
	x := c.t.x
	switch {
	case slices.Contains(x.Denied, c.name) || slices.Contains(c.t.input.denied, c.name):
		return c.decided("deny", "Tool "+c.name+" is not allowed in this session")
	case x.Mode == modeAuto:
		return c.decided("deny", "Auto mode is reserved but not implemented yet")
	case c.decide != nil:
		return c.decide()
	case c.risk == "":
		return true
	case x.Mode == modePlan && c.edits:
		return c.decided("deny", "Plan mode is active: files are not changed before the plan is approved")
	case x.Mode == modeYolo:
		return c.decided("allow", "Allowed by mode yolo")
	case x.Mode == modeEdit && c.edits:
		return c.decided("allow", "Allowed by mode edit")
	case x.s.workspace(x.Workspace).allows(c):
		return c.decided("allow", "Allowed by a rule of this project")
	}
	return c.askPermission()
}

// decided is a decision without a human: it has no request id.
func (c *toolCall) decided(decision, reason string) bool {
	c.reason = reason
	c.t.x.emit("permission.resolved", object{"toolCallId": c.id, "toolName": c.name, "decision": decision, "reason": reason,
		"inputSummary": clip(string(encode(c.input)), 120)})
	return decision == "allow"
}

// permissionAnswer is the result of interaction/requestPermission.
type permissionAnswer struct {
	Decision          string `json:"decision"`
	Reason            string `json:"reason"`
	ModifiedInput     raw    `json:"modifiedInput"`
	PermissionUpdates []struct {
		Type     string `json:"type"`
		Behavior string `json:"behavior"`
		Rules    []rule `json:"rules"`
		Mode     string `json:"mode"`
	} `json:"permissionUpdates"`
}

var permissionAnswerSchema = strict(
	req("decision", oneOf("allow", "deny", "escalate", "modify")),
	opt("reason", anyString),
	opt("modifiedInput", recordOf(anything)),
	opt("permissionUpdates", listOf(loose(
		req("type", nonEmpty),
		opt("behavior", oneOf("allow", "deny", "ask")),
		opt("rules", listOf(strict(req("toolName", nonEmpty), opt("ruleContent", anyString)), 0, 0)),
	), 0, 0)),
)

// requestFailed is the reason of a denial that nobody decided: the answer was an error or not one of the accepted shapes.
const requestFailed = "Permission request failed"

func (c *toolCall) askPermission() bool {
	x := c.t.x
	requestID := "perm_" + x.ids.uuid()
	updates := []object{{"type": "addRules", "behavior": "allow", "rules": []rule{{c.name, c.rule}}}}
	shared := object{"requestId": requestID, "toolCallId": c.id, "toolName": c.name, "riskLevel": c.risk,
		"reason": permissionReason(c.risk), "input": c.input, "options": permissionOptions(updates)}
	if c.origin != nil {
		shared["origin"] = c.origin
	}
	params := object{"sessionId": x.ID, "turnId": c.t.id}
	requested := object{"suggestedPermissionUpdates": updates}
	for key, value := range shared {
		params[key], requested[key] = value, value
	}
	x.emit("permission.requested", requested)
	a := c.t.interact("interaction/requestPermission", requestID, params, nil)
	if c.t.stopped() {
		return false
	}
	decision := a.permission()
	resolved := object{"requestId": requestID, "toolCallId": c.id, "decision": decision.Decision, "reason": decision.Reason}
	if decision.Decision == "modify" && decision.ModifiedInput != nil {
		mustDecodeObject(decision.ModifiedInput, &c.input)
		resolved["modifiedInput"] = c.input
	}
	x.applyUpdates(decision)
	c.reason = decision.Reason
	x.emit("permission.resolved", resolved)
	return decision.Decision == "allow" || decision.Decision == "modify"
}

func permissionReason(risk string) string {
	if risk == "high" {
		return "High risk tools require explicit approval"
	}
	return "This tool changes files and requires approval"
}

func permissionOptions(updates []object) []object {
	return []object{
		{"optionId": "allow_once", "kind": "allow_once", "name": "Allow once",
			"response": object{"decision": "allow", "reason": "Approved once"}},
		{"optionId": "allow_project", "kind": "allow_always", "name": "Always allow in this project",
			"description": "Do not ask again for matching requests in this project",
			"response":    object{"decision": "allow", "permissionUpdates": updates, "reason": "Approved for this project"}},
		{"optionId": "deny", "kind": "deny", "name": "Deny",
			"response": object{"decision": "deny", "reason": "Denied"}},
	}
}

// permission reads the answer to a permission request; whatever is not a valid answer denies.
func (a answer) permission() permissionAnswer {
	denied := permissionAnswer{Decision: "deny", Reason: requestFailed}
	if a.fault != nil || a.failed != nil {
		return denied
	}
	p, issues := decodeStrict[permissionAnswer](a.result, permissionAnswerSchema)
	if len(issues) > 0 {
		return denied
	}
	if p.Reason == "" {
		p.Reason = map[string]string{"allow": "Approved", "modify": "Approved with changes", "deny": "Denied", "escalate": "Escalated"}[p.Decision]
	}
	return p
}

// applyUpdates puts lasting permissions into force.
func (x *session) applyUpdates(p permissionAnswer) {
	for _, u := range p.PermissionUpdates {
		if u.Type == "addRules" && u.Behavior == "allow" {
			w := x.s.workspace(x.Workspace)
			w.rules = append(w.rules, u.Rules...)
		}
	}
}

func mustDecodeObject(text raw, out *object) {
	decoded := object{}
	if json.Unmarshal(text, &decoded) == nil {
		*out = decoded
	}
}

// clip cuts text to at most n bytes, at a character boundary.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xc0 == 0x80 {
		n--
	}
	return text[:n]
}
