package auth

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
)

const (
	pairingIDBytes = 8               // tells five apart
	pairingBytes   = 16              // 128 bit: not to be guessed in five minutes
	pairingLife    = 5 * time.Minute // to walk to the phone and point it at the screen
	maxPairings    = 5               // more open doors than one person watches
	// PairedTTL is how long a paired device may renew itself when nobody says.
	PairedTTL = 90 * 24 * time.Hour

	// Wrong codes are answered so many times a minute, then none: no guesser gets far, and a lock-out by a
	// stranger ends by itself.
	maxGuesses        = 30
	guessWindowLength = time.Minute
)

var (
	// ErrTooManyPairings is wrapped when too many codes are open.
	ErrTooManyPairings = errors.New("too many pairings are open")
	// ErrTooManyGuesses is wrapped when too many wrong codes came within a minute; right ones wait too.
	ErrTooManyGuesses = errors.New("too many wrong pairing codes")
)

// Pairing is an open invitation to one device. Its code is known only to whoever opened it.
type Pairing struct {
	ID         string    `json:"id"`             // to cancel it by; says nothing about the code
	Name       string    `json:"name,omitempty"` // for the device, unless it brings its own
	Role       Role      `json:"role"`
	Sessions   []string  `json:"sessions,omitempty"`
	Workspaces []string  `json:"workspaces,omitempty"`
	Profiles   []Profile `json:"profiles"`
	TTLSeconds int64     `json:"ttlSeconds"` // the device's life
	OpenedBy   string    `json:"openedBy"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

// OpenPairing makes a code that enrols one device with the grant, once, within five minutes. Unlike a token made by
// hand, a paired device gets the replayable profile alone unless the grant says more.
func (d *Devices) OpenPairing(g Grant, openedBy string, now time.Time) (code string, p Pairing, err error) {
	if g.TTL == 0 {
		g.TTL = PairedTTL
	}
	if g.Profiles == nil {
		g.Profiles = []Profile{Replayable}
	}
	suggested := g.Name
	if g.Name == "" {
		g.Name = "new device" // only for the check
	}
	g = g.withDefaults()
	if err := g.check(); err != nil {
		return "", Pairing{}, err
	}
	raw := make([]byte, pairingBytes)
	rand.Read(raw)
	code = base64.RawURLEncoding.EncodeToString(raw)
	key := pairingKey(code)
	p = Pairing{
		ID: hex.EncodeToString(key[:pairingIDBytes]), Name: suggested, Role: g.Role, Sessions: g.Sessions,
		Workspaces: g.Workspaces, Profiles: g.Profiles, TTLSeconds: int64(g.TTL / time.Second), OpenedBy: openedBy, ExpiresAt: now.Add(pairingLife),
	}
	err = d.write(func(tx *bbolt.Tx) ([]Device, error) {
		open, err := sweepPairings(tx, now)
		if err != nil {
			return nil, err
		}
		if open >= maxPairings {
			return nil, fmt.Errorf("%w: use one, cancel one, or wait %s", ErrTooManyPairings, pairingLife)
		}
		return nil, putJSON(tx.Bucket(bucketPairings), key, p)
	})
	if err != nil {
		return "", Pairing{}, err
	}
	return code, p, nil
}

// Pair spends a code: in one step on disk the code ends and the device begins. It gives the device and its first
// refresh secret. A wrong code gets the answer of every bad credential. The device is called name, or else what the code
// was made for, or else as the device thinks of itself.
func (d *Devices) Pair(code, name, otherwise string, now time.Time) (Device, string, error) {
	for _, n := range []string{name, otherwise} {
		if err := CheckName(n); n != "" && err != nil {
			return Device{}, "", err
		}
	}
	if d.guessesSpent(now) {
		return Device{}, "", fmt.Errorf("%w: try again in a minute", ErrTooManyGuesses)
	}
	var (
		dev    Device
		secret string
		wrong  bool
	)
	err := d.write(func(tx *bbolt.Tx) ([]Device, error) {
		p, found, err := takePairing(tx, code, now)
		if wrong = err == nil && !found; wrong || err != nil {
			return nil, err
		}
		if err := d.checkRoom(); err != nil {
			return nil, err
		}
		dev = newDevice(Grant{
			Name: d.freeName(cmp.Or(name, p.Name, otherwise, "device"), now), Role: p.Role, Sessions: p.Sessions, Workspaces: p.Workspaces,
			Profiles: p.Profiles, TTL: time.Duration(p.TTLSeconds) * time.Second,
		}, KindPaired, now)
		if secret, err = startRefresh(tx, dev.ID, now); err != nil {
			return nil, err
		}
		return []Device{dev}, putDevice(tx, dev)
	})
	switch {
	case err != nil:
		return Device{}, "", fmt.Errorf("pair: %w", err)
	case wrong:
		d.countGuess(now)
		return Device{}, "", badToken(errors.New("no open pairing has this code"))
	}
	return dev, secret, nil
}

// Pairings lists the open ones, the next to end first.
func (d *Devices) Pairings(now time.Time) (open []Pairing, err error) {
	err = d.db.View(func(tx *bbolt.Tx) error {
		open, _, err = sortPairings(tx, now)
		return err
	})
	slices.SortFunc(open, func(a, b Pairing) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
	return open, err
}

// CancelPairing ends an open pairing by its id; it reports whether there was one.
func (d *Devices) CancelPairing(id string) (found bool, err error) {
	prefix, err := hex.DecodeString(id)
	if err != nil || len(prefix) != pairingIDBytes {
		return false, nil
	}
	err = d.write(func(tx *bbolt.Tx) ([]Device, error) {
		key, _ := tx.Bucket(bucketPairings).Cursor().Seek(prefix)
		if found = bytes.HasPrefix(key, prefix); !found {
			return nil, nil
		}
		return nil, tx.Bucket(bucketPairings).Delete(bytes.Clone(key))
	})
	return found, err
}

// pairingKey: the code itself is not kept, so neither the file nor a copy of it opens a door.
func pairingKey(code string) []byte {
	sum := sha256.Sum256([]byte(code))
	return sum[:]
}

func takePairing(tx *bbolt.Tx, code string, now time.Time) (p Pairing, found bool, err error) {
	key := pairingKey(code)
	bucket := tx.Bucket(bucketPairings)
	value := bucket.Get(key)
	if value == nil {
		return p, false, nil
	}
	if err := json.Unmarshal(value, &p); err != nil {
		return p, false, err
	}
	return p, now.Before(p.ExpiresAt), bucket.Delete(key)
}

// sweepPairings deletes the expired ones and counts the open ones.
func sweepPairings(tx *bbolt.Tx, now time.Time) (int, error) {
	open, expired, err := sortPairings(tx, now)
	for _, key := range expired {
		err = errors.Join(err, tx.Bucket(bucketPairings).Delete(key))
	}
	return len(open), err
}

func sortPairings(tx *bbolt.Tx, now time.Time) (open []Pairing, expired [][]byte, err error) {
	err = tx.Bucket(bucketPairings).ForEach(func(key, value []byte) error {
		var p Pairing
		if err := json.Unmarshal(value, &p); err != nil {
			return err
		}
		if now.Before(p.ExpiresAt) {
			open = append(open, p)
		} else {
			expired = append(expired, bytes.Clone(key))
		}
		return nil
	})
	return open, expired, err
}

// freeName keeps a device that names itself from passing for another: "phone", "phone 2", …
func (d *Devices) freeName(wanted string, now time.Time) string {
	name := wanted
	for n := 2; ; n++ {
		if _, taken := d.liveByName(name, now); !taken {
			return name
		}
		suffix := " " + strconv.Itoa(n)
		runes := []rune(wanted)
		name = string(runes[:min(len(runes), maxName-len(suffix))]) + suffix
	}
}

// guessWindow counts wrong codes in the current minute.
type guessWindow struct {
	since time.Time
	count int
}

func (d *Devices) guessesSpent(now time.Time) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.guesses.count >= maxGuesses && now.Sub(d.guesses.since) < guessWindowLength
}

func (d *Devices) countGuess(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.guesses.since) >= guessWindowLength {
		d.guesses = guessWindow{since: now}
	}
	d.guesses.count++
}
