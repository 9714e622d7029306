package web

import (
	"net/http"
	"testing"
	"time"

	"zcodehub/auth"
)

func TestKeyForgottenBetweenCheckAndAttachIsNoticed(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		old := h.keys.KeyID()
		token := h.token(auth.Grant{})
		if err := h.keys.Rotate(time.Now()); err != nil {
			t.Fatal(err)
		}
		h.hub.onAttach = func() {
			if err := h.keys.Forget(old, time.Now()); err != nil {
				t.Error(err)
			}
			h.server.keysForgot.Add(1) // as forgetKey does, whose look at the connections came too early
		}
		ws, _, err := h.dial("", bearer(token))
		if err != nil {
			t.Fatal(err)
		}
		wantClose(t, ws, CloseGoingAway)
		if code, _, _ := h.request("POST", "/api/tickets", bearer(token)); code != http.StatusUnauthorized {
			t.Errorf("a token of the forgotten key bought a ticket: %d", code)
		}
	})
}
