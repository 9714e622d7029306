package web

import (
	"net"
	"net/netip"
)

// ListenURL is the address to open for a listener.
func ListenURL(scheme, address string) string { return scheme + "://" + reachable(address) }

// reachable puts an address of this machine in the place of "every address", one that a phone can reach if there is.
func reachable(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().IsUnspecified() {
		return address
	}
	host := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	own, _ := net.InterfaceAddrs()
	for _, a := range own {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().Is4() && prefix.Addr().IsGlobalUnicast() {
			host = prefix.Addr()
			break
		}
	}
	return netip.AddrPortFrom(host, at.Port()).String()
}
