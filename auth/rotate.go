package auth

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	retiredPattern = "retired-*.pem"
	retiredAt      = "Retired" // PEM header of a retired public key, RFC 3339
)

// Rotate makes a new signing key. Tokens of the old one stay good until they end: its public half is kept for the
// longest life of a token, its private half is gone. A crash at any point leaves a key that signs and every key that
// verifies.
func (k *Keys) Rotate(now time.Time) error {
	k.rotating.Lock()
	defer k.rotating.Unlock()
	old := k.ring.Load()
	if err := writeRetired(k.dir, old, now); err != nil {
		return fmt.Errorf("rotate keys: %w", err)
	}
	data, err := makeSigningKey()
	if err != nil {
		return fmt.Errorf("rotate keys: %w", err)
	}
	if err := writePrivate(filepath.Join(k.dir, signingFile), data, true /*replace*/); err != nil {
		return fmt.Errorf("rotate keys: %w", err)
	}
	return k.reload(now)
}

// Forget ends a retired key, and with it all its tokens, at once: for a key that leaked. What was let in by such a
// token before is the caller's to close.
func (k *Keys) Forget(kid string, now time.Time) error {
	k.rotating.Lock()
	defer k.rotating.Unlock()
	ring := k.ring.Load()
	if kid == ring.kid {
		return fmt.Errorf("key %s signs new tokens: rotate first", kid)
	}
	if _, found := ring.verify[kid]; !found {
		return fmt.Errorf("no retired key %.40q; %s", kid, ring.retired())
	}
	if err := os.Remove(retiredPath(k.dir, kid)); err != nil {
		return fmt.Errorf("forget key: %w", err)
	}
	return errors.Join(syncDir(k.dir), k.reload(now))
}

// retired names the keys that only verify, for whoever looked for one.
func (r *keyring) retired() string {
	var kids []string
	for kid := range r.verify {
		if kid != r.kid {
			kids = append(kids, kid)
		}
	}
	if kids == nil {
		return "there is none"
	}
	slices.Sort(kids)
	return "there are: " + strings.Join(kids, ", ")
}

// reload reads the signing key and the retired ones from disk.
func (k *Keys) reload(now time.Time) error {
	path := filepath.Join(k.dir, signingFile)
	data, err := readOrMake(path, makeSigningKey)
	if err != nil {
		return err
	}
	sign, err := parseSigningKey(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	ring := newKeyring(sign)
	files, err := filepath.Glob(filepath.Join(k.dir, retiredPattern))
	if err != nil {
		return err
	}
	for _, file := range files {
		public, until, err := readRetired(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if now.After(until) {
			if err := os.Remove(file); err != nil {
				return err
			}
			continue
		}
		ring.verify[keyID(public)] = public
	}
	k.ring.Store(ring)
	return nil
}

func retiredPath(dir, kid string) string { return filepath.Join(dir, "retired-"+kid+".pem") }

func writeRetired(dir string, ring *keyring, now time.Time) error {
	der, err := x509.MarshalPKIXPublicKey(ring.verify[ring.kid])
	if err != nil {
		return err
	}
	data := pem.EncodeToMemory(&pem.Block{
		Type: "PUBLIC KEY", Bytes: der, Headers: map[string]string{retiredAt: now.UTC().Format(time.RFC3339)},
	})
	return writePrivate(retiredPath(dir, ring.kid), data, true /*replace*/)
}

// readRetired also says until when tokens of the key can live.
func readRetired(path string) (ed25519.PublicKey, time.Time, error) {
	data, err := readPrivate(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "PUBLIC KEY" {
		return nil, time.Time{}, errors.New("not a PEM block of type PUBLIC KEY")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, time.Time{}, err
	}
	public, ok := key.(ed25519.PublicKey)
	if !ok {
		return nil, time.Time{}, errors.New("not an Ed25519 key")
	}
	at, err := time.Parse(time.RFC3339, block.Headers[retiredAt])
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("header %s: %w", retiredAt, err)
	}
	return public, at.Add(MaxTTL + leeway), nil
}
