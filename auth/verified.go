package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxVerified bounds the memory of verified tokens: far more than a hub has
// devices, and less than 2 MiB.
const maxVerified = 4096

// verified remembers good tokens of one keyring by their hash, so that a phone
// that comes back, or a thousand after a restart, costs no signature check each
// (about 100 µs). Only what was verified is in it, and it ends with its
// keyring; times are checked again at every use, devices by whoever asks for
// them. Bad tokens are never remembered: they all cost the same.
type verified struct {
	mu     sync.Mutex // a leaf
	tokens map[[sha256.Size]byte]verifiedToken
}

type verifiedToken struct {
	principal *Principal
	notBefore time.Time
}

func newVerified() *verified {
	return &verified{tokens: map[[sha256.Size]byte]verifiedToken{}}
}

// find returns the principal of a token that was verified before and is valid
// now; nil sends the caller to the long way.
func (v *verified) find(sum [sha256.Size]byte, now time.Time) *Principal {
	v.mu.Lock()
	t, ok := v.tokens[sum]
	v.mu.Unlock()
	if !ok || now.Add(leeway).Before(t.notBefore) || !now.Before(t.principal.ExpiresAt.Add(leeway)) {
		return nil
	}
	return t.principal
}

// add remembers a token. When there are too many all are forgotten: they cost
// one more check each.
func (v *verified) add(sum [sha256.Size]byte, p *Principal, notBefore time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.tokens) >= maxVerified {
		clear(v.tokens)
	}
	v.tokens[sum] = verifiedToken{p, notBefore}
}
