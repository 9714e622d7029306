package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestDataDirIsPrivateAndHasOneHub(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	first, err := openDataDir(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode: got %v, %v; want 0700", info.Mode(), err)
	}
	_, err = openDataDir(path)
	if !errors.Is(err, errDataDirTaken) {
		t.Fatalf("second hub: got %v, want %v", err, errDataDirTaken)
	}
	for _, want := range []string{path, strconv.Itoa(os.Getpid()), "--data-dir"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("second hub: %q does not say %q", err, want)
		}
	}
	first.close()
	second, err := openDataDir(path)
	if err != nil {
		t.Fatalf("after the first hub ended: %v", err)
	}
	second.close()
}

func TestDataDirThatOthersMayReadIsRefused(t *testing.T) {
	path := t.TempDir()
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "something"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openDataDir(path); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("got %v, want a refusal that says how to mend it", err)
	}
}

func TestFilesAreReplacedWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ready")
	for _, want := range []string{"first", "2nd"} {
		if err := writeFileAtomic(path, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := writeFileAtomic(filepath.Join(path, "below-a-file"), nil); err == nil {
		t.Error("a path that cannot be written: no error")
	}
}
