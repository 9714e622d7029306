package session

import (
	"testing"

	"zcodehub/auth"
)

// A plain answer never needs more than the right to answer, and is never taken
// for anything that lasts.
func TestPlainAnswersAllowOnceOrDeny(t *testing.T) {
	const once, always = `{"optionId":"o","kind":"allow_once","name":"n","response":{"decision":"allow","reason":"r"}}`,
		`{"optionId":"p","kind":"allow_once","name":"n","response":{"decision":"allow","permissionUpdates":[{"type":"addRules"}]}}`
	const no = `{"optionId":"d","kind":"deny","name":"n","response":{"decision":"deny","reason":"because"}}`
	for _, test := range []struct {
		method, params, allow, deny string
	}{
		{MethodPermission, `{"requestId":"r","options":[` + always + `,` + once + `,` + no + `]}`, `{"decision":"allow","reason":"r"}`, `{"decision":"deny","reason":"because"}`},
		{MethodPermission, `{"requestId":"r","options":[` + always + `]}`, "", `{"decision":"deny"}`},
		{MethodPermission, `{"requestId":"r","options":[]}`, `{"decision":"allow"}`, `{"decision":"deny"}`},
		{MethodPermission, `{"requestId":"r"}`, `{"decision":"allow"}`, `{"decision":"deny"}`},
		{MethodUserInput, `{"requestId":"r","questions":[{"question":"Which?"}]}`, "", ""},
		{MethodUserInput, `{"requestId":"r","schema":{"interaction":"plan_approval"}}`, "", ""},
	} {
		in := newInteraction("s", test.method, []byte(test.params), 1, start)
		for allow, want := range map[bool]string{true: test.allow, false: test.deny} {
			got, ok := in.PlainAnswer(allow)
			if string(got) != want || ok != (want != "") {
				t.Errorf("%s: allow %v is %s, want %s", test.params, allow, got, want)
			}
			if !ok {
				continue
			}
			if rule := in.judge(got); rule.fault != "" || rule.need != auth.Answer || rule.outcome != map[bool]string{true: OutcomeAllow, false: OutcomeDeny}[allow] {
				t.Errorf("%s: %s is judged %+v", test.params, got, rule)
			}
		}
		if _, ok := in.withoutParams().PlainAnswer(true); ok {
			t.Error("a settled question has an answer")
		}
	}
}
