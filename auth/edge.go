package auth

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
)

var (
	// ErrHost is wrapped when a request names a host that is not this hub.
	ErrHost = errors.New("this host name is not served here")
	// ErrOrigin is wrapped when a request comes from a page that is not the hub's own.
	ErrOrigin = errors.New("this origin is not allowed")
)

// EdgeConfig says where a hub is reached.
type EdgeConfig struct {
	Listen    string   // the address the hub listens on, as for net.Listen
	PublicURL string   // what people type, "" = nothing but Listen
	Hosts     []string // further host names and addresses; a port is ignored
	Origins   []string // further origins of pages, scheme://host[:port]
	Instance  string   // names the cookie, so that two hubs on one host do not fight over it
	// Ambient are headers in which a proxy brings a credential for whatever the browser sends; Origin is asked for
	// them as for the cookie.
	Ambient []string
}

// Edge decides which hosts and origins may talk to the hub and owns the page's cookie. It is immutable.
type Edge struct {
	hosts   []string // canonical names and addresses without port
	origins []string // canonical origins
	public  *origin  // nil without a public URL
	cookie  string
	ambient []string
}

// NewEdge checks the whole configuration and reports all faults together.
func NewEdge(c EdgeConfig) (*Edge, error) {
	e := &Edge{cookie: cookieName(c.Instance), ambient: c.Ambient}
	var faults []error
	add := func(what string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", what, err))
		}
	}
	add("listen address", e.addListen(c.Listen))
	if c.PublicURL != "" {
		add("public URL", e.addPublic(c.PublicURL))
	}
	for _, h := range c.Hosts {
		add("allowed host", e.addHost(h))
	}
	for _, o := range c.Origins {
		add("allowed origin", e.addOrigin(o))
	}
	return e, errors.Join(faults...)
}

func (e *Edge) addListen(addr string) error {
	if addr == "" {
		return nil
	}
	name, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%.100q is not host:port", addr)
	}
	if name == "" {
		return nil // every address: CheckHost looks at the one a connection came in on
	}
	return e.addHost(net.JoinHostPort(name, "1")) // the port does not count, and 0 is not a port to ask for
}

func (e *Edge) addPublic(publicURL string) error {
	o, err := parsePublicURL(publicURL)
	if err != nil {
		return err
	}
	e.public = &o
	e.hosts = append(e.hosts, o.host.key())
	e.origins = append(e.origins, o.String())
	return nil
}

func (e *Edge) addHost(s string) error {
	h, err := parseHost(s)
	if err != nil {
		return err
	}
	e.hosts = append(e.hosts, h.key())
	return nil
}

func (e *Edge) addOrigin(s string) error {
	o, err := parseOrigin(s)
	if err != nil {
		return err
	}
	e.origins = append(e.origins, o.String())
	return nil
}

// CheckHost keeps out requests that reached the hub under a foreign name: that is how a hostile page gets past the
// same-origin rule (DNS rebinding). Names are compared without port, which tunnels change.
func (e *Edge) CheckHost(r *http.Request) error {
	h, err := parseHost(r.Host)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHost, err)
	}
	if h.loopback() || slices.Contains(e.hosts, h.key()) || h.isLocalAddr(r) {
		return nil
	}
	return fmt.Errorf("%w: %.100q", ErrHost, r.Host)
}

// CheckOrigin is for every route that takes a credential. Requests of pages must come from the hub's own page or an
// allowed origin. A request without Origin is no page's and passes, unless it would be let in by the cookie or what a
// proxy adds, which come with any request of a browser: then it must vouch that the hub's own page asks.
func (e *Edge) CheckOrigin(r *http.Request) error {
	values := r.Header["Origin"]
	switch {
	case len(values) == 0:
		return e.checkNoOrigin(r)
	case len(values) > 1:
		return fmt.Errorf("%w: %d Origin headers", ErrOrigin, len(values))
	}
	o, err := parseOrigin(values[0])
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOrigin, err)
	}
	if slices.Contains(e.origins, o.String()) || e.sameOrigin(o, r) {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrOrigin, o)
}

// checkNoOrigin: browsers leave Origin out of a same-origin GET, and say in Sec-Fetch-Site, which no page can set,
// who asks. "none" is the user's own hand: address bar or bookmark.
func (e *Edge) checkNoOrigin(r *http.Request) error {
	if _, bearer := Bearer(r); bearer || !e.hasAmbient(r) {
		return nil
	}
	site := r.Header.Get("Sec-Fetch-Site")
	reading := r.Method == http.MethodGet || r.Method == http.MethodHead
	if site == "same-origin" || site == "none" && reading {
		return nil
	}
	return fmt.Errorf("%w: a cookie without Origin", ErrOrigin)
}

func (e *Edge) hasAmbient(r *http.Request) bool {
	return e.hasCookie(r) || slices.ContainsFunc(e.ambient, func(h string) bool { return len(r.Header.Values(h)) > 0 })
}

// sameOrigin compares with the address the request was sent to. Its scheme is known with TLS of our own or for the
// public URL; otherwise a tunnel may have taken the TLS off, and both schemes count.
func (e *Edge) sameOrigin(o origin, r *http.Request) bool {
	h, err := parseHost(r.Host)
	if err != nil || !o.web() {
		return false
	}
	if r.TLS != nil && o.scheme != "https" {
		return false
	}
	own := origin{scheme: o.scheme, host: h}
	if e.public != nil && h.key() == e.public.host.key() && own.port() == o.port() && o.scheme != e.public.scheme {
		return false
	}
	return own.String() == o.String()
}

// HTTPS reports whether the client speaks https, as far as the hub can know.
func (e *Edge) HTTPS(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	if e.public == nil || e.public.scheme != "https" {
		return false
	}
	h, err := parseHost(r.Host)
	return err == nil && h.key() == e.public.host.key()
}

func parsePublicURL(s string) (origin, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return origin{}, fmt.Errorf("%.100q is not an http or https URL", s)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return origin{}, errors.New("give scheme and host only, such as https://hub.example.org")
	}
	return parseOrigin(u.Scheme + "://" + u.Host)
}
