package auth

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// MaxTokenBytes bounds the work a stranger can cause; it holds a scope of a hundred sessions.
	MaxTokenBytes = 8 << 10

	leeway      = 30 * time.Second // clocks of phones and laptops differ by seconds
	typeAccess  = "access"         // typ claim; tokens for other uses will have other values
	tokenIDSize = 16               // 128 bit
)

// claims is the payload of a token.
type claims struct {
	jwt.RegisteredClaims           // sub is the holder's name
	Type                 string    `json:"typ"`
	Device               string    `json:"device"`
	Role                 Role      `json:"role"`
	Sessions             []string  `json:"sessions,omitempty"`
	Workspaces           []string  `json:"workspaces,omitempty"`
	Profiles             []Profile `json:"profiles"`
}

// Mint makes a token, and the principal that Verify will make of it. Errors are clear sentences for whoever asked.
func (k *Keys) Mint(g Grant, now time.Time) (string, *Principal, error) {
	g = g.withDefaults()
	if err := g.check(); err != nil {
		return "", nil, err
	}
	c := claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: k.issuer(), Audience: jwt.ClaimStrings{k.issuer()}, Subject: g.Name, ID: randomHex(tokenIDSize),
			IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(g.TTL)),
		},
		Type: typeAccess, Device: g.Device, Role: g.Role, Sessions: g.Sessions, Workspaces: g.Workspaces, Profiles: g.Profiles,
	}
	ring := k.ring.Load()
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
	t.Header["kid"] = ring.kid
	token, err := t.SignedString(ring.sign)
	if err != nil {
		return "", nil, fmt.Errorf("sign token: %w", err)
	}
	if len(token) > MaxTokenBytes {
		return "", nil, fmt.Errorf("the scope is too long for a token of %d bytes", MaxTokenBytes)
	}
	return token, c.principal(), nil
}

// Verify makes a principal of a token. Whatever is wrong, the error wraps [ErrBadToken], reads the same and costs the
// same time; [ErrExpired] is wrapped too when a token of this hub is merely too old. [Cause] has the reason, for the
// log. Whether the token's device still exists is asked elsewhere.
func (k *Keys) Verify(token string, now time.Time) (*Principal, error) {
	if err := checkForm(token); err != nil {
		k.decoy.verify()
		return nil, badToken(err)
	}
	ring := k.ring.Load()
	sum := sha256.Sum256([]byte(token))
	if p := ring.verified.find(sum, now); p != nil {
		return p, nil
	}
	signatureChecked := false
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithStrictDecoding(), // one spelling per token
		jwt.WithIssuer(k.issuer()), jwt.WithAudience(k.issuer()),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithLeeway(leeway), jwt.WithTimeFunc(func() time.Time { return now }),
	)
	var c claims
	_, err := parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		public, err := ring.choose(t.Header)
		signatureChecked = err == nil
		return public, err
	})
	if !signatureChecked {
		k.decoy.verify()
	}
	if err != nil {
		return nil, badToken(err)
	}
	p := c.principal()
	ring.verified.add(sum, p, c.begins())
	return p, nil
}

// begins is the first moment at which the token is valid, without leeway.
func (c *claims) begins() time.Time {
	begins := c.IssuedAt.Time
	if c.NotBefore != nil && c.NotBefore.After(begins) {
		begins = c.NotBefore.Time
	}
	return begins
}

// checkForm bounds a token and its alphabet; the decoder behind it skips line ends, which would give a token many
// spellings.
func checkForm(token string) error {
	if len(token) > MaxTokenBytes {
		return fmt.Errorf("longer than %d bytes", MaxTokenBytes)
	}
	for i := range len(token) {
		c := token[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return errors.New("a character that no token has")
		}
	}
	return nil
}

// choose finds the key a header names. The header must be exactly what Mint writes: an unknown member (crit, jwk,
// jku, b64 …) asks for a meaning that is not given here.
func (r *keyring) choose(header map[string]any) (ed25519.PublicKey, error) {
	kid, _ := header["kid"].(string)
	if len(header) != 3 || header["typ"] != "JWT" || kid == "" {
		return nil, errors.New("header is not {alg, kid, typ}")
	}
	public, ok := r.verify[kid]
	if !ok {
		return nil, errors.New("kid names no key")
	}
	return public, nil
}

// errClaims marks faults of the hub's own claims among what the parser reports.
var errClaims = errors.New("claims")

// Validate is called by the parser beside its own checks of the registered claims: it refuses what Mint would not write.
func (c *claims) Validate() error {
	var err error
	switch {
	case c.Type != typeAccess:
		err = errors.New("not an access token")
	case c.ID == "":
		err = errors.New("no token id")
	case c.IssuedAt == nil || c.ExpiresAt == nil:
		err = errors.New("no iat or exp")
	default:
		err = Grant{
			Name: c.Subject, Device: c.Device, Role: c.Role, Sessions: c.Sessions, Workspaces: c.Workspaces, Profiles: c.Profiles,
			TTL: c.ExpiresAt.Sub(c.IssuedAt.Time),
		}.check()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errClaims, err)
	}
	return nil
}

func (c *claims) principal() *Principal {
	return &Principal{
		Name: c.Subject, Device: c.Device, Role: c.Role, Rights: c.Role.Rights(),
		Sessions: c.Sessions, Workspaces: c.Workspaces, Profiles: c.Profiles,
		ExpiresAt: c.ExpiresAt.UTC(), TokenID: c.ID,
	}
}

// decoy is a signature check that always takes the full time, for tokens that are refused before theirs is checked:
// how long a refusal takes must not say why.
type decoy struct {
	public    ed25519.PublicKey
	message   []byte
	signature []byte
}

func newDecoy() decoy {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic("auth: no randomness: " + err.Error())
	}
	message := make([]byte, 512) // about an ordinary token's length
	return decoy{public: public, message: message, signature: ed25519.Sign(private, message)}
}

func (d decoy) verify() { ed25519.Verify(d.public, d.message, d.signature) }
