package auth

import (
	"fmt"
	"net"
)

// AllowListenFlag is the flag that [CheckListen] tells people about.
const AllowListenFlag = "--allow-remote"

// CheckListen keeps the hub on this machine unless somebody decided otherwise: whoever reaches it and holds a token
// runs commands. allowed is that decision: a public URL (then there is a plan, and a host name to check) or the explicit
// flag.
func CheckListen(addr string, allowed bool) error {
	name, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%.100q is not host:port", addr)
	}
	if allowed {
		return nil
	}
	h, err := parseHost(net.JoinHostPort(name, "1"))
	if name != "" && err == nil && h.loopback() {
		return nil
	}
	return fmt.Errorf("listening on %s would let other machines in: say with --public-url under which address they come (best behind https), or allow it with %s", addr, AllowListenFlag)
}
