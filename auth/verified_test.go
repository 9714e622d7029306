package auth

import (
	"errors"
	"testing"
	"time"
)

// A token that was verified before is let in by its hash, but not a moment
// longer, or earlier, than by its signature, nor after its key was forgotten.
func TestVerifiedTokenIsCheckedForTimeAndKeyEachTime(t *testing.T) {
	keys, err := LoadKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Truncate(time.Second)
	token, _, err := keys.Mint(Grant{Name: "phone", Role: RoleViewer, TTL: time.Hour}, now)
	if err != nil {
		t.Fatal(err)
	}
	verify := func(at time.Time) error {
		_, err := keys.Verify(token, at)
		return err
	}
	for range 2 {
		if err := verify(now); err != nil {
			t.Fatalf("a good token: %v", err)
		}
	}
	if err := verify(now.Add(-time.Minute)); !errors.Is(err, ErrBadToken) {
		t.Errorf("before it begins: %v", err)
	}
	if err := verify(now.Add(time.Hour + leeway - time.Second)); err != nil {
		t.Errorf("within the leeway: %v", err)
	}
	if err := verify(now.Add(time.Hour + leeway)); !errors.Is(err, ErrExpired) {
		t.Errorf("after it expired: %v", err)
	}
	old := keys.KeyID()
	if err := keys.Rotate(now); err != nil {
		t.Fatal(err)
	}
	if err := verify(now); err != nil {
		t.Errorf("after a rotation the old key still verifies: %v", err)
	}
	if err := keys.Forget(old, now); err != nil {
		t.Fatal(err)
	}
	if err := verify(now); !errors.Is(err, ErrBadToken) {
		t.Errorf("after its key was forgotten: %v", err)
	}
}

func TestVerifiedTokensAreBounded(t *testing.T) {
	v := newVerified()
	p := &Principal{ExpiresAt: time.Now().Add(time.Hour)}
	for i := range 3 * maxVerified {
		v.add([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}, p, time.Now())
	}
	if n := len(v.tokens); n > maxVerified {
		t.Errorf("%d tokens are remembered, want at most %d", n, maxVerified)
	}
}
