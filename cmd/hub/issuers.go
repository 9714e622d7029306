package main

import (
	"fmt"
	"net/netip"
	"strings"

	"zcodehub/auth"
)

// jwtConfig is a secret that others share with the hub to make tokens for it.
type jwtConfig struct {
	Secret     string
	SecretFile string
	Issuer     string
	Audience   string
}

// oidcConfig is another issuer, known by its published keys.
type oidcConfig struct {
	Issuer      string
	Audience    string
	JWKSURL     string
	RoleClaim   string
	Roles       []string // value=role
	DefaultRole string
	NameClaim   string
	Header      string
}

// issuers are those whose tokens count beside the hub's own.
func (c *config) issuers() ([]*auth.Issuer, error) {
	var list []*auth.Issuer
	for _, make := range []func() (*auth.Issuer, error){c.JWT.issuer, c.OIDC.make} {
		issuer, err := make()
		if err != nil {
			return nil, err
		}
		if issuer != nil {
			list = append(list, issuer)
		}
	}
	return list, nil
}

// checkIssuers finds what is wrong without reading the secret's file: that is for the hub that serves.
func (c *config) checkIssuers(bad *faults) {
	j := &c.JWT
	switch {
	case j.Secret != "" && j.SecretFile != "":
		bad.add("jwt.secret, jwt.secret-file: give one of them")
	case j.Secret == "" && j.SecretFile == "" && (j.Issuer != "" || j.Audience != ""):
		bad.add("jwt.issuer, jwt.audience: there is no jwt.secret")
	}
	if j.Secret != "" {
		if err := auth.CheckSecret([]byte(j.Secret)); err != nil {
			bad.add("jwt.secret: %v", err)
		}
	}
	if _, err := c.OIDC.make(); err != nil {
		bad.add("%v", err)
	}
}

func (j *jwtConfig) issuer() (*auth.Issuer, error) {
	secret := []byte(j.Secret)
	switch {
	case j.SecretFile != "":
		var err error
		if secret, err = auth.ReadSecretFile(j.SecretFile); err != nil {
			return nil, faultf("jwt.secret-file: %v", err)
		}
	case j.Secret == "":
		return nil, nil
	}
	issuer, err := auth.NewIssuer(auth.IssuerConfig{Secret: secret, Issuer: j.Issuer, Audience: j.Audience})
	if err != nil {
		return nil, faultf("jwt: %v", err)
	}
	return issuer, nil
}

func (o *oidcConfig) make() (*auth.Issuer, error) {
	if o.Issuer == "" {
		return nil, nil
	}
	roles, err := o.roles()
	if err != nil {
		return nil, faultf("oidc.roles: %v", err)
	}
	issuer, err := auth.NewIssuer(auth.IssuerConfig{
		Issuer: o.Issuer, Audience: o.Audience, JWKSURL: o.JWKSURL, RoleClaim: o.RoleClaim, Roles: roles,
		Default: auth.Role(o.DefaultRole), NameClaim: o.NameClaim, Header: o.Header,
	})
	if err != nil {
		return nil, faultf("oidc: %v", err)
	}
	return issuer, nil
}

func (o *oidcConfig) roles() (map[string]auth.Role, error) {
	roles := map[string]auth.Role{}
	for _, pair := range o.Roles {
		value, name, found := strings.Cut(pair, "=")
		role, err := auth.ParseRole(name)
		if !found || value == "" || err != nil {
			return nil, fmt.Errorf("wants VALUE=ROLE such as maintainers=operator, got %q", pair)
		}
		roles[value] = role
	}
	return roles, nil
}

// trustedProxies are the addresses and networks that are believed about client addresses.
func (c *config) trustedProxies() ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, word := range c.TrustedProxy {
		prefix, err := netip.ParsePrefix(word)
		if addr, addrErr := netip.ParseAddr(word); addrErr == nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("wants an address or a network such as 127.0.0.1 or 10.0.0.0/8, got %q", word)
		}
		list = append(list, prefix.Masked())
	}
	return list, nil
}
