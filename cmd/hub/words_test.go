package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"zcodehub/auth"
	"zcodehub/hub"
)

func TestUsageErrorsPointToTheHelpOfTheirCommand(t *testing.T) {
	for _, c := range []struct {
		args []string
		help string
	}{
		{[]string{"bogus"}, "hub --help"},
		{[]string{"devices", "bogus"}, "hub devices --help"},
		{[]string{"devices", "revoke"}, "hub devices revoke --help"},
		{[]string{"token", "create", "--bogus"}, "hub token create --help"},
		{[]string{"share"}, "hub share --help"},
	} {
		if code, _, stderr := runHub(t, "", nil, c.args...); code != exitUsage || !strings.Contains(stderr, "Run '"+c.help+"'") {
			t.Errorf("hub %q: %d %q, want it to point to %s", c.args, code, stderr, c.help)
		}
	}
}

func TestVersionIsAFlagToo(t *testing.T) {
	_, want, _ := runHub(t, "", nil, "version")
	if code, out, stderr := runHub(t, "", nil, "--version"); code != exitClean || out != want {
		t.Errorf("%d %q %q, want %q", code, out, stderr, want)
	}
}

func TestBadListenAddressIsToldOnce(t *testing.T) {
	code, _, stderr := runHub(t, "", []string{"HUB_LISTEN=bad"}, "config")
	if code != exitUsage || strings.Count(stderr, "bad") != 1 || strings.Count(stderr, "host:port") != 1 {
		t.Errorf("%d %q", code, stderr)
	}
}

func TestDataDirTooLongForASocketIsAClearSentence(t *testing.T) {
	dir := "/tmp/" + strings.Repeat("long", 30)
	for _, args := range [][]string{{"status"}, {"pair"}, {"devices", "list"}, {"token", "create", "--role", "viewer", "--name", "x"}} {
		if code, _, stderr := runHub(t, "", nil, append(args, "--data-dir", dir)...); code != exitFailure || !strings.Contains(stderr, "shorter --data-dir") {
			t.Errorf("hub %q: %d %q", args, code, stderr)
		}
	}
}

func TestJSONLogSaysDurationsAsPeopleDo(t *testing.T) {
	var out bytes.Buffer
	newLogger(&out, &config{LogLevel: "info", LogFormat: "json"}).Info("x", "wait", 1500*time.Millisecond)
	if !strings.Contains(out.String(), `"wait":"1.5s"`) {
		t.Errorf("got %s", out.String())
	}
}

func TestDevicesAreListedInRoundNumbers(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	err := printDevices(&out, []auth.Device{
		{Name: "phone", ExpiresAt: now.Add(89*24*time.Hour + 4*time.Hour), LastSeen: now.Add(-3*time.Hour - 10*time.Minute)},
		{Name: "guest", ExpiresAt: now.Add(-time.Second), LastSeen: now.Add(-100 * time.Second)},
		{Name: "lost", ExpiresAt: now.Add(time.Hour), RevokedAt: now, RevokedFor: "by desk"},
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`phone .* 3h ago .* in 89d`, `guest .* 100s ago .* expired`, `lost .* never .* revoked by desk`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no line like %q in\n%s", want, out.String())
		}
	}
}

func TestFailedAppServerHasNoProcess(t *testing.T) {
	var s statusAnswer
	s.AppServer = hub.AppServerStatus{State: "failed", Generation: 3, Detail: "exit 1"}
	var out bytes.Buffer
	if err := printStatus(&out, &s, time.Now()); err != nil || strings.Contains(out.String(), "process 0") || !strings.Contains(out.String(), "generation 3") {
		t.Errorf("%v, %s", err, out.String())
	}
}

func TestPairSaysHowToTakeItBackOnThisDataDir(t *testing.T) {
	p := serveSimulated(t, nil)
	p.wantAppServerReady()
	out := p.run("pair")
	back := regexp.MustCompile(`To take it back: .* pair cancel (\S+) --data-dir (\S+)`).FindStringSubmatch(out)
	if back == nil || back[2] != p.dataDir {
		t.Fatalf("no way back on %s in\n%s", p.dataDir, out)
	}
	p.run("pair", "cancel", back[1])
	if out := p.run("pair", "list"); strings.Contains(out, back[1]) {
		t.Errorf("the link is still open: %s", out)
	}
	shared := p.run("share", "--session", "sess_1", "--ttl", "1h30m", "--json")
	var opened struct{ TTLSeconds int }
	if err := json.Unmarshal([]byte(shared), &opened); err != nil || opened.TTLSeconds != 5400 {
		t.Errorf("share --json: %v, %s", err, shared)
	}
}

func TestShareWarnsOfSessionsThatNobodyKnows(t *testing.T) {
	p := serveSimulated(t, nil)
	p.wantAppServerReady()
	var made struct {
		Session struct{ SessionID string }
	}
	params := map[string]any{"workspace": map[string]string{"workspacePath": p.dataDir, "workspaceKey": p.dataDir}}
	if err := newLocalHub(p.dataDir).ask("session/create", params, &made); err != nil || made.Session.SessionID == "" {
		t.Fatalf("session/create: %v, %+v", err, made)
	}
	if code, _, stderr := p.command("share", "--session", made.Session.SessionID); code != exitClean || stderr != "" {
		t.Errorf("of a session that exists: %d %q", code, stderr)
	}
	if code, out, stderr := p.command("share", "--session", "nosuch", "--session", made.Session.SessionID); code != exitClean || !strings.Contains(out, "#pair=") ||
		!strings.Contains(stderr, "no session nosuch:") {
		t.Errorf("of one that does not: %d %q %q", code, out, stderr)
	}
}

func TestDoctorBelievesTheRunningHubAboutItsAppServer(t *testing.T) {
	p := serveSimulated(t, nil)
	ready := p.wantAppServerReady()
	code, out, _ := p.command("doctor")
	if code != exitClean {
		t.Errorf("exit code %d", code)
	}
	wantFinding(t, out, "ok", "app-server", "ready")

	broken := startHub(t, nil, "serve", "--listen", "127.0.0.1:0", "--app-server", writeScript(t, filepath.Join(t.TempDir(), "broken"), "#!/bin/sh\nexit 3\n"))
	for deadline := time.Now().Add(patience); broken.status().AppServer.State == "starting" && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond) // polled, as in wantAppServerReady
	}
	_, out, _ = broken.command("doctor", "--app-server", os.Args[0])
	wantFinding(t, out, "(warn|BAD)", "app-server", "(restarting|failed)")
	if ready.Pid == 0 {
		t.Error("a ready app-server without a process")
	}
	if status, _ := broken.get("/readyz", ""); status != http.StatusServiceUnavailable {
		t.Errorf("/readyz: %d", status)
	}
}
