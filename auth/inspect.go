package auth

import (
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Inspection is what a token says of itself, for people. Nothing in it is verified.
type Inspection struct {
	Algorithm  string    `json:"algorithm"`
	KeyID      string    `json:"keyId"`
	Issuer     string    `json:"issuer"`
	Audience   []string  `json:"audience"`
	Type       string    `json:"type"`
	TokenID    string    `json:"tokenId"`
	Name       string    `json:"name"`
	Device     string    `json:"device"`
	Role       Role      `json:"role"`
	Rights     []string  `json:"rights"`
	Sessions   []string  `json:"sessions,omitempty"`
	Workspaces []string  `json:"workspaces,omitempty"`
	Profiles   []Profile `json:"profiles"`
	IssuedAt   time.Time `json:"issuedAt,omitzero"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`
}

// Inspect reads a token without verifying it. Never decide anything by the outcome.
func Inspect(token string) (*Inspection, error) {
	if len(token) > MaxTokenBytes {
		return nil, errors.New("this is too long for a token")
	}
	var c claims
	t, _, err := jwt.NewParser().ParseUnverified(token, &c)
	if err != nil {
		return nil, errors.New("this is not a token") // the cause could quote it
	}
	kid, _ := t.Header["kid"].(string)
	return &Inspection{
		Algorithm: t.Method.Alg(), KeyID: kid, Issuer: c.Issuer, Audience: c.Audience, Type: c.Type, TokenID: c.ID,
		Name: c.Subject, Device: c.Device, Role: c.Role, Rights: c.Role.Rights().Names(),
		Sessions: c.Sessions, Workspaces: c.Workspaces, Profiles: c.Profiles,
		IssuedAt: dateOf(c.IssuedAt), ExpiresAt: dateOf(c.ExpiresAt),
	}, nil
}

func dateOf(d *jwt.NumericDate) time.Time {
	if d == nil {
		return time.Time{}
	}
	return d.UTC()
}
