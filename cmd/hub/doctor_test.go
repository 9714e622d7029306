package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// wantFinding checks what the doctor says of something.
func wantFinding(t *testing.T, out, grade, about, text string) {
	t.Helper()
	if !regexp.MustCompile(`(?m)^` + grade + ` +` + about + ` .*` + text).MatchString(out) {
		t.Errorf("no %q of %q with %q in\n%s", grade, about, text, out)
	}
}

func TestDoctorFindsWhatIsBrokenAndUnsafe(t *testing.T) {
	dir := filepath.Join(shortDir(t), "data")
	self := os.Args[0]
	if code, out, stderr := runHub(t, "", nil, "doctor", "--data-dir", dir, "--app-server", self, "--listen", "127.0.0.1:0"); code != exitClean || strings.Contains(out, "BAD") {
		t.Errorf("of a fresh machine: exit code %d, %s %s", code, out, stderr)
	}
	if code, _, stderr := runHub(t, "", nil, "token", "create", "--role", "viewer", "--name", "x", "--data-dir", dir); code != exitClean {
		t.Fatal(stderr)
	}
	if err := os.Chmod(filepath.Join(dir, "devices.db"), 0o644); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "keys", "signing.pem"), later, later); err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := writeCertificate(t, t.TempDir(), 1, time.Hour)
	code, out, _ := runHub(t, "", nil, "doctor", "--data-dir", dir, "--app-server", "/nowhere/zcode", "--listen", "0.0.0.0:0",
		"--public-url", "http://hub.example.org", "--trusted-proxy", "0.0.0.0/0", "--tls-cert", certFile, "--tls-key", keyFile,
		"--jwt-secret-file", writeFile(t, "secret", "short", 0o600))
	if code != exitFailure {
		t.Errorf("exit code %d", code)
	}
	wantFinding(t, out, "BAD", "data dir", "devices.db has mode 0644")
	wantFinding(t, out, "BAD", "clock", "set back")
	wantFinding(t, out, "BAD", "app-server", "nowhere")
	wantFinding(t, out, "BAD", "proxy", "any address")
	wantFinding(t, out, "BAD", "jwt", "at least 32")
	wantFinding(t, out, "warn", "tls", "ends on")
	wantFinding(t, out, "warn", "listen", "every network")
	wantFinding(t, out, "warn", "public url", "not https")
}
