package auth

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestOnlyTrustedProxiesNameTheClient(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	tests := []struct {
		name, remote string
		forwarded    []string
		want         string
	}{
		{"no proxy", "192.0.2.1:5", nil, "192.0.2.1"},
		{"a stranger claims another address", "192.0.2.1:5", []string{"198.51.100.9"}, "192.0.2.1"},
		{"one proxy", "127.0.0.1:5", []string{"192.0.2.1"}, "192.0.2.1"},
		{"two proxies", "127.0.0.1:5", []string{"192.0.2.1, 10.0.0.3"}, "192.0.2.1"},
		{"the client invents a chain", "127.0.0.1:5", []string{"198.51.100.9, 10.0.0.8, 192.0.2.1, 10.0.0.3"}, "192.0.2.1"},
		{"several headers are one chain", "127.0.0.1:5", []string{"198.51.100.9", "192.0.2.1"}, "192.0.2.1"},
		{"all are proxies", "127.0.0.1:5", []string{"10.0.0.2"}, "10.0.0.2"},
		{"no chain", "127.0.0.1:5", nil, "127.0.0.1"},
		{"nonsense", "127.0.0.1:5", []string{"192.0.2.1, unknown"}, "127.0.0.1"},
		{"v6", "[::ffff:127.0.0.1]:5", []string{"2001:db8::1"}, "2001:db8::1"},
		{"endless", "127.0.0.1:5", []string{"192.0.2.1" + strings.Repeat(",10.0.0.1", 10_000)}, "10.0.0.1"},
		{"local socket", "@", []string{"192.0.2.1"}, "invalid IP"},
	}
	for _, tt := range tests {
		r := &http.Request{RemoteAddr: tt.remote, Header: http.Header{"X-Forwarded-For": tt.forwarded}}
		if got := ClientAddr(r, trusted).String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
