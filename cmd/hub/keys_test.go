package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"zcodehub/auth"
)

func TestKeysRotateUnderOpenConnections(t *testing.T) {
	p := serveSimulated(t, nil)
	old := strings.TrimSpace(p.run("token", "create", "--role", "viewer", "--name", "wall"))
	ws, _ := p.dial("", bearer(old))
	p.run("keys", "rotate")
	fresh := strings.TrimSpace(p.run("token", "create", "--role", "viewer", "--name", "desk"))
	for name, token := range map[string]string{"old": old, "new": fresh} {
		if other, status := p.dial("", bearer(token)); other == nil {
			t.Errorf("the %s token is refused: %d", name, status)
		}
	}
	wantAlive(t, ws)
	a, _ := auth.Inspect(old)
	b, _ := auth.Inspect(fresh)
	if a.KeyID == b.KeyID {
		t.Error("the key is the same")
	}
}

func TestForgottenKeyEndsItsTokensTicketsAndConnections(t *testing.T) {
	p := serveSimulated(t, nil)
	leaked := strings.TrimSpace(p.run("token", "create", "--role", "admin", "--name", "wall"))
	old, err := auth.Inspect(leaked)
	if err != nil {
		t.Fatal(err)
	}
	ws, _ := p.dial("", bearer(leaked))
	_, body := p.do(http.MethodPost, "/api/tickets", leaked)
	var ticket struct{ Ticket string }
	if err := json.Unmarshal([]byte(body), &ticket); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := p.command("keys", "forget", old.KeyID); code != exitFailure || !strings.Contains(stderr, "rotate first") {
		t.Errorf("forgetting the key that signs: %d %q", code, stderr)
	}
	if out := p.run("keys", "rotate"); !strings.Contains(out, "keys forget "+old.KeyID) {
		t.Errorf("rotate does not say how to forget the old key: %q", out)
	}
	fresh := strings.TrimSpace(p.run("token", "create", "--role", "viewer", "--name", "desk"))
	p.run("keys", "forget", old.KeyID)
	if code := closeCode(t.Context(), ws); code != websocket.StatusGoingAway {
		t.Errorf("the connection closed with %d, want %d", code, websocket.StatusGoingAway)
	}
	if _, status := p.dial("", bearer(leaked)); status != http.StatusUnauthorized {
		t.Errorf("a token of the forgotten key: %d", status)
	}
	if _, status := p.dial("?ticket="+ticket.Ticket, nil); status != http.StatusUnauthorized {
		t.Errorf("a ticket that such a token bought: %d", status)
	}
	if ws, status := p.dial("", bearer(fresh)); ws == nil {
		t.Errorf("a token of the new key: %d", status)
	}
	if code, _, stderr := p.command("keys", "forget", old.KeyID); code != exitFailure || !strings.Contains(stderr, "there is none") {
		t.Errorf("forgetting it again: %d %q", code, stderr)
	}
	p.signal(os.Interrupt)
	p.wantExit(exitClean)
	if out := p.run("audit", "show", "--event", "keys.forgotten"); strings.Count(out, old.KeyID) != 1 {
		t.Errorf("audit: %q", out)
	}
}
