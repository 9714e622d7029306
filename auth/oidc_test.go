package auth

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"
)

// oidcProvider is a real OpenID provider on this machine, which knows nothing of the hub.
type oidcProvider struct {
	*mockoidc.MockOIDC
	t *testing.T
}

func startProvider(t *testing.T) *oidcProvider {
	t.Helper()
	m, err := mockoidc.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := m.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	return &oidcProvider{m, t}
}

// signIn goes the whole way of a user: the authorization endpoint, the code it sends back, the token for that code.
func (o *oidcProvider) signIn(user *mockoidc.MockUser) (idToken string) {
	o.t.Helper()
	o.QueueUser(user)
	const back = "http://127.0.0.1/callback" // nobody listens there: the redirect is read, not followed
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	redirect, err := client.Get(o.AuthorizationEndpoint() + "?" + url.Values{
		"client_id": {o.ClientID}, "response_type": {"code"}, "redirect_uri": {back}, "state": {"s"}, "nonce": {"n"},
		"scope": {"openid profile email groups"},
	}.Encode())
	if err != nil {
		o.t.Fatal(err)
	}
	defer redirect.Body.Close()
	location, err := redirect.Location()
	if err != nil {
		o.t.Fatal(err)
	}
	answer, err := client.PostForm(o.TokenEndpoint(), url.Values{
		"client_id": {o.ClientID}, "client_secret": {o.ClientSecret}, "grant_type": {"authorization_code"},
		"redirect_uri": {back}, "code": {location.Query().Get("code")},
	})
	if err != nil {
		o.t.Fatal(err)
	}
	defer answer.Body.Close()
	var tokens struct {
		IDToken string `json:"id_token"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&tokens); err != nil || tokens.IDToken == "" {
		o.t.Fatalf("the provider gave no token: %s, %v", answer.Status, err)
	}
	return tokens.IDToken
}

// trusting is what the operator of a hub writes down of this provider: keys come by its discovery document.
func (o *oidcProvider) trusting() IssuerConfig {
	return IssuerConfig{
		Issuer: o.Issuer(), Audience: o.ClientID, RoleClaim: "groups",
		Roles: map[string]Role{"engineering": RoleOperator, "owners": RoleAdmin},
	}
}

func TestWhoSignsInAtAnOpenIDProviderComesIn(t *testing.T) {
	provider := startProvider(t)
	issuer := newIssuer(t, provider.trusting())
	now := time.Now()
	for _, c := range []struct {
		groups []string
		want   Role // "" = refused
	}{
		{[]string{"engineering", "design"}, RoleOperator},
		{[]string{"engineering", "owners"}, RoleAdmin},
		{[]string{"design"}, ""},
		{nil, ""},
	} {
		user := mockoidc.DefaultUser()
		user.Groups = c.groups
		token := provider.signIn(user)
		if alg, _, _ := jwt.NewParser().ParseUnverified(token, jwt.MapClaims{}); alg.Method.Alg() != "RS256" {
			t.Fatalf("the provider signs with %s: this test is about RS256", alg.Method.Alg())
		}
		p, err := issuer.Verify(t.Context(), token, now)
		if c.want == "" {
			if !errors.Is(err, ErrBadToken) || errors.Is(err, ErrExpired) || !strings.Contains(Cause(err), "no claim gives a role") {
				t.Errorf("groups %v: got %+v, %v (%s), want a refusal for want of a role", c.groups, p, err, Cause(err))
			}
			continue
		}
		if err != nil {
			t.Errorf("groups %v: %s", c.groups, Cause(err))
			continue
		}
		if p.Name != user.Email || p.Role != c.want || p.Rights != c.want.Rights() || p.Local || !slices.Equal(p.Profiles, []Profile{Replayable}) {
			t.Errorf("groups %v: got %+v", c.groups, p)
		}
		if left := p.ExpiresAt.Sub(now); left < provider.AccessTTL-time.Minute || left > provider.AccessTTL+time.Minute {
			t.Errorf("groups %v: ends in %s, the provider says %s", c.groups, left, provider.AccessTTL)
		}
	}
}

func TestOpenIDTokensForOthersAndOldOnesAreRefused(t *testing.T) {
	provider := startProvider(t)
	now := time.Now()
	token := provider.signIn(mockoidc.DefaultUser())

	foreign := provider.trusting()
	foreign.Audience = "another client"
	impostor := startProvider(t) // the same key, as the package's default, under another name
	elsewhere := impostor.trusting()
	elsewhere.Audience = provider.ClientID
	for name, c := range map[string]IssuerConfig{"for another audience": foreign, "of another issuer": elsewhere} {
		if p, err := newIssuer(t, c).Verify(t.Context(), token, now); !errors.Is(err, ErrBadToken) || errors.Is(err, ErrExpired) {
			t.Errorf("a token %s: got %+v, %v", name, p, err)
		}
	}

	issuer := newIssuer(t, provider.trusting())
	if _, err := issuer.Verify(t.Context(), token, now); err != nil {
		t.Fatalf("the same token where it belongs: %s", Cause(err))
	}
	if p, err := issuer.Verify(t.Context(), token, now.Add(provider.AccessTTL+leeway+time.Second)); !errors.Is(err, ErrExpired) {
		t.Errorf("a token whose time is over: got %+v, %v", p, err)
	}
	provider.FastForward(time.Hour)
	if p, err := issuer.Verify(t.Context(), provider.signIn(mockoidc.DefaultUser()), now); !errors.Is(err, ErrBadToken) || errors.Is(err, ErrExpired) {
		t.Errorf("a token of an hour ahead: got %+v, %v", p, err)
	}
}

func TestDiscoveryDocumentMustBeOfTheIssuerItself(t *testing.T) {
	provider := startProvider(t)
	c := provider.trusting()
	c.Issuer += "/" // found under the same address, but iss is compared exactly
	if p, err := newIssuer(t, c).Verify(t.Context(), provider.signIn(mockoidc.DefaultUser()), time.Now()); !errors.Is(err, ErrBadToken) {
		t.Errorf("got %+v, %v", p, err)
	}
	if _, err := newIssuer(t, c).keys.load(t.Context()); err == nil || !strings.Contains(err.Error(), "another issuer's") {
		t.Errorf("keys by a discovery document of another issuer: %v", err)
	}
}
