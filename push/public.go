package push

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

const (
	// dialTimeout and handshakeTimeout leave room within sendTimeout for a second
	// address.
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	// idleTimeout: questions come in bursts, and then not for long.
	idleTimeout = 90 * time.Second
	// maxHeader is some times what push services answer with.
	maxHeader = 32 << 10
)

// publicTransport reaches public addresses only. It looks at the address that is
// dialled, so that no name can lead elsewhere, and uses no proxy, which would
// dial in its place.
func publicTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: func(_, address string, _ syscall.RawConn) error { return checkPublic(address) }}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: handshakeTimeout, IdleConnTimeout: idleTimeout,
		ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxHeader,
	}
}

var errNotPublic = errors.New("push goes to public addresses only")

// checkPublic refuses an address and port that is not out on the internet.
func checkPublic(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotPublic, err)
	}
	if !isPublic(at.Addr()) {
		return fmt.Errorf("%w, not to %s", errNotPublic, at.Addr())
	}
	return nil
}

// special are the networks that are unicast and not the internet (RFC 6890 and
// its successors), or that stand for addresses of the other family.
var special = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "240.0.0.0/4", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16",
	"3fff::/20", "5f00::/16", "fec0::/10")

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func isPublic(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for _, network := range special {
		if network.Contains(addr) {
			return false
		}
	}
	return true
}
