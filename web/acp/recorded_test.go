package acp

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestRecordedTrafficIsTranslated gives the translation what real app-servers said, whole lines and lines that the
// recorder cut. It runs where the recordings are.
func TestRecordedTrafficIsTranslated(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "recorded", "ndjson", "*.ndjson"))
	if len(files) == 0 {
		t.Skip("no recordings here")
	}
	told, asked := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tr := NewTranslator(TranslatorOptions{SessionID: "s"})
		var updates []Update
		for line := range bytes.Lines(text) {
			var recorded struct {
				Dir string
				Msg said
			}
			if err := json.Unmarshal(line, &recorded); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			m := recorded.Msg
			if recorded.Dir != "A" {
				continue
			}
			updates = append(updates, hearing(tr, []said{m})...)
			if a, ok := ReadAsk(m.Method, m.Params); ok {
				asked++
				updates = append(updates, tr.Introduce(a)...)
				for _, kind := range []ClientKind{editor, remote, bare} {
					r := NewDialog(a, kind).Request()
					if faults := checkRequest(r.Method, r.Params); len(faults) > 0 {
						t.Errorf("%s: %v in %s", file, faults, r.Params)
					}
				}
			}
			if list := memberOf(m.Result, "messages"); list != nil {
				var messages []json.RawMessage
				_ = json.Unmarshal(list, &messages)
				updates = append(updates, tr.Reconcile(messages)...)
				valid(t, NewTranslator(TranslatorOptions{}).History(messages))
			}
			if s := memberOf(m.Result, "settings"); s != nil {
				tr.Settings(s)
				valid(t, []Update{CommandsUpdate(Commands(memberOf(m.Result, "slashCommands"), OwnCommands...))})
			}
		}
		valid(t, append(updates, tr.CloseOpen()...))
		told += len(updates)
		t.Logf("%s: %d updates, %d ignored\n%s", filepath.Base(file), len(updates), tr.Ignored(), brief(updates))
	}
	if told < 15 || asked < 3 {
		t.Errorf("the recordings made %d updates and %d questions: they are not understood", told, asked)
	}
}
