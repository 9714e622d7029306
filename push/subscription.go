package push

import (
	"crypto/ecdh"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"zcodehub/auth"
)

// Subscription is where a browser wants to be reached, and with what keys, as it
// says itself.
type Subscription struct {
	Endpoint string `json:"endpoint"`
	Keys     Keys   `json:"keys"`
	Language string `json:"language,omitempty"`
}

// Keys are the browser's, in base64.
type Keys struct {
	P256dh string `json:"p256dh"`
	Auth   string `json:"auth"`
}

const (
	// maxEndpoint is some times what push services use: 200 to 500 bytes.
	maxEndpoint = 2 << 10
	maxLanguage = 35 // RFC 5646 section 4.4.1
	pointBytes  = 65 // an uncompressed point of P-256
	authBytes   = 16 // RFC 8291 section 3.2
)

// ErrSubscription is wrapped by every refusal of a subscription as it is.
var ErrSubscription = errors.New("this is no push subscription")

// check refuses what cannot be sent to, or must not be.
func (s *Subscription) check() error {
	u, err := url.Parse(s.Endpoint)
	switch {
	case err != nil || len(s.Endpoint) > maxEndpoint:
		return fmt.Errorf("%w: its endpoint is no address", ErrSubscription)
	case u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" || u.Fragment != "":
		return fmt.Errorf("%w: its endpoint must be a plain https address", ErrSubscription)
	}
	point, err := decodeKey(s.Keys.P256dh, pointBytes)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(point)
	}
	if err != nil {
		return fmt.Errorf("%w: p256dh must be a point of P-256 in base64", ErrSubscription)
	}
	if _, err := decodeKey(s.Keys.Auth, authBytes); err != nil {
		return fmt.Errorf("%w: auth must be %d bytes in base64", ErrSubscription, authBytes)
	}
	if len(s.Language) > maxLanguage || strings.Trim(s.Language, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
		return fmt.Errorf("%w: language must be a language tag", ErrSubscription)
	}
	return nil
}

// decodeKey reads a key in either alphabet of base64, padded or not.
func decodeKey(text string, size int) ([]byte, error) {
	text = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "="))
	key, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && len(key) != size {
		err = fmt.Errorf("%d bytes instead of %d", len(key), size)
	}
	return key, err
}

// record is a subscription as it is stored: with what its device was allowed
// when it subscribed.
type record struct {
	Subscription
	Device     string         `json:"device"`
	Name       string         `json:"name"`
	Role       auth.Role      `json:"role"`
	Rights     auth.Right     `json:"rights"`
	Sessions   []string       `json:"sessions"`   // null is no limit
	Workspaces []string       `json:"workspaces"` // null is no limit
	Profiles   []auth.Profile `json:"profiles"`
	At         time.Time      `json:"at"`
}

func newRecord(p *auth.Principal, s Subscription, now time.Time) record {
	return record{Subscription: s, Device: p.Device, Name: p.Name, Role: p.Role, Rights: p.Rights,
		Sessions: slices.Clone(p.Sessions), Workspaces: slices.Clone(p.Workspaces), Profiles: slices.Clone(p.Profiles), At: now}
}

// holder is who subscribed.
func (r *record) holder() *auth.Principal {
	return &auth.Principal{Name: r.Name, Device: r.Device, Role: r.Role, Rights: r.Rights,
		Sessions: r.Sessions, Workspaces: r.Workspaces, Profiles: r.Profiles}
}
