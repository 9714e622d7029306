package simulator

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the transcripts under testdata")

// TestTranscriptOfEachPromptIsRepeatable compares whole conversations, byte for byte, with those kept under testdata.
func TestTranscriptOfEachPromptIsRepeatable(t *testing.T) {
	inputs := map[string]string{"ask": "ask ls -l", "burst": "burst 5", "big": "big 300", "slow": "slow 1s", "background": "background 2s",
		"subagent": "subagent ask", "edit": "edit style.css", "answer": "What is this project?"}
	names := []string{"answer"}
	for _, p := range prompts {
		names = append(names, p.name)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			input := name
			if full, ok := inputs[name]; ok {
				input = full
			}
			var got string
			transcript := func(s *sim) {
				id := s.open()
				if name == "crash" || name == "hang" {
					s.request("session/send", `{"sessionId":"`+id+`","content":"`+input+`"}`)
					s.settle()
				} else {
					s.prompt(id, input)
					s.call("session/messages", `{"sessionId":"`+id+`"}`)
				}
				got = strings.Join(s.log, "\n") + "\n"
			}
			if name == "crash" {
				crashBubble(t, transcript)
			} else {
				inBubble(t, Options{Seed: 7}, transcript)
			}
			compareGolden(t, filepath.Join("testdata", name+".ndjson"), got)
		})
	}
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("transcript differs from %s (-want +got; rewrite with go test -update):\n%s", path, diff)
	}
}
