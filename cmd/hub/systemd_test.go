package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestUnitFileIsAcceptedBySystemd(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not on this machine, so nothing here can judge deploy/systemd/hub.service")
	}
	content, err := os.ReadFile(filepath.Join("..", "..", "deploy", "systemd", "hub.service"))
	if err != nil {
		t.Fatal(err)
	}
	// systemd looks whether the program is there, which on this machine is the test.
	unit := writeFile(t, "hub.service", strings.ReplaceAll(string(content), "/usr/local/bin/hub", os.Args[0]), 0o644)
	if out, err := exec.Command(verify, "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

func TestUnitFileWaitsLongerThanTheDrain(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "deploy", "systemd", "hub.service"))
	if err != nil {
		t.Fatal(err)
	}
	after := func(mark string) time.Duration {
		_, rest, found := strings.Cut(string(content), mark)
		if !found {
			t.Fatalf("the unit has no %q", mark)
		}
		d, err := time.ParseDuration(strings.Fields(rest)[0])
		if err != nil {
			t.Fatalf("after %q: %v", mark, err)
		}
		return d
	}
	if drain, stop := after("--drain-timeout "), after("TimeoutStopSec="); stop <= drain {
		t.Errorf("TimeoutStopSec=%s cuts off a drain of %s", stop, drain)
	}
	if !strings.Contains(string(content), "RestartPreventExitStatus=2") || exitUsage != 2 {
		t.Error("the unit and the program disagree about the exit code for a wrong configuration")
	}
}
