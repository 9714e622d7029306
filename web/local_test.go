package web

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"log/slog"

	"zcodehub/auth"
)

// localHarness is a harness on a real local socket and a loopback address.
type localHarness struct {
	*harness
	client *http.Client // over the socket
	tcp    string
	dir    string
}

func newLocalHarness(t *testing.T) *localHarness {
	t.Helper()
	dir, err := os.MkdirTemp("", "hub") // t.TempDir's paths may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket, err := ListenLocal(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &localHarness{harness: newHarness(t, socket, tcp), tcp: tcp.Addr().String(), dir: dir}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, SocketName))
	}}
	h.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		h.stop()
	})
	return h
}

func (h *localHarness) post(path, body string) (int, string) {
	h.t.Helper()
	response, err := h.client.Post("http://hub"+path, "application/json", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

func TestLocalSocketIsTheSameSurfaceForTheSameUser(t *testing.T) {
	h := newLocalHarness(t)
	ws, _, err := websocket.Dial(t.Context(), "ws://hub/ws?profile=desktop-continuous", &websocket.DialOptions{HTTPClient: h.client})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	info := (<-h.hub.attached).info
	if !info.Principal.Local || !info.Principal.Rights.Has(auth.Admin) || info.RemoteAddr != "local" {
		t.Errorf("attached as %+v from %q", info.Principal, info.RemoteAddr)
	}
	response, err := h.client.Get("http://hub/api/status")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("status answered %d", response.StatusCode)
	}
}

func TestLocalSocketIsPrivate(t *testing.T) {
	h := newLocalHarness(t)
	info, err := os.Stat(filepath.Join(h.dir, SocketName))
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the socket has mode %o", mode)
	}
}

func TestOtherUsersAreRefusedByPeerCredentials(t *testing.T) {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(shortDir(t), "s")})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	peer, err := net.Dial("unix", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	conn, err := ln.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := checkPeer(conn, os.Getuid()); err != nil {
		t.Errorf("the same user was refused: %v", err)
	}
	if err := checkPeer(conn, os.Getuid()+1); err == nil {
		t.Error("another user was let in")
	}
}

func TestUnixSocketOfAnotherListenerIsNotLocal(t *testing.T) {
	ln, err := net.Listen("unix", filepath.Join(shortDir(t), "proxy.sock"))
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, ln)
	defer h.stop()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return net.Dial("unix", ln.Addr().String())
	}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("http://" + address + "/api/status")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a connection through a proxy's socket got %d", response.StatusCode)
	}
}

func TestSecondHubOnOneDataDirIsRefused(t *testing.T) {
	h := newLocalHarness(t)
	if ln, err := ListenLocal(h.dir, slog.New(slog.DiscardHandler)); err == nil {
		ln.Close()
		t.Error("a second hub took the socket over")
	} else if !strings.Contains(err.Error(), "another hub") {
		t.Errorf("refused with %q", err)
	}
}

func TestSocketOfACrashedHubIsReplaced(t *testing.T) {
	dir := shortDir(t)
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, SocketName)})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	ln, err := ListenLocal(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
}

func TestDataDirTooLongForASocketIsExplained(t *testing.T) {
	_, err := ListenLocal("/"+strings.Repeat("x", 200), slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("got %v", err)
	}
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hub")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
