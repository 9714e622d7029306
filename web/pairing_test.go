package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"zcodehub/auth"
	"zcodehub/hub"
)

// handed is what pairing and renewing answer.
type handed struct {
	Name, Device, Token, Refresh string
	ExpiresAt, DeviceExpiresAt   time.Time
}

func parse[T any](t *testing.T, body string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return v
}

func (h *harness) admin() http.Header {
	return bearer(h.token(auth.Grant{Name: "admin", Role: auth.RoleAdmin}))
}

// openPairing gives a code for a device with the grant that the body asks for.
func (h *harness) openPairing(body string) (code string) {
	h.t.Helper()
	status, _, answer := h.send("POST", "/api/pairings", h.admin(), body)
	if status != http.StatusOK {
		h.t.Fatalf("opening a pairing answered %d %s", status, answer)
	}
	got := parse[struct{ Code, Link string }](h.t, answer)
	if want := "http://" + address + "/#pair=" + got.Code; got.Link != want || got.Code == "" {
		h.t.Errorf("link %q, want %q", got.Link, want)
	}
	return got.Code
}

// pairBearer pairs a device that keeps its own secrets.
func (h *harness) pairBearer(grant string) handed {
	h.t.Helper()
	status, _, body := h.send("POST", "/api/pair", nil, `{"code":"`+h.openPairing(grant)+`","name":"phone","bearer":true}`)
	if status != http.StatusOK {
		h.t.Fatalf("pairing answered %d %s", status, body)
	}
	return parse[handed](h.t, body)
}

func (h *harness) renew(refresh, attempt string) (int, handed) {
	h.t.Helper()
	status, _, body := h.send("POST", "/api/token", nil, `{"refresh":"`+refresh+`","attempt":"`+attempt+`"}`)
	if status != http.StatusOK {
		return status, handed{}
	}
	return status, parse[handed](h.t, body)
}

func TestPairedPageGetsItsSecretsWhereNoScriptReads(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		body := `{"code":"` + h.openPairing(`{"role":"approver","name":"kitchen"}`) + `"}`
		page := http.Header{"Origin": {origin}}
		status, header, answer := h.send("POST", "/api/pair", page, body)
		if status != http.StatusOK || !strings.Contains(answer, `"name":"kitchen"`) || strings.Contains(answer, "token") || strings.Contains(answer, "refresh") {
			t.Fatalf("answered %d %s", status, answer)
		}
		cookies := (&http.Response{Header: header}).Cookies()
		if len(cookies) != 2 {
			t.Fatalf("got %d cookies, want the session's and the refresh secret's", len(cookies))
		}
		for i, path := range []string{"/", "/api/token"} {
			if c := cookies[i]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != path {
				t.Errorf("cookie %s: HttpOnly %v, SameSite %v, path %q", c.Name, c.HttpOnly, c.SameSite, c.Path)
			}
		}
		if status, _, _ := h.send("POST", "/api/pair", page, body); status != http.StatusUnauthorized {
			t.Errorf("the code worked twice: %d", status)
		}

		cookie := http.Header{"Origin": {origin}, "Cookie": {cookies[0].Name + "=" + cookies[0].Value + "; " + cookies[1].Name + "=" + cookies[1].Value}}
		time.Sleep(10 * time.Minute)
		status, header, answer = h.send("POST", "/api/token", cookie, `{"attempt":"a1"}`)
		renewed := (&http.Response{Header: header}).Cookies()
		if status != http.StatusOK || len(renewed) != 2 || renewed[0].Value == cookies[0].Value || renewed[1].Value == cookies[1].Value || strings.Contains(answer, "token") {
			t.Fatalf("renewing answered %d %s with %d cookies", status, answer, len(renewed))
		}
		for _, secret := range []string{cookies[0].Value, cookies[1].Value, renewed[0].Value, renewed[1].Value} {
			if strings.Contains(h.log.String(), secret) {
				t.Error("the log holds a secret")
			}
		}
		if got := h.audit.named("device.paired"); len(got) != 1 || got[0].Name != "kitchen" {
			t.Errorf("audit: %v", got)
		}
	})
}

func TestPairingsAndDevicesAreForAdmins(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		id := h.pairBearer(`{"role":"viewer"}`).Device
		for _, role := range []auth.Role{auth.RoleViewer, auth.RoleApprover, auth.RoleOperator, ""} {
			header, want := http.Header{}, http.StatusUnauthorized
			if role != "" {
				header, want = bearer(h.token(auth.Grant{Name: string(role), Role: role})), http.StatusForbidden
			}
			for _, route := range []string{"GET /api/devices", "GET /api/pairings", "POST /api/pairings", "DELETE /api/pairings/0011223344556677",
				"POST /api/devices/" + id + "/revoke", "POST /api/devices/" + id + "/rename"} {
				method, path, _ := strings.Cut(route, " ")
				if status, _, body := h.send(method, path, header, `{"role":"admin","name":"x"}`); status != want {
					t.Errorf("%s as %q: answered %d %s, want %d", route, role, status, body, want)
				}
			}
		}
		status, _, body := h.request("GET", "/api/devices", h.admin())
		if status != http.StatusOK || !strings.Contains(body, id) {
			t.Errorf("devices answered %d %s", status, body)
		}
		if status, _, body := h.send("POST", "/api/devices/phone/rename", h.admin(), `{"name":"my phone"}`); status != http.StatusOK {
			t.Errorf("rename answered %d %s", status, body)
		}
		if status, _, body := h.request("POST", "/api/devices/my%20phone/revoke", h.admin()); status != http.StatusOK || !strings.Contains(body, id) {
			t.Errorf("revoke by name answered %d %s", status, body)
		}
		if status, _, _ := h.request("POST", "/api/devices/nobody/revoke", h.admin()); status != http.StatusNotFound {
			t.Errorf("revoking nobody answered %d", status)
		}
	})
}

func TestCancelledAndExpiredPairingsOpenNothing(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		cancelled := h.openPairing(`{"role":"viewer"}`)
		_, _, body := h.request("GET", "/api/pairings", h.admin())
		open := parse[struct{ Pairings []auth.Pairing }](t, body).Pairings
		if len(open) != 1 || strings.Contains(body, cancelled) {
			t.Fatalf("pairings: %s", body)
		}
		if status, _, _ := h.request("DELETE", "/api/pairings/"+open[0].ID, h.admin()); status != http.StatusNoContent {
			t.Errorf("cancel answered %d", status)
		}
		expired := h.openPairing(`{"role":"viewer"}`)
		time.Sleep(5 * time.Minute)
		for _, code := range []string{cancelled, expired, "", "guess"} {
			if status, _, body := h.send("POST", "/api/pair", nil, `{"code":"`+code+`","bearer":true}`); status != http.StatusUnauthorized {
				t.Errorf("answered %d %s", status, body)
			}
		}
		for range 5 {
			h.openPairing(`{"role":"viewer"}`)
		}
		if status, _, _ := h.send("POST", "/api/pairings", h.admin(), `{"role":"viewer"}`); status != http.StatusConflict {
			t.Errorf("a sixth open pairing answered %d", status)
		}
	})
}

func TestReusedRefreshSecretEndsTheDevice(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		first := h.pairBearer(`{"role":"operator"}`)
		status, second := h.renew(first.Refresh, "one")
		if status != http.StatusOK || second.Refresh == first.Refresh || second.Device != first.Device {
			t.Fatalf("renewing answered %d %+v", status, second)
		}
		if status, again := h.renew(first.Refresh, "one"); status != http.StatusOK || again.Refresh != second.Refresh {
			t.Errorf("the same attempt again answered %d; its answer may have got lost", status)
		}
		time.Sleep(2 * time.Minute)
		if status, _ := h.renew(first.Refresh, "one"); status != http.StatusUnauthorized {
			t.Errorf("a stolen secret answered %d", status)
		}
		if status, _ := h.renew(second.Refresh, "two"); status != http.StatusUnauthorized {
			t.Errorf("the owner's secret still works: %d", status)
		}
		if status, _, _ := h.request("POST", "/api/tickets", bearer(second.Token)); status != http.StatusUnauthorized {
			t.Errorf("the owner's token still works: %d", status)
		}
		if dev, _ := h.gate.Devices.Find(first.Device, time.Now()); !dev.Revoked() || dev.RevokedFor != auth.ErrReused.Error() {
			t.Errorf("the device is %+v", dev)
		}
	})
}

func TestSigningOutEndsAPairedDeviceAndNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		phone := h.pairBearer(`{"role":"operator"}`)
		byHand := h.token(auth.Grant{Name: "desk"})
		for token, want := range map[string]int{phone.Token: http.StatusUnauthorized, byHand: http.StatusOK} {
			if status, _, _ := h.request("POST", "/api/logout", bearer(token)); status != http.StatusNoContent {
				t.Errorf("signing out answered %d", status)
			}
			if status, _, _ := h.request("POST", "/api/tickets", bearer(token)); status != want {
				t.Errorf("after signing out the token got %d, want %d", status, want)
			}
		}
		if status, _ := h.renew(phone.Refresh, ""); status != http.StatusUnauthorized {
			t.Errorf("after signing out the refresh secret got %d", status)
		}
	})
}

func TestForeignPagesPairRenewAndRevokeNothing(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		code := h.openPairing(`{"role":"operator"}`)
		admin := h.login(h.token(auth.Grant{Name: "admin", Role: auth.RoleAdmin}))
		for _, from := range []http.Header{
			{"Origin": {"https://evil.example"}, "Cookie": {admin}},
			{"Origin": {"null"}, "Cookie": {admin}},
			{"Cookie": {admin}}, // no origin, as an old browser's form would
			{"Origin": {"https://evil.example"}},
		} {
			for _, path := range []string{"/api/pair", "/api/token", "/api/tickets", "/api/pairings", "/api/login", "/api/devices/admin/revoke"} {
				status, header, _ := h.send("POST", path, from, `{"code":"`+code+`"}`)
				if status != http.StatusForbidden || header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s from %v: answered %d, CORS %q", path, from["Origin"], status, header.Get("Access-Control-Allow-Origin"))
				}
			}
		}
		foreign := http.Header{"Host": {"rebound.example"}, "Origin": {"http://rebound.example"}}
		if status, _, _ := h.send("POST", "/api/pair", foreign, `{"code":"`+code+`"}`); status != http.StatusMisdirectedRequest {
			t.Errorf("a foreign host answered %d", status)
		}
		if status, _, _ := h.send("POST", "/api/pair", http.Header{"Origin": {origin}}, `{"code":"`+code+`"}`); status != http.StatusOK {
			t.Errorf("the code was spent by a page that was refused: %d", status)
		}
	})
}

func TestTicketIsForOnePathAndEndsWithItsDevice(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		phone := h.pairBearer(`{"role":"operator"}`)
		issue := func(path string) string {
			status, _, body := h.send("POST", "/api/tickets", bearer(phone.Token), `{"path":"`+path+`"}`)
			if status != http.StatusOK {
				t.Fatalf("ticket for %s answered %d %s", path, status, body)
			}
			return parse[struct{ Ticket string }](t, body).Ticket
		}
		if _, response, err := h.dial("?ticket="+issue(RenewalPath), nil); err == nil || response.StatusCode != http.StatusUnauthorized {
			t.Errorf("a ticket for %s opened /ws: %v", RenewalPath, err)
		}
		for _, body := range []string{`{"path":"/metrics"}`, `{"path":"/nothing/here"}`, `{"path":"/ws"} {}`} {
			if status, _, _ := h.send("POST", "/api/tickets", bearer(phone.Token), body); status != http.StatusBadRequest {
				t.Errorf("a ticket for %s answered %d", body, status)
			}
		}
		ticket := issue("/ws")
		if _, err := h.gate.Devices.Revoke(phone.Device, "test", time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, response, err := h.dial("?ticket="+ticket, nil); err == nil || response.StatusCode != http.StatusUnauthorized {
			t.Errorf("a ticket outlived its device: %v", err)
		}
	})
}

func TestRevocationBetweenCheckAndAttachIsNoticed(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		phone := h.pairBearer(`{"role":"operator"}`)
		h.hub.onAttach = func() {
			if _, err := h.gate.Devices.Revoke(phone.Device, "test", time.Now()); err != nil {
				t.Error(err)
			}
		}
		ws, _, err := h.dial("", bearer(phone.Token))
		if err != nil {
			t.Fatal(err)
		}
		wantClose(t, ws, CloseRevoked)
	})
}

func TestTooManyConnectionsOfADeviceAreToldToComeLater(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.hub.refuseWith(hub.ErrTooManyConnections)
		ws, _, err := h.dial("", bearer(h.token(auth.Grant{})))
		if err != nil {
			t.Fatal(err)
		}
		wantClose(t, ws, CloseOverloaded)
	})
}

func TestNarrowingADeviceClosesWhatHasMore(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		wide, _ := h.connect(auth.Grant{Name: "wall", Role: auth.RoleOperator})
		other, _ := h.connect(auth.Grant{Name: "desk", Role: auth.RoleOperator})
		_, p, err := h.gate.Issue(auth.Grant{Name: "wall", Role: auth.RoleViewer}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		h.server.endWider(p)
		wantClose(t, wide, CloseTokenExpired)
		if err := other.Ping(other.CloseRead(t.Context())); err != nil {
			t.Errorf("another device was closed too: %v", err)
		}
		_ = other.Close(websocket.StatusNormalClosure, "")
	})
}
