package web

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"zcodehub/auth"
)

// dialACP opens an ACP socket and returns the code of the answer, 101 if it opened.
func (h *harness) dialACP(query string, header http.Header) (*websocket.Conn, int) {
	h.t.Helper()
	ws, answer, err := websocket.Dial(context.Background(), "ws://"+address+acpSocket+query, &websocket.DialOptions{HTTPClient: h.http, HTTPHeader: header})
	if err != nil && answer == nil {
		h.t.Fatalf("%s was not answered: %v", query, err)
	}
	if err != nil && answer.Header.Get("Access-Control-Allow-Origin") != "*" {
		h.t.Errorf("%s was refused without CORS headers", query)
	}
	return ws, answer.StatusCode
}

func TestWhoMayOpenAnACPSocket(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		token := h.token(auth.Grant{})
		cookie := h.login(token)
		ticket := func(path string) string {
			_, _, body := h.send("POST", "/api/tickets", bearer(token), `{"path":"`+path+`"}`)
			_, rest, _ := strings.Cut(body, `"ticket":"`)
			id, _, _ := strings.Cut(rest, `"`)
			return id
		}
		foreign := "http://evil.example"
		with := func(header http.Header, origin string) http.Header {
			header.Set("Origin", origin)
			return header
		}
		for _, c := range []struct {
			name, query string
			header      http.Header
			want        int
		}{
			{"a bearer", "?instance=hub-1", bearer(token), 101},
			{"no instance named", "", bearer(token), 101},
			{"a token in the address", "?instance=hub-1&token=" + token, nil, 101},
			{"a foreign page with a token", "?token=" + token, http.Header{"Origin": {foreign}}, 101},
			{"a foreign page with a bearer", "", with(bearer(token), foreign), 101},
			{"the hub's own page", "", http.Header{"Cookie": {cookie}, "Origin": {origin}}, 101},
			{"a ticket", "?ticket=" + ticket("/acp"), nil, 101},

			{"another instance", "?instance=other&token=" + token, nil, 404},
			{"two instances", "?instance=hub-1&instance=hub-1&token=" + token, nil, 404},
			{"nobody", "?instance=hub-1", nil, 401},
			{"nobody, of an instance that is not there", "?instance=other", nil, 401},
			{"a bad token", "?token=bad", nil, 401},
			{"a bad bearer beside a good token", "?token=" + token, bearer("bad"), 401},
			{"a foreign page with the cookie", "", http.Header{"Cookie": {cookie}, "Origin": {foreign}}, 401},
			{"a cookie from nowhere", "", http.Header{"Cookie": {cookie}}, 401},
			{"a ticket for another path", "?ticket=" + ticket("/ws"), nil, 401},
		} {
			ws, code := h.dialACP(c.query, c.header)
			if code != c.want {
				t.Errorf("%s: answered %d, want %d", c.name, code, c.want)
			}
			if ws != nil {
				_ = ws.CloseNow()
			}
		}
		h.hub.setState("failed")
		if _, code := h.dialACP("", bearer(token)); code != 502 {
			t.Errorf("without an app-server: answered %d", code)
		}
		h.hub.setState("restarting")
		if ws, code := h.dialACP("", bearer(token)); code != 101 {
			t.Errorf("while the app-server restarts: answered %d", code)
		} else {
			_ = ws.CloseNow()
		}
		if code, _, _ := h.request("GET", acpSocket, bearer(token)); code != http.StatusUpgradeRequired {
			t.Errorf("a plain request was answered %d", code)
		}
		if log := h.log.String(); strings.Contains(log, token) || strings.Contains(log, "token=") {
			t.Error("the log holds a token")
		}
	})
}

func TestAnACPSocketEndsAsOthersDo(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		ctx := context.Background()
		open := func() (*websocket.Conn, *fakeClient) {
			ws, _ := h.dialACP("", bearer(h.token(auth.Grant{Name: "phone"})))
			return ws, <-h.hub.attached
		}
		ws, _ := open()
		if err := ws.Write(ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`)); err != nil {
			t.Fatal(err)
		}
		if kind, answer, err := ws.Read(ctx); err != nil || kind != websocket.MessageText || !strings.Contains(string(answer), `"agentCapabilities"`) {
			t.Errorf("initialize was answered %s (%v)", answer, err)
		}
		if err := ws.Write(ctx, websocket.MessageBinary, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		wantClose(t, ws, ClosePolicy)

		ws, native := open()
		native.sink.CloseSoon(CloseRevoked, "revoked") // as the hub does it
		wantClose(t, ws, CloseRevoked)
	})
}
