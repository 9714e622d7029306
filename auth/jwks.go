package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/sync/singleflight"
)

const (
	// jwksFresh is how long keys are used without asking again: how long a withdrawn key goes on counting.
	jwksFresh = time.Hour
	// jwksStale is how long they are used while the issuer does not answer: a day's outage locks nobody out.
	jwksStale = 24 * time.Hour
	// jwksPause is the least time between two fetches, whatever strangers put into kid.
	jwksPause = time.Minute
	// jwksTimeout is for one fetch; a client waits for it.
	jwksTimeout = 10 * time.Second

	maxJWKSBytes = 1 << 20 // far above the sets of large issuers
	maxJWKSKeys  = 100
	minRSABits   = 2048 // NIST SP 800-131A
)

// jwks are the keys that another issuer publishes: fetched when needed, kept, and fetched again when they are old or
// when a token names an unknown one. It starts no goroutine: whoever needs the keys fetches, others wait for that.
type jwks struct {
	issuer string
	url    string // "" = ask the OpenID configuration of the issuer
	client *http.Client
	flight singleflight.Group

	mu      sync.Mutex
	keys    keyfunc.Keyfunc // nil before the first success
	fetched time.Time
	tried   time.Time
}

func newJWKS(c IssuerConfig) (*jwks, error) {
	j := &jwks{issuer: c.Issuer, url: c.JWKSURL, client: c.HTTP}
	if j.client == nil {
		j.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if j.url == "" {
		return j, checkKeyURL(j.configurationURL())
	}
	return j, checkKeyURL(j.url)
}

// checkKeyURL: whoever can change the keys on their way can make tokens.
func checkKeyURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil {
		return fmt.Errorf("%.100q is not a URL of keys", s)
	}
	if h, err := parseHost(u.Host); u.Scheme != "https" && !(u.Scheme == "http" && err == nil && h.loopback()) {
		return fmt.Errorf("%.100q: keys are fetched by https only", s)
	}
	return nil
}

func (j *jwks) configurationURL() string {
	return strings.TrimSuffix(j.issuer, "/") + "/.well-known/openid-configuration"
}

// choose finds the key that a token names.
func (j *jwks) choose(ctx context.Context, t *jwt.Token, now time.Time) (any, error) {
	if kid, _ := t.Header["kid"].(string); kid == "" {
		return nil, errors.New("no kid")
	}
	keys, err := j.current(ctx, now)
	if err != nil {
		return nil, err
	}
	key, err := keys.KeyfuncCtx(ctx)(t)
	if !errors.Is(err, jwkset.ErrKeyNotFound) || !j.mayFetch(now) {
		return key, err
	}
	if keys, err = j.fetch(ctx, now); err != nil {
		return nil, err
	}
	return keys.KeyfuncCtx(ctx)(t)
}

// current gives the keys at hand, fetched anew when they are old. While that fails, old ones are better than none.
func (j *jwks) current(ctx context.Context, now time.Time) (keyfunc.Keyfunc, error) {
	j.mu.Lock()
	keys, age := j.keys, now.Sub(j.fetched)
	j.mu.Unlock()
	if keys != nil && (age < jwksFresh || age < jwksStale && !j.mayFetch(now)) {
		return keys, nil
	}
	if !j.mayFetch(now) {
		return nil, errors.New("the issuer's keys could not be fetched a moment ago")
	}
	fresh, err := j.fetch(ctx, now)
	if err != nil && keys != nil && age < jwksStale {
		return keys, nil
	}
	return fresh, err
}

func (j *jwks) mayFetch(now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return now.Sub(j.tried) >= jwksPause
}

// fetch runs once for all who want it at the same time, and to its end even if the first of them goes away.
func (j *jwks) fetch(ctx context.Context, now time.Time) (keyfunc.Keyfunc, error) {
	got, err, _ := j.flight.Do("", func() (any, error) {
		if keys, just := j.takeTurn(now); just {
			return keys, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), jwksTimeout)
		defer cancel()
		keys, err := j.load(ctx)
		if err != nil {
			return nil, fmt.Errorf("fetch keys of %s: %w", j.issuer, err)
		}
		j.mu.Lock()
		j.keys, j.fetched = keys, now
		j.mu.Unlock()
		return keys, nil
	})
	if err != nil {
		return nil, err
	}
	return got.(keyfunc.Keyfunc), nil
}

// takeTurn marks the begin of a fetch, unless one ended since the caller decided on it: then its keys do.
func (j *jwks) takeTurn(now time.Time) (keys keyfunc.Keyfunc, just bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.keys != nil && now.Sub(j.tried) < jwksPause {
		return j.keys, true
	}
	j.tried = now
	return nil, false
}

func (j *jwks) load(ctx context.Context) (keyfunc.Keyfunc, error) {
	keysURL := j.url
	if keysURL == "" {
		var configuration struct {
			Issuer  string `json:"issuer"`
			JWKSURI string `json:"jwks_uri"`
		}
		if err := j.get(ctx, j.configurationURL(), &configuration); err != nil {
			return nil, err
		}
		if configuration.Issuer != j.issuer {
			return nil, errors.New("the OpenID configuration is another issuer's")
		}
		if err := checkKeyURL(configuration.JWKSURI); err != nil {
			return nil, err
		}
		keysURL = configuration.JWKSURI
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := j.get(ctx, keysURL, &set); err != nil {
		return nil, err
	}
	return usableKeys(ctx, set.Keys)
}

func (j *jwks) get(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := j.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %d", url, res.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxJWKSBytes+1))
	if err != nil {
		return err
	}
	if len(data) > maxJWKSBytes {
		return fmt.Errorf("%s answers more than %d bytes", url, maxJWKSBytes)
	}
	return json.Unmarshal(data, into)
}

// usableKeys leaves out what must not or cannot verify a token here: symmetric and private keys (their place is not
// in public), keys for encryption, weak ones, unknown kinds, and those without a name.
func usableKeys(ctx context.Context, raw []json.RawMessage) (keyfunc.Keyfunc, error) {
	if len(raw) > maxJWKSKeys {
		return nil, fmt.Errorf("more than %d keys", maxJWKSKeys)
	}
	store := jwkset.NewMemoryStorage()
	usable := 0
	for _, r := range raw {
		key, err := jwkset.NewJWKFromRawJSON(r, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err != nil || key.Marshal().KID == "" || key.Marshal().D != "" || !strong(key.Key()) {
			continue
		}
		if err := store.KeyWrite(ctx, key); err != nil {
			return nil, err
		}
		usable++
	}
	if usable == 0 {
		return nil, errors.New("no usable key")
	}
	return keyfunc.New(keyfunc.Options{Storage: store, UseWhitelist: []jwkset.USE{jwkset.UseSig, ""}})
}

func strong(key any) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= minRSABits
	case *ecdsa.PublicKey:
		return k.Curve == elliptic.P256()
	case ed25519.PublicKey:
		return true
	}
	return false
}
