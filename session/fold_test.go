package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zcodehub/internal/wire"
)

// fold is the end state of a run of params, without digest.
func fold(params ...string) string {
	var f Fold
	for _, p := range params {
		f.Add([]byte(p))
	}
	text := string(f.JSON())
	return text[:strings.Index(text, `,"digest"`)] + "}"
}

func TestFoldOfATurn(t *testing.T) {
	got := fold(
		event(1, "session.titleUpdated", `{"previousTitle":"","source":"first_input","title":"run a check"}`),
		event(2, "turn.started", `{"turnNumber":0,"input":"run a check"}`),
		streaming(3, "reasoning_delta", "hm", ""),
		streaming(4, "text_delta", `\ud83d`, ""),
		streaming(5, "text_delta", `\ude00 <ok>`, ""),
		streaming(6, "text_delta", "other", `,"partId":"p2"`),
		streaming(7, "tool_input_start", "", `,"toolCallId":"c","toolName":"Bash"`),
		streaming(8, "tool_input_delta", "{", `,"toolCallId":"c"`),
		streaming(9, "tool_call", "", `,"toolCallId":"c","toolName":"Bash","input":{"command":"echo hi"}`),
		event(10, "tool.updated", `{"kind":"scheduled","toolCallId":"c","input":{"inputByteLength":21,"inputOmitted":true,"inputRef":"model_stream"}}`),
		event(11, "permission.requested", `{"requestId":"r","toolCallId":"c"}`),
		event(12, "permission.resolved", `{"requestId":"r","toolCallId":"c","decision":"allow"}`),
		event(13, "tool.updated", `{"kind":"started","toolCallId":"c"}`),
		event(14, "tool.updated", `{"kind":"progress","toolCallId":"c","stdoutTail":"h"}`),
		event(15, "tool.updated", `{"kind":"result","toolCallId":"c","result":{"success":true,"content":"hi"}}`),
		event(16, "tool.updated", `{"kind":"scheduled","toolCallId":"d","toolName":"Write","input":{"path":"x"}}`),
		event(17, "tool.updated", `{"kind":"batch","toolCallIds":["c","d"],"successCount":1,"errorCount":1}`),
		event(18, "tool.updated", `{"kind":"error","toolCallId":"e","error":{"message":"no"}}`),
		event(19, "tool.updated", `{"kind":"result","toolCallId":"f","result":{"success":false}}`),
		event(20, "turn.completed", `{"response":"done","resultType":"success"}`),
		event(21, "hub.advanced", `{}`),
	)
	want := `{"title":"run a check","titleSource":"first_input",` +
		`"turns":[{"id":"t","status":"completed","resultType":"success","input":"run a check","response":"done"}],` +
		`"messages":[{"id":"m","parts":[{"kind":"reasoning_delta","text":"hm"},{"kind":"text_delta","text":"\ud83d\ude00 <ok>"},{"kind":"text_delta","id":"p2","text":"other"}]}],` +
		`"tools":[{"id":"c","name":"Bash","status":"completed","input":{"command":"echo hi"},"result":{"success":true,"content":"hi"}},` +
		`{"id":"d","name":"Write","status":"denied","input":{"path":"x"}},` +
		`{"id":"e","name":"","status":"failed","error":{"message":"no"}},` +
		`{"id":"f","name":"","status":"failed","result":{"success":false}}],` +
		`"questions":[{"requestId":"r","toolCallId":"c","status":"resolved","decision":"allow"}],"events":13}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFoldShowsWhatWasLostChangedOrMoved(t *testing.T) {
	a, b := event(1, "session.updated", `{"a":1}`), event(2, "session.updated", `{"b":2}`)
	digest := func(params ...string) string {
		var f Fold
		for _, p := range params {
			f.Add([]byte(p))
		}
		return f.End().Digest
	}
	want := digest(a, b)
	if digest(a, strings.Replace(b, "desktop-continuous", "web-remote-replayable", 1)) != want {
		t.Error("the digest depends on the lane")
	}
	for name, other := range map[string]string{
		"lost":    digest(a),
		"moved":   digest(b, a),
		"changed": digest(a, strings.Replace(b, "2}", "3}", 1)),
		"twice":   digest(a, b, b),
	} {
		if other == want {
			t.Errorf("an event that was %s does not show", name)
		}
	}
}

func TestSplicedTextIsDecodedAsAWhole(t *testing.T) {
	var f Fold
	f.Add([]byte(streaming(1, "text_delta", `a\n\ud83d`, "")))
	f.Add([]byte(streaming(2, "text_delta", `\ude00`, "")))
	if got, want := f.End().Messages[0].Parts[0].Text.String(), "a\n😀"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Uses recorded traffic beside the repository; skipped where it is missing.
func TestRecordedEventsFoldToTheSameState(t *testing.T) {
	names, _ := filepath.Glob(filepath.Join("..", "..", "shared", "recorded", "ndjson", "*.ndjson"))
	if len(names) == 0 {
		t.Skip("no recorded traffic here")
	}
	var events []string
	for _, name := range names {
		recording, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(recording)) {
			msg, _ := wire.Get([]byte(strings.TrimSpace(line)), "msg")
			params, ok := wire.Get(msg, "params")
			if _, whole := wire.Get(params, "seq"); textOf(msg, "method") == "session/event" && ok && whole {
				events = append(events, string(params))
			}
		}
	}
	var continuous, replayable Fold
	for _, params := range events {
		continuous.Add([]byte(params))
	}
	for _, m := range coalesce(events...) {
		replayable.Add(UpdateParams([]byte(m.msg)))
	}
	if len(events) == 0 || string(replayable.JSON()) != string(continuous.JSON()) {
		t.Errorf("%d events\nreplayable lane\n%s\ncontinuous lane\n%s", len(events), replayable.JSON(), continuous.JSON())
	}
}
