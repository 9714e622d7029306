package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"zcodehub/auth"
	"zcodehub/hub"
)

// newRealHub is a hub without an app-server: what ends in the hub works.
func newRealHub(t *testing.T, verify func(string, time.Time) (*auth.Principal, error)) *hub.Hub {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h, err := hub.New(hub.Options{AppServer: []string{self}, Verify: verify})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// reader is a client that reads all the time, as one must to answer pings.
type reader struct {
	t      *testing.T
	ws     *websocket.Conn
	frames chan []byte // closed with the connection
	code   websocket.StatusCode
}

func (h *harness) read(token string) *reader {
	h.t.Helper()
	ws, _, err := h.dial("", bearer(token))
	if err != nil {
		h.t.Fatal(err)
	}
	r := &reader{t: h.t, ws: ws, frames: make(chan []byte, 100)}
	go func() {
		defer close(r.frames)
		for {
			_, frame, err := ws.Read(context.Background())
			if err != nil {
				r.code = websocket.CloseStatus(err)
				return
			}
			r.frames <- frame
		}
	}()
	return r
}

// call waits for the answer to a request, past everything else.
func (r *reader) call(method, params string) (failure json.RawMessage) {
	r.t.Helper()
	if err := r.ws.Write(context.Background(), websocket.MessageText, fmt.Appendf(nil, `{"id":"q","method":%q,"params":%s}`, method, params)); err != nil {
		r.t.Fatal(err)
	}
	for frame := range r.frames {
		if m := parse[struct {
			ID    any
			Error json.RawMessage
		}](r.t, string(frame)); m.ID == "q" {
			return m.Error
		}
	}
	r.t.Fatalf("%s: closed with %d", method, r.code)
	return nil
}

func (r *reader) wantClose(code int) {
	r.t.Helper()
	for range r.frames {
	}
	if int(r.code) != code {
		r.t.Errorf("closed with %d, want %d", r.code, code)
	}
}

// TestConnectionLivesAsLongAsItsDeviceRenewsIt walks a device's life on a fake clock, over the real hub: its connection
// outlives its first token by renewal (also past a rotation of the signing key), ends with the last one, and at once
// when the device is revoked.
func TestConnectionLivesAsLongAsItsDeviceRenewsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *harness
		tickets := new(auth.Tickets)
		real := newRealHub(t, func(token string, now time.Time) (*auth.Principal, error) {
			if p, ok := tickets.RedeemFor(token, RenewalPath); ok {
				return p, h.gate.Devices.Admit(p, now)
			}
			return h.gate.Authenticate(t.Context(), token, now)
		})
		h = newHarnessFor(t, ForHub(real))
		h.server.tickets = tickets
		defer h.stop()
		h.gate.Devices.OnRevoke(func(dev auth.Device) { real.Revoke(dev.ID) })

		phone := h.pairBearer(`{"role":"operator"}`)
		ws := h.read(phone.Token)
		for i := range 4 {
			time.Sleep(10 * time.Minute)
			if i == 2 {
				if err := h.keys.Rotate(time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			var status int
			if status, phone = h.renew(phone.Refresh, fmt.Sprint(i)); status != http.StatusOK {
				t.Fatalf("renewal %d answered %d", i, status)
			}
			credential := phone.Token
			if i%2 == 1 { // as the page does it, which cannot read its token
				_, _, body := h.send("POST", "/api/tickets", bearer(phone.Token), `{"path":"`+RenewalPath+`"}`)
				credential = parse[struct{ Ticket string }](t, body).Ticket
			}
			if failure := ws.call("hub/refreshToken", `{"token":"`+credential+`"}`); failure != nil {
				t.Fatalf("renewal %d: %s", i, failure)
			}
		}
		// Somebody else's token does not prolong it.
		if failure := ws.call("hub/refreshToken", `{"token":"`+h.token(auth.Grant{Name: "other"})+`"}`); failure == nil {
			t.Error("another device's token was taken")
		}
		last := phone.ExpiresAt
		ws.wantClose(CloseTokenExpired)
		if now := time.Now(); now.Before(last) || now.Sub(last) > time.Second {
			t.Errorf("the connection ended at %v, its token at %v", now, last)
		}

		_, phone = h.renew(phone.Refresh, "again")
		ws = h.read(phone.Token)
		revoked := time.Now()
		if status, _, body := h.request("POST", "/api/devices/"+phone.Device+"/revoke", h.admin()); status != http.StatusOK {
			t.Fatalf("revoke answered %d %s", status, body)
		}
		ws.wantClose(CloseRevoked)
		if took := time.Since(revoked); took > time.Second {
			t.Errorf("revoking took %v", took)
		}
		if status, _ := h.renew(phone.Refresh, "back"); status != http.StatusUnauthorized {
			t.Errorf("a revoked device renewed itself: %d", status)
		}
		if _, response, err := h.dial("", bearer(phone.Token)); err == nil || response.StatusCode != http.StatusUnauthorized {
			t.Errorf("a revoked device came back: %v", err)
		}
	})
}
