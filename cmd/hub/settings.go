package main

import (
	"strings"
	"time"

	"zcodehub/hub"
)

// config is what the hub runs with, whatever it came from.
type config struct {
	ConfigFile string
	DataDir    string
	LogLevel   string
	LogFormat  string

	AppServer       string
	Cwd             string
	Name            string
	Listen          string
	PublicURL       string
	AllowHost       []string
	AllowOrigin     []string
	AllowRemote     bool
	QueryToken      bool
	MetricsListen   string
	CallTimeout     time.Duration
	DrainTimeout    time.Duration
	MaxMessageBytes int64
	RateLimit       float64
	RateBurst       int64
	MaxConnections  int64
	Control         string
	ReadyFile       string
	TrustedProxy    []string
	TLSCert         string
	TLSKey          string
	JWT             jwtConfig
	OIDC            oidcConfig
	Provider        providerConfig

	origin  map[string]string // setting key -> where its value came from
	strange []string          // names of HUB_… variables that are no setting
}

// providerConfig is the model provider that the hub configures for a bundled zcode.cjs.
type providerConfig struct {
	ID      string
	Name    string
	APIType string
	BaseURL string
	APIKey  string
	Models  []string
}

// setting is one row of the table. Its key in the file is also its flag and, in capitals, its variable:
// provider.base-url is --provider-base-url and HUB_PROVIDER_BASE_URL.
type setting struct {
	key    string
	value  value
	usage  string
	common bool // a flag of every command, not only of those that serve
	secret bool // no flag (process lists show flags), hidden when printed
	noFile bool // makes no sense inside the file
}

func (s *setting) flag() string {
	if s.secret {
		return ""
	}
	return strings.ReplaceAll(s.key, ".", "-")
}

var (
	logLevels  = []string{"debug", "info", "warn", "error"}
	logFormats = []string{"auto", "text", "json"}
	controls   = []string{hub.ControlShared, hub.ControlLease}
)

const variablePrefix = "HUB_"

func (s *setting) variable() string {
	return variablePrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(s.key))
}

// defaults is a config with every default in place.
func defaults(environ []string) *config {
	return &config{
		DataDir:   defaultDataDir(environ),
		LogLevel:  "info",
		LogFormat: "auto",
		Name:      hostname(),
		Listen:    "127.0.0.1:8377",
		// Some clients that run in a browser have no other way.
		QueryToken: true,
		// The stop ladder of the app-server takes up to 3.8 s; the rest is for clients to be told.
		DrainTimeout:    10 * time.Second,
		CallTimeout:     hub.DefaultCallTimeout,
		MaxMessageBytes: hub.DefaultMaxMessageBytes,
		RateLimit:       hub.DefaultRateLimit,
		RateBurst:       hub.DefaultRateBurst,
		MaxConnections:  hub.DefaultMaxConnections,
		Control:         hub.ControlShared,
		Provider:        providerConfig{ID: "hub", APIType: "anthropic-messages"},
	}
}

// settings binds every row of the table to its place in c. The order is that of docs/configuration.md.
func settings(c *config) []*setting {
	return []*setting{
		{key: "config", value: text(&c.ConfigFile, "FILE"), common: true, noFile: true,
			usage: "configuration file (TOML); without it hub.toml in $XDG_CONFIG_HOME/zcode-hub is read if it exists"},
		{key: "data-dir", value: text(&c.DataDir, "DIR"), common: true,
			usage: "where keys, the instance id and hub.sock live; one hub per directory"},
		{key: "log-level", value: choice(&c.LogLevel, logLevels...), common: true,
			usage: "least important level that is logged"},
		{key: "log-format", value: choice(&c.LogFormat, logFormats...), common: true,
			usage: "auto is text on a terminal and JSON elsewhere"},

		{key: "app-server", value: text(&c.AppServer, "COMMAND"),
			usage: "command line of the app-server, split into words like a shell would, run without a shell; without it $ZCODE_BIN, zcode on PATH and the desktop app are tried"},
		{key: "cwd", value: text(&c.Cwd, "DIR"),
			usage: "working directory of the app-server; empty is the hub's own"},
		{key: "name", value: text(&c.Name, "NAME"),
			usage: "name of this hub as clients see it"},
		{key: "listen", value: text(&c.Listen, "HOST:PORT"),
			usage: "address for clients; port 0 picks a free one"},
		{key: "public-url", value: text(&c.PublicURL, "URL"),
			usage: "address under which clients reach the hub through a proxy or tunnel"},
		{key: "allow-host", value: list(&c.AllowHost, "HOST"),
			usage: "further Host header that is accepted"},
		{key: "allow-origin", value: list(&c.AllowOrigin, "ORIGIN"),
			usage: "further Origin that browsers may connect from"},
		{key: "allow-remote", value: boolean(&c.AllowRemote),
			usage: "allow --listen beyond loopback without --public-url; give it TLS then, or a proxy that has it"},
		{key: "query-token", value: boolean(&c.QueryToken),
			usage: "accept a token as ?token= on /api routes, for browser clients that cannot send headers; proxies may log it"},
		{key: "trusted-proxy", value: list(&c.TrustedProxy, "ADDRESS"),
			usage: "address or network of a proxy that is believed about client addresses (X-Forwarded-For); 127.0.0.1 for a tunnel on this machine"},
		{key: "tls-cert", value: text(&c.TLSCert, "FILE"),
			usage: "certificate chain (PEM) to serve https with; read again when the file changes"},
		{key: "tls-key", value: text(&c.TLSKey, "FILE"),
			usage: "private key of that certificate"},
		{key: "metrics-listen", value: text(&c.MetricsListen, "HOST:PORT"),
			usage: "serve /metrics also here, without a token; for a scraper only"},
		{key: "call-timeout", value: duration(&c.CallTimeout),
			usage: "how long a client's request may wait for the app-server"},
		{key: "drain-timeout", value: duration(&c.DrainTimeout),
			usage: "how long a shutdown may take before it is forced"},
		{key: "max-message-bytes", value: size(&c.MaxMessageBytes),
			usage: "largest message a client may send"},
		{key: "rate-limit", value: number(&c.RateLimit),
			usage: "frames a second that one client may send, on average"},
		{key: "rate-burst", value: integer(&c.RateBurst),
			usage: "frames that one client may send at once"},
		{key: "max-connections", value: integer(&c.MaxConnections),
			usage: "connections that one device may have at a time"},
		{key: "control", value: choice(&c.Control, controls...),
			usage: "who steers a session: everybody who may (shared), or one device at a time (lease)"},
		{key: "ready-file", value: text(&c.ReadyFile, "FILE"),
			usage: `file to write {"url","pid"} to once the hub listens`},

		{key: "jwt.secret", value: text(&c.JWT.Secret, "SECRET"), secret: true,
			usage: "secret of 32 bytes or more, shared with whoever else makes tokens for this hub (HS256); only from the environment or the file, never a flag"},
		{key: "jwt.secret-file", value: text(&c.JWT.SecretFile, "FILE"),
			usage: "file that holds that secret"},
		{key: "jwt.issuer", value: text(&c.JWT.Issuer, "ISSUER"),
			usage: "iss that those tokens must have; empty is any"},
		{key: "jwt.audience", value: text(&c.JWT.Audience, "AUDIENCE"),
			usage: "aud that those tokens must have; empty is any"},

		{key: "oidc.issuer", value: text(&c.OIDC.Issuer, "URL"),
			usage: "another issuer whose tokens are accepted (RS256, ES256, EdDSA), exactly as its iss says"},
		{key: "oidc.audience", value: text(&c.OIDC.Audience, "AUDIENCE"),
			usage: "aud that its tokens must have; required with an issuer"},
		{key: "oidc.jwks-url", value: text(&c.OIDC.JWKSURL, "URL"),
			usage: "where its keys are; empty asks its OpenID configuration"},
		{key: "oidc.role-claim", value: text(&c.OIDC.RoleClaim, "CLAIM"),
			usage: "claim that gives the role, or a path such as realm_access.roles; empty is role"},
		{key: "oidc.roles", value: list(&c.OIDC.Roles, "VALUE=ROLE"),
			usage: "value of that claim and the role it gives; the strongest counts"},
		{key: "oidc.default-role", value: text(&c.OIDC.DefaultRole, "ROLE"),
			usage: "role of holders without such a value; empty refuses them"},
		{key: "oidc.name-claim", value: text(&c.OIDC.NameClaim, "CLAIM"),
			usage: "claim that names the holder; empty is email, then name, then sub"},
		{key: "oidc.header", value: text(&c.OIDC.Header, "HEADER"),
			usage: "request header in which a proxy brings the token, such as Cf-Access-Jwt-Assertion"},

		{key: "provider.id", value: text(&c.Provider.ID, "ID"),
			usage: "id of the model provider that the hub sets up for a bundled zcode.cjs"},
		{key: "provider.name", value: text(&c.Provider.Name, "NAME"),
			usage: "name of that provider; empty is its id"},
		{key: "provider.api-type", value: text(&c.Provider.APIType, "TYPE"),
			usage: "protocol that the provider speaks"},
		{key: "provider.base-url", value: text(&c.Provider.BaseURL, "URL"),
			usage: "address of the provider"},
		{key: "provider.models", value: list(&c.Provider.Models, "MODEL"),
			usage: "model that the provider offers, the preferred one first"},
		{key: "provider.api-key", value: text(&c.Provider.APIKey, "KEY"), secret: true,
			usage: "key for the provider; only from the environment or the file, never a flag"},
	}
}
