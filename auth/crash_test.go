package auth

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// churn pairs, refreshes and revokes for ever and says after each step what the caller was answered.
func churn(dir string) {
	d, err := OpenDevices(dir)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	for {
		now := time.Now()
		code, _, err := d.OpenPairing(Grant{Role: RoleOperator}, "test", now)
		if err != nil {
			fmt.Println("error", err)
			return
		}
		dev, secret, err := d.Pair(code, "phone", "", now)
		if err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println("paired", code, dev.ID, secret)
		_, next, err := d.Refresh(secret, "", now)
		if err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println("refreshed", dev.ID, secret, next)
		if _, err := d.Revoke(dev.ID, "test", now); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println("revoked", dev.ID, next)
	}
}

// record appends to the audit for ever and says after each entry that it was taken.
func record(dir string) {
	a, err := OpenAudit(dir, 2000, 1000)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	for n := 0; ; n++ {
		if err := a.Append(AuditEvent{Event: "test", Name: fmt.Sprint(os.Getpid(), "-", n)}, time.Now()); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println("recorded", fmt.Sprint(os.Getpid(), "-", n))
	}
}

// runUntilKilled starts a job as its own process, kills it after so many answers and returns them.
func runUntilKilled(t *testing.T, job, dir string, answers int) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), job+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	scan := bufio.NewScanner(out)
	for scan.Scan() {
		lines = append(lines, scan.Text())
		if len(lines) == answers {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait() // "signal: killed"
	return lines
}

func TestKilledStoreKeepsEveryAnswerItGave(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	dir := filepath.Join(t.TempDir(), "data")
	for range 8 {
		lines := runUntilKilled(t, jobChurn, dir, 1+rand.IntN(12))
		d := openDevices(t, dir)
		now := time.Now()
		revoked := map[string]bool{}
		for _, line := range lines {
			if f := strings.Fields(line); f[0] == "revoked" {
				revoked[f[1]] = true
			}
		}
		for _, line := range lines {
			f := strings.Fields(line)
			switch f[0] {
			case "paired":
				if _, _, err := d.Pair(f[1], "again", "", now); !errors.Is(err, ErrBadToken) {
					t.Errorf("a spent code after the crash: got %v", err)
				}
			case "refreshed":
				if _, _, err := d.Refresh(f[2], "", now); !errors.Is(err, ErrBadToken) {
					t.Errorf("a spent secret after the crash: got %v", err)
				}
			case "revoked":
				if _, _, err := d.Refresh(f[2], "", now); !errors.Is(err, ErrBadToken) {
					t.Errorf("a revoked device's secret after the crash: got %v", err)
				}
			default:
				t.Fatalf("the process said: %s", line)
			}
		}
		for _, dev := range d.List() {
			if revoked[dev.ID] && !dev.Revoked() {
				t.Errorf("revoked device %s came back", dev.ID)
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKilledAuditKeepsEveryEntryItTook(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	dir := filepath.Join(t.TempDir(), "data")
	want := map[string]bool{}
	for range 8 {
		for _, line := range runUntilKilled(t, jobRecord, dir, 1+rand.IntN(40)) {
			name, taken := strings.CutPrefix(line, "recorded ")
			if !taken {
				t.Fatalf("the process said: %s", line)
			}
			want[name] = true
		}
		report, err := VerifyAudit(dir)
		if err != nil || len(report.Faults) > 0 {
			t.Fatalf("VerifyAudit after the crash: %v, %v", report.Faults, err)
		}
	}
	if err := ReadAudit(dir, func(e AuditEntry) bool { delete(want, e.Name); return true }); err != nil || len(want) > 0 {
		t.Errorf("entries lost: %v, %v", want, err)
	}
}
