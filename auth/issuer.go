package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// minSecret is the output size of HS256's hash; a shorter secret is the weakest link (RFC 7518 section 3.2).
const minSecret = 32

// accessTypes are the values of a typ claim that other issuers give to tokens for access; refresh and logout tokens
// have others.
var accessTypes = []string{"access", "bearer", "id", "jwt", "at+jwt"}

// IssuerConfig describes somebody else whose tokens the hub accepts: by public keys that it publishes (RS256, ES256,
// EdDSA), or by a secret shared with it (HS256).
type IssuerConfig struct {
	Name     string // for people and for device records; default the issuer
	Issuer   string // iss, compared exactly; may be empty with a secret only
	Audience string // aud must hold it; may be empty with a secret only

	JWKSURL string // where its keys are; default what its OpenID configuration says
	Secret  []byte // HS256 instead of published keys; see ReadSecretFile

	RoleClaim string          // a claim, or a path such as realm_access.roles; default "role"
	Roles     map[string]Role // value of that claim -> role, the strongest counts; with a secret default the names of the roles
	Default   Role            // for holders without such a value; "" = refused
	NameClaim string          // default email, then name, then sub
	Profiles  []Profile       // default replayable alone
	Header    string          // a header in which a proxy brings the token, such as Cf-Access-Jwt-Assertion

	HTTP *http.Client // default one that follows no redirects
}

// Issuer verifies the tokens of one other issuer.
type Issuer struct {
	config  IssuerConfig
	keys    *jwks // nil with a secret
	methods []string
}

// NewIssuer checks the whole configuration and reports all faults together. It asks nobody yet.
func NewIssuer(c IssuerConfig) (*Issuer, error) {
	c.Name = cmp.Or(c.Name, c.Issuer, "shared secret")
	c.RoleClaim = cmp.Or(c.RoleClaim, "role")
	if c.Profiles == nil {
		c.Profiles = []Profile{Replayable}
	}
	i := &Issuer{config: c, methods: []string{"RS256", "ES256", "EdDSA"}}
	faults := []error{Grant{Profiles: c.Profiles}.checkProfiles()}
	if c.Secret != nil {
		i.methods = []string{"HS256"}
		faults = append(faults, CheckSecret(c.Secret))
		if c.JWKSURL != "" {
			faults = append(faults, errors.New("give a secret or a JWKS URL, not both"))
		}
		if c.Roles == nil {
			i.config.Roles = map[string]Role{}
			for _, r := range []Role{RoleViewer, RoleApprover, RoleOperator, RoleAdmin} {
				i.config.Roles[string(r)] = r
			}
		}
	} else {
		if c.Issuer == "" || c.Audience == "" {
			faults = append(faults, errors.New("issuer and audience must be given: whoever has an account there could come in"))
		}
		if len(c.Roles) == 0 && c.Default == "" {
			faults = append(faults, errors.New("no claim value gives a role: map some, or give a default role"))
		}
		keys, err := newJWKS(c)
		i.keys, faults = keys, append(faults, err)
	}
	for value, role := range c.Roles {
		if role.Rights() == 0 {
			faults = append(faults, fmt.Errorf("claim value %.40q: role %.40q is unknown", value, role))
		}
	}
	if c.Default != "" && c.Default.Rights() == 0 {
		faults = append(faults, fmt.Errorf("default role %.40q is unknown", c.Default))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("issuer %s: %w", c.Name, err)
	}
	return i, nil
}

// CheckSecret refuses secrets that can be searched for.
func CheckSecret(secret []byte) error {
	if len(secret) < minSecret {
		return fmt.Errorf("the shared secret has %d bytes, at least %d are needed (such as: openssl rand -hex 32)", len(secret), minSecret)
	}
	return nil
}

// ReadSecretFile reads a shared secret; one line end behind it does not belong to it. The file may belong to a
// service manager, but others must not be able to read it, nor its group to change it.
func ReadSecretFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("shared secret: %w", err)
	}
	const open = 0o027 // group may read: that is how service managers hand files over
	if info.Mode().Perm()&open != 0 {
		return nil, fmt.Errorf("file %s has mode %04o: %w; chmod 600 %[1]s", path, info.Mode().Perm(), ErrLoose)
	}
	secret, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("shared secret: %w", err)
	}
	secret = []byte(strings.TrimSuffix(strings.TrimSuffix(string(secret), "\n"), "\r"))
	return secret, CheckSecret(secret)
}

// Header is the request header in which this issuer's tokens come, "" = Authorization only.
func (i *Issuer) Header() string { return i.config.Header }

// issues reports whether a token with this alg and iss, none of it verified, would be for this issuer to judge.
func (i *Issuer) issues(alg, iss string) bool {
	shared := i.keys == nil
	return shared == (alg == "HS256") && (i.config.Issuer == iss || shared && i.config.Issuer == "")
}

// Verify makes a principal of a token of this issuer; errors are as of [Keys.Verify]. It may have to fetch keys.
func (i *Issuer) Verify(ctx context.Context, token string, now time.Time) (*Principal, error) {
	if err := checkForm(token); err != nil {
		return nil, badToken(err)
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods(i.methods), jwt.WithStrictDecoding(), jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithLeeway(leeway), jwt.WithTimeFunc(func() time.Time { return now }), jwt.WithIssuer(i.config.Issuer),
	}
	if i.config.Audience != "" {
		options = append(options, jwt.WithAudience(i.config.Audience))
	}
	c := jwt.MapClaims{}
	_, err := jwt.NewParser(options...).ParseWithClaims(token, c, func(t *jwt.Token) (any, error) {
		if err := checkForeignHeader(t.Header); err != nil {
			return nil, err
		}
		if i.keys == nil {
			return i.config.Secret, nil
		}
		return i.keys.choose(ctx, t, now)
	})
	if err != nil {
		return nil, badToken(err)
	}
	p, err := i.principal(c, token, now)
	if err != nil {
		return nil, badToken(fmt.Errorf("%w: %w", errClaims, err))
	}
	return p, nil
}

// checkForeignHeader: other issuers write more into a header than we do, but nothing that changes its meaning, and
// no other kind of token (a logout token, a refresh token) may pass for an access token.
func checkForeignHeader(header map[string]any) error {
	if _, found := header["crit"]; found {
		return errors.New("crit")
	}
	if _, found := header["b64"]; found {
		return errors.New("b64")
	}
	typ, found := header["typ"]
	if !found {
		return nil
	}
	s, _ := typ.(string)
	switch strings.TrimPrefix(strings.ToLower(s), "application/") {
	case "jwt", "at+jwt":
		return nil
	}
	return errors.New("typ of the header is not that of an access token")
}

// principal reads the claims. Sessions, workspaces and profiles are believed of the holder of the shared secret only;
// with others such names may mean anything.
func (i *Issuer) principal(c jwt.MapClaims, token string, now time.Time) (*Principal, error) {
	if typ, found := c["typ"].(string); found && !slices.Contains(accessTypes, strings.ToLower(typ)) {
		return nil, errors.New("typ is not that of an access token")
	}
	subject, _ := c.GetSubject()
	if subject == "" {
		return nil, errors.New("no sub")
	}
	iss, _ := c.GetIssuer()
	expires, err := c.GetExpirationTime()
	if err != nil || expires == nil {
		return nil, errors.New("no exp")
	}
	g := Grant{
		Name: i.holderName(c, subject), Device: i.deviceID(iss, subject), Profiles: i.config.Profiles,
		TTL: max(minTTL, expires.Sub(now)),
	}
	if g.Role, err = i.role(c); err != nil {
		return nil, err
	}
	if i.keys == nil {
		if err := narrowByClaims(&g, c); err != nil {
			return nil, err
		}
	}
	g = g.withDefaults()
	if err := g.check(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(token))
	return &Principal{
		Name: g.Name, Device: g.Device, Role: g.Role, Rights: g.Role.Rights(), Sessions: g.Sessions, Workspaces: g.Workspaces,
		Profiles: g.Profiles, ExpiresAt: expires.UTC(), TokenID: hex.EncodeToString(sum[:tokenIDSize]),
	}, nil
}

// deviceID is the same for all tokens of one holder, so that revoking it lasts.
func (i *Issuer) deviceID(iss, subject string) string {
	sum := sha256.Sum256([]byte(i.config.Name + "\x00" + iss + "\x00" + subject))
	return externalPrefix + hex.EncodeToString(sum[:tokenIDSize])
}

func (i *Issuer) holderName(c jwt.MapClaims, subject string) string {
	for _, claim := range []string{i.config.NameClaim, "email", "name"} {
		if name, _ := c[claim].(string); presentable(name) {
			return name
		}
	}
	if presentable(subject) {
		return subject
	}
	return i.config.Name
}

// role is the strongest that any value of the role claim gives.
func (i *Issuer) role(c jwt.MapClaims) (Role, error) {
	best := i.config.Default
	for _, value := range texts(claimAt(c, i.config.RoleClaim)) {
		if r, found := i.config.Roles[value]; found && r.Rights() > best.Rights() {
			best = r
		}
	}
	if best == "" {
		return "", errors.New("no claim gives a role")
	}
	return best, nil
}

func narrowByClaims(g *Grant, c jwt.MapClaims) error {
	for claim, list := range map[string]*[]string{"sessions": &g.Sessions, "workspaces": &g.Workspaces} {
		if value, found := c[claim]; found {
			if *list = texts(value); *list == nil {
				return fmt.Errorf("%s is not a list of texts", claim)
			}
		}
	}
	if value, found := c["profiles"]; found {
		g.Profiles = []Profile{}
		for _, s := range texts(value) {
			g.Profiles = append(g.Profiles, Profile(s))
		}
	}
	return nil
}

// claimAt follows a path of members; a claim whose own name has dots in it comes first.
func claimAt(c map[string]any, path string) any {
	if value, found := c[path]; found {
		return value
	}
	first, rest, nested := strings.Cut(path, ".")
	inner, ok := c[first].(map[string]any)
	if !nested || !ok {
		return nil
	}
	return claimAt(inner, rest)
}

// texts reads a text or a list of texts; nil if it is anything else.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		list := make([]string, 0, len(v))
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return nil
			}
			list = append(list, s)
		}
		return list
	}
	return nil
}
