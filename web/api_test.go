package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"zcodehub/auth"
)

func TestLoginCookieIsOutOfReachOfScripts(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		token := h.token(auth.Grant{Name: "laptop", TTL: time.Hour})
		code, header, body := h.request("POST", "/api/login", bearer(token))
		cookie := header.Get("Set-Cookie")
		for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
			if !strings.Contains(cookie, want) {
				t.Errorf("cookie %q lacks %s", strings.ReplaceAll(cookie, token, "TOKEN"), want)
			}
		}
		if code != http.StatusOK || !strings.Contains(body, `"name":"laptop"`) || strings.Contains(body, token) {
			t.Errorf("answered %d %s", code, body)
		}
		if code, _, _ := h.request("POST", "/api/login", nil); code != http.StatusUnauthorized {
			t.Errorf("login without a token answered %d", code)
		}
		cookieOnly := http.Header{"Cookie": {h.login(token)}, "Origin": {origin}}
		if code, _, _ := h.request("POST", "/api/login", cookieOnly); code != http.StatusUnauthorized {
			t.Errorf("login by cookie answered %d", code)
		}
		if code, _, _ := h.request("POST", "/api/tickets", cookieOnly); code != http.StatusOK {
			t.Errorf("tickets by cookie answered %d", code)
		}
		code, header, _ = h.request("POST", "/api/logout", cookieOnly)
		if code != http.StatusNoContent || !strings.Contains(header.Get("Set-Cookie"), "Max-Age=0") {
			t.Errorf("logout answered %d with cookie %q", code, header.Get("Set-Cookie"))
		}
	})
}

func TestStatusIsForAdmins(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		for role, want := range map[auth.Role]int{auth.RoleAdmin: 200, auth.RoleOperator: 403, auth.RoleViewer: 403, "": 401} {
			header := http.Header{}
			if role != "" {
				header = bearer(h.token(auth.Grant{Role: role}))
			}
			code, _, body := h.request("GET", "/api/status", header)
			if code != want || (code == 200) != strings.Contains(body, `"version":"test"`) {
				t.Errorf("role %q: answered %d %s, want %d", role, code, body, want)
			}
		}
	})
}

func TestTokensAreMadeOverTheLocalSocketOnly(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		code, _, _ := h.request("POST", "/api/token/create", bearer(h.token(auth.Grant{Role: auth.RoleAdmin})))
		if code != http.StatusNotFound {
			t.Errorf("an admin made a token over the network: %d", code)
		}
	})
	local := newLocalHarness(t)
	code, body := local.post("/api/token/create", `{"name":"phone","role":"approver","sessions":["s1"],"ttlSeconds":60}`)
	var made struct {
		Token     string
		ExpiresAt time.Time
	}
	if err := json.Unmarshal([]byte(body), &made); code != http.StatusOK || err != nil {
		t.Fatalf("answered %d %s", code, body)
	}
	p, err := local.keys.Verify(made.Token, time.Now())
	if err != nil || p.Name != "phone" || p.Role != auth.RoleApprover || fmt.Sprint(p.Sessions) != "[s1]" || time.Until(p.ExpiresAt) > time.Minute {
		t.Errorf("made a token for %+v, %v", p, err)
	}
	for _, bad := range []string{``, `{}`, `{"name":"x","role":"king"}`, `{"name":"x","role":"viewer","session":["s1"]}`, strings.Repeat("x", 2*maxBodyBytes)} {
		if code, body := local.post("/api/token/create", bad); code != http.StatusBadRequest {
			t.Errorf("%.40q answered %d %s", bad, code, body)
		}
	}
	if strings.Contains(local.log.String(), made.Token) {
		t.Error("the log holds the token")
	}
}

func TestReadinessSaysWhatTheHubSays(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		if code, _, body := h.request("GET", "/readyz", nil); code != 200 || !strings.Contains(body, `"state":"ready"`) {
			t.Errorf("ready: answered %d %s", code, body)
		}
		h.hub.setState("restarting")
		if code, _, body := h.request("GET", "/readyz", nil); code != 503 || !strings.Contains(body, `"state":"restarting"`) {
			t.Errorf("not ready: answered %d %s", code, body)
		}
		if code, _, _ := h.request("GET", "/healthz", nil); code != 200 {
			t.Errorf("healthz answered %d while the app-server restarts", code)
		}
		if code, _, _ := h.request("HEAD", "/healthz", nil); code != 200 {
			t.Errorf("HEAD /healthz answered %d", code)
		}
	})
}

func TestUnknownPathsShareOneSeries(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		for i := range 5 {
			h.request("GET", fmt.Sprintf("/made/up/%d", i), nil)
		}
		h.request("GET", "/api/status", nil)
		_, _, body := h.request("GET", "/metrics", bearer(h.token(auth.Grant{})))
		for _, want := range []string{`hub_http_requests_total{code="404",route="other"} 5`, `hub_http_requests_total{code="401",route="/api/status"} 1`} {
			if !strings.Contains(body, want) {
				t.Errorf("metrics lack %s", want)
			}
		}
		if strings.Contains(body, "made") {
			t.Error("a path from outside became a label")
		}
	})
}

func TestMetricsAreFreeOnlyForADirectLocalScraper(t *testing.T) {
	h := newLocalHarness(t)
	get := func(header ...string) int {
		r, err := http.NewRequest("GET", "http://"+h.tcp+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer http.DefaultClient.CloseIdleConnections()
		response.Body.Close()
		return response.StatusCode
	}
	if code := get(); code != 200 {
		t.Errorf("a direct scraper got %d", code)
	}
	for _, name := range forwarding {
		if code := get(name, "x"); code != 401 {
			t.Errorf("through a proxy that says %s: %d, want 401", name, code)
		}
	}
	if code := get("Via", "x", "Authorization", "Bearer "+h.token(auth.Grant{Role: auth.RoleViewer})); code != 200 {
		t.Errorf("through a proxy with a token: %d", code)
	}
	if code := get("Via", "x", "Authorization", "Bearer "+h.token(auth.Grant{Role: auth.RoleViewer, Sessions: []string{"s1"}})); code != 403 {
		t.Errorf("through a proxy with a limited token: %d, want 403", code)
	}
}

func TestMetricsThroughAPipeAreNotFree(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		if code, _, _ := h.request("GET", "/metrics", nil); code != 401 {
			t.Errorf("a connection that is no loopback got %d", code)
		}
	})
}
