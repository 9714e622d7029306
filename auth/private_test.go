package auth

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckDataDirNamesEverythingLoose(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := LoadKeys(dir); err != nil {
		t.Fatal(err)
	}
	openDevices(t, dir)
	appendEvents(t, openAudit(t, dir, 300, 5), 1, 5)
	if err := CheckDataDir(dir); err != nil {
		t.Errorf("what the package makes is loose: %v", err)
	}
	loose := map[string]os.FileMode{
		filepath.Join(dir, devicesFile): 0o640, filepath.Join(dir, "keys"): 0o711, filepath.Join(dir, auditDir, auditCurrent): 0o606,
	}
	for path, mode := range loose {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	err := CheckDataDir(dir)
	if !errors.Is(err, ErrLoose) {
		t.Fatalf("CheckDataDir: got %v, want ErrLoose", err)
	}
	for path := range loose {
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%s is not named in: %v", path, err)
		}
	}
	if err := CheckDataDir(filepath.Join(dir, "none")); err == nil {
		t.Error("a missing data dir is no fault")
	}
}

func TestPrivateWriteIsWholeOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := writePrivate(path, []byte("one"), false /*replace*/); err != nil {
		t.Fatal(err)
	}
	if err := writePrivate(path, []byte("two"), false /*replace*/); !errors.Is(err, os.ErrExist) {
		t.Errorf("second first write: got %v, want ErrExist", err)
	}
	if err := writePrivate(path, []byte("three"), true /*replace*/); err != nil {
		t.Fatal(err)
	}
	if got, err := readPrivate(path); string(got) != "three" || err != nil {
		t.Errorf("content: got %q, %v", got, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("files left: %v", left)
	}
}
