package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"zcodehub/auth"
	"zcodehub/internal/wire"
)

// The decisions of a permission result.
const (
	decisionAllow    = "allow"
	decisionDeny     = "deny"
	decisionModify   = "modify"
	decisionEscalate = "escalate"
)

const approve = "approve" // the answer that approves a plan

// A ruling is what an answer means. A fault is a sentence for the client: the
// app-server would not accept the answer, or would take it for something else.
type ruling struct {
	outcome string
	need    auth.Right
	fault   string
}

func faulty(format string, args ...any) ruling { return ruling{fault: fmt.Sprintf(format, args...)} }

// judge rules on a result as the app-server's own requests are answered
// (protocol document 3.1 and 3.2). The app-server reads a wrong permission
// result as a denial and tells nobody, so nothing wrong may pass here.
func (in *Interaction) judge(result []byte) ruling {
	if in.Kind == Permission {
		return in.judgePermission(result)
	}
	return in.judgeUserInput(result)
}

const permissionShape = "a permission is answered with {decision, reason?, modifiedInput?, permissionUpdates?}"

func (in *Interaction) judgePermission(result []byte) ruling {
	if _, named := wire.Get(result, "optionId"); named || isKind(result, '"') {
		return faulty("an optionId is not an answer: send the `response` object of that option as the result")
	}
	m, fault := strictMembers(result, "decision", "reason", "modifiedInput", "permissionUpdates")
	if fault != "" {
		return faulty("%s: %s", permissionShape, fault)
	}
	decision, _ := wire.StringValue(m["decision"])
	switch {
	case !slices.Contains([]string{decisionAllow, decisionDeny, decisionModify, decisionEscalate}, decision):
		return faulty("decision must be allow, deny, modify or escalate")
	case m["reason"] != nil && !isKind(m["reason"], '"'):
		return faulty("reason must be a string")
	case m["modifiedInput"] != nil && !isKind(m["modifiedInput"], '{'):
		return faulty("modifiedInput must be an object")
	case m["permissionUpdates"] != nil && !isKind(m["permissionUpdates"], '['):
		return faulty("permissionUpdates must be an array")
	}
	if o := in.offered(result); o != nil {
		return ruling{outcome: o.outcome, need: o.need}
	}
	return in.judgeUnlisted(decision, m)
}

// offered finds the option whose response result is, whatever its reason. Of
// several it takes one that needs least.
func (in *Interaction) offered(result []byte) (found *option) {
	effect, ok := effectOf(result)
	if !ok {
		return nil
	}
	for i := range in.options {
		o := &in.options[i]
		if reflect.DeepEqual(effect, o.effect) && (found == nil || o.need == auth.Answer) {
			found = o
		}
	}
	return found
}

// judgeUnlisted rules on a permission result that is not among the options: one
// may always deny, and with control ask for a change or pass the question on.
func (in *Interaction) judgeUnlisted(decision string, m map[string][]byte) ruling {
	switch {
	case m["permissionUpdates"] != nil:
		return faulty("these permissionUpdates were not offered: send the `response` object of one of the options")
	case decision == decisionModify && m["modifiedInput"] == nil:
		return faulty("modify needs a modifiedInput")
	case decision != decisionModify && m["modifiedInput"] != nil:
		return faulty("modifiedInput goes with the decision modify only")
	case decision == decisionAllow && len(in.options) > 0:
		return faulty("this allow was not offered: send the `response` object of one of the options")
	case decision == decisionAllow || decision == decisionDeny:
		return ruling{outcome: decision, need: auth.Answer}
	}
	return ruling{outcome: decision, need: auth.Control}
}

// effectOf decodes a permission result less its reason, which is for people.
func effectOf(result []byte) (map[string]any, bool) {
	var effect map[string]any
	d := json.NewDecoder(bytes.NewReader(result))
	d.UseNumber() // big numbers in rules stay what they are
	if d.Decode(&effect) != nil || effect == nil {
		return nil, false
	}
	delete(effect, "reason")
	return effect, true
}

const userInputShape = "a question is answered with {action, content?, reason?}"

func (in *Interaction) judgeUserInput(result []byte) ruling {
	m, fault := strictMembers(result, "action", "content", "reason")
	if fault != "" {
		return faulty("%s: %s", userInputShape, fault)
	}
	if m["reason"] != nil && !isKind(m["reason"], '"') {
		return faulty("reason must be a string")
	}
	return in.judgeAction(m["action"], m["content"])
}

func (in *Interaction) judgeAction(rawAction, content []byte) ruling {
	action, _ := wire.StringValue(rawAction)
	switch {
	case action != OutcomeAccept && action != OutcomeDecline && action != OutcomeCancel:
		return faulty("action must be accept, decline or cancel")
	case content != nil && !isKind(content, '{'):
		return faulty("content must be an object")
	case action != OutcomeAccept:
		return ruling{outcome: action, need: auth.Answer}
	case content == nil:
		return faulty("accept needs a content object")
	}
	return in.judgeContent(content)
}

// judgeContent rules on what was accepted. The form of an MCP server has no
// questions; its content is between that server and the client.
func (in *Interaction) judgeContent(content []byte) ruling {
	if len(in.questions) == 0 && in.Kind != Plan {
		return ruling{outcome: OutcomeAccept, need: auth.Answer}
	}
	if fault := in.checkAnswers(content); fault != "" {
		return ruling{fault: fault}
	}
	if in.Kind == Plan {
		return judgePlan(in.planAnswer(content))
	}
	return ruling{outcome: OutcomeAccept, need: auth.Answer}
}

func judgePlan(text string) ruling {
	switch {
	case text == approve:
		return ruling{outcome: OutcomeAccept, need: auth.Answer}
	case strings.TrimSpace(text) == "":
		return faulty("accepting a plan needs the answer %q, or feedback", approve)
	case strings.EqualFold(strings.TrimSpace(text), approve):
		return faulty("a plan is approved by exactly %q; any other text is feedback", approve)
	}
	return ruling{outcome: OutcomeDecline, need: auth.Answer}
}

// planAnswer finds the text that the app-server will take.
func (in *Interaction) planAnswer(content []byte) string {
	answers, _ := wire.Get(content, "answers")
	for _, q := range in.questions {
		if raw, ok := wire.Get(answers, q); ok {
			return joined(raw)
		}
	}
	for _, key := range []string{"answer_0", "answer"} {
		if raw, ok := wire.Get(content, key); ok {
			return joined(raw)
		}
	}
	return ""
}

// checkAnswers finds what the app-server would drop without a word: answers to
// questions that were not asked, and values that are neither text nor texts.
func (in *Interaction) checkAnswers(content []byte) (fault string) {
	if wire.HasDuplicateKeys(content) {
		return "content repeats a member"
	}
	for m := range wire.Members(content) {
		key := string(m.Key)
		switch {
		case key == "answers":
			fault = in.checkNamedAnswers(m.Value)
		case key == "annotations" && !isKind(m.Value, '{'):
			fault = "annotations must be an object"
		case (key == "answer" || strings.HasPrefix(key, "answer_")) && !isText(m.Value):
			fault = fmt.Sprintf("%.40s must be a string or an array of strings", key)
		}
		if fault != "" {
			return fault
		}
	}
	return ""
}

func (in *Interaction) checkNamedAnswers(answers []byte) string {
	if !isKind(answers, '{') {
		return "answers must be an object of question texts and answers"
	}
	if wire.HasDuplicateKeys(answers) {
		return "answers repeats a question"
	}
	for m := range wire.Members(answers) {
		if !slices.Contains(in.questions, string(m.Key)) {
			return fmt.Sprintf("no question %.80q was asked", m.Key)
		}
		if !isText(m.Value) {
			return fmt.Sprintf("the answer to %.80q must be a string or an array of strings", m.Key)
		}
	}
	return ""
}

// strictMembers returns the members of a JSON object that may have only the
// allowed ones, each once, as the app-server's strict shapes want it.
func strictMembers(obj []byte, allowed ...string) (members map[string][]byte, fault string) {
	if !wire.Valid(obj) || !isKind(obj, '{') {
		return nil, "this is no object"
	}
	members = make(map[string][]byte, len(allowed))
	for m := range wire.Members(obj) {
		key := string(m.Key)
		if !slices.Contains(allowed, key) {
			return nil, fmt.Sprintf("%.40q is unknown", key)
		}
		if members[key] != nil {
			return nil, fmt.Sprintf("%s is there twice", key)
		}
		members[key] = m.Value
	}
	return members, ""
}

// isKind tells a JSON value's type by its first byte.
func isKind(raw []byte, first byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == first
}

// isText reports whether raw is a string or an array of strings.
func isText(raw []byte) bool {
	if isKind(raw, '"') {
		return true
	}
	if !isKind(raw, '[') {
		return false
	}
	for element := range wire.Elements(raw) {
		if !isKind(element, '"') {
			return false
		}
	}
	return true
}

// joined is the text of a string or of an array of strings, as the app-server
// joins them.
func joined(raw []byte) string {
	if s, ok := wire.StringValue(raw); ok {
		return s
	}
	var parts []string
	for element := range wire.Elements(raw) {
		s, _ := wire.StringValue(element)
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}
