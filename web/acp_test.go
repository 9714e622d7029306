package web

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zcodehub/auth"
)

const acpPath = "/api/instances"

func TestAnyOriginMayReadTheACPSurfaceWithAToken(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.hub.workspace = t.TempDir()
		viewer, foreign := h.token(auth.Grant{Role: auth.RoleViewer}), "http://evil.example"
		with := func(token string) http.Header {
			header := bearer(token)
			header.Set("Origin", foreign)
			return header
		}
		for _, c := range []struct {
			method, path string
			header       http.Header
			want         int
		}{
			{"GET", "/api/health", http.Header{"Origin": {foreign}}, 200},
			{"GET", "/api/instances", with(viewer), 200},
			{"GET", "/api/instances?probe=1&token=" + viewer, http.Header{"Origin": {foreign}}, 200},
			{"GET", "/api/quota", with(viewer), 200},
			{"GET", "/api/projects", with(viewer), 200},
			{"GET", "/api/instances/x/status", with(viewer), 404},
			{"GET", "/api/instances/hub-1/fs/list?sessionId=none", with(viewer), 403},
			{"POST", "/api/instances", with(viewer), 403},
			{"GET", "/api/fs/list", with(viewer), 403},
			{"GET", "/api/instances", with("bad"), 401},
			{"GET", "/api/instances?token=bad", http.Header{"Origin": {foreign}}, 401},
			{"GET", "/api/instances", http.Header{"Origin": {foreign}}, 401},
			{"DELETE", "/api/instances", with(viewer), 405},
			{"GET", "/api/projects/unheard-of", with(viewer), 404},
			{"POST", "/api/projects/delete", with(viewer), 404},
			{"POST", "/api/upgrade", with(viewer), 404},
			{"GET", "/api/settings/providers", with(viewer), 404},
			{"OPTIONS", "/api/instances", http.Header{"Origin": {foreign}, "Access-Control-Request-Method": {"GET"}}, 204},
			{"OPTIONS", "/anything/at/all", http.Header{"Origin": {foreign}}, 204},
			{"OPTIONS", "/api/devices", nil, 204},
		} {
			code, header, body := h.request(c.method, c.path, c.header)
			if code != c.want || header.Get("Access-Control-Allow-Origin") != "*" || header.Get("Access-Control-Expose-Headers") != "X-Zcode-First-Line" ||
				!strings.Contains(header.Get("Access-Control-Allow-Headers"), "Authorization") || header.Get("Access-Control-Allow-Credentials") != "" ||
				header.Get("Cross-Origin-Resource-Policy") != "cross-origin" || header.Get("Cache-Control") != "no-store" && code != 204 {
				t.Errorf("%s %s: %d %.100q %v, want %d", c.method, c.path, code, body, header, c.want)
			}
			if code == 401 && (body != "unauthorized" || !strings.HasPrefix(header.Get("Content-Type"), "text/plain")) {
				t.Errorf("%s %s: 401 as %s: %q", c.method, c.path, header.Get("Content-Type"), body)
			}
		}
		// The routes of the hub's own page stay its own.
		for _, path := range []string{"/api/devices", "/api/status", "/ws", "/metrics", "/", "/api/instancesandmore", "/api/login"} {
			code, header, _ := h.request("GET", path, with(h.token(auth.Grant{Role: auth.RoleAdmin})))
			if header.Get("Access-Control-Allow-Origin") != "" || header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("%s is open to other origins: %d %v", path, code, header)
			}
		}
		if code, _, _ := h.request("OPTIONS", "/api/instances", http.Header{"Host": {"evil.example"}}); code != http.StatusMisdirectedRequest {
			t.Errorf("under a foreign name: %d", code)
		}
	})
}

func TestTheCookieIsNoCredentialForAForeignPageOfTheACPSurface(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		cookie := h.login(h.token(auth.Grant{Role: auth.RoleAdmin}))
		for _, c := range []struct {
			name   string
			header http.Header
			want   int
		}{
			{"the hub's own page", http.Header{"Cookie": {cookie}, "Origin": {origin}}, 200},
			{"its own reading, without an Origin", http.Header{"Cookie": {cookie}, "Sec-Fetch-Site": {"same-origin"}}, 200},
			{"a foreign page", http.Header{"Cookie": {cookie}, "Origin": {"http://evil.example"}}, 401},
			{"another port", http.Header{"Cookie": {cookie}, "Origin": {origin + ":81"}}, 401},
			{"a sandbox", http.Header{"Cookie": {cookie}, "Origin": {"null"}}, 401},
			{"a picture in a foreign page", http.Header{"Cookie": {cookie}, "Sec-Fetch-Site": {"cross-site"}}, 401},
			{"nothing that vouches", http.Header{"Cookie": {cookie}}, 401},
			{"a foreign page with a bad token", http.Header{"Cookie": {cookie}, "Origin": {"http://evil.example"}, "Authorization": {"Bearer x"}}, 401},
		} {
			if code, _, _ := h.request("GET", acpPath, c.header); code != c.want {
				t.Errorf("%s: answered %d, want %d", c.name, code, c.want)
			}
		}
		if code, _, _ := h.request("GET", acpPath+"?token=x", http.Header{"Cookie": {cookie}, "Origin": {origin}}); code != 401 {
			t.Errorf("a bad token beside a good cookie: %d", code)
		}
		h.server.queryToken = false
		good := "?token=" + h.token(auth.Grant{})
		if code, _, _ := h.request("GET", acpPath+good, http.Header{"Cookie": {cookie}, "Origin": {"http://evil.example"}}); code != 401 {
			t.Errorf("switched off, a foreign page with a token in the address and a cookie: %d", code)
		}
	})
}

func TestTokensInTheAddressOfTheACPSurfaceAreNotLogged(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.hub.workspace = t.TempDir()
		token := h.token(auth.Grant{Role: auth.RoleOperator})
		for _, path := range []string{"/api/instances", "/api/quota", "/api/projects", "/api/instances/hub-1/fs/file?sessionId=sess_1&path=none", "/api/instances?token=bad-secret"} {
			sep := "?"
			if strings.Contains(path, "?") {
				sep = "&"
			}
			for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS"} {
				h.request(method, path+sep+"token="+token, nil)
			}
		}
		log := h.log.String()
		if !strings.Contains(log, "path=/api/quota") || strings.Contains(log, token) || strings.Contains(log, "bad-secret") || strings.Contains(log, "token=") {
			t.Error("the log has no line of the requests, or holds what they bring")
		}
		for _, e := range h.audit.named("credential.failed") {
			if text := fmt.Sprint(e); strings.Contains(text, "bad-secret") || strings.Contains(text, token) {
				t.Errorf("the audit holds a token: %s", text)
			}
		}
	})
}

// download asks for a file of size bytes and returns the connection, from which nothing is read yet.
func (h *harness) download(token string, size int64) net.Conn {
	h.t.Helper()
	h.hub.workspace = h.t.TempDir()
	name := filepath.Join(h.hub.workspace, "big")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Truncate(name, size); err != nil {
		h.t.Fatal(err)
	}
	conn, err := h.pipes.dial(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	request := "GET /api/instances/hub-1/fs/file?sessionId=sess_1&path=big HTTP/1.1\r\nHost: " + address + "\r\nConnection: close\r\nAuthorization: Bearer " + token + "\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		h.t.Fatal(err)
	}
	return conn
}

// A download over a slow line takes longer than any other request may.
func TestSlowDownloadsComeWholeAndStuckOnesEnd(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		const size = 1 << 20
		conn := h.download(h.token(auth.Grant{}), size)
		defer conn.Close()
		var answer bytes.Buffer
		begun := time.Now()
		for n := 0; ; n++ {
			if _, err := io.CopyN(&answer, conn, 64<<10); err != nil {
				break
			}
			time.Sleep(20 * time.Second)
		}
		_, body, _ := bytes.Cut(answer.Bytes(), []byte("\r\n\r\n"))
		if len(body) != size || time.Since(begun) < 5*time.Minute {
			t.Errorf("%d bytes came in %s: %.200q", len(body), time.Since(begun), answer.Bytes())
		}

		conn = h.download(h.token(auth.Grant{}), size)
		defer conn.Close()
		time.Sleep(2 * time.Minute) // as one who reads nothing
		if left, err := io.ReadAll(conn); int64(len(left)) >= size {
			t.Errorf("a client that was stuck got %d bytes, %v", len(left), err)
		}
	})
}

func TestADownloadEndsWithItsDevice(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		const size = 4 << 20
		token, p, err := h.gate.Issue(auth.Grant{Name: "thief", Role: auth.RoleViewer}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		conn := h.download(token, size)
		defer conn.Close()
		if _, err := io.CopyN(io.Discard, conn, 256<<10); err != nil {
			t.Fatal(err)
		}
		if _, err := h.gate.Devices.Revoke(p.Device, "stolen", time.Now()); err != nil {
			t.Fatal(err)
		}
		if left, _ := io.ReadAll(conn); len(left) > 256<<10 {
			t.Errorf("a revoked device got %d bytes more", len(left))
		}
	})
}
