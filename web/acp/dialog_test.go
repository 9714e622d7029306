package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func readAsk(t *testing.T, method, params string) *Ask {
	t.Helper()
	a, ok := ReadAsk(method, []byte(params))
	if !ok {
		t.Fatalf("ReadAsk(%s, %s) sees no question", method, params)
	}
	return a
}

const askBash = `{"requestId":"r","sessionId":"s","turnId":"t","toolCallId":"c","toolName":"Bash","reason":"High risk","riskLevel":"high","input":{"command":"ls"},
	"origin":{"kind":"subagent","agentType":"Explore","parentToolCallId":"p"},
	"options":[{"optionId":"allow_once","kind":"allow_once","name":"Allow once","response":{"decision":"allow","reason":"Approved once"}},
	{"optionId":"allow_project","kind":"allow_always","name":"Always","response":{"decision":"allow","permissionUpdates":[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash"}]}]}},
	{"optionId":"deny","kind":"deny","name":"Deny","response":{"decision":"deny","reason":"Denied"}}]}`

func asking(questions string) string {
	return `{"requestId":"r","sessionId":"s","toolCallId":"c","toolName":"AskUserQuestion","prompt":"The agent has a question","schema":{"toolName":"AskUserQuestion"},"questions":` + questions + `}`
}

const twoQuestions = `[{"question":"Which colour?","header":"Colour","options":[{"value":"blue","label":"Blue","description":"calm"},{"label":"Red"}]},
	{"question":"Which checks?","multiSelect":true,"options":[{"value":"T","label":"Tests"},{"value":"L","label":"Lint"}]}]`

const freeText = `[{"question":"What is its name?","options":[]}]`

const askPlan = `{"requestId":"r","sessionId":"s","toolCallId":"c","toolName":"ExitPlanMode","prompt":"Review","schema":{"interaction":"plan_approval"},
	"input":{"plan":"1. do it"},"questions":[{"question":"Review","header":"Plan","options":[{"value":"approve","label":"Approve"}]}]}`

// converse runs a dialog with these results and gives the answer for the app-server.
func converse(t *testing.T, a *Ask, kind ClientKind, results ...string) (asked []Request, reply string, err error) {
	t.Helper()
	d := NewDialog(a, kind)
	r := d.Request()
	for _, result := range results {
		if faults := checkRequest(r.Method, r.Params); len(faults) > 0 {
			t.Errorf("%s\n  in %s", strings.Join(faults, "; "), r.Params)
		}
		valid(t, r.Before)
		asked = append(asked, r)
		o, err := d.Answer([]byte(result))
		if err != nil {
			return asked, "", err
		}
		if o.Reply != nil {
			return asked, string(o.Reply), nil
		}
		r = *o.Next
	}
	return append(asked, r), "", nil
}

func option(id string) string {
	return fmt.Sprintf(`{"outcome":{"outcome":"selected","optionId":%q}}`, id)
}

const gone = `{"outcome":{"outcome":"cancelled"}}`

func TestPermissions(t *testing.T) {
	a := readAsk(t, methodPermission, askBash)
	for result, want := range map[string]string{
		option("allow_once"):    `{"decision":"allow","reason":"Approved once"}`,
		option("allow_project"): `{"decision":"allow","permissionUpdates":[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash"}]}]}`,
		option("deny"):          `{"decision":"deny","reason":"Denied"}`,
		option("allow_all"):     `{"decision":"deny","reason":"Denied"}`,
		option(""):              `{"decision":"deny","reason":"Denied"}`,
		gone:                    `{"decision":"deny","reason":"Denied"}`,
	} {
		if _, reply, err := converse(t, a, remote, result); reply != want || err != nil {
			t.Errorf("%s gave %s, %v; want %s", result, reply, err, want)
		}
	}
	asked, _, _ := converse(t, a, remote, gone)
	var p struct {
		ToolCall struct{ ToolCallID, Title, Kind string }
		Options  []permissionOption
		Meta     struct {
			Zcode struct{ RequestID, Reason, RiskLevel, AgentType string }
		} `json:"_meta"`
	}
	_ = json.Unmarshal(asked[0].Params, &p)
	if got := fmt.Sprint(p); got != "{{c Bash: ls execute} [{allow_once Allow once allow_once} {allow_project Always allow_always} {deny Deny reject_once}] {{r High risk high Explore}}}" {
		t.Errorf("asked %s", got)
	}
}

func TestKindsOfOptions(t *testing.T) {
	for in, want := range map[[2]string]string{
		{"allow_once", "x"}: allowOnce, {"allow_always", "x"}: allowAlways, {"reject_once", "x"}: rejectOnce, {"reject_always", "x"}: rejectEver,
		{"deny", "x"}: rejectOnce, {"deny_once", "x"}: rejectOnce, {"allow", "x"}: allowAlways, {"allow_project", "x"}: allowAlways,
		{"odd", "allow_once"}: rejectOnce, {"", "allow_once"}: allowOnce, {"", "x"}: rejectOnce,
	} {
		if got := optionKind(in[0], in[1]); got != want {
			t.Errorf("optionKind(%q, %q) = %s, want %s", in[0], in[1], got, want)
		}
	}
}

func TestAPermissionWithoutOptionsMayBeDenied(t *testing.T) {
	a := readAsk(t, methodPermission, `{"requestId":"r","sessionId":"s","toolName":"Edit","input":{"file_path":"/a","old_string":"x","new_string":"y"}}`)
	asked, reply, err := converse(t, a, bare, option("deny"))
	if reply != `{"decision":"deny","reason":"Denied"}` || err != nil {
		t.Errorf("got %s, %v", reply, err)
	}
	if params := string(asked[0].Params); !strings.Contains(params, `"toolCallId":"r"`) || !strings.Contains(params, `"type":"diff"`) {
		t.Errorf("asked %s, want the request's id and the change", params)
	}
}

// A client that cannot answer is out; nobody has decided anything.
func TestWhatIsNoAnswerDecidesNothing(t *testing.T) {
	for _, c := range []struct {
		a    *Ask
		kind ClientKind
	}{
		{readAsk(t, methodPermission, askBash), remote}, {readAsk(t, methodUserInput, asking(twoQuestions)), remote}, {readAsk(t, methodUserInput, asking(twoQuestions)), bare},
		{readAsk(t, methodUserInput, asking(freeText)), remote}, {readAsk(t, methodUserInput, asking(freeText)), editor},
		{readAsk(t, methodUserInput, askPlan), remote}, {readAsk(t, methodUserInput, askPlan), editor},
	} {
		for _, result := range []string{`{}`, `null`, ``, `7`, `"allow_once"`, `{"outcome":"selected"}`, `{"outcome":{"outcome":"selected"}}`, `{"action":"maybe"}`, `{"outcome":{"outcome":"selected","optionId":7}}`} {
			if _, reply, err := converse(t, c.a, c.kind, result); !errors.Is(err, ErrNoAnswer) {
				t.Errorf("kind %d of %+v: %s gave %s, %v", c.a.Kind, c.kind, result, reply, err)
			}
		}
	}
}

func TestFormsOfQuestions(t *testing.T) {
	a := readAsk(t, methodUserInput, asking(twoQuestions))
	for _, c := range []struct{ result, want string }{
		{`{"action":"accept","content":{"q_0":"blue","q_1":["T","L"]}}`, `{"action":"accept","content":{"answers":{"Which checks?":"T, L","Which colour?":"blue"}}}`},
		{`{"action":"accept","content":{"q_0":"blue","q_0_other":" Green "}}`, `{"action":"accept","content":{"answers":{"Which colour?":"Green"}}}`},
		{`{"action":"accept","content":{"q_0_other":"Green","q_1":["L"],"q_1_other":"zz"}}`, `{"action":"accept","content":{"answers":{"Which checks?":"L, zz","Which colour?":"Green"}}}`},
		{`{"action":"accept","content":{"q_1":["L","L",7,""],"q_1_other":"L"}}`, `{"action":"accept","content":{"answers":{"Which checks?":"L"}}}`},
		{`{"action":"accept","content":{"q_1":"L"}}`, `{"action":"accept","content":{"answers":{"Which checks?":"L"}}}`},
		{`{"action":"accept","content":{"q_0":"__skip__","q_1":[]}}`, `{"action":"decline"}`},
		{`{"action":"accept","content":{}}`, `{"action":"decline"}`},
		{`{"action":"accept"}`, `{"action":"decline"}`},
		{`{"action":"decline"}`, `{"action":"decline"}`},
		{`{"action":"cancel"}`, `{"action":"decline"}`},
	} {
		if _, reply, err := converse(t, a, remote, c.result); reply != c.want || err != nil {
			t.Errorf("%s gave %s, %v; want %s", c.result, reply, err, c.want)
		}
	}
	asked, _, _ := converse(t, a, editor)
	const want = `{"mode":"form","sessionId":"s","toolCallId":"c","message":"The agent has a question","requestedSchema":{"type":"object","properties":{` +
		`"q_0":{"type":"string","title":"Which colour?","description":"Blue: calm","oneOf":[{"const":"blue","title":"Blue"},{"const":"Red","title":"Red"},{"const":"__skip__","title":"Skip"}]},` +
		`"q_0_other":{"type":"string","title":"Other answer"},` +
		`"q_1":{"type":"array","title":"Which checks?","items":{"anyOf":[{"const":"T","title":"Tests"},{"const":"L","title":"Lint"}]}},` +
		`"q_1_other":{"type":"string","title":"Other answer"}},"required":[]}}`
	if got := string(asked[0].Params); got != want {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
}

func TestQuestionsMayBeInTheInput(t *testing.T) {
	a := readAsk(t, methodUserInput, `{"requestId":"r","sessionId":"s","input":{"questions":[{"question":"Why?","options":[{"label":"So"}]}]}}`)
	if _, reply, _ := converse(t, a, remote, `{"action":"accept","content":{"q_0":"So"}}`); reply != `{"action":"accept","content":{"answers":{"Why?":"So"}}}` {
		t.Errorf("got %s", reply)
	}
}

func TestTwoQuestionsOfTheSameWordsKeepTheirAnswers(t *testing.T) {
	a := readAsk(t, methodUserInput, asking(`[{"question":"Sure?","options":[{"label":"Yes"}]},{"question":"Sure?","options":[{"label":"No"}]}]`))
	if _, reply, _ := converse(t, a, remote, `{"action":"accept","content":{"q_0":"Yes","q_1":"No"}}`); reply != `{"action":"accept","content":{"answer_0":"Yes","answer_1":"No"}}` {
		t.Errorf("got %s", reply)
	}
}

// A client that renders only choices never gets a form without one: it would decline it in the name of its user.
func TestNoFormWithoutAChoiceForClientsThatDeclineIt(t *testing.T) {
	const noOptions = `{"requestId":"r","sessionId":"s","prompt":"Name?","schema":{"interaction":"mcp","serverName":"x","requestedSchema":`
	for _, c := range []struct{ name, params string }{
		{"free text", asking(freeText)}, {"no questions", asking(`[]`)}, {"options without a name", asking(`[{"question":"x","options":[{},{"value":""}]}]`)},
		{"an MCP form of text", noOptions + `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}`},
		{"an MCP form of nothing", noOptions + `{"type":"object"}}}`}, {"an MCP form that is none", noOptions + `7}}`},
		{"choices only in another answer", noOptions + `{"properties":{"x_other":{"oneOf":[{"const":"a","title":"A"}]}}}}}`},
		{"a plan", askPlan},
	} {
		a := readAsk(t, methodUserInput, c.params)
		for _, kind := range []ClientKind{remote, bare} {
			if r := NewDialog(a, kind).Request(); r.Method != methodAskPermission {
				t.Errorf("%s to %+v: asked by %s %s", c.name, kind, r.Method, r.Params)
			} else if faults := checkRequest(r.Method, r.Params); len(faults) > 0 {
				t.Errorf("%s: %v in %s", c.name, faults, r.Params)
			}
		}
	}
}

func TestFreeTextByPermission(t *testing.T) {
	a := readAsk(t, methodUserInput, asking(freeText))
	for result, want := range map[string]string{
		option("continue"): `{"action":"accept","content":{"answers":{}}}`, option("decline"): `{"action":"decline"}`, gone: `{"action":"decline"}`, option("odd"): `{"action":"decline"}`,
	} {
		if _, reply, err := converse(t, a, remote, result); reply != want || err != nil {
			t.Errorf("%s gave %s, %v; want %s", result, reply, err, want)
		}
	}
	asked, _, _ := converse(t, a, remote)
	for _, words := range []string{`"Continue without an answer"`, `"Decline"`, `"What is its name?"`} {
		if !strings.Contains(string(asked[0].Params), words) {
			t.Errorf("asked %s, want %s in it", asked[0].Params, words)
		}
	}
	if _, reply, _ := converse(t, a, editor, `{"action":"accept","content":{"q_0":"Bob"}}`); reply != `{"action":"accept","content":{"answers":{"What is its name?":"Bob"}}}` {
		t.Errorf("an editor's answer gave %s", reply)
	}
}

func TestQuestionsByPermissions(t *testing.T) {
	a := readAsk(t, methodUserInput, asking(twoQuestions))
	for _, c := range []struct {
		results []string
		want    string
	}{
		{[]string{option("blue"), option("T:yes"), option("L:yes")}, `{"action":"accept","content":{"answers":{"Which checks?":"T, L","Which colour?":"blue"}}}`},
		{[]string{option("__skip__"), option("T:no"), option("L:yes")}, `{"action":"accept","content":{"answers":{"Which checks?":"L"}}}`},
		{[]string{option("__skip__"), option("T:no"), option("L:no")}, `{"action":"decline"}`},
		{[]string{option("odd"), option("L:yes"), option("odd")}, `{"action":"decline"}`},
		{[]string{gone}, `{"action":"decline"}`},
		{[]string{option("blue"), gone}, `{"action":"decline"}`},
	} {
		asked, reply, err := converse(t, a, bare, c.results...)
		if reply != c.want || err != nil {
			t.Errorf("%v gave %s, %v; want %s", c.results, reply, err, c.want)
		}
		for i, r := range asked {
			id := textOf(memberOf(r.Params, "toolCall"), "toolCallId")
			if want := []string{"c_0", "c_1_0", "c_1_1"}[i]; id != want || len(r.Before) != 1 || textOf(r.Before[0].JSON, "toolCallId") != want {
				t.Errorf("request %d is about %s after %s, want %s", i, id, show(r.Before), want)
			}
		}
	}
}

func TestADialogClosesTheCardsItBrought(t *testing.T) {
	d := NewDialog(readAsk(t, methodUserInput, asking(twoQuestions)), bare)
	first := d.Request()
	o, err := d.Answer([]byte(option("blue")))
	if err != nil {
		t.Fatal(err)
	}
	story := valid(t, append(append(first.Before, o.After...), append(o.Next.Before, d.Close()...)...))
	if open := story.open(); len(open) > 0 || d.Close() != nil {
		t.Errorf("open: %v", open)
	}
	if again := d.Request(); string(again.Params) != string(o.Next.Params) {
		t.Errorf("shown again it asks %s, before %s", again.Params, o.Next.Params)
	}
}

func TestPlanApproval(t *testing.T) {
	a := readAsk(t, methodUserInput, askPlan)
	const approved, declined = `{"action":"accept","content":{"answer_0":"approve"}}`, `{"action":"decline"}`
	for result, want := range map[string]string{option("approve"): approved, option("reject"): declined, option("allow_once"): declined, gone: declined} {
		if _, reply, err := converse(t, a, remote, result); reply != want || err != nil {
			t.Errorf("remote: %s gave %s, %v; want %s", result, reply, err, want)
		}
	}
	for result, want := range map[string]string{
		`{"action":"accept","content":{"approval":"approve"}}`:                        approved,
		`{"action":"accept","content":{"approval":"approve","feedback":"nice"}}`:      approved,
		`{"action":"accept","content":{"approval":"reject","feedback":" split it "}}`: `{"action":"decline","reason":"split it"}`,
		`{"action":"accept","content":{"approval":"reject"}}`:                         declined,
		`{"action":"accept","content":{"feedback":"split it"}}`:                       `{"action":"decline","reason":"split it"}`,
		`{"action":"decline"}`: declined,
		`{"action":"cancel"}`:  declined,
		`{"action":"decline","content":{"approval":"approve"}}`: declined,
	} {
		if _, reply, err := converse(t, a, editor, result); reply != want || err != nil {
			t.Errorf("editor: %s gave %s, %v; want %s", result, reply, err, want)
		}
	}
	if _, reply, err := converse(t, a, editor, `{"action":"accept","content":{}}`); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("an empty form approved or rejected: %s, %v", reply, err)
	}
	asked, _, _ := converse(t, a, remote)
	for _, words := range []string{`"kind":"switch_mode"`, `"1. do it"`, `"rawInput":{"plan":"1. do it"}`, `"toolName":"ExitPlanMode"`, `"optionId":"approve"`, `"optionId":"reject"`} {
		if !strings.Contains(string(asked[0].Params), words) {
			t.Errorf("asked %s, want %s in it", asked[0].Params, words)
		}
	}
}

func TestFormsOfServers(t *testing.T) {
	const form = `{"requestId":"mcp-elicit-1","sessionId":"s","prompt":"Where to?","schema":{"interaction":"mcp_elicitation","serverName":"x","requestedSchema":
		{"type":"object","properties":{"env":{"type":"string","enum":["dev","prod"],"enumNames":["Development"]},"n":{"type":"integer"},"e":{"type":"string","enum":[1]}},"required":["env"]}}}`
	a := readAsk(t, methodUserInput, form)
	asked, reply, err := converse(t, a, remote, `{"action":"accept","content":{"env":"dev","n":3}}`)
	if reply != `{"action":"accept","content":{"env":"dev","n":3}}` || err != nil {
		t.Errorf("got %s, %v", reply, err)
	}
	const want = `{"mode":"form","sessionId":"s","message":"Where to?","requestedSchema":{"properties":{"e":{"enum":[1],"type":"string"},"env":{"oneOf":[{"const":"dev","title":"Development"},{"const":"prod","title":"prod"}],"type":"string"},"n":{"type":"integer"}},"required":["env"],"type":"object"}}`
	if got := string(asked[0].Params); got != want {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
	for result, want := range map[string]string{`{"action":"accept"}`: `{"action":"accept","content":{}}`, `{"action":"decline"}`: `{"action":"decline"}`, `{"action":"cancel"}`: `{"action":"decline"}`} {
		if _, reply, err := converse(t, a, editor, result); reply != want || err != nil {
			t.Errorf("%s gave %s, %v; want %s", result, reply, err, want)
		}
	}
	if _, reply, _ := converse(t, a, bare, option("continue")); reply != `{"action":"cancel"}` {
		t.Errorf("going on without what is required gave %s", reply)
	}
}

func TestOtherRequestsAskNobody(t *testing.T) {
	for _, c := range [][2]string{
		{"interaction/requestProviderRuntimeHeaders", askBash}, {"session/requestRuntimePreferences", askBash}, {methodPermission, `{}`}, {methodPermission, `{"requestId":"r"}`}, {methodUserInput, `7`}, {methodUserInput, ``},
	} {
		if a, ok := ReadAsk(c[0], []byte(c[1])); ok {
			t.Errorf("ReadAsk(%s, %.30s) = %+v", c[0], c[1], a)
		}
	}
}
