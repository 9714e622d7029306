package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

// localIssuer is a real issuer on this machine: an OpenID configuration and keys over HTTP.
type localIssuer struct {
	*httptest.Server
	fetches atomic.Int32
	down    atomic.Bool

	mu   sync.Mutex
	set  []any // entries of the key set as published
	sign map[string]crypto.Signer
}

func newLocalIssuer(t *testing.T) *localIssuer {
	t.Helper()
	i := &localIssuer{sign: map[string]crypto.Signer{}}
	i.Server = httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(i.Close)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, edKey, _ := ed25519.GenerateKey(rand.Reader)
	i.publish(t, "rsa", rsaKey, jwkset.UseSig, jwkset.AlgRS256)
	i.publish(t, "ec", ecKey, "", "")
	i.publish(t, "ed", edKey, "", "")
	return i
}

func (i *localIssuer) serve(w http.ResponseWriter, r *http.Request) {
	if i.down.Load() {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, i.URL, i.URL+"/keys")
	case "/keys":
		i.fetches.Add(1)
		i.mu.Lock()
		defer i.mu.Unlock()
		json.NewEncoder(w).Encode(map[string]any{"keys": i.set})
	case "/moved":
		http.Redirect(w, r, "/keys", http.StatusFound)
	case "/huge":
		fmt.Fprint(w, `{"keys":[]`+strings.Repeat(" ", maxJWKSBytes)+`}`)
	default:
		http.NotFound(w, r)
	}
}

func (i *localIssuer) publish(t *testing.T, kid string, key crypto.Signer, use jwkset.USE, alg jwkset.ALG) {
	t.Helper()
	jwk, err := jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: kid, USE: use, ALG: alg}})
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.set = append(i.set, jwk.Marshal())
	i.sign[kid] = key
}

func (i *localIssuer) config() IssuerConfig {
	return IssuerConfig{
		Issuer: i.URL, Audience: "hub", RoleClaim: "groups",
		Roles: map[string]Role{"devs": RoleOperator, "boss": RoleAdmin, "all": RoleViewer},
	}
}

func newIssuer(t *testing.T, c IssuerConfig) *Issuer {
	t.Helper()
	i, err := NewIssuer(c)
	if err != nil {
		t.Fatalf("NewIssuer: %v", err)
	}
	return i
}

// token signs claims that this issuer would write, after change had its way.
func (i *localIssuer) token(t *testing.T, kid string, method jwt.SigningMethod, change func(c jwt.MapClaims, header map[string]any)) string {
	t.Helper()
	c := jwt.MapClaims{
		"iss": i.URL, "aud": []string{"other", "hub"}, "sub": "user-1", "email": "zoe@example.org", "groups": []string{"all", "devs"},
		"iat": noon.Unix(), "exp": noon.Add(time.Hour).Unix(),
	}
	tok := jwt.NewWithClaims(method, c)
	tok.Header["kid"] = kid
	if change != nil {
		change(c, tok.Header)
	}
	s, err := tok.SignedString(i.sign[kid])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestForeignTokensOfEachAlgorithmAreGood(t *testing.T) {
	local := newLocalIssuer(t)
	issuer := newIssuer(t, local.config())
	methods := map[string]jwt.SigningMethod{"rsa": jwt.SigningMethodRS256, "ec": jwt.SigningMethodES256, "ed": jwt.SigningMethodEdDSA}
	for kid, method := range methods {
		p, err := issuer.Verify(t.Context(), local.token(t, kid, method, nil), noon)
		if err != nil {
			t.Errorf("%s: %s", kid, Cause(err))
			continue
		}
		if p.Name != "zoe@example.org" || p.Role != RoleOperator || p.Rights != View|Answer|Control || p.Scoped() || p.Local ||
			!slices.Equal(p.Profiles, []Profile{Replayable}) || !p.ExpiresAt.Equal(noon.Add(time.Hour)) || p.TokenID == "" {
			t.Errorf("%s: got %+v", kid, p)
		}
	}
	if got := local.fetches.Load(); got != 1 {
		t.Errorf("fetches of the keys: got %d, want 1", got)
	}
}

func TestHostileForeignTokensAreRefusedAlike(t *testing.T) {
	local := newLocalIssuer(t)
	issuer := newIssuer(t, local.config())
	weak, _ := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // weak on purpose
	local.publish(t, "weak", weak, "", "")
	enc, _ := rsa.GenerateKey(rand.Reader, 2048)
	local.publish(t, "enc", enc, jwkset.UseEnc, "")
	local.set = append(local.set, map[string]string{"kty": "oct", "kid": "oct", "k": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"})

	claim := func(name string, value any) string {
		return local.token(t, "ed", jwt.SigningMethodEdDSA, func(c jwt.MapClaims, _ map[string]any) {
			if c[name] = value; value == nil {
				delete(c, name)
			}
		})
	}
	header := func(name string, value any) string {
		return local.token(t, "ed", jwt.SigningMethodEdDSA, func(_ jwt.MapClaims, h map[string]any) {
			if h[name] = value; value == nil {
				delete(h, name)
			}
		})
	}
	hs := func(kid string, secret []byte) string {
		tok := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"iss": local.URL, "aud": "hub", "sub": "a", "groups": "boss", "exp": noon.Add(time.Hour).Unix()})
		tok.Header["kid"] = kid
		s, _ := tok.SignedString(secret)
		return s
	}
	tests := map[string]string{
		"empty": "", "garbage": "a.b.c", "oversized": claim("email", strings.Repeat("x", MaxTokenBytes)),
		"alg none":           b64(`{"alg":"none","kid":"ed"}`) + "." + b64(`{"iss":"`+local.URL+`"}`) + ".",
		"HS256, RSA modulus": hs("rsa", local.sign["rsa"].Public().(*rsa.PublicKey).N.Bytes()),
		"HS256, Ed key":      hs("ed", local.sign["ed"].Public().(ed25519.PublicKey)),
		"HS256, oct key":     hs("oct", make([]byte, 32)),
		"RS384":              local.token(t, "rsa", jwt.SigningMethodRS384, nil),
		"PS256":              local.token(t, "rsa", jwt.SigningMethodPS256, nil),
		"weak key":           local.token(t, "weak", jwt.SigningMethodRS256, nil),
		"encryption key":     local.token(t, "enc", jwt.SigningMethodRS256, nil),
		"kid missing":        header("kid", nil), "kid unknown": header("kid", "nobody"), "kid of another kind": header("kid", "rsa"),
		"kid a number": header("kid", 1), "crit": header("crit", []string{"x"}), "b64": header("b64", false),
		"logout token": header("typ", "logout+jwt"), "typ a list": header("typ", []string{"JWT"}), "refresh token": claim("typ", "Refresh"),
		"other issuer": claim("iss", "https://evil.example"), "issuer with a slash": claim("iss", local.URL+"/"), "no issuer": claim("iss", nil),
		"other audience": claim("aud", "other"), "no audience": claim("aud", nil),
		"no exp": claim("exp", nil), "expired": claim("exp", noon.Add(-time.Minute).Unix()), "endless": claim("exp", 1e300),
		"in two years": claim("exp", noon.AddDate(2, 0, 0).Unix()), "far nbf": claim("nbf", noon.Add(time.Hour).Unix()), "far iat": claim("iat", noon.Add(time.Hour).Unix()),
		"no sub": claim("sub", nil), "empty sub": claim("sub", ""), "sub a number": claim("sub", 1),
		"no role": claim("groups", nil), "unknown role": claim("groups", "strangers"), "role name itself": claim("groups", "admin"),
		"mixed roles": claim("groups", []any{"boss", 1}),
	}
	good := local.token(t, "ed", jwt.SigningMethodEdDSA, nil)
	tests["cut"] = good[:len(good)-1]
	tests["changed"] = strings.Replace(good, ".", ".A", 1)
	for name, token := range tests {
		p, err := issuer.Verify(t.Context(), token, noon)
		if err == nil || p != nil || !errors.Is(err, ErrBadToken) || err.Error() != ErrBadToken.Error() {
			t.Errorf("%s: got %+v, %v", name, p, err)
		}
		if len(token) > 40 && strings.Contains(Cause(err), token[:40]) {
			t.Errorf("%s: the cause quotes the token", name)
		}
	}
	if _, err := issuer.Verify(t.Context(), good, noon); err != nil {
		t.Errorf("the good one: %s", Cause(err))
	}
}

func TestUnknownKidFetchesOnceAMinute(t *testing.T) {
	local := newLocalIssuer(t)
	issuer := newIssuer(t, local.config())
	unknown := local.token(t, "ed", jwt.SigningMethodEdDSA, func(_ jwt.MapClaims, h map[string]any) { h["kid"] = "nobody" })
	flood := func(now time.Time) {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := issuer.Verify(t.Context(), unknown, now); err == nil {
					t.Error("a token of nobody was accepted")
				}
			})
		}
		wg.Wait()
	}
	flood(noon)
	flood(noon.Add(jwksPause - 1))
	if got := local.fetches.Load(); got != 1 {
		t.Errorf("fetches within a minute: got %d, want 1", got)
	}
	flood(noon.Add(jwksPause))
	if got := local.fetches.Load(); got != 2 {
		t.Errorf("fetches after a minute: got %d, want 2", got)
	}
}

func TestNewAndWithdrawnKeysAreNoticed(t *testing.T) {
	local := newLocalIssuer(t)
	issuer := newIssuer(t, local.config())
	old := local.token(t, "ed", jwt.SigningMethodEdDSA, func(c jwt.MapClaims, _ map[string]any) { c["exp"] = noon.Add(48 * time.Hour).Unix() })
	if _, err := issuer.Verify(t.Context(), old, noon); err != nil {
		t.Fatal(Cause(err))
	}
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	local.mu.Lock()
	local.set = nil
	local.mu.Unlock()
	local.publish(t, "ed2", key, "", "")
	later := noon.Add(jwksPause)
	if _, err := issuer.Verify(t.Context(), local.token(t, "ed2", jwt.SigningMethodEdDSA, nil), later); err != nil {
		t.Errorf("new key: %s", Cause(err))
	}
	if _, err := issuer.Verify(t.Context(), old, later); err == nil {
		t.Error("the withdrawn key still counts")
	}
}

func TestIssuerOutageIsBridgedForADay(t *testing.T) {
	local := newLocalIssuer(t)
	issuer := newIssuer(t, local.config())
	token := local.token(t, "ed", jwt.SigningMethodEdDSA, func(c jwt.MapClaims, _ map[string]any) { c["exp"] = noon.Add(100 * time.Hour).Unix() })
	local.down.Store(true)
	if _, err := issuer.Verify(t.Context(), token, noon); !errors.Is(err, ErrBadToken) {
		t.Errorf("without keys: got %v", err)
	}
	local.down.Store(false)
	if _, err := issuer.Verify(t.Context(), token, noon.Add(time.Second)); err == nil {
		t.Error("asked again within the pause")
	}
	up := noon.Add(jwksPause)
	if _, err := issuer.Verify(t.Context(), token, up); err != nil {
		t.Fatalf("issuer is back: %s", Cause(err))
	}
	local.down.Store(true)
	for _, after := range []time.Duration{jwksFresh, jwksFresh + time.Second, jwksStale - time.Second} {
		if _, err := issuer.Verify(t.Context(), token, up.Add(after)); err != nil {
			t.Errorf("%v into the outage: %s", after, Cause(err))
		}
	}
	if _, err := issuer.Verify(t.Context(), token, up.Add(jwksStale)); err == nil {
		t.Error("keys a day old still count")
	}
}

func TestKeysComeOnlyFromWhereTheyShould(t *testing.T) {
	local := newLocalIssuer(t)
	for _, path := range []string{"/moved", "/huge", "/none"} {
		c := local.config()
		c.JWKSURL = local.URL + path
		if _, err := newIssuer(t, c).Verify(t.Context(), local.token(t, "ed", jwt.SigningMethodEdDSA, nil), noon); err == nil {
			t.Errorf("keys from %s were used", path)
		}
	}
	c := local.config()
	c.Issuer = strings.Replace(local.URL, "127.0.0.1", "localhost", 1) // its configuration names another issuer
	token := local.token(t, "ed", jwt.SigningMethodEdDSA, func(claims jwt.MapClaims, _ map[string]any) { claims["iss"] = c.Issuer })
	if _, err := newIssuer(t, c).Verify(t.Context(), token, noon); err == nil || !strings.Contains(Cause(err), "another issuer") {
		t.Errorf("configuration of another issuer: got %s", Cause(err))
	}
}

func TestIssuerConfigurationIsCheckedAtTheDoor(t *testing.T) {
	secret := make([]byte, 32)
	good := IssuerConfig{Issuer: "https://id.example.org", Audience: "hub", Default: RoleViewer}
	change := func(f func(c *IssuerConfig)) IssuerConfig { c := good; f(&c); return c }
	if _, err := NewIssuer(good); err != nil {
		t.Errorf("good: %v", err)
	}
	for name, c := range map[string]IssuerConfig{
		"no issuer":        change(func(c *IssuerConfig) { c.Issuer = "" }),
		"no audience":      change(func(c *IssuerConfig) { c.Audience = "" }),
		"no roles":         change(func(c *IssuerConfig) { c.Default = "" }),
		"unknown role":     change(func(c *IssuerConfig) { c.Roles = map[string]Role{"x": "root"} }),
		"unknown default":  change(func(c *IssuerConfig) { c.Default = "root" }),
		"unknown profile":  change(func(c *IssuerConfig) { c.Profiles = []Profile{"x"} }),
		"no profile":       change(func(c *IssuerConfig) { c.Profiles = []Profile{} }),
		"keys over http":   change(func(c *IssuerConfig) { c.JWKSURL = "http://id.example.org/keys" }),
		"issuer over http": change(func(c *IssuerConfig) { c.Issuer = "http://id.example.org" }),
		"no URL":           change(func(c *IssuerConfig) { c.JWKSURL = "keys.json" }),
		"short secret":     {Secret: secret[:31]},
		"empty secret":     {Secret: []byte{}},
		"secret and keys":  {Secret: secret, JWKSURL: "https://id.example.org/keys"},
	} {
		if _, err := NewIssuer(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestSharedSecretTokens(t *testing.T) {
	secret := []byte(strings.Repeat("s", 32))
	issuer := newIssuer(t, IssuerConfig{Secret: secret, Audience: "hub", Profiles: []Profile{Continuous, Replayable}})
	make := func(method jwt.SigningMethod, key any, change func(c jwt.MapClaims)) string {
		c := jwt.MapClaims{"sub": "ci", "aud": "hub", "role": "approver", "exp": noon.Add(time.Hour).Unix()}
		change(c)
		s, err := jwt.NewWithClaims(method, c).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	with := func(name string, value any) string {
		return make(jwt.SigningMethodHS256, secret, func(c jwt.MapClaims) {
			if c[name] = value; value == nil {
				delete(c, name)
			}
		})
	}
	p, err := issuer.Verify(t.Context(), with("sessions", []string{"s1"}), noon)
	if err != nil || p.Name != "ci" || p.Role != RoleApprover || !slices.Equal(p.Sessions, []string{"s1"}) || len(p.Profiles) != 2 {
		t.Errorf("good: got %+v, %s", p, Cause(err))
	}
	for name, token := range map[string]string{
		"other secret":       make(jwt.SigningMethodHS256, []byte(strings.Repeat("t", 32)), func(jwt.MapClaims) {}),
		"HS512":              make(jwt.SigningMethodHS512, secret, func(jwt.MapClaims) {}),
		"none":               make(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, func(jwt.MapClaims) {}),
		"no exp":             with("exp", nil),
		"no role":            with("role", nil),
		"unknown role":       with("role", "root"),
		"no sub":             with("sub", nil),
		"other audience":     with("aud", "x"),
		"empty scope":        with("sessions", []string{}),
		"scope of a number":  with("sessions", 1),
		"relative workspace": with("workspaces", []string{"w"}),
		"unknown profile":    with("profiles", []string{"x"}),
		"profiles a number":  with("profiles", 1),
	} {
		if p, err := issuer.Verify(t.Context(), token, noon); !errors.Is(err, ErrBadToken) || p != nil {
			t.Errorf("%s: got %+v, %v", name, p, err)
		}
	}
}

func TestSecretFileIsPrivateAndLongEnough(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	write := func(content string, mode os.FileMode) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("x", 32)
	for _, mode := range []os.FileMode{0o600, 0o400, 0o440} {
		write(long+"\n", mode)
		if got, err := ReadSecretFile(path); err != nil || string(got) != long {
			t.Errorf("mode %v: got %q, %v", mode, got, err)
		}
		os.Remove(path)
	}
	write(long, 0o604)
	if _, err := ReadSecretFile(path); !errors.Is(err, ErrLoose) {
		t.Errorf("readable by all: got %v", err)
	}
	write(long[:31]+"\n", 0o600)
	if _, err := ReadSecretFile(path); err == nil || strings.Contains(err.Error(), "xxx") {
		t.Errorf("short: got %v", err)
	}
}
