package acp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"zcodehub/internal/wire"
)

// Whatever the app-server says in whatever order: nothing fails, and all that a client is told is valid and makes sense
// one after the other. Each line of the input is the params of one message; what is no JSON never gets this far.
func FuzzEvents(f *testing.F) {
	plain := []string{ev("turn.started", started), thought("a1", "Hm"), called("c", "Bash", `{"command":"ls"}`), tool("scheduled", omitted), tool("started", ""),
		tool("progress", `"stdoutTail":"a\n","stdoutBytes":2`), tool("result", `"result":{"success":true,"content":"a\nb"}`),
		ev("tool.updated", `{"kind":"batch","toolCallIds":["c"],"successCount":1}`), text("a1", "Done."), ev("turn.completed", answered)}
	f.Add(true, strings.Join(plain, "\n"))
	f.Add(false, strings.Join([]string{called("c", "Bash", `{"command":"x","run_in_background":true}`), tool("scheduled", omitted),
		tool("result", `"background":true,"result":{"content":"started"}`), task(`"toolCallId":"c","status":"running","outputTail":"a"`), ev("turn.failed", `{}`),
		task(`"toolCallId":"c","status":"cancelled"`), task(`"status":"running","description":"x"`)}, "\n"))
	f.Add(true, strings.Join([]string{ev("tool.updated", `{"kind":"batch","toolCallIds":["c"],"errorCount":1}`), tool("error", `"error":{"message":"x"}`),
		`{"patch":{"mode":{"current":"plan"},"model":{"available":[{"ref":{"providerId":"a","modelId":"b"}}],"current":{"providerId":"a","modelId":"b"}}}}`,
		ev("session.updated", `{"contextWindow":9,"usage":{"inputTokens":1e99,"outputTokens":-5}}`), tool("result", `"result":{"display":{"structuredPatch":[{"lines":["+","-",""]}]}}`)}, "\n"))
	f.Add(false, strings.Join([]string{ev("model.streaming", `{"kind":"text_delta","delta":"\ud83d"}`), ev("model.streaming", `{"kind":"text_delta","delta":"\ude00\ud83d\\\ud83d"}`)}, "\n"))
	f.Fuzz(func(t *testing.T, terminal bool, input string) {
		tr := NewTranslator(TranslatorOptions{SessionID: "s", Terminal: terminal, Window: 100})
		s := newStory()
		check := func(updates []Update) {
			for _, u := range updates {
				if faults := s.add(u); len(faults) > 0 {
					t.Errorf("%s\n  in %s", strings.Join(faults, "; "), u.JSON)
				}
			}
		}
		for line := range bytes.Lines([]byte(input)) {
			line = bytes.TrimSpace(line)
			if !wire.Valid(line) {
				continue
			}
			check(tr.Event(line))
			check(tr.StateUpdated(line))
		}
		check(tr.CloseOpen())
		if open := s.open(); len(open) > 0 {
			t.Errorf("open after CloseOpen: %v", open)
		}
		if again := tr.CloseOpen(); len(again) > 0 {
			t.Errorf("closed twice: %s", show(again))
		}
	})
}

// Whatever is stored: it can be paged, replayed and compared, and what a client is told of it is valid.
func FuzzMessages(f *testing.F) {
	f.Add(storedMessage("u1", `{"type":"text","text":"hi <system-reminder>x</system-reminder>"}`) + "\n" +
		storedMessage("a1", `{"type":"reasoning","text":"Hm"}`, `{"type":"tool","callID":"c","tool":"Edit","state":{"status":"completed","input":{"file_path":"/a"},"output":[{"type":"image","data":"AA","mimeType":"image/png"}],
			"metadata":{"display":{"kind":"diff","filePath":"/a","diff":"@@ -1 +1 @@\n-a\n+b"}}}}`))
	f.Add(`{"info":{"messageId":"m","role":"user","semantics":{"kind":"compact_summary"}},"parts":[{"type":"compaction","text":"x"}]}` + "\n" +
		storedMessage("u2", `{"type":"file","mime":"image/png","url":"data:image/png;base64,AAAA"}`) + "\n" + storedMessage("u2", `{"type":"text","text":"again"}`))
	f.Add(`{"info":{"id":"","role":"assistant"},"parts":[{"type":"tool","state":{"status":"running","input":7}},{"type":"text","text":7}]}` + "\n" + `[]`)
	f.Fuzz(func(t *testing.T, input string) {
		var messages []json.RawMessage
		for line := range bytes.Lines([]byte(input)) {
			if line = bytes.TrimSpace(line); wire.Valid(line) {
				messages = append(messages, line)
			}
		}
		tr := NewTranslator(TranslatorOptions{SessionID: "s"})
		valid(t, append(append(tr.History(messages), tr.Reconcile(messages)...), tr.CloseOpen()...))
		live := NewTranslator(TranslatorOptions{SessionID: "s", Terminal: true})
		live.Running("t1")
		valid(t, append(live.Reconcile(messages), live.CloseOpen()...))
		log := ReadLog(messages)
		for p, n := log.Tail(1), 0; p.Meta.HasMore; n++ {
			next, err := log.Before(*p.Meta.Cursor, 1)
			if err != nil || n > len(messages) {
				t.Fatalf("page %d: %v", n, err)
			}
			p = next
			for _, u := range tr.Earlier(p.Messages) {
				if faults := checkUpdate(u.JSON); len(faults) > 0 {
					t.Errorf("%v in %s", faults, u.JSON)
				}
			}
		}
	})
}

// Whatever the agent asks and a client answers: the client is asked in a valid way, and the app-server gets an answer that
// it accepts or none.
func FuzzDialogs(f *testing.F) {
	f.Add(askBash, option("allow_once"))
	f.Add(asking(twoQuestions), `{"action":"accept","content":{"q_0":"x","q_1":["T"],"q_1_other":"y"}}`)
	f.Add(asking(twoQuestions), option("T:yes"))
	f.Add(asking(freeText), option("continue"))
	f.Add(askPlan, `{"action":"accept","content":{"approval":"approve","feedback":"x"}}`)
	f.Add(`{"requestId":"r","sessionId":"s","schema":{"requestedSchema":{"properties":{"a":{"enum":["x"]}}}},"questions":[{"options":[{"label":"a"},{"label":"a"}]}]}`, gone)
	f.Fuzz(func(t *testing.T, params, result string) {
		if !wire.Valid([]byte(params)) || !wire.Valid([]byte(result)) {
			return
		}
		for _, method := range []string{methodPermission, methodUserInput} {
			a, ok := ReadAsk(method, []byte(params))
			if !ok {
				continue
			}
			for _, kind := range []ClientKind{editor, remote, bare} {
				d := NewDialog(a, kind)
				r := d.Request()
				for range 100 {
					if faults := checkRequest(r.Method, r.Params); len(faults) > 0 && a.Kind != AskForm { // a server's form is the server's
						t.Errorf("%v in %s", faults, r.Params)
					}
					o, err := d.Answer([]byte(result))
					if err != nil {
						break
					}
					if o.Reply != nil {
						if !strings.Contains(params, string(o.Reply)) { // else it is the response of an option, as it was offered
							checkReply(t, method, o.Reply)
						}
						break
					}
					r = *o.Next
				}
			}
		}
	})
}

// checkReply checks an answer as the app-server's own strict schema does.
func checkReply(t *testing.T, method string, reply []byte) {
	t.Helper()
	allowed := "action content reason"
	verb := textOf(reply, "action")
	verbs := "accept decline cancel"
	if method == methodPermission {
		allowed, verb, verbs = "decision reason modifiedInput permissionUpdates", textOf(reply, "decision"), "allow deny escalate modify"
	}
	for m, err := range wire.Members(reply) {
		if err != nil || !strings.Contains(allowed, string(m.Key)) {
			t.Errorf("%s is no answer to %s", reply, method)
		}
	}
	if verb == "" || !strings.Contains(verbs, verb) {
		t.Errorf("%s is no answer to %s", reply, method)
	}
}

// Whatever a client sends as a cursor: it is a place in the history or expired.
func FuzzCursor(f *testing.F) {
	f.Add(cursorOf(3, 2, "u2"))
	f.Add("1.e30")
	l := ReadLog(stored("u1", "a1", "u2", "a2"))
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := l.Before(text, 2); err == nil && len(p.Messages) > 3 {
			t.Errorf("Before(%q) gave %s", text, ids(p))
		}
	})
}
