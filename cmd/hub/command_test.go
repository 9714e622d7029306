package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"zcodehub/auth"
)

// runHub runs a command line inside the test's process.
func runHub(t *testing.T, stdin string, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	environ = append([]string{"HOME=" + t.TempDir()}, environ...)
	code = run(&app{in: strings.NewReader(stdin), out: &out, err: &err, environ: environ}, args)
	return code, out.String(), err.String()
}

func TestExitCodesTellUsageFromFailure(t *testing.T) {
	dataDir := t.TempDir()
	emptyPath(t)
	for _, c := range []struct {
		args []string
		want int
		say  string // on standard error
	}{
		{[]string{"version"}, exitClean, ""},
		{[]string{"config"}, exitClean, ""},
		{[]string{"--help"}, exitClean, ""},
		{[]string{"bogus"}, exitUsage, "unknown command"},
		{[]string{"serve", "--bogus"}, exitUsage, "unknown flag"},
		{[]string{"serve", "surplus"}, exitUsage, "unknown command"},
		{[]string{"config", "--call-timeout", "x"}, exitUsage, "call-timeout"},
		{[]string{"serve"}, exitUsage, "hub demo"},
		{[]string{"token", "create"}, exitUsage, "required flag"},
		{[]string{"token", "create", "--role", "king", "--name", "x", "--data-dir", dataDir}, exitUsage, "king"},
		{[]string{"token", "create", "--role", "admin", "--name", "x", "--ttl", "-1h", "--data-dir", dataDir}, exitUsage, "--ttl"},
		{[]string{"status", "--data-dir", dataDir}, exitFailure, "no hub runs"},
		{[]string{"status", "--probe", "--data-dir", dataDir}, exitFailure, "no hub runs"},
	} {
		code, _, stderr := runHub(t, "", nil, c.args...)
		if code != c.want || !strings.Contains(stderr, c.say) {
			t.Errorf("hub %q: got exit code %d and %q, want %d and %q", c.args, code, stderr, c.want, c.say)
		}
	}
}

func TestTokenCreatePrintsTheTokenAloneAndInspectReadsIt(t *testing.T) {
	dataDir := t.TempDir()
	code, token, stderr := runHub(t, "", nil, "token", "create", "--data-dir", dataDir,
		"--role", "approver", "--name", "phone", "--session", "s1", "--session", "s2", "--profile", string(auth.Replayable), "--ttl", "2h")
	if code != exitClean || strings.Count(token, "\n") != 1 || stderr != "" {
		t.Fatalf("create: exit code %d, stdout %q, stderr %q", code, token, stderr)
	}
	code, shown, stderr := runHub(t, token, nil, "token", "inspect")
	if code != exitClean {
		t.Fatalf("inspect: exit code %d, stderr %q", code, stderr)
	}
	var got auth.Inspection
	if err := json.Unmarshal([]byte(shown), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "phone" || got.Role != "approver" || len(got.Sessions) != 2 || len(got.Profiles) != 1 || got.ExpiresAt.Sub(got.IssuedAt).Hours() != 2 {
		t.Errorf("inspect: got %+v", got)
	}
	if code, fromFile, _ := runHub(t, "", nil, "token", "inspect", writeFile(t, "token", token, 0o600)); code != exitClean || fromFile != shown {
		t.Errorf("inspect a file: exit code %d, %q", code, fromFile)
	}
	if code, _, stderr := runHub(t, "not.a.token", nil, "token", "inspect"); code != exitFailure || strings.Contains(stderr, "not.a.token") {
		t.Errorf("inspect nonsense: exit code %d, stderr %q", code, stderr)
	}
}

func TestCompletionsForFourShells(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, script, stderr := runHub(t, "", nil, "completion", shell); code != exitClean || !strings.Contains(script, "hub") {
			t.Errorf("completion %s: exit code %d, %d bytes, stderr %q", shell, code, len(script), stderr)
		}
	}
	if code, words, _ := runHub(t, "", nil, "__complete", "token", "create", "--role", ""); code != exitClean || !strings.Contains(words, "approver") {
		t.Errorf("words for --role: exit code %d, %q", code, words)
	}
}

func TestVersionSaysCommitAndDate(t *testing.T) {
	code, out, _ := runHub(t, "", nil, "version")
	if code != exitClean || !strings.HasPrefix(out, "hub ") || !strings.Contains(out, "\ncommit ") || !strings.Contains(out, "\nbuilt ") {
		t.Errorf("exit code %d, %q", code, out)
	}
}
