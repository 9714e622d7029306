package auth

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// noon is of this year, because the store forgets what ended long before it is opened.
var noon = time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)

func mint(t *testing.T, k *Keys, g Grant) (string, *Principal) {
	t.Helper()
	token, p, err := k.Mint(g, noon)
	if err != nil {
		t.Fatalf("Mint(%+v): %v", g, err)
	}
	return token, p
}

func TestVerifyGivesBackWhatWasMinted(t *testing.T) {
	k := newKeys(t)
	tests := []struct {
		name  string
		grant Grant
		want  Principal
	}{
		{
			"defaults", Grant{Name: "phone", Role: RoleOperator},
			Principal{
				Name: "phone", Device: "phone", Role: RoleOperator, Rights: View | Answer | Control,
				Profiles: []Profile{Continuous, Replayable}, ExpiresAt: noon.Add(24 * time.Hour),
			},
		},
		{
			"narrowed", Grant{
				Name: "Zoë's 📱", Device: "dev-1", Role: RoleViewer, Sessions: []string{"s1"}, Workspaces: []string{"/w/"},
				Profiles: []Profile{Replayable}, TTL: time.Minute,
			},
			Principal{
				Name: "Zoë's 📱", Device: "dev-1", Role: RoleViewer, Rights: View, Sessions: []string{"s1"},
				Workspaces: []string{"/w"}, Profiles: []Profile{Replayable}, ExpiresAt: noon.Add(time.Minute),
			},
		},
	}
	for _, tt := range tests {
		token, minted := mint(t, k, tt.grant)
		verified, err := k.Verify(token, noon)
		if err != nil {
			t.Fatalf("%s: Verify: %s", tt.name, Cause(err))
		}
		if !reflect.DeepEqual(minted, verified) {
			t.Errorf("%s: Mint says %+v, Verify %+v", tt.name, minted, verified)
		}
		if verified.TokenID == "" {
			t.Errorf("%s: no token id", tt.name)
		}
		verified.TokenID = ""
		if !reflect.DeepEqual(*verified, tt.want) {
			t.Errorf("%s: got %+v, want %+v", tt.name, *verified, tt.want)
		}
	}
}

func TestTokenIDsDiffer(t *testing.T) {
	k := newKeys(t)
	_, a := mint(t, k, Grant{Name: "a", Role: RoleViewer})
	_, b := mint(t, k, Grant{Name: "a", Role: RoleViewer})
	if a.TokenID == b.TokenID {
		t.Errorf("two tokens share the id %s", a.TokenID)
	}
}

func TestMintRefusesWhatNobodyShouldHold(t *testing.T) {
	k := newKeys(t)
	long := make([]string, 300)
	for i := range long {
		long[i] = "sess_11111111-1111-4111-8111-111111111111"
	}
	tests := map[string]Grant{
		"no name":                {Role: RoleViewer},
		"name with a newline":    {Name: "a\nb", Role: RoleViewer},
		"name that turns text":   {Name: "a\u202eb", Role: RoleViewer},
		"blank name":             {Name: " ", Role: RoleViewer},
		"name not UTF-8":         {Name: "a\xff", Role: RoleViewer},
		"long name":              {Name: strings.Repeat("x", 101), Role: RoleViewer},
		"no role":                {Name: "a"},
		"unknown role":           {Name: "a", Role: "root"},
		"negative life":          {Name: "a", Role: RoleViewer, TTL: -time.Second},
		"endless life":           {Name: "a", Role: RoleViewer, TTL: MaxTTL + 1},
		"empty session scope":    {Name: "a", Role: RoleViewer, Sessions: []string{}},
		"empty session id":       {Name: "a", Role: RoleViewer, Sessions: []string{""}},
		"empty workspace scope":  {Name: "a", Role: RoleViewer, Workspaces: []string{}},
		"relative workspace":     {Name: "a", Role: RoleViewer, Workspaces: []string{"w"}},
		"no profile":             {Name: "a", Role: RoleViewer, Profiles: []Profile{}},
		"unknown profile":        {Name: "a", Role: RoleViewer, Profiles: []Profile{"best"}},
		"admin of one session":   {Name: "a", Role: RoleAdmin, Sessions: []string{"s1"}},
		"admin of one workspace": {Name: "a", Role: RoleAdmin, Workspaces: []string{"/w"}},
		"scope beyond any token": {Name: "a", Role: RoleViewer, Sessions: long},
	}
	for name, g := range tests {
		if token, _, err := k.Mint(g, noon); err == nil || token != "" {
			t.Errorf("%s: Mint gave a token", name)
		}
	}
}

func TestExpiryHasThirtySecondsOfLeeway(t *testing.T) {
	k := newKeys(t)
	token, p := mint(t, k, Grant{Name: "a", Role: RoleViewer, TTL: time.Minute})
	if _, err := k.Verify(token, p.ExpiresAt.Add(30*time.Second-1)); err != nil {
		t.Errorf("just inside the leeway: %s", Cause(err))
	}
	_, err := k.Verify(token, p.ExpiresAt.Add(30*time.Second))
	if !errors.Is(err, ErrExpired) || !errors.Is(err, ErrBadToken) {
		t.Errorf("after the leeway: got %v, want ErrBadToken and ErrExpired", Cause(err))
	}
	if _, err := k.Verify(token, noon.Add(-30*time.Second)); err != nil {
		t.Errorf("a clock 30 s behind: %s", Cause(err))
	}
	_, err = k.Verify(token, noon.Add(-31*time.Second))
	if !errors.Is(err, ErrBadToken) || errors.Is(err, ErrExpired) {
		t.Errorf("a clock 31 s behind: got %v, want ErrBadToken alone", Cause(err))
	}
}

// sign makes a token with the hub's real key from claims and a header that Mint would not write.
func sign(t *testing.T, k *Keys, change func(c map[string]any, header map[string]any)) string {
	t.Helper()
	c := jwt.MapClaims{
		"iss": k.issuer(), "aud": k.issuer(), "sub": "a", "jti": "1", "typ": "access", "device": "d", "role": "viewer",
		"profiles": []string{string(Replayable)}, "iat": noon.Unix(), "nbf": noon.Unix(), "exp": noon.Add(time.Hour).Unix(),
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
	token.Header["kid"] = k.KeyID()
	change(c, token.Header)
	s, err := token.SignedString(k.ring.Load().sign)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOnlyAgeAloneIsExpired(t *testing.T) {
	k := newKeys(t)
	old := func(c map[string]any) {
		c["iat"], c["exp"] = noon.Add(-2*time.Hour).Unix(), noon.Add(-time.Hour).Unix()
		delete(c, "nbf")
	}
	tests := map[string]struct {
		token   string
		expired bool
	}{
		"old":                  {sign(t, k, func(c, _ map[string]any) { old(c) }), true},
		"old, of another hub":  {sign(t, k, func(c, _ map[string]any) { old(c); c["iss"] = "zcode-hub:other" }), false},
		"old, for another hub": {sign(t, k, func(c, _ map[string]any) { old(c); c["aud"] = "zcode-hub:other" }), false},
		"old, not a session's": {sign(t, k, func(c, _ map[string]any) { old(c); c["typ"] = "refresh" }), false},
		"old, wrong key":       {sign(t, k, func(c, h map[string]any) { old(c); h["kid"] = "0000000000000000" }), false},
	}
	for name, tt := range tests {
		_, err := k.Verify(tt.token, noon)
		if !errors.Is(err, ErrBadToken) || errors.Is(err, ErrExpired) != tt.expired {
			t.Errorf("%s: got %s, want expired=%v", name, Cause(err), tt.expired)
		}
	}
}

func TestInspectShowsWithoutVerifying(t *testing.T) {
	k := newKeys(t)
	token, p := mint(t, k, Grant{Name: "phone", Role: RoleApprover, Sessions: []string{"s1"}})
	broken := token[:len(token)-4] + "AAAA"
	got, err := Inspect(broken)
	if err != nil {
		t.Fatalf("Inspect: %v", err)
	}
	if got.Name != "phone" || got.Role != RoleApprover || got.KeyID != k.KeyID() || !got.ExpiresAt.Equal(p.ExpiresAt) ||
		strings.Join(got.Rights, ",") != "view,answer" || got.TokenID != p.TokenID {
		t.Errorf("Inspect: got %+v", got)
	}
	for _, bad := range []string{"", "x", "a.b.c", strings.Repeat("a", MaxTokenBytes+1)} {
		if _, err := Inspect(bad); err == nil {
			t.Errorf("Inspect(%.20q): no error", bad)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	k, err := LoadKeys(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	token, _, err := k.Mint(Grant{Name: "a", Role: RoleViewer}, noon)
	if err != nil {
		b.Fatal(err)
	}
	for name, token := range map[string]string{"good": token, "malformed": "x.y.z", "forged": token[:len(token)-2] + "AA"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = k.Verify(token, noon)
			}
		})
	}
}
