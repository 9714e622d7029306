package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestDevicesAndKeysWithoutARunningHub(t *testing.T) {
	dir := filepath.Join(shortDir(t), "data")
	at := func(args ...string) (int, string, string) {
		return runHub(t, "", nil, append(args, "--data-dir", dir)...)
	}
	if code, _, stderr := at("token", "create", "--role", "viewer", "--name", "wall"); code != exitClean {
		t.Fatal(stderr)
	}
	if code, out, stderr := at("devices", "list"); code != exitClean || !strings.Contains(out, "wall") {
		t.Errorf("list: %d %q %q", code, out, stderr)
	}
	if code, _, stderr := at("devices", "rename", "wall", "hall"); code != exitClean {
		t.Errorf("rename: %d %q", code, stderr)
	}
	if code, _, stderr := at("devices", "revoke", "hall"); code != exitClean {
		t.Errorf("revoke: %d %q", code, stderr)
	}
	if code, out, _ := at("devices", "list"); code != exitClean || strings.Contains(out, "hall") {
		t.Errorf("a revoked device is listed as live: %q", out)
	}
	if code, out, _ := at("devices", "list", "--all"); code != exitClean || !strings.Contains(out, "revoked by local") {
		t.Errorf("list --all: %q", out)
	}
	code, out, stderr := at("keys", "rotate")
	retired := regexp.MustCompile(`keys forget ([0-9a-f]+)`).FindStringSubmatch(out)
	if code != exitClean || retired == nil {
		t.Fatalf("rotate: %d %q %q", code, out, stderr)
	}
	if code, _, stderr := at("keys", "forget", retired[1]); code != exitClean {
		t.Errorf("forget: %d %q", code, stderr)
	}
	_, shown, _ := at("audit", "show")
	for _, event := range []string{"token.created", "device.renamed", "device.revoked", "keys.rotated", "keys.forgotten"} {
		if strings.Count(shown, event) != 1 {
			t.Errorf("the audit has not one %s:\n%s", event, shown)
		}
	}
	if code, _, stderr := at("pair"); code != exitFailure || !strings.Contains(stderr, "no hub runs") {
		t.Errorf("pair: %d %q", code, stderr)
	}
}

func TestCommandsThatReadMakeNothing(t *testing.T) {
	dir := filepath.Join(shortDir(t), "data")
	for _, args := range [][]string{
		{"devices", "list"}, {"devices", "list", "--json"}, {"devices", "revoke", "x"}, {"devices", "rename", "x", "y"}, {"audit", "show"},
		{"audit", "verify"}, {"status"}, {"status", "--probe"}, {"pair"}, {"pair", "list"}, {"share", "--session", "s"}, {"doctor"}, {"config"}, {"version"},
	} {
		_, out, stderr := runHub(t, "", nil, append(args, "--data-dir", dir)...)
		if _, err := os.Stat(dir); err == nil {
			t.Fatalf("hub %q made the data dir: %q %q", args, out, stderr)
		}
	}
	if code, out, stderr := runHub(t, "", nil, "devices", "list", "--json", "--data-dir", dir); code != exitClean || strings.TrimSpace(out) != "[]" {
		t.Errorf("devices of no data dir: %d %q %q", code, out, stderr)
	}
	if code, _, stderr := runHub(t, "", nil, "audit", "verify", "--data-dir", dir); code != exitFailure || !strings.Contains(stderr, "there is no audit") {
		t.Errorf("audit verify of no data dir: %d %q", code, stderr)
	}
}
