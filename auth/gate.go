package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.etcd.io/bbolt"
)

// Gate asks everybody who has a say about a token: the hub's own keys or the issuer it names, and then the device
// store, where it may have been revoked. It is read only after construction.
type Gate struct {
	Keys    *Keys
	Devices *Devices
	Issuers []*Issuer
}

// Authenticate makes a principal of any token that this hub accepts. Errors are as of [Keys.Verify], and may wrap
// [ErrRevoked]. It may wait for another issuer's keys, not longer than ctx or some seconds.
func (g *Gate) Authenticate(ctx context.Context, token string, now time.Time) (*Principal, error) {
	issuer := g.issuerOf(token)
	if issuer == nil {
		p, err := g.Keys.Verify(token, now)
		if err == nil {
			err = g.Devices.Admit(p, now)
		}
		return onlyIf(err, p)
	}
	p, err := issuer.Verify(ctx, token, now)
	if err == nil {
		err = g.Devices.admitExternal(p, now)
	}
	return onlyIf(err, p)
}

// onlyIf keeps a principal from being used beside an error.
func onlyIf(err error, p *Principal) (*Principal, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// issuerOf picks the one verifier that may judge a token, by what it claims of itself: with one key per token there is
// no second guess. nil = the hub itself, also for what is no token at all.
func (g *Gate) issuerOf(token string) *Issuer {
	if len(g.Issuers) == 0 || checkForm(token) != nil {
		return nil
	}
	var c jwt.RegisteredClaims
	t, _, err := jwt.NewParser().ParseUnverified(token, &c)
	if err != nil || c.Issuer == g.Keys.issuer() {
		return nil
	}
	for _, i := range g.Issuers {
		if i.issues(t.Method.Alg(), c.Issuer) {
			return i
		}
	}
	return nil
}

// HeaderToken reads a token that a proxy in front put into an issuer's own header. The proxy adds it to whatever the
// browser sends, as it would a cookie: name these headers in [EdgeConfig] so that Origin is asked as for a cookie.
func (g *Gate) HeaderToken(r *http.Request) (string, bool) {
	for _, i := range g.Issuers {
		if i.Header() == "" {
			continue
		}
		if values := r.Header.Values(i.Header()); len(values) == 1 && isToken68(values[0]) {
			return values[0], true
		}
	}
	return "", false
}

// externalPrefix marks the device ids of holders that another issuer vouches for.
const externalPrefix = "ext-"

// externalNews is how far the end of a holder's time moves before it is written down again: some issuers make a
// token for each request.
const externalNews = time.Hour

// admitExternal gives a holder from elsewhere a device record at first sight, so that people can see and revoke it,
// and keeps the record at what the issuer says.
func (d *Devices) admitExternal(p *Principal, now time.Time) error {
	d.mu.RLock()
	dev, found := d.byID[p.Device]
	d.mu.RUnlock()
	if !found || !dev.Revoked() && dev.outdated(p) {
		if err := d.putExternal(p, now); err != nil {
			return badToken(err)
		}
	}
	return d.Admit(p, now)
}

func (d Device) outdated(p *Principal) bool {
	return d.Name != p.Name || d.Role != p.Role || p.ExpiresAt.Sub(d.ExpiresAt) >= externalNews
}

func (d *Devices) putExternal(p *Principal, now time.Time) error {
	return d.write(func(tx *bbolt.Tx) ([]Device, error) {
		dev, found := d.Find(p.Device, now)
		if dev.Revoked() {
			return nil, nil // in the meantime
		}
		if !found {
			if err := d.checkRoom(); err != nil {
				return nil, err
			}
			dev = Device{ID: p.Device, Kind: KindExternal, CreatedAt: now}
		}
		dev.Name, dev.Role, dev.Sessions, dev.Workspaces, dev.Profiles = p.Name, p.Role, p.Sessions, p.Workspaces, p.Profiles
		dev.RenewedAt, dev.ExpiresAt = now, p.ExpiresAt
		return []Device{dev}, putDevice(tx, dev)
	})
}

// Issue makes or renews the device of the grant's name and mints a token of it. Errors are clear sentences for whoever
// asked.
func (g *Gate) Issue(grant Grant, now time.Time) (string, *Principal, error) {
	dev, err := g.Devices.Enrol(grant, now)
	if err != nil {
		return "", nil, err
	}
	return g.Keys.Mint(dev.Grant(grant.withDefaults().TTL, now), now)
}

// TokenCreated is what the audit keeps of Issue.
func TokenCreated(p *Principal) AuditEvent {
	return AuditEvent{Event: "token.created", Name: p.Name, Device: p.Device,
		Detail: map[string]string{"role": string(p.Role), "tokenId": p.TokenID, "expiresAt": p.ExpiresAt.Format(time.RFC3339)}}
}
