package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// A hub that was killed says nothing at its end: that is no end of the input, with which all would be well.
func TestEditorIsToldThatTheHubWasKilled(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		_ = ws.CloseNow()
	}))
	defer server.Close()
	ws, _, err := websocket.Dial(t.Context(), server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	in, input := io.Pipe()
	defer func() { _ = input.Close() }()
	p := &pump{ws: ws, in: in, out: io.Discard, log: io.Discard, forward: func(msg []byte) ([]byte, error) { return msg, nil }}
	if err := p.run(t.Context()); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("the end of the hub is told as %v", err)
	}
}
