package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func signed(t *testing.T, method jwt.SigningMethod, key any, kid string, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	if kid != "" {
		token.Header["kid"] = kid
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSharedSecretMakesTokensThatCanBeRevoked(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	file := writeFile(t, "secret", secret+"\n", 0o600)
	p := serveSimulated(t, nil, "--jwt-secret-file", file, "--jwt-audience", "hub")
	claims := func(role string, more ...jwt.MapClaims) jwt.MapClaims {
		c := jwt.MapClaims{"sub": "ann", "aud": "hub", "role": role, "exp": time.Now().Add(time.Hour).Unix()}
		for _, m := range more {
			for k, v := range m {
				c[k] = v
			}
		}
		return c
	}
	good := signed(t, jwt.SigningMethodHS256, []byte(secret), "", claims("operator"))
	if ws, status := p.dial("", bearer(good)); ws == nil {
		t.Fatalf("a good token got %d", status)
	}
	far := time.Now().Add(time.Hour).Unix()
	for name, token := range map[string]string{
		"another secret":    signed(t, jwt.SigningMethodHS256, []byte(strings.Repeat("x", 32)), "", claims("operator")),
		"HS512":             signed(t, jwt.SigningMethodHS512, []byte(secret), "", claims("operator")),
		"none":              signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "", claims("operator")),
		"another audience":  signed(t, jwt.SigningMethodHS256, []byte(secret), "", claims("operator", jwt.MapClaims{"aud": "other"})),
		"an unknown role":   signed(t, jwt.SigningMethodHS256, []byte(secret), "", claims("king")),
		"not valid yet":     signed(t, jwt.SigningMethodHS256, []byte(secret), "", claims("operator", jwt.MapClaims{"nbf": far})),
		"without an end":    signed(t, jwt.SigningMethodHS256, []byte(secret), "", jwt.MapClaims{"sub": "ann", "aud": "hub", "role": "operator"}),
		"a refresh token":   signed(t, jwt.SigningMethodHS256, []byte(secret), "", claims("operator", jwt.MapClaims{"typ": "refresh"})),
		"without a subject": signed(t, jwt.SigningMethodHS256, []byte(secret), "", claims("operator", jwt.MapClaims{"sub": ""})),
	} {
		if ws, status := p.dial("", bearer(token)); ws != nil || status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
			t.Errorf("%s: got %d", name, status)
		}
	}
	if out := p.run("devices", "list"); !strings.Contains(out, "ann") {
		t.Errorf("the holder is no device: %q", out)
	}
	p.run("devices", "revoke", "ann")
	again := signed(t, jwt.SigningMethodHS256, []byte(secret), "", claims("operator", jwt.MapClaims{"exp": far + 60}))
	if ws, _ := p.dial("", bearer(again)); ws != nil {
		t.Error("a revoked holder came back with a new token")
	}
}

func TestOtherIssuerIsBelievedByItsKeysAndByHeader(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	mux := http.NewServeMux()
	issuer := httptest.NewServer(mux)
	defer issuer.Close()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": issuer.URL, "jwks_uri": issuer.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]any{
			"kty": "EC", "crv": "P-256", "kid": "k1", "alg": "ES256", "use": "sig", "x": encode(point[1:33]), "y": encode(point[33:]),
		}}})
	})
	p := serveSimulated(t, nil, "--oidc-issuer", issuer.URL, "--oidc-audience", "hub", "--oidc-role-claim", "groups",
		"--oidc-roles", "team=operator,owners=admin", "--oidc-header", "Cf-Access-Jwt-Assertion")
	token := func(groups ...string) string {
		return signed(t, jwt.SigningMethodES256, key, "k1", jwt.MapClaims{
			"iss": issuer.URL, "aud": []string{"hub"}, "sub": "42", "email": "ann@example.org", "groups": groups, "exp": time.Now().Add(time.Hour).Unix(),
		})
	}
	if ws, status := p.dial("", bearer(token("team"))); ws == nil {
		t.Fatalf("a good token got %d", status)
	}
	if ws, status := p.dial("", bearer(token("guests"))); ws != nil || status != http.StatusUnauthorized {
		t.Errorf("a holder without a role got %d", status)
	}
	access := http.Header{"Cf-Access-Jwt-Assertion": {token("owners")}}
	if _, status := p.dial("", access); status != http.StatusForbidden {
		t.Errorf("the proxy's header counted without an Origin: %d", status)
	}
	access.Set("Origin", "https://evil.example")
	if _, status := p.dial("", access); status != http.StatusForbidden {
		t.Errorf("the proxy's header counted for a foreign page: %d", status)
	}
	access.Set("Origin", p.url)
	if ws, status := p.dial("", access); ws == nil {
		t.Errorf("the proxy's header got %d", status)
	}
	if out := p.run("devices", "list"); !strings.Contains(out, "ann@example.org") {
		t.Errorf("devices: %q", out)
	}
}

func TestWeakSecretEndsServe(t *testing.T) {
	for name, file := range map[string]string{"short": writeFile(t, "short", "x", 0o600), "open": writeFile(t, "open", strings.Repeat("x", 40), 0o644)} {
		cmd := hubCommand("serve", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--app-server", os.DevNull, "--jwt-secret-file", file)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), "jwt.secret-file") {
			t.Errorf("%s: exit code %d, %q", name, cmd.ProcessState.ExitCode(), out)
		}
	}
}
