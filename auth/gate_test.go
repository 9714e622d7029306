package auth

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func TestGateAsksTheOneWhoIssuedAndThenTheStore(t *testing.T) {
	local := newLocalIssuer(t)
	secret := []byte(strings.Repeat("s", 32))
	g := &Gate{
		Keys: newKeys(t), Devices: newDevices(t),
		Issuers: []*Issuer{newIssuer(t, local.config()), newIssuer(t, IssuerConfig{Secret: secret})},
	}
	dev := enrol(t, g.Devices, Grant{Name: "phone", Role: RoleViewer})
	own, _ := mint(t, g.Keys, dev.Grant(time.Hour, noon))
	nowhere, _ := mint(t, g.Keys, Grant{Name: "phone", Role: RoleViewer}) // good, but of no device record
	foreign := local.token(t, "ed", jwt.SigningMethodEdDSA, nil)
	shared, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "ci", "role": "viewer", "exp": noon.Add(time.Hour).Unix()}).SignedString(secret)
	if err != nil {
		t.Fatal(err)
	}
	posing, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"iss": g.Keys.issuer(), "sub": "ci", "role": "admin", "exp": noon.Add(time.Hour).Unix()}).SignedString(secret)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, token string
		who         string // "" = refused
	}{
		{"own", own, "phone"}, {"own without a device", nowhere, ""}, {"foreign", foreign, "zoe@example.org"}, {"shared secret", shared, "ci"},
		{"shared secret posing as the hub", posing, ""}, {"nothing", "", ""}, {"garbage", "a.b.c", ""},
		{"unknown issuer", local.token(t, "ed", jwt.SigningMethodEdDSA, func(c jwt.MapClaims, _ map[string]any) { c["iss"] = "https://x.example" }), ""},
	}
	for _, tt := range tests {
		p, err := g.Authenticate(t.Context(), tt.token, noon)
		if tt.who == "" {
			if !errors.Is(err, ErrBadToken) || err.Error() != ErrBadToken.Error() || p != nil {
				t.Errorf("%s: got %+v, %v", tt.name, p, err)
			}
		} else if err != nil || p.Name != tt.who {
			t.Errorf("%s: got %+v, %s", tt.name, p, Cause(err))
		}
	}
	for _, name := range []string{"phone", "zoe@example.org", "ci"} {
		if _, err := g.Devices.Revoke(name, "", noon); err != nil {
			t.Fatalf("Revoke(%s): %v", name, err)
		}
	}
	for name, token := range map[string]string{"own": own, "foreign": foreign, "shared secret": shared} {
		if _, err := g.Authenticate(t.Context(), token, noon); !errors.Is(err, ErrRevoked) {
			t.Errorf("%s after revocation: got %s", name, Cause(err))
		}
	}
	if got := len(g.Devices.List()); got != 3 {
		t.Errorf("device records: got %d, want 3", got)
	}
}

func TestExternalRecordFollowsTheIssuer(t *testing.T) {
	local := newLocalIssuer(t)
	g := &Gate{Keys: newKeys(t), Devices: newDevices(t), Issuers: []*Issuer{newIssuer(t, local.config())}}
	for _, group := range []string{"devs", "all", "boss"} {
		token := local.token(t, "ed", jwt.SigningMethodEdDSA, func(c jwt.MapClaims, _ map[string]any) { c["groups"] = group })
		p, err := g.Authenticate(t.Context(), token, noon)
		if err != nil {
			t.Fatal(Cause(err))
		}
		list := g.Devices.List()
		if len(list) != 1 || list[0].Kind != KindExternal || list[0].Role != p.Role {
			t.Errorf("%s: records %+v", group, list)
		}
	}
}

func TestProxyHeaderIsAskedForItsOriginLikeACookie(t *testing.T) {
	const name = "Cf-Access-Jwt-Assertion"
	local := newLocalIssuer(t)
	c := local.config()
	c.Header = name
	g := &Gate{Keys: newKeys(t), Devices: newDevices(t), Issuers: []*Issuer{newIssuer(t, c)}}
	e := newEdge(t, EdgeConfig{PublicURL: "https://hub.example.org", Ambient: []string{name}})
	request := func(origin string, values ...string) *http.Request {
		r := originRequest{method: "POST", host: "hub.example.org", origin: origin}.build()
		r.Header[http.CanonicalHeaderKey(name)] = values
		return r
	}
	if got, ok := g.HeaderToken(request("-", "abc.def.ghi")); !ok || got != "abc.def.ghi" {
		t.Errorf("HeaderToken: got %q, %v", got, ok)
	}
	for _, values := range [][]string{nil, {""}, {"a b"}, {"abc", "abc"}} {
		if got, ok := g.HeaderToken(request("-", values...)); ok {
			t.Errorf("HeaderToken of %q: got %q", values, got)
		}
	}
	for origin, ok := range map[string]bool{"-": false, "https://evil.example": false, "https://hub.example.org": true} {
		if err := e.CheckOrigin(request(origin, "abc.def.ghi")); (err == nil) != ok {
			t.Errorf("Origin %s: got %v, want ok=%v", origin, err, ok)
		}
	}
}
