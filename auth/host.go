package auth

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// maxHost is the longest name of the DNS plus brackets, dot and port.
const maxHost = 253 + 9

// host is a parsed Host header or the host part of an origin: a name or an address, and perhaps a port.
type host struct {
	name string     // lower case, no dot at the end; "" for an address
	addr netip.Addr // valid for an address
	port string     // "" = the scheme's own
}

// parseHost takes name, name:port, v4, v4:port, [v6] and [v6]:port in the form browsers send, and nothing else: a
// form that two readers could understand differently is a way around the allow-list.
func parseHost(s string) (host, error) {
	bad := func() (host, error) { return host{}, fmt.Errorf("%.100q is not a host name", s) }
	if s == "" || len(s) > maxHost {
		return bad()
	}
	var h host
	name := s
	if strings.HasPrefix(s, "[") {
		inside, rest, closed := strings.Cut(s[1:], "]")
		addr, err := netip.ParseAddr(inside)
		if !closed || err != nil || !addr.Is6() || addr.Zone() != "" || rest != "" && rest[0] != ':' {
			return bad()
		}
		h.addr = addr.Unmap()
		if rest != "" {
			h.port = rest[1:]
			if !isPort(h.port) {
				return bad()
			}
		}
		return h, nil
	}
	if before, port, found := strings.Cut(s, ":"); found {
		if !isPort(port) {
			return bad()
		}
		name, h.port = before, port
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if addr, err := netip.ParseAddr(name); err == nil && addr.Is4() {
		h.addr = addr
		return h, nil
	}
	if !isName(name) {
		return bad()
	}
	h.name = name
	return h, nil
}

// isName accepts names of the DNS in ASCII. A last label that reads as a number would be an address to some readers
// (127.1, 0x7f000001): refused.
func isName(s string) bool {
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	return strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && s[0] != '0' && s[0] != '+'
}

// key is what the allow-list compares: no port.
func (h host) key() string {
	if h.addr.IsValid() {
		return h.addr.String()
	}
	return h.name
}

// loopback: localhost and the names below it are reserved (RFC 6761); nobody else can own them.
func (h host) loopback() bool {
	return h.addr.IsLoopback() || h.name == "localhost" || strings.HasSuffix(h.name, ".localhost")
}

// isLocalAddr reports whether h is the very address the connection came in on. That cannot be rebound: an attacker
// who serves a page from this address already is on this machine.
func (h host) isLocalAddr(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && h.addr.IsValid() && local.AddrPort().Addr().Unmap().WithZone("") == h.addr
}

// origin is scheme and host of a page.
type origin struct {
	scheme string // lower case
	host   host
}

// parseOrigin takes scheme://host[:port]. "null" (sandboxed frames, local files, anybody) and "*" are no origins.
func parseOrigin(s string) (origin, error) {
	scheme, rest, found := strings.Cut(s, "://")
	scheme = strings.ToLower(scheme)
	if !found || !isScheme(scheme) {
		return origin{}, fmt.Errorf("%.100q is not an origin (scheme://host[:port])", s)
	}
	h, err := parseHost(rest)
	if err != nil {
		return origin{}, errors.Join(fmt.Errorf("%.100q is not an origin", s), err)
	}
	return origin{scheme: scheme, host: h}, nil
}

func isScheme(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// web tells the origins of pages on the web from those of browser extensions and app shells.
func (o origin) web() bool { return o.scheme == "http" || o.scheme == "https" }

// port is the port that is meant, also when it is the scheme's own and left out.
func (o origin) port() string {
	switch {
	case o.host.port != "":
		return o.host.port
	case o.scheme == "http":
		return "80"
	case o.scheme == "https":
		return "443"
	}
	return ""
}

// String is the canonical form: equal strings are equal origins.
func (o origin) String() string {
	name := o.host.key()
	if o.host.addr.Is6() {
		name = "[" + name + "]"
	}
	if port := o.port(); port != "" {
		name += ":" + port
	}
	return o.scheme + "://" + name
}
