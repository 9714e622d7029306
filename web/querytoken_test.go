package web

import (
	"net/http"
	"strings"
	"testing"

	"zcodehub/auth"
)

func TestTokenInTheAddressCountsOnApiRoutesOnly(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		token := h.token(auth.Grant{Role: auth.RoleAdmin})
		query := "?token=" + token
		cookie := http.Header{"Cookie": {h.login(token)}, "Origin": {origin}}
		foreign := http.Header{"Origin": {"http://evil.example"}}
		for _, c := range []struct {
			name, method, path string
			header             http.Header
			want               int
		}{
			{"status", "GET", "/api/status" + query, nil, 200},
			{"devices", "GET", "/api/devices" + query, nil, 200},
			{"a ticket", "POST", "/api/tickets" + query, nil, 200},
			{"the hub's own page", "GET", "/api/status" + query, http.Header{"Origin": {origin}}, 200},

			{"a bad one", "GET", "/api/status?token=x", nil, 401},
			{"an empty one", "GET", "/api/status?token=", nil, 401},
			{"two", "GET", "/api/status" + query + "&token=" + token, nil, 401},
			{"a bad one beside a good cookie", "GET", "/api/status?token=x", cookie, 401},
			{"a good one beside a bad header", "GET", "/api/status" + query, bearer("x"), 401},
			{"a foreign page", "GET", "/api/status" + query, foreign, 403},
			{"the socket", "GET", "/ws" + query, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}, 400},
			{"metrics", "GET", "/metrics" + query, nil, 401},
			{"login, which sets a cookie", "POST", "/api/login" + query, nil, 401},
			{"renewal, which sets a cookie", "POST", "/api/token" + query, nil, 401},
			{"pairing, which sets a cookie", "POST", "/api/pair" + query, nil, 400},
			{"making tokens", "POST", "/api/token/create" + query, nil, 404},
			{"rotating keys", "POST", "/api/keys/rotate" + query, nil, 404},
			{"forgetting keys", "POST", "/api/keys/x/forget" + query, nil, 404},
		} {
			code, header, _ := h.request(c.method, c.path, c.header)
			if code != c.want || header.Get("Set-Cookie") != "" && code == 200 {
				t.Errorf("%s: answered %d with cookie %q, want %d and none", c.name, code, header.Get("Set-Cookie"), c.want)
			}
		}
		if _, header, _ := h.request("GET", "/"+query, nil); header.Get("Set-Cookie") != "" {
			t.Error("the page took a token from its address")
		}
		if log := h.log.String(); !strings.Contains(log, "path=/api/status") || strings.Contains(log, token) || strings.Contains(log, "token=") {
			t.Error("the access log has no line of the request, or holds its query")
		}
	})
}

func TestSigningOutTakesNoTokenFromTheAddress(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		phone := h.pairBearer(`{"role":"operator"}`)
		if code, _, _ := h.request("POST", "/api/logout?token="+phone.Token, nil); code != http.StatusNoContent {
			t.Errorf("logout answered %d", code)
		}
		if code, _, _ := h.request("POST", "/api/tickets", bearer(phone.Token)); code != http.StatusOK {
			t.Errorf("a link revoked the device: tickets answered %d", code)
		}
	})
}

func TestTokenInTheAddressCanBeSwitchedOff(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.server.queryToken = false
		token := h.token(auth.Grant{Role: auth.RoleAdmin})
		if code, _, _ := h.request("GET", "/api/status?token="+token, nil); code != http.StatusUnauthorized {
			t.Errorf("answered %d", code)
		}
		if code, _, _ := h.request("GET", "/api/status?token=x", bearer(token)); code != http.StatusOK {
			t.Errorf("beside a header: answered %d", code)
		}
		if strings.Contains(h.log.String(), token) {
			t.Error("the log holds the token")
		}
	})
}
