package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"zcodehub/auth"
	"zcodehub/hub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// address is what clients of the harness call the hub.
const address = "hub.example.org"

// harness is a server on an in-memory listener, or on whatever listener a test gives it.
type harness struct {
	t      *testing.T
	hub    *fakeHub
	server *Server
	gate   *auth.Gate
	keys   *auth.Keys
	audit  *auditLog
	log    *syncBuffer
	pipes  *pipeListener
	http   *http.Client
	stop   func() // ends Serve and waits for it; may be called again
}

func newHarness(t *testing.T, listeners ...net.Listener) *harness {
	t.Helper()
	fake := newFakeHub()
	h := newHarnessFor(t, fake, listeners...)
	h.hub = fake
	return h
}

func newHarnessFor(t *testing.T, player Hub, listeners ...net.Listener) *harness {
	t.Helper()
	h := &harness{t: t, log: &syncBuffer{}, pipes: newPipeListener(), audit: &auditLog{}}
	h.gate = newGate(t)
	edge, err := auth.NewEdge(auth.EdgeConfig{PublicURL: "http://" + address})
	if err != nil {
		t.Fatal(err)
	}
	h.keys = h.gate.Keys
	tickets := new(auth.Tickets)
	h.gate.Devices.OnRevoke(func(dev auth.Device) { tickets.Drop(dev.ID) })
	h.server, err = New(Options{
		Hub: player, Gate: h.gate, Tickets: tickets, Edge: edge, Registry: prometheus.NewRegistry(), Audit: h.audit.add,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}, QueryToken: true,
		Log: slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return h.pipes.dial(ctx) }}
	h.http = &http.Client{Transport: transport}

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := h.server.Serve(ctx, append(listeners, h.pipes)...); err != nil {
			t.Errorf("Serve: %v", err)
		}
	}()
	h.stop = func() {
		transport.CloseIdleConnections()
		cancel()
		<-ended
		_ = h.gate.Devices.Close() // may have been closed before
	}
	return h
}

// newGate has keys and devices of its own.
func newGate(t testing.TB) *auth.Gate {
	t.Helper()
	dir := t.TempDir()
	keys, err := auth.LoadKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	devices, err := auth.OpenDevices(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &auth.Gate{Keys: keys, Devices: devices}
}

// auditLog keeps what the server gave to the record.
type auditLog struct {
	mu     sync.Mutex
	events []auth.AuditEvent
}

func (a *auditLog) add(e auth.AuditEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, e)
}

// named are the events of a kind.
func (a *auditLog) named(event string) (found []auth.AuditEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.events {
		if e.Event == event {
			found = append(found, e)
		}
	}
	return found
}

// bubble runs a test on the fake clock with a harness that has ended at its end.
func bubble(t *testing.T, test func(t *testing.T, h *harness)) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		defer h.stop()
		test(t, h)
	})
}

func (h *harness) token(g auth.Grant) string {
	h.t.Helper()
	if g.Name == "" {
		g.Name = "phone"
	}
	if g.Role == "" {
		g.Role = auth.RoleOperator
	}
	token, _, err := h.gate.Issue(g, time.Now())
	if err != nil {
		h.t.Fatal(err)
	}
	return token
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// dial opens a WebSocket as a client would.
func (h *harness) dial(query string, header http.Header) (*websocket.Conn, *http.Response, error) {
	return websocket.Dial(context.Background(), "ws://"+address+"/ws"+query, &websocket.DialOptions{HTTPClient: h.http, HTTPHeader: header})
}

// connect opens a WebSocket with a token of its own, and returns both ends.
func (h *harness) connect(g auth.Grant) (*websocket.Conn, *fakeClient) {
	h.t.Helper()
	ws, _, err := h.dial("", bearer(h.token(g)))
	if err != nil {
		h.t.Fatal(err)
	}
	return ws, <-h.hub.attached
}

// rawConnect opens a WebSocket and returns the bare connection, for peers that misbehave. Nothing reads from it.
func (h *harness) rawConnect() (net.Conn, *fakeClient) {
	h.t.Helper()
	conn, err := h.pipes.dial(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	h.upgrade(conn)
	return conn, <-h.hub.attached
}

func (h *harness) upgrade(conn net.Conn) {
	h.t.Helper()
	if err := upgrade(conn, h.token(auth.Grant{})); err != nil {
		h.t.Fatal(err)
	}
}

// upgrade does a handshake and reads not a byte beyond it.
func upgrade(conn net.Conn, token string) error {
	if _, err := io.WriteString(conn, handshake(token)); err != nil {
		return err
	}
	var answer []byte
	for b := make([]byte, 1); !bytes.HasSuffix(answer, []byte("\r\n\r\n")); answer = append(answer, b...) {
		if _, err := io.ReadFull(conn, b); err != nil {
			return fmt.Errorf("handshake: %w after %q", err, answer)
		}
	}
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 101 ")) {
		return fmt.Errorf("handshake answered %q", answer)
	}
	return nil
}

func handshake(token string) string {
	return "GET /ws HTTP/1.1\r\nHost: " + address + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nAuthorization: Bearer " + token + "\r\n\r\n"
}

func (h *harness) request(method, path string, header http.Header) (int, http.Header, string) {
	h.t.Helper()
	return h.send(method, path, header, "")
}

// send is a request with a body.
func (h *harness) send(method, path string, header http.Header, content string) (int, http.Header, string) {
	h.t.Helper()
	r, err := http.NewRequest(method, "http://"+address+path, strings.NewReader(content))
	if err != nil {
		h.t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
		if name == "Host" {
			r.Host = values[0]
		}
	}
	response, err := h.http.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(body)
}

// wantClose reads until the connection ends and checks its close code.
func wantClose(t *testing.T, ws *websocket.Conn, want int) {
	t.Helper()
	for {
		_, _, err := ws.Read(context.Background())
		if err == nil {
			continue
		}
		if got := int(websocket.CloseStatus(err)); got != want {
			t.Errorf("closed with %d (%v), want %d", got, err, want)
		}
		return
	}
}

// fakeHub takes every client and lets the test play the hub.
type fakeHub struct {
	attached chan *fakeClient

	mu      sync.Mutex
	open    []*fakeClient
	refusal error // of Attach
	state   string
	actOn   string    // the token that Act takes, once
	acted   hub.Acted // what becomes of it; nothing at all without a status
	drained func()    // called by Drain before it closes the clients

	workspace string // of the one session; set before the first request

	onAttach func() // called by Attach, without the lock; set before the first
}

func newFakeHub() *fakeHub { return &fakeHub{attached: make(chan *fakeClient, 1000), state: "ready"} }

func (f *fakeHub) Attach(info hub.ClientInfo, sink hub.Sink) (Client, error) {
	if f.onAttach != nil {
		f.onAttach()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refusal != nil {
		return nil, f.refusal
	}
	c := &fakeClient{info: info, sink: sink, frames: make(chan []byte, 1000), detached: make(chan struct{})}
	f.open = append(f.open, c)
	f.attached <- c
	return c, nil
}

func (f *fakeHub) Ready() (bool, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state == "ready", f.state
}

func (f *fakeHub) setState(state string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = state
}

func (f *fakeHub) onDrain(call func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drained = call
}

func (f *fakeHub) refuseAll() { f.refuseWith(hub.ErrClosing) }

func (f *fakeHub) refuseWith(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusal = err
}

// forget leaves a client out of Drain.
func (f *fakeHub) forget(c *fakeClient) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = slices.DeleteFunc(f.open, func(o *fakeClient) bool { return o == c })
}

// Act takes the one token of actOn.
func (f *fakeHub) Act(token, decision string, done func(hub.Acted)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.actOn == "" || token != f.actOn || decision != "allow" {
		return hub.ErrBadAction
	}
	f.actOn = ""
	if f.acted.Status != "" {
		done(f.acted)
	}
	return nil
}

func (f *fakeHub) Status() hub.Status {
	return hub.Status{Version: "test", Instance: hub.InstanceStatus{ID: "hub-1"}}
}

// CallAs lists one session, "sess_1" in the folder workspace.
func (f *fakeHub) CallAs(_ context.Context, _ *auth.Principal, method string, _ any) (json.RawMessage, error) {
	if method != "session/list" {
		return json.RawMessage(`{}`), nil
	}
	return json.Marshal(map[string]any{"sessions": []any{map[string]any{
		"sessionId": "sess_1", "title": "One", "status": "idle", "updatedAt": 1, "workspace": map[string]string{"workspacePath": f.workspace},
	}}})
}

func (f *fakeHub) Drain(reason string, retryAfter time.Duration) {
	f.mu.Lock()
	drained := f.drained
	f.mu.Unlock()
	if drained != nil {
		drained()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusal = hub.ErrClosing
	for _, c := range f.open {
		c.sink.CloseSoon(CloseGoingAway, reason)
	}
}

type fakeClient struct {
	info     hub.ClientInfo
	sink     hub.Sink
	frames   chan []byte
	detached chan struct{}
}

func (c *fakeClient) Handle(frame []byte) { c.frames <- frame }
func (c *fakeClient) Detach()             { close(c.detached) }
func (c *fakeClient) ID() string          { return "c1" }
func (c *fakeClient) Steers(string) bool  { return true }

// textFrame is a server frame as the hub prebuilds it.
func textFrame(text string) []byte {
	if len(text) < 126 {
		return append([]byte{0x81, byte(len(text))}, text...)
	}
	if len(text) < 1<<16 {
		return append([]byte{0x81, 126, byte(len(text) >> 8), byte(len(text))}, text...)
	}
	n := len(text)
	return append([]byte{0x81, 127, 0, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, text...)
}

// clientFrame is a frame of a client, masked with the key zero.
func clientFrame(first byte, payload string) []byte {
	n := len(payload)
	var head []byte
	switch {
	case n < 126:
		head = []byte{first, 0x80 | byte(n)}
	case n < 1<<16:
		head = []byte{first, 0x80 | 126, byte(n >> 8), byte(n)}
	default:
		head = []byte{first, 0x80 | 127, 0, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	}
	return append(append(head, 0, 0, 0, 0), payload...)
}

// pipeListener accepts in-memory connections.
type pipeListener struct {
	remote string        // what the peers' address is, host:port; set before the first dial; empty is none
	conns  chan net.Conn // never closed
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		if l.remote != "" {
			return addressedPipe{c, l.remote}, nil
		}
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

// addressedPipe is a connection in memory whose peer has an address.
type addressedPipe struct {
	net.Conn
	remote string
}

func (p addressedPipe) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(p.remote))
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return address }

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
