package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zcodehub/auth"
	"zcodehub/internal/wire"
)

// Each row: an answer, then "outcome right", or "invalid" and a part of the reason.
func TestAnswersAreCheckedForTheShapeTheAppServerAccepts(t *testing.T) {
	tests := []struct {
		params []byte
		answer string
		want   string
	}{
		{permission("r"), allowOnce, "allow answer"},
		{permission("r"), `{"reason":"Approved once","decision":"allow"}`, "allow answer"},
		{permission("r"), `{"decision":"allow"}`, "allow answer"},
		{permission("r"), `{"decision":"allow","reason":"fine by me"}`, "allow answer"},
		{permission("r"), " {\n\"decision\" : \"allow\" } ", "allow answer"},
		{permission("r"), allowAlways, "allowAlways control"},
		{permission("r"), deny, "deny answer"},
		{permission("r"), `{"decision":"deny"}`, "deny answer"},
		{permission("r"), `{"decision":"deny","reason":"use make instead"}`, "deny answer"},
		{permission("r"), `{"decision":"modify","modifiedInput":{"command":"ls -l"}}`, "modify control"},
		{permission("r"), `{"decision":"escalate","reason":"ask my boss"}`, "escalate control"},
		{permission("r"), `"allow_once"`, "invalid optionId"},
		{permission("r"), `{"optionId":"allow_once"}`, "invalid optionId"},
		{permission("r"), `{}`, "invalid decision"},
		{permission("r"), `null`, "invalid object"},
		{permission("r"), `[]`, "invalid object"},
		{permission("r"), ``, "invalid object"},
		{permission("r"), `{"decision":"allow"`, "invalid object"},
		{permission("r"), `{"decision":"allow","extra":1}`, `invalid "extra"`},
		{permission("r"), `{"decision":"deny","decision":"allow"}`, "invalid twice"},
		{permission("r"), `{"decision":"deny","d\u0065cision":"allow"}`, "invalid twice"},
		{permission("r"), `{"decision":"Allow"}`, "invalid decision"},
		{permission("r"), `{"decision":true}`, "invalid decision"},
		{permission("r"), `{"decision":"allow","reason":null}`, "invalid reason"},
		{permission("r"), `{"decision":"allow","permissionUpdates":{}}`, "invalid array"},
		{permission("r"), `{"decision":"allow","permissionUpdates":[]}`, "invalid not offered"},
		{permission("r"), strings.Replace(allowAlways, `"ls"`, `"rm"`, 1), "invalid not offered"},
		{permission("r"), `{"decision":"deny","permissionUpdates":[{"type":"addRules"}]}`, "invalid not offered"},
		{permission("r"), `{"decision":"modify"}`, "invalid modifiedInput"},
		{permission("r"), `{"decision":"modify","modifiedInput":"ls"}`, "invalid modifiedInput"},
		{permission("r"), `{"decision":"allow","modifiedInput":{}}`, "invalid modifiedInput"},
		{permission("r"), `{"action":"accept"}`, `invalid "action"`},

		{question("r"), `{"action":"accept","content":{"answers":{"Which?":"A","Why?":["B","C"]}}}`, "accept answer"},
		{question("r"), `{"action":"accept","content":{"answers":{}}}`, "accept answer"},
		{question("r"), `{"action":"accept","content":{"answers":{"Which?":"A"},"annotations":{"Which?":{"notes":"n"}}}}`, "accept answer"},
		{question("r"), `{"action":"accept","content":{"answer_0":"A","answer_1":["B"]}}`, "accept answer"},
		{question("r"), `{"action":"decline"}`, "decline answer"},
		{question("r"), `{"action":"cancel","reason":"later","content":{}}`, "cancel answer"},
		{question("r"), `{"action":"accept"}`, "invalid content"},
		{question("r"), `{"action":"accept","content":"A"}`, "invalid content"},
		{question("r"), `{"action":"accept","content":[]}`, "invalid content"},
		{question("r"), `{"action":"accept","content":null}`, "invalid content"},
		{question("r"), `{"action":"accept","content":{"answers":["A"]}}`, "invalid answers"},
		{question("r"), `{"action":"accept","content":{"answers":{"Which?":1}}}`, "invalid string"},
		{question("r"), `{"action":"accept","content":{"answers":{"Which?":[1]}}}`, "invalid string"},
		{question("r"), `{"action":"accept","content":{"answers":{"Who?":"A"}}}`, `invalid "Who?"`},
		{question("r"), `{"action":"accept","content":{"answers":{"Why?":"A","Why?":"B"}}}`, "invalid repeats"},
		{question("r"), `{"action":"accept","content":{"answers":{},"answers":{}}}`, "invalid repeats"},
		{question("r"), `{"action":"accept","content":{"answer_0":{}}}`, "invalid answer_0"},
		{question("r"), `{"action":"accept","content":{"annotations":1}}`, "invalid annotations"},
		{question("r"), `{"action":"yes"}`, "invalid action"},
		{question("r"), `{"action":"decline","reason":1}`, "invalid reason"},
		{question("r"), `{"action":"decline","note":"x"}`, `invalid "note"`},
		{question("r"), `{"decision":"allow"}`, `invalid "decision"`},
		{question("r"), `"A"`, "invalid object"},

		{plan("r"), `{"action":"accept","content":{"answers":{"Review it.":"approve"}}}`, "accept answer"},
		{plan("r"), `{"action":"accept","content":{"answer":"approve"}}`, "accept answer"},
		{plan("r"), `{"action":"accept","content":{"answers":{"Review it.":"split step 2"}}}`, "decline answer"},
		{plan("r"), `{"action":"accept","content":{"answers":{"Review it.":"approve"},"answer":"no"}}`, "accept answer"},
		{plan("r"), `{"action":"decline","reason":"split step 2"}`, "decline answer"},
		{plan("r"), `{"action":"cancel"}`, "cancel answer"},
		{plan("r"), `{"action":"accept","content":{}}`, "invalid approve"},
		{plan("r"), `{"action":"accept","content":{"answers":{"Review it.":" "}}}`, "invalid approve"},
		{plan("r"), `{"action":"accept","content":{"answers":{"Review it.":"Approve"}}}`, "invalid exactly"},

		{elicitation("r"), `{"action":"accept","content":{"any":1}}`, "accept answer"},
		{elicitation("r"), `{"action":"accept"}`, "invalid content"},
		{elicitation("r"), `{"action":"decline"}`, "decline answer"},

		{[]byte(`{"requestId":"r","toolCallId":"c"}`), `{"decision":"allow"}`, "allow answer"},
	}
	for _, test := range tests {
		method := MethodPermission
		if _, asks := wire.Get(test.params, "schema"); asks {
			method = MethodUserInput
		}
		in := newInteraction("s", method, test.params, 1, start)
		checkRuling(t, in, test.answer, in.judge([]byte(test.answer)), test.want)
	}
}

func TestCommandAnswersAreChecked(t *testing.T) {
	tests := []struct {
		params []byte
		answer string
		want   string
	}{
		{permission("r"), `{"optionId":"allowOnce"}`, "allow answer"},
		{permission("r"), `{"optionId":"allow_once"}`, "allow answer"},
		{permission("r"), `{"optionId":"allow_project"}`, "allowAlways control"},
		{permission("r"), `{"optionId":"allowAlways"}`, "allowAlways control"},
		{permission("r"), `{"optionId":"allowSession"}`, "allowAlways control"},
		{permission("r"), `{"optionId":"fullAccess"}`, "fullAccess control"},
		{permission("r"), `{"optionId":"workflowRefine"}`, "modify control"},
		{permission("r"), `{"optionId":"deny","freeText":"no"}`, "deny answer"},
		{permission("r"), `{"optionId":"deny","freeText":"` + strings.Repeat("é", maxFeedback) + `"}`, "deny answer"},
		{permission("r"), `{"optionId":"deny","freeText":"` + strings.Repeat("é", maxFeedback+1) + `"}`, "invalid 4096"},
		{permission("r"), `{"optionId":"allowEverything"}`, `invalid "allowEverything"`},
		{permission("r"), `{}`, `invalid ""`},
		{permission("r"), `{"optionId":1}`, "invalid optionId"},
		{permission("r"), `{"decision":"allow"}`, `invalid "decision"`},
		{permission("r"), `"allowOnce"`, "invalid object"},
		{question("r"), `{"action":"accept","content":{"answers":{"Which?":"A"}}}`, "accept answer"},
		{question("r"), `{"action":"accept","content":{"answers":{"Who?":"A"}}}`, `invalid "Who?"`},
		{question("r"), `{"action":"decline"}`, "decline answer"},
		{question("r"), `{"freeText":"A"}`, "accept answer"},
		{question("r"), `{"optionId":"allowOnce"}`, "accept answer"},
		{question("r"), `{"optionId":"deny"}`, "decline answer"},
		{question("r"), `{}`, "invalid empty"},
		{plan("r"), `{"optionId":"allowOnce"}`, "accept answer"},
		{plan("r"), `{"freeText":"split step 2"}`, "decline answer"},
		{plan("r"), `{"optionId":"deny"}`, "decline answer"},
	}
	for _, test := range tests {
		method := MethodPermission
		if _, asks := wire.Get(test.params, "schema"); asks {
			method = MethodUserInput
		}
		in := newInteraction("s", method, test.params, 1, start)
		checkRuling(t, in, test.answer, in.judgeCommand([]byte(test.answer)), test.want)
	}
}

func checkRuling(t *testing.T, in *Interaction, answer string, r ruling, want string) {
	t.Helper()
	got := r.outcome + " " + strings.Join(r.need.Names(), "+")
	if reason, invalid := strings.CutPrefix(want, "invalid "); invalid {
		if !strings.Contains(r.fault, reason) {
			t.Errorf("%s %s: got %q %q, want a fault with %q", in.Kind, answer, got, r.fault, reason)
		}
		return
	}
	if got != want || r.fault != "" {
		t.Errorf("%s %s: got %q %q, want %q", in.Kind, answer, got, r.fault, want)
	}
}

func TestAcceptedResultIsOneLine(t *testing.T) {
	l := newLedger(t)
	v := l.Answer("r", phone, onlyAnswer, []byte("{\n\"decision\":\r\n\"deny\"}"), false, start)
	if v.Status != Accepted || strings.ContainsAny(string(v.Result), "\r\n") || !json.Valid(v.Result) {
		t.Errorf("Answer = %+v, result %q", v, v.Result)
	}
}

func TestOptionsThatLastAreNotOfferedWithoutControl(t *testing.T) {
	params := strings.Replace(string(permission("r")), `{"optionId":"deny"`,
		`{"optionId":"rewrite","kind":"allow_once","response":{"decision":"modify","modifiedInput":{}}},`+
			`{"optionId":"up","kind":"allow_once","response":{"decision":"escalate"}},`+
			`{"optionId":"odd","kind":"allow_once"},`+
			`{"optionId":"new","kind":"allow_session","response":{"decision":"allow"}},`+
			`{"optionId":"deny"`, 1)
	params = strings.Replace(params, `"input":`, `"suggestedPermissionUpdates":[{"type":"addRules"}],"input":`, 1)
	in := newInteraction("s", MethodPermission, []byte(params), 1, start)
	if got := string(in.Offered(operator)); got != params {
		t.Errorf("with control: %s", got)
	}
	narrow := in.Offered(onlyAnswer)
	if got, want := optionIDs(t, narrow), "allow_once deny"; got != want {
		t.Errorf("without control: %s, want %s", got, want)
	}
	before, after := without(t, []byte(params), "options"), without(t, narrow, "options")
	if before != after {
		t.Errorf("other params changed: %s, were %s", after, before)
	}
	if &narrow[0] != &in.Offered(auth.View)[0] {
		t.Error("made twice")
	}
	for _, option := range []string{allowOnce, deny} {
		if r := in.judge([]byte(option)); r.fault != "" || r.need != auth.Answer {
			t.Errorf("%s is offered, but judged %+v", option, r)
		}
	}
	asked := newInteraction("s", MethodUserInput, question("r"), 1, start)
	if got := asked.Offered(onlyAnswer); string(got) != string(question("r")) {
		t.Errorf("a question changed: %s", got)
	}
}

func optionIDs(t *testing.T, params []byte) string {
	t.Helper()
	if !wire.Valid(params) {
		t.Fatalf("no valid JSON: %s", params)
	}
	var list []string
	options, _ := wire.Get(params, "options")
	for o := range wire.Elements(options) {
		list = append(list, textOf(o, "optionId"))
	}
	return strings.Join(list, " ")
}

func without(t *testing.T, params []byte, key string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(params, &m); err != nil {
		t.Fatal(err)
	}
	delete(m, key)
	b, _ := json.Marshal(m)
	return string(b)
}

// FuzzAnswer: an answer that is accepted without control changes nothing for
// later and rewrites nothing, whatever bytes it is made of.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{allowOnce, allowAlways, deny, `{"decision":"modify","modifiedInput":{}}`, `{"d\u0065cision":"allow"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		in := newInteraction("s", MethodPermission, permission("r"), 1, start)
		r := in.judge(answer)
		if r.fault != "" || r.need != auth.Answer {
			return
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(answer, &got); err != nil {
			t.Fatalf("%q was accepted: %v", answer, err)
		}
		for key := range got {
			if key != "decision" && key != "reason" {
				t.Fatalf("%q was accepted with %q", answer, key)
			}
		}
		if d := string(got["decision"]); len(got) == 0 || r.outcome != OutcomeAllow && r.outcome != OutcomeDeny {
			t.Fatalf("%q was accepted as %s %s", answer, r.outcome, d)
		}
	})
}

// Uses recorded traffic beside the repository; skipped where it is missing.
func TestRecordedPermissions(t *testing.T) {
	name := filepath.Join("..", "..", "shared", "recorded", "ndjson", "wzclaw-edit2-permission.ndjson")
	recording, err := os.ReadFile(name)
	if err != nil {
		t.Skipf("no recorded traffic here: %v", err)
	}
	l := NewLedger("s")
	seen, settled := 0, 0
	for line := range strings.Lines(string(recording)) {
		msg, _ := wire.Get([]byte(strings.TrimSpace(line)), "msg")
		params, _ := wire.Get(msg, "params")
		switch textOf(msg, "method") {
		case MethodPermission:
			seen++
			id, _ := wire.Get(msg, "id")
			in, first, _ := announce(t, l, string(id), MethodPermission, params)
			if got, want := optionIDs(t, in.Offered(operator)), "allow_once allow_project deny"; !first || got != want {
				t.Errorf("options %s, want %s", got, want)
			}
			if got, want := optionIDs(t, in.Offered(onlyAnswer)), "allow_once deny"; got != want {
				t.Errorf("options without control %s, want %s", got, want)
			}
			options, _ := wire.Get(params, "options")
			for o := range wire.Elements(options) {
				response, _ := wire.Get(o, "response")
				if r := in.judge(response); r.fault != "" {
					t.Errorf("%s: %s", response, r.fault)
				}
			}
		case "session/event":
			settled += len(l.Observe(ParseEvent(params), start))
		}
	}
	if seen == 0 || settled != seen {
		t.Errorf("%d permissions were recorded, %d settled by their events", seen, settled)
	}
}
