package web

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zcodehub/auth"
)

func TestShutdownTellsClientsAndAdmitsNobody(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		ws, client := h.connect(auth.Grant{})
		token := h.token(auth.Grant{})
		h.hub.onDrain(func() {
			if code, _, body := h.request("GET", "/readyz", nil); code != 503 || !strings.Contains(body, "closing") {
				t.Errorf("readyz answered %d %s while draining", code, body)
			}
			_, response, err := h.dial("", bearer(token))
			if err == nil || response.StatusCode != 503 || response.Header.Get("Retry-After") == "" {
				t.Errorf("a handshake while draining: %v, %v, want 503", status(response), err)
			}
		})
		started := time.Now()
		go h.stop()
		wantClose(t, ws, CloseGoingAway)
		<-client.detached
		h.stop()
		if waited := time.Since(started); waited > time.Second {
			t.Errorf("shutting down took %v with a healthy client", waited)
		}
		if _, err := h.pipes.dial(context.Background()); err == nil {
			t.Error("still listening after Serve returned")
		}
	})
}

func TestShutdownDoesNotWaitLongForFrozenClients(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		conn, client := h.rawConnect()
		defer conn.Close()
		go client.sink.WriteFrames(net.Buffers{textFrame("never read")})
		synctest.Wait()
		started := time.Now()
		h.stop()
		if waited := time.Since(started); waited > 2*time.Second {
			t.Errorf("shutting down took %v", waited)
		}
		<-client.detached
	})
}

// A hub that closes nobody must not keep the edge from ending.
func TestShutdownClosesWhatTheHubLeavesOpen(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		ws, client := h.connect(auth.Grant{})
		h.hub.forget(client)
		go h.stop()
		started := time.Now()
		wantClose(t, ws, CloseGoingAway)
		if waited := time.Since(started); waited != defaultDrainTimeout {
			t.Errorf("closed after %v, want %v", waited, defaultDrainTimeout)
		}
		h.stop()
	})
}

func TestClientThatTheHubDoesNotTakeIsToldSo(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.hub.refuseAll()
		ws, _, err := h.dial("", bearer(h.token(auth.Grant{})))
		if err != nil {
			t.Fatal(err)
		}
		wantClose(t, ws, CloseGoingAway)
	})
}
