//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// A program that starts an app-server gets the same from the app-server itself and from a hub that it attaches to.
func TestAttachIsLikeTheAppServerItself(t *testing.T) {
	type transcript struct {
		Text   string
		Shapes []string
	}
	run := func(command ...string) (got transcript) {
		t.Helper()
		cmd := exec.Command("node", append([]string{"attach/turn.mjs"}, command...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", command, err)
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return got
	}
	d := startDemo(t)
	direct := run(program, "simulate", "--seed", "1")
	attached := run(program, "attach", "--stdio", "--data-dir", d.data)
	if direct.Text != attached.Text {
		t.Errorf("the agent's text differs: %q and %q", direct.Text, attached.Text)
	}
	for _, shape := range attached.Shapes {
		if !slices.Contains(direct.Shapes, shape) {
			t.Errorf("only through the hub: %s", shape)
		}
	}
	for _, shape := range direct.Shapes {
		if !slices.Contains(attached.Shapes, shape) {
			t.Errorf("only from the app-server: %s", shape)
		}
	}
}
