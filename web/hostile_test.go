package web

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"zcodehub/auth"
)

const origin = "http://" + address

func TestHandshakeCredentials(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		good := h.token(auth.Grant{})
		other, err := auth.LoadKeys(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		foreign, _, err := other.Mint(auth.Grant{Name: "stranger", Role: auth.RoleAdmin}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		stale := h.token(auth.Grant{TTL: time.Second})
		time.Sleep(time.Hour)
		cookie := h.login(good)
		with := func(pairs ...string) http.Header {
			header := http.Header{}
			for i := 0; i < len(pairs); i += 2 {
				header.Set(pairs[i], pairs[i+1])
			}
			return header
		}
		tests := []struct {
			name   string
			query  string
			header http.Header
			want   int
		}{
			{"bearer", "", bearer(good), 101},
			{"bearer from the hub's page", "", with("Authorization", "Bearer "+good, "Origin", origin), 101},
			{"cookie from the hub's page", "", with("Cookie", cookie, "Origin", origin), 101},
			{"ticket", "?ticket=" + h.ticket(good), nil, 101},
			{"profile the token allows", "?profile=desktop-continuous", bearer(good), 101},

			{"nothing", "", nil, 401},
			{"not a token", "", bearer("x"), 401},
			{"a token of another hub", "", bearer(foreign), 401},
			{"an expired token", "", bearer(stale), 401},
			{"another scheme", "", with("Authorization", "Basic "+good), 401},
			{"two headers", "", http.Header{"Authorization": {"Bearer " + good, "Bearer " + good}}, 401},
			{"two headers and good cookie", "", http.Header{"Authorization": {"Bearer " + good, "Bearer " + good}, "Cookie": {cookie}, "Origin": {origin}}, 401},
			{"bad bearer and good cookie", "", with("Authorization", "Bearer x", "Cookie", cookie, "Origin", origin), 401},
			{"bad bearer and good ticket", "?ticket=" + h.ticket(good), bearer("x"), 401},
			{"an unknown ticket", "?ticket=abc", nil, 401},
			{"a token as ticket", "?ticket=" + good, nil, 401},
			{"a cookie without origin", "", with("Cookie", cookie), 403},
			{"a cookie whose origin only the fetch metadata vouches for", "", with("Cookie", cookie, "Sec-Fetch-Site", "same-origin"), 401},
			{"a cookie from another page", "", with("Cookie", cookie, "Origin", "http://evil.example"), 403},
			{"a cookie from another port", "", with("Cookie", cookie, "Origin", origin+":8080"), 403},
			{"a bearer from another page", "", with("Authorization", "Bearer "+good, "Origin", "http://evil.example"), 403},
			{"origin null", "", with("Authorization", "Bearer "+good, "Origin", "null"), 403},
			{"a token in the URL", "?token=" + good, nil, 400},
			{"a token in the URL beside a good header", "?token=" + good, bearer(good), 400},
			{"an unknown profile", "?profile=fastest", bearer(good), 400},
			{"a profile the token does not allow", "?profile=desktop-continuous", bearer(h.token(auth.Grant{Name: "narrow", Profiles: []auth.Profile{auth.Replayable}})), 403},
		}
		bodies := make(map[string]bool)
		for _, tt := range tests {
			ws, response, err := h.dial(tt.query, tt.header)
			if err == nil {
				ws.CloseNow()
			}
			if response == nil || response.StatusCode != tt.want {
				t.Errorf("%s: answered %v (%v), want %d", tt.name, status(response), err, tt.want)
				continue
			}
			if tt.want == 101 {
				continue
			}
			body, _ := io.ReadAll(response.Body)
			if tt.want == 401 {
				bodies[string(body)+response.Header.Get("WWW-Authenticate")] = true
			}
			if !strings.Contains(string(body), `"message":"`) {
				t.Errorf("%s: answered %q, want an error as JSON", tt.name, body)
			}
		}
		if len(bodies) != 1 {
			t.Errorf("bad credentials got %d different answers, want one: %v", len(bodies), bodies)
		}
		for _, secret := range []string{good, foreign, stale} {
			if log := h.log.String(); strings.Contains(log, secret) || strings.Contains(log, secret[len(secret)-40:]) {
				t.Error("the log holds a token")
			}
		}
	})
}

func status(r *http.Response) any {
	if r == nil {
		return "nothing"
	}
	return r.StatusCode
}

func (h *harness) login(token string) (cookie string) {
	h.t.Helper()
	code, header, body := h.request("POST", "/api/login", bearer(token))
	if code != http.StatusOK {
		h.t.Fatalf("login answered %d %s", code, body)
	}
	cookie, _, _ = strings.Cut(header.Get("Set-Cookie"), ";")
	return cookie
}

func (h *harness) ticket(token string) string {
	h.t.Helper()
	code, _, body := h.request("POST", "/api/tickets", bearer(token))
	_, rest, found := strings.Cut(body, `"ticket":"`)
	ticket, _, _ := strings.Cut(rest, `"`)
	if code != http.StatusOK || !found {
		h.t.Fatalf("tickets answered %d %s", code, body)
	}
	return ticket
}

func TestTicketIsGoodOnceAndNotForLong(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		ticket := h.ticket(h.token(auth.Grant{}))
		ws, _, err := h.dial("?ticket="+ticket, nil)
		if err != nil {
			t.Fatal(err)
		}
		ws.CloseNow()
		if _, response, err := h.dial("?ticket="+ticket, nil); err == nil || response.StatusCode != 401 {
			t.Errorf("used again: %v, %v, want 401", status(response), err)
		}
		late := h.ticket(h.token(auth.Grant{}))
		time.Sleep(31 * time.Second)
		if _, response, err := h.dial("?ticket="+late, nil); err == nil || response.StatusCode != 401 {
			t.Errorf("used late: %v, %v, want 401", status(response), err)
		}
		if strings.Contains(h.log.String(), ticket) || strings.Contains(h.log.String(), late) {
			t.Error("the log holds a ticket")
		}
	})
}

func TestTicketInheritsTheCredential(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		ticket := h.ticket(h.token(auth.Grant{Role: auth.RoleViewer, Sessions: []string{"s1"}, TTL: time.Minute}))
		started := time.Now()
		ws, _, err := h.dial("?ticket="+ticket, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := (<-h.hub.attached).info.Principal
		if p.Role != auth.RoleViewer || len(p.Sessions) != 1 {
			t.Errorf("the ticket stands for %+v", p)
		}
		wantClose(t, ws, CloseTokenExpired)
		if got := time.Since(started); got != time.Minute {
			t.Errorf("closed after %v, want a minute", got)
		}
	})
}

func TestForeignHostIsServedNothing(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		for _, path := range []string{"/", "/app.js", "/ws", "/healthz", "/readyz", "/metrics", "/api/status", "/nothing"} {
			code, _, body := h.request("GET", path, http.Header{"Host": {"rebound.example"}})
			if code != http.StatusMisdirectedRequest || strings.Contains(body, "<html") {
				t.Errorf("GET %s under a foreign host answered %d", path, code)
			}
		}
	})
}

func TestEveryAnswerIsStrictWithBrowsers(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		for _, path := range []string{"/", "/app.js", "/app.css", "/ws", "/healthz", "/api/status", "/nothing"} {
			_, header, _ := h.request("GET", path, nil)
			for name, want := range map[string]string{
				"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			} {
				if got := header.Get(name); got != want {
					t.Errorf("GET %s: %s is %q, want %q", path, name, got, want)
				}
			}
			policy := header.Get("Content-Security-Policy")
			if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
				t.Errorf("GET %s: policy %q", path, policy)
			}
		}
	})
}

// Whoever sends a header byte by byte holds a connection for ten seconds and no longer.
func TestSlowHeaderIsCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		conn, err := h.pipes.dial(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		started := time.Now()
		go io.Copy(io.Discard, conn) // an answer may come; the end is what counts
		for _, b := range []byte("GET /ws HTTP/1.1\r\nHost: " + address + "\r\nX-Slow: " + strings.Repeat("x", 100)) {
			if _, err := conn.Write([]byte{b}); err != nil {
				break
			}
			time.Sleep(time.Second)
		}
		if got := time.Since(started); got < headerTimeout || got > headerTimeout+2*time.Second {
			t.Errorf("cut off after %v, want %v", got, headerTimeout)
		}
	})
}

func TestHugeHeaderIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		code, _, _ := h.request("GET", "/healthz", http.Header{"X-Big": {strings.Repeat("x", 2*maxHeaderBytes)}})
		if code != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("answered %d", code)
		}
	})
}

func TestIdleHTTPConnectionIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		conn, err := h.pipes.dial(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: "+address+"\r\n\r\n")
		started := time.Now()
		if _, err := io.ReadAll(conn); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(started); got != idleTimeout {
			t.Errorf("closed after %v, want %v", got, idleTimeout)
		}
	})
}
