package auth

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	signingFile  = "signing.pem"
	instanceFile = "instance"

	kidBytes      = 8  // names a key among a handful; no secret, no collision to fear
	instanceBytes = 16 // 128 bit: unique without asking anybody
)

// Keys signs and verifies the hub's own tokens (Ed25519). They live in <data-dir>/keys, made on first start.
type Keys struct {
	dir      string
	instance string // issuer and audience of every token: a token of another hub is no token
	decoy    decoy

	rotating sync.Mutex              // one change of the files at a time; who mints or verifies never waits for it
	ring     atomic.Pointer[keyring] // replaced whole, never changed in place
}

// keyring is the one key that signs and all that verify, by kid.
type keyring struct {
	kid    string
	sign   ed25519.PrivateKey
	verify map[string]ed25519.PublicKey

	verified *verified // tokens that these keys were seen to have signed
}

// LoadKeys reads the keys of a data dir and makes them, and the folder, on first start. Anything other users could
// read or change is refused with an error that wraps [ErrLoose]. Several processes may load at once.
func LoadKeys(dataDir string) (*Keys, error) {
	dir := filepath.Join(dataDir, "keys")
	for _, d := range []string{dataDir, dir} {
		if err := PrivateDir(d); err != nil {
			return nil, fmt.Errorf("load keys: %w", err)
		}
	}
	k := &Keys{dir: dir, decoy: newDecoy()}
	instance, err := readOrMake(filepath.Join(dir, instanceFile), func() ([]byte, error) {
		return []byte(randomHex(instanceBytes) + "\n"), nil
	})
	if err != nil {
		return nil, fmt.Errorf("load keys: %w", err)
	}
	k.instance = strings.TrimSpace(string(instance))
	if raw, err := hex.DecodeString(k.instance); err != nil || len(raw) != instanceBytes {
		return nil, fmt.Errorf("load keys: %s does not hold an instance id", filepath.Join(dir, instanceFile))
	}
	if err := k.reload(time.Now()); err != nil {
		return nil, fmt.Errorf("load keys: %w", err)
	}
	return k, nil
}

// Instance names this hub for ever; tokens are valid for it alone.
func (k *Keys) Instance() string { return k.instance }

// KeyID is the kid of the key that signs now.
func (k *Keys) KeyID() string { return k.ring.Load().kid }

// issuer is the iss and the aud of every token of this hub.
func (k *Keys) issuer() string { return "zcode-hub:" + k.instance }

func newKeyring(sign ed25519.PrivateKey) *keyring {
	public := sign.Public().(ed25519.PublicKey)
	kid := keyID(public)
	return &keyring{kid: kid, sign: sign, verify: map[string]ed25519.PublicKey{kid: public}, verified: newVerified()}
}

func keyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:kidBytes])
}

// readOrMake reads a private file; a missing one is made first. Whoever comes second in a race reads the winner's.
func readOrMake(path string, content func() ([]byte, error)) ([]byte, error) {
	data, err := readPrivate(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	if data, err = content(); err != nil {
		return nil, err
	}
	if err := writePrivate(path, data, false /*replace*/); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readPrivate(path)
}

func makeSigningKey() ([]byte, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func parseSigningKey(data []byte) (ed25519.PrivateKey, error) {
	block, rest := pem.Decode(data)
	if block == nil || block.Type != "PRIVATE KEY" || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, errors.New("not one PEM block of type PRIVATE KEY")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("not a PKCS #8 private key") // the cause could quote key bytes
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("not an Ed25519 key")
	}
	return private, nil
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails: the program ends if the system has no randomness
	return hex.EncodeToString(b)
}
