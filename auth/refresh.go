package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

const (
	// AccessTTL is the life of a paired device's access token: how long a stolen one is worth something.
	AccessTTL = 15 * time.Minute

	refreshPrefix   = "hub-refresh"
	refreshKeyBytes = 32
	// retryTime is how long the answer to a refresh may be asked for again: a phone that loses its network does so
	// within the timeout of one request.
	retryTime = time.Minute
)

// ErrReused is wrapped, beside ErrBadToken, when a refresh secret came a second time: somebody holds a copy, so the
// device is revoked.
var ErrReused = errors.New("a refresh secret was used twice")

// refreshRecord lets the store recognise every secret a device ever had by its generation, without keeping them:
// a secret is a MAC over its generation.
type refreshRecord struct {
	Key        []byte    `json:"key"`
	Generation uint64    `json:"generation"` // the one secret that is valid
	Attempt    []byte    `json:"attempt,omitempty"`
	At         time.Time `json:"at"` // of the last rotation
}

// Refresh spends a refresh secret and gives the next one. The spent one is worthless from the moment this returns;
// presented again it revokes its device (ErrReused). attempt is a random text of the client's choice, or empty: who
// asks again within a minute with the same secret and the same attempt gets the same answer, so that a lost answer
// does not cost the device.
func (d *Devices) Refresh(secret, attempt string, now time.Time) (Device, string, error) {
	id, generation, ok := parseRefresh(secret)
	if !ok {
		return Device{}, "", badToken(errors.New("not a refresh secret"))
	}
	var (
		dev     Device
		next    string
		refused error
	)
	err := d.write(func(tx *bbolt.Tx) ([]Device, error) {
		var found bool
		if dev, found = d.Find(id, now); !found || dev.ID != id || !dev.Live(now) {
			refused = badToken(errors.New("the refresh secret's device has ended"))
			return nil, nil
		}
		var rec refreshRecord
		if err := getRefresh(tx, id, &rec); err != nil {
			return nil, err
		}
		switch {
		case !hmac.Equal([]byte(secret), []byte(rec.secret(id, generation))):
			refused = badToken(errors.New("a refresh secret of nobody"))
			return nil, nil
		case generation == rec.Generation:
			rec = refreshRecord{Key: rec.Key, Generation: generation + 1, Attempt: attemptHash(attempt), At: now}
			next = rec.secret(id, rec.Generation)
			return nil, putJSON(tx.Bucket(bucketRefresh), []byte(id), rec)
		case rec.repeats(generation, attempt, now):
			next = rec.secret(id, rec.Generation)
			return nil, nil
		}
		refused = badToken(ErrReused)
		dev.RevokedAt, dev.RevokedFor = now, ErrReused.Error()
		return []Device{dev}, putRevoked(tx, dev)
	})
	switch {
	case err != nil:
		return Device{}, "", fmt.Errorf("refresh: %w", err)
	case errors.Is(refused, ErrReused):
		d.tellRevoked(dev)
	}
	if refused != nil {
		return Device{}, "", refused
	}
	return dev, next, nil
}

// startRefresh gives a device its first refresh secret.
func startRefresh(tx *bbolt.Tx, id string, now time.Time) (string, error) {
	rec := refreshRecord{Key: make([]byte, refreshKeyBytes), Generation: 1, At: now}
	rand.Read(rec.Key)
	return rec.secret(id, rec.Generation), putJSON(tx.Bucket(bucketRefresh), []byte(id), rec)
}

func (r refreshRecord) secret(id string, generation uint64) string {
	text := refreshPrefix + "." + id + "." + strconv.FormatUint(generation, 10)
	mac := hmac.New(sha256.New, r.Key)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (r refreshRecord) repeats(generation uint64, attempt string, now time.Time) bool {
	return generation+1 == r.Generation && attempt != "" && now.Sub(r.At) < retryTime &&
		hmac.Equal(r.Attempt, attemptHash(attempt))
}

func attemptHash(attempt string) []byte {
	if attempt == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(attempt))
	return sum[:]
}

func getRefresh(tx *bbolt.Tx, id string, rec *refreshRecord) error {
	value := tx.Bucket(bucketRefresh).Get([]byte(id))
	if value == nil {
		rec.Key = make([]byte, refreshKeyBytes)
		rand.Read(rec.Key) // a device that never had a secret: nothing will match
		return nil
	}
	return json.Unmarshal(value, rec)
}

func parseRefresh(secret string) (id string, generation uint64, ok bool) {
	const longest = 200 // prefix, id, generation and MAC are well below
	parts := strings.Split(secret, ".")
	if len(secret) > longest || len(parts) != 4 || parts[0] != refreshPrefix {
		return "", 0, false
	}
	generation, err := strconv.ParseUint(parts[2], 10, 64)
	return parts[1], generation, err == nil
}
