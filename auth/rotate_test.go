package auth

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTokensOutliveTheRotationOfTheirKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	k, err := LoadKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	first := k.KeyID()
	old, _ := mint(t, k, Grant{Name: "a", Role: RoleViewer})
	if err := k.Rotate(noon); err != nil {
		t.Fatalf("Rotate: %v", err)
	}
	fresh, _ := mint(t, k, Grant{Name: "a", Role: RoleViewer})
	if k.KeyID() == first {
		t.Error("the key is the same")
	}
	reloaded, err := LoadKeys(dir)
	if err != nil {
		t.Fatalf("LoadKeys after a rotation: %v", err)
	}
	for name, k := range map[string]*Keys{"running": k, "restarted": reloaded} {
		for which, token := range map[string]string{"old": old, "new": fresh} {
			if _, err := k.Verify(token, noon); err != nil {
				t.Errorf("%s hub, %s token: %s", name, which, Cause(err))
			}
		}
	}
	if err := k.Forget(k.KeyID(), noon); err == nil {
		t.Error("the signing key was forgotten")
	}
	if err := k.Forget("../signing", noon); err == nil || !strings.Contains(err.Error(), first) {
		t.Errorf("forgetting what is no key: got %v, want an error that names the retired key %s", err, first)
	}
	if err := k.Forget(first, noon); err != nil {
		t.Fatalf("Forget: %v", err)
	}
	if _, err := k.Verify(old, noon); err == nil {
		t.Error("a token of a forgotten key is good")
	}
	if _, err := k.Verify(fresh, noon); err != nil {
		t.Errorf("new token after Forget: %s", Cause(err))
	}
}

func TestRetiredKeysHoldNoPrivateHalfAndGoWithTheirTokens(t *testing.T) {
	k := newKeys(t)
	for range 3 {
		if err := k.Rotate(noon); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(k.dir, retiredPattern))
	if len(files) != 3 || len(k.ring.Load().verify) != 4 {
		t.Fatalf("after three rotations: %d files, %d keys verify", len(files), len(k.ring.Load().verify))
	}
	for _, f := range files {
		data, _ := os.ReadFile(f)
		if _, err := parseSigningKey(data); err == nil {
			t.Errorf("%s holds a private key", f)
		}
		if info, _ := os.Stat(f); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", f, info.Mode().Perm())
		}
	}
	if err := k.Rotate(noon.Add(MaxTTL + time.Minute)); err != nil {
		t.Fatal(err)
	}
	if files, _ = filepath.Glob(filepath.Join(k.dir, retiredPattern)); len(files) != 1 {
		t.Errorf("retired keys after the longest life: got %d, want the one just retired", len(files))
	}
}

func TestCrashBetweenTheWritesOfARotationLosesNoKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	k, err := LoadKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	token, _ := mint(t, k, Grant{Name: "a", Role: RoleViewer})
	if err := writeRetired(k.dir, k.ring.Load(), noon); err != nil { // and then it dies
		t.Fatal(err)
	}
	again, err := LoadKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again.KeyID() != k.KeyID() {
		t.Error("the key changed")
	}
	if _, err := again.Verify(token, noon); err != nil {
		t.Errorf("Verify: %s", Cause(err))
	}
}
