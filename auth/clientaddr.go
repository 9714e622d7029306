package auth

import (
	"net/http"
	"net/netip"
	"strings"
)

// maxHops bounds the work on a header that strangers write; no chain of proxies is longer.
const maxHops = 32

// ClientAddr is the address a request comes from. Only a trusted proxy is believed when it names another: the chain
// of X-Forwarded-For is walked from the right, where our own proxies write, up to the first address that is not one
// of them. The rest is whatever the client cared to invent. The outcome may be invalid (a local socket).
func ClientAddr(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := peer.Addr().Unmap()
	chain := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for hop := 0; hop < maxHops && hop < len(chain) && isTrusted(addr, trusted); hop++ {
		next, err := netip.ParseAddr(strings.TrimSpace(chain[len(chain)-1-hop]))
		if err != nil {
			break
		}
		addr = next.Unmap().WithZone("")
	}
	return addr
}

func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	for _, p := range trusted {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
