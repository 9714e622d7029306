package auth

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func newKeys(t *testing.T) *Keys {
	t.Helper()
	k, err := LoadKeys(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatalf("LoadKeys: %v", err)
	}
	return k
}

func TestKeysAreMadePrivateOnFirstStartAndStay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := LoadKeys(dir)
	if err != nil {
		t.Fatalf("first LoadKeys: %v", err)
	}
	for path, want := range map[string]os.FileMode{
		dir: 0o700, filepath.Join(dir, "keys"): 0o700,
		filepath.Join(dir, "keys", signingFile): 0o600, filepath.Join(dir, "keys", instanceFile): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %s: got %v, %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
	token, _, err := first.Mint(Grant{Name: "phone", Role: RoleViewer}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadKeys(dir)
	if err != nil {
		t.Fatalf("second LoadKeys: %v", err)
	}
	if again.Instance() != first.Instance() || again.KeyID() != first.KeyID() {
		t.Error("a restart changed the instance or the key")
	}
	if _, err := again.Verify(token, time.Now()); err != nil {
		t.Errorf("a token did not survive a restart: %v", Cause(err))
	}
	left, _ := os.ReadDir(filepath.Join(dir, "keys"))
	if len(left) != 2 {
		t.Errorf("files left in keys: got %v, want the key and the instance", left)
	}
}

func TestLooseKeysAreRefused(t *testing.T) {
	tests := []struct {
		name string
		path string
		mode os.FileMode
	}{
		{"key readable by the group", "keys/" + signingFile, 0o640},
		{"key readable by all", "keys/" + signingFile, 0o604},
		{"key writable by all", "keys/" + signingFile, 0o602},
		{"key folder open to the group", "keys", 0o750},
		{"data dir open to all", ".", 0o755},
		{"instance file writable by the group", "keys/" + instanceFile, 0o620},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if _, err := LoadKeys(dir); err != nil {
				t.Fatal(err)
			}
			loose := filepath.Join(dir, tt.path)
			if err := os.Chmod(loose, tt.mode); err != nil {
				t.Fatal(err)
			}
			_, err := LoadKeys(dir)
			if !errors.Is(err, ErrLoose) || !strings.Contains(err.Error(), loose) || !strings.Contains(err.Error(), "chmod") {
				t.Errorf("LoadKeys: got %v, want ErrLoose with the path and the cure", err)
			}
		})
	}
}

func TestEmptyFolderIsTightened(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKeys(dir); err != nil {
		t.Fatalf("LoadKeys in an empty 0755 folder: %v", err)
	}
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("mode afterwards: got %v, want 0700", info.Mode().Perm())
	}
}

func TestSpoiledKeyFilesAreRefusedAndKept(t *testing.T) {
	rsaish := "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
	for name, content := range map[string]string{"empty": "", "garbage": "garbage", "other DER": rsaish} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if _, err := LoadKeys(dir); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "keys", signingFile)
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := LoadKeys(dir); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("LoadKeys: got %v, want an error that names the file", err)
			}
			if got, _ := os.ReadFile(path); string(got) != content {
				t.Error("a spoiled key was overwritten")
			}
		})
	}
}

func TestLinkedKeyIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := LoadKeys(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "keys", signingFile)
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := errors.Join(os.Rename(path, moved), os.Symlink(moved, path)); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKeys(dir); err == nil {
		t.Error("LoadKeys followed a link")
	}
}

func TestRacingFirstStartsAgreeOnOneKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	const starts = 8
	kids := make([]string, starts)
	var wg sync.WaitGroup
	for i := range starts {
		wg.Go(func() {
			k, err := LoadKeys(dir)
			if err != nil {
				t.Errorf("LoadKeys: %v", err)
				return
			}
			kids[i] = k.Instance() + k.KeyID()
		})
	}
	wg.Wait()
	for _, kid := range kids {
		if kid != kids[0] {
			t.Fatalf("keys differ: %v", kids)
		}
	}
}
