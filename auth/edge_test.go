package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func newEdge(t *testing.T, c EdgeConfig) *Edge {
	t.Helper()
	e, err := NewEdge(c)
	if err != nil {
		t.Fatalf("NewEdge(%+v): %v", c, err)
	}
	return e
}

func TestHostAllowList(t *testing.T) {
	e := newEdge(t, EdgeConfig{
		Listen: "192.168.7.7:8377", PublicURL: "https://Hub.Example.org", Hosts: []string{"box.lan", "[fd00::7]:99", "10.0.0.9"},
	})
	allowed := []string{
		"localhost", "localhost:8377", "LOCALHOST:1", "localhost.", "127.0.0.1.", "hub.localhost:8377", "127.0.0.1", "127.0.0.1:8377", "127.9.9.9:80",
		"[::1]", "[::1]:8377", "[::ffff:127.0.0.1]:1", "192.168.7.7", "192.168.7.7:1", "hub.example.org", "hub.example.org:443",
		"HUB.EXAMPLE.ORG.", "box.lan:8377", "[fd00::7]", "[fd00:0:0::7]:1", "10.0.0.9:5",
	}
	refused := []string{
		"", "evil.example", "evil.example:8377", "hub.example.org.evil.example", "xhub.example.org", "localhost.evil.example",
		"localhost:8377.evil.example", "evil.example#localhost", "evil.example@localhost", "user@localhost", "localhost:", "localhost:0",
		"localhost:99999", "localhost:80:80", "localhost:08", "localhost:+80", "localhost..", ".localhost", "local host", "localhost\x00",
		"localhost/", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.0.0.01", "::1", "[::1", "[::1]x",
		"[::1%25lo]", "[127.0.0.1]", "192.168.7.8", "[fd00::8]", "169.254.169.254", "hub.exаmple.org", "*", "ⓛocalhost", "localhost,evil.example",
		strings.Repeat("a.", 200) + "localhost",
	}
	for _, host := range allowed {
		if err := e.CheckHost(&http.Request{Host: host}); err != nil {
			t.Errorf("Host %q: refused: %v", host, err)
		}
	}
	for _, host := range refused {
		if err := e.CheckHost(&http.Request{Host: host}); !errors.Is(err, ErrHost) {
			t.Errorf("Host %q: got %v, want ErrHost", host, err)
		}
	}
}

func TestHostMayBeTheAddressTheConnectionCameInOn(t *testing.T) {
	e := newEdge(t, EdgeConfig{Listen: "0.0.0.0:8377"})
	came := func(local, host string) error {
		addr, _ := net.ResolveTCPAddr("tcp", local)
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, addr)
		return e.CheckHost((&http.Request{Host: host}).WithContext(ctx))
	}
	if err := came("192.168.1.5:8377", "192.168.1.5:8377"); err != nil {
		t.Errorf("own address: %v", err)
	}
	if err := came("[::ffff:192.168.1.5]:8377", "192.168.1.5"); err != nil {
		t.Errorf("own address, mapped: %v", err)
	}
	for _, host := range []string{"192.168.1.6", "evil.example", "192.168.1.5.evil.example"} {
		if came("192.168.1.5:8377", host) == nil {
			t.Errorf("Host %q: accepted", host)
		}
	}
}

type originRequest struct {
	method, host, origin string // origin "-" = none
	tls                  bool
	headers              map[string]string
}

func (o originRequest) build() *http.Request {
	r := httptest.NewRequest(o.method, "/ws", nil)
	r.Host, r.TLS = o.host, nil
	if o.tls {
		r.TLS = &tls.ConnectionState{}
	}
	if o.origin != "-" {
		r.Header["Origin"] = []string{o.origin}
	}
	for k, v := range o.headers {
		r.Header.Set(k, v)
	}
	return r
}

func TestOriginIsOursOrListed(t *testing.T) {
	e := newEdge(t, EdgeConfig{
		PublicURL: "https://hub.example.org", Hosts: []string{"box.lan"}, Origins: []string{"https://app.example.net:444", "tauri://localhost"},
	})
	plain := newEdge(t, EdgeConfig{Listen: "127.0.0.1:8377"})
	tests := []struct {
		name string
		edge *Edge
		r    originRequest
		ok   bool
	}{
		{"loopback page", plain, originRequest{host: "localhost:8377", origin: "http://localhost:8377"}, true},
		{"loopback page, v6", plain, originRequest{host: "[::1]:8377", origin: "http://[::1]:8377"}, true},
		{"another port of this machine", plain, originRequest{host: "localhost:8377", origin: "http://localhost:3000"}, false},
		{"another name of this machine", plain, originRequest{host: "127.0.0.1:8377", origin: "http://localhost:8377"}, false},
		{"default port left out", plain, originRequest{host: "localhost:80", origin: "http://localhost"}, true},
		{"default port of the other scheme", plain, originRequest{host: "localhost:80", origin: "https://localhost"}, false},
		{"hostile page", plain, originRequest{host: "localhost:8377", origin: "https://evil.example"}, false},
		{"hostile page that starts alike", plain, originRequest{host: "localhost:8377", origin: "http://localhost:8377.evil.example"}, false},
		{"null", plain, originRequest{host: "localhost:8377", origin: "null"}, false},
		{"empty", plain, originRequest{host: "localhost:8377", origin: ""}, false},
		{"with a path", plain, originRequest{host: "localhost:8377", origin: "http://localhost:8377/"}, false},
		{"two in one", plain, originRequest{host: "localhost:8377", origin: "http://localhost:8377 http://evil.example"}, false},
		{"with a user", plain, originRequest{host: "localhost:8377", origin: "http://evil.example@localhost:8377"}, false},
		{"extension", plain, originRequest{host: "localhost:8377", origin: "chrome-extension://abcdefgh"}, false},
		{"scheme of an app, same host", plain, originRequest{host: "localhost", origin: "tauri://localhost"}, false},
		{"public page", e, originRequest{host: "hub.example.org", origin: "https://hub.example.org"}, true},
		{"public page, proxy renames the host", e, originRequest{host: "127.0.0.1:8377", origin: "https://hub.example.org"}, true},
		{"public page, plain", e, originRequest{host: "hub.example.org", origin: "http://hub.example.org"}, false},
		{"public host, other port", e, originRequest{host: "hub.example.org", origin: "https://hub.example.org:8443"}, false},
		{"allowed host behind a tunnel", e, originRequest{host: "box.lan", origin: "https://box.lan"}, true},
		{"allowed host, plain", e, originRequest{host: "box.lan", origin: "http://box.lan"}, true},
		{"own TLS, plain page", e, originRequest{host: "box.lan", origin: "http://box.lan", tls: true}, false},
		{"own TLS", e, originRequest{host: "box.lan", origin: "https://box.lan", tls: true}, true},
		{"listed", e, originRequest{host: "hub.example.org", origin: "https://app.example.net:444"}, true},
		{"listed, other port", e, originRequest{host: "hub.example.org", origin: "https://app.example.net"}, false},
		{"listed, other scheme", e, originRequest{host: "hub.example.org", origin: "http://app.example.net:444"}, false},
		{"listed app", e, originRequest{host: "hub.example.org", origin: "tauri://localhost"}, true},
		{"subdomain of listed", e, originRequest{host: "hub.example.org", origin: "https://x.app.example.net:444"}, false},
	}
	for _, tt := range tests {
		tt.r.method = "GET"
		if err := tt.edge.CheckOrigin(tt.r.build()); (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrOrigin) {
			t.Errorf("%s: Host %s, Origin %s: got %v, want ok=%v", tt.name, tt.r.host, tt.r.origin, err, tt.ok)
		}
	}
}

func TestSeveralOriginsAreRefused(t *testing.T) {
	e := newEdge(t, EdgeConfig{})
	r := originRequest{method: "GET", host: "localhost", origin: "http://localhost"}.build()
	r.Header.Add("Origin", "http://localhost")
	if err := e.CheckOrigin(r); !errors.Is(err, ErrOrigin) {
		t.Errorf("two Origin headers: got %v, want ErrOrigin", err)
	}
}

func TestCookieWithoutOriginNeedsTheBrowsersWord(t *testing.T) {
	e := newEdge(t, EdgeConfig{Instance: "0123456789abcdef"})
	cookie := map[string]string{"Cookie": "hub-session-01234567=t"}
	with := func(more ...string) map[string]string {
		h := map[string]string{"Cookie": cookie["Cookie"]}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	tests := []struct {
		name, method string
		headers      map[string]string
		ok           bool
	}{
		{"no browser", "GET", nil, true},
		{"no browser, bearer", "POST", map[string]string{"Authorization": "Bearer abc"}, true},
		{"somebody else's cookie", "POST", map[string]string{"Cookie": "theme=dark; hub-session-99999999=t"}, true},
		{"cookie alone", "GET", cookie, false},
		{"cookie, own page", "GET", with("Sec-Fetch-Site", "same-origin"), true},
		{"cookie, own page posts", "POST", with("Sec-Fetch-Site", "same-origin"), true},
		{"cookie, other port", "GET", with("Sec-Fetch-Site", "same-site"), false},
		{"cookie, other site", "GET", with("Sec-Fetch-Site", "cross-site"), false},
		{"cookie, address bar", "GET", with("Sec-Fetch-Site", "none"), true},
		{"cookie, address bar cannot post", "POST", with("Sec-Fetch-Site", "none"), false},
		{"cookie beside a bearer", "POST", with("Authorization", "Bearer abc"), true},
		{"cookie beside a broken bearer", "POST", with("Authorization", "Bearer"), false},
	}
	for _, tt := range tests {
		r := originRequest{method: tt.method, host: "localhost:8377", origin: "-", headers: tt.headers}.build()
		if err := e.CheckOrigin(r); (err == nil) != tt.ok {
			t.Errorf("%s: got %v, want ok=%v", tt.name, err, tt.ok)
		}
	}
}

func TestEdgeReportsAllFaultsTogether(t *testing.T) {
	_, err := NewEdge(EdgeConfig{
		Listen: "nonsense", PublicURL: "ftp://x", Hosts: []string{"*.example.org", "ok.example.org"}, Origins: []string{"*", "null", "https://x/path"},
	})
	if err == nil {
		t.Fatal("NewEdge accepted nonsense")
	}
	if got := len(strings.Split(err.Error(), "\n")); got < 6 {
		t.Errorf("faults reported: got %d lines, want at least 6:\n%v", got, err)
	}
}

func TestPublicURLIsSchemeAndHost(t *testing.T) {
	for _, bad := range []string{"hub.example.org", "https://", "https://u:p@h", "https://h?x=1", "https://h#x", "https://h/sub", "javascript://h", "https://h h"} {
		if _, err := NewEdge(EdgeConfig{PublicURL: bad}); err == nil {
			t.Errorf("public URL %q: accepted", bad)
		}
	}
}

func TestCookieIsOutOfReach(t *testing.T) {
	e := newEdge(t, EdgeConfig{PublicURL: "https://hub.example.org", Instance: "0123456789abcdef"})
	tests := []struct {
		name, host string
		tls        bool
		want       string
	}{
		{"loopback", "localhost:8377", false, "hub-session-01234567=tok; Path=/; Expires=Sun, 01 Mar 2026 12:00:00 GMT; HttpOnly; SameSite=Strict"},
		{"public", "hub.example.org", false, "__Host-hub-session-01234567=tok; Path=/; Expires=Sun, 01 Mar 2026 12:00:00 GMT; HttpOnly; Secure; SameSite=Strict"},
		{"own TLS", "box:8377", true, "__Host-hub-session-01234567=tok; Path=/; Expires=Sun, 01 Mar 2026 12:00:00 GMT; HttpOnly; Secure; SameSite=Strict"},
	}
	for _, tt := range tests {
		r := originRequest{method: "GET", host: tt.host, origin: "-", tls: tt.tls}.build()
		w := httptest.NewRecorder()
		if err := e.SetCookie(w, r, "tok", time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)); err != nil {
			t.Fatalf("%s: SetCookie: %v", tt.name, err)
		}
		if got := w.Header().Get("Set-Cookie"); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
		r.Header.Set("Cookie", strings.SplitN(tt.want, ";", 2)[0])
		if got, ok := e.Cookie(r); !ok || got != "tok" {
			t.Errorf("%s: Cookie: got %q, %v", tt.name, got, ok)
		}
		r.Header.Add("Cookie", strings.SplitN(tt.want, ";", 2)[0])
		if _, ok := e.Cookie(r); ok {
			t.Errorf("%s: a doubled cookie was accepted", tt.name)
		}
		w = httptest.NewRecorder()
		e.ClearCookie(w, r)
		if got := w.Header().Get("Set-Cookie"); !strings.Contains(got, "=; Path=/; Max-Age=0; HttpOnly") {
			t.Errorf("%s: ClearCookie: got %s", tt.name, got)
		}
	}
}

func TestPlainCookieDoesNotCountUnderHTTPS(t *testing.T) {
	e := newEdge(t, EdgeConfig{PublicURL: "https://hub.example.org"})
	r := originRequest{method: "GET", host: "hub.example.org", origin: "-", headers: map[string]string{"Cookie": "hub-session=planted"}}.build()
	if got, ok := e.Cookie(r); ok {
		t.Errorf("Cookie: got %q from a cookie that any sibling host can plant", got)
	}
}

func TestCookieThatBrowsersWouldDropIsAnError(t *testing.T) {
	e := newEdge(t, EdgeConfig{})
	r := originRequest{method: "GET", host: "localhost", origin: "-"}.build()
	for _, token := range []string{strings.Repeat("a", 4097), "", "a;b", "a b", "a\r\nX: y"} {
		w := httptest.NewRecorder()
		if err := e.SetCookie(w, r, token, time.Now()); err == nil || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("SetCookie(%.10q): no error", token)
		}
	}
}

func TestBearer(t *testing.T) {
	tests := []struct {
		values []string
		want   string
		ok     bool
	}{
		{[]string{"Bearer abc.DEF-_~+/9=="}, "abc.DEF-_~+/9==", true},
		{[]string{"bearer abc"}, "abc", true},
		{nil, "", false},
		{[]string{"abc"}, "", false},
		{[]string{"Bearer"}, "", false},
		{[]string{"Bearer "}, "", false},
		{[]string{"Bearer  abc"}, "", false},
		{[]string{"Bearer abc def"}, "", false},
		{[]string{"Bearer ab=c"}, "", false},
		{[]string{"Bearer =="}, "", false},
		{[]string{"Basic abc"}, "", false},
		{[]string{"Bearer abc", "Bearer abc"}, "", false},
		{[]string{"Bearer abc,Bearer def"}, "", false},
	}
	for _, tt := range tests {
		got, ok := Bearer(&http.Request{Header: http.Header{"Authorization": tt.values}})
		if got != tt.want || ok != tt.ok {
			t.Errorf("Bearer(%q): got %q, %v, want %q, %v", tt.values, got, ok, tt.want, tt.ok)
		}
	}
}
