package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/push"
	"zcodehub/web/acp"
)

const (
	// headerTimeout: a header is one packet; slower is somebody who wants to hold connections.
	headerTimeout = 10 * time.Second
	// requestTimeout bounds reading a body and writing an answer, both small, over the worst of phone networks.
	requestTimeout = 30 * time.Second
	// idleTimeout is how long a kept-alive connection may wait: longer than a scrape interval of a minute.
	idleTimeout = 120 * time.Second
	// maxHeaderBytes holds two tokens of the greatest length and what browsers and proxies add.
	maxHeaderBytes = 32 << 10
	// maxBodyBytes: the greatest body is the scope of a token to create.
	maxBodyBytes = 64 << 10

	defaultDrainTimeout = 5 * time.Second
	// retryAfter is what clients are told when the hub goes: a restart takes about a second.
	retryAfter = 2 * time.Second
)

// Hub is what the edge needs of the hub. [ForHub] makes one.
type Hub interface {
	Attach(hub.ClientInfo, hub.Sink) (Client, error)
	Ready() (ok bool, state string)
	Status() hub.Status
	Drain(reason string, retryAfter time.Duration)
	Act(token, decision string, done func(hub.Acted)) error
	CallAs(ctx context.Context, p *auth.Principal, method string, params any) (json.RawMessage, error)
}

// Client is one attached connection, as the hub sees it.
type Client interface {
	Handle(frame []byte)
	Detach()
	ID() string
}

// ForHub adapts the hub: its Attach returns its own type.
func ForHub(h *hub.Hub) Hub { return realHub{h} }

type realHub struct{ *hub.Hub }

func (h realHub) Attach(info hub.ClientInfo, sink hub.Sink) (Client, error) {
	client, err := h.Hub.Attach(info, sink)
	if err != nil {
		return nil, err // not client: a nil *hub.Client would be a Client that is not nil
	}
	return client, nil
}

// Options configures a Server.
type Options struct {
	Hub             Hub
	Gate            *auth.Gate
	Tickets         *auth.Tickets
	Edge            *auth.Edge
	Registry        *prometheus.Registry // what /metrics shows; the edge's own metrics are added to it
	Log             *slog.Logger
	Push            *push.Service                        // reaches devices without a connection; nil = not offered
	PublicURL       string                               // what people type; "" = a listener's own address
	TrustedProxies  []netip.Prefix                       // who is believed about client addresses
	QueryToken      bool                                 // take ?token= on /api routes
	Audit           func(auth.AuditEvent)                // takes what the record keeps; must not block; nil keeps none
	Seen            func(device, addr, userAgent string) // is told of each connection; must not block; may be nil
	DataDir         string                               // where what clients closed is kept; "" = in memory only
	Workspace       string                               // where the app-server runs; "" = not known
	Private         []string                             // files and folders that no file route serves, beside DataDir
	MaxMessageBytes int64                                // of one message from a client; 0 = 32 MiB
	DrainTimeout    time.Duration                        // how long Serve waits at the end for clients to go, and again as long for what is left; 0 = 5 s
}

// Server is the edge of one hub.
type Server struct {
	// fixed after construction
	hub          Hub
	gate         *auth.Gate
	devices      *auth.Devices
	keys         *auth.Keys
	tickets      *auth.Tickets
	edge         *auth.Edge
	push         *push.Service // may be nil
	limiter      auth.Limiter
	failures     failures
	keysForgot   atomic.Int64 // how many keys were taken back: who was judged before and let in after must come again
	publicURL    string
	proxies      []netip.Prefix
	queryToken   bool
	audit        func(auth.AuditEvent)
	seen         func(device, addr, userAgent string)
	registry     *prometheus.Registry
	log          *slog.Logger
	metrics      *metrics
	acp          *acp.HTTP
	adapter      *acp.Adapter
	handler      http.Handler
	maxMessage   int64
	drainTimeout time.Duration

	mu        sync.Mutex
	draining  bool
	addresses []string
	conns     map[*conn]struct{} // open, each with its read loop
	running   sync.WaitGroup     // one for each of conns and each handshake; added to under mu unless draining
}

// New builds the edge; nothing runs before Serve.
func New(o Options) (*Server, error) {
	if o.Hub == nil || o.Gate == nil || o.Tickets == nil || o.Edge == nil || o.Registry == nil || o.Log == nil {
		return nil, errors.New("web: Hub, Gate, Tickets, Edge, Registry and Log are needed")
	}
	if o.Audit == nil {
		o.Audit = func(auth.AuditEvent) {}
	}
	if o.Seen == nil {
		o.Seen = func(_, _, _ string) {}
	}
	if o.MaxMessageBytes == 0 {
		o.MaxMessageBytes = hub.DefaultMaxMessageBytes
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = defaultDrainTimeout
	}
	s := &Server{
		hub: o.Hub, gate: o.Gate, devices: o.Gate.Devices, keys: o.Gate.Keys, tickets: o.Tickets, edge: o.Edge, push: o.Push,
		failures: newFailures(), publicURL: o.PublicURL, proxies: o.TrustedProxies, queryToken: o.QueryToken, audit: o.Audit, seen: o.Seen,
		registry: o.Registry, log: o.Log,
		maxMessage: o.MaxMessageBytes, drainTimeout: o.DrainTimeout,
		conns: make(map[*conn]struct{}),
	}
	var err error
	if s.metrics, err = newMetrics(o.Registry); err != nil {
		return nil, err
	}
	if err = s.startACP(o); err != nil {
		return nil, err
	}
	s.handler, err = s.routes()
	return s, err
}

// Serve serves on all listeners until ctx ends or a listener fails, and closes them. It returns when every client is
// gone and nothing runs any more. A Server serves once.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	server := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      requestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ConnContext:       withConn,
	}
	failed := make(chan error, len(listeners)) // one send for each, never closed
	var serving sync.WaitGroup
	for _, ln := range listeners {
		s.addAddress(ln)
		serving.Go(func() { failed <- server.Serve(ln) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.drain()
	s.stop(server)
	serving.Wait()
	return err
}

// drain refuses new clients and lets the hub say goodbye to those that are here. Whoever is still here after
// drainTimeout is told to go, and dropped after half as long.
func (s *Server) drain() {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	s.hub.Drain("the hub is shutting down", retryAfter)
	if s.waitFor(s.drainTimeout) {
		return
	}
	s.forEach(func(c *conn) { c.CloseSoon(CloseGoingAway, "the hub is shutting down") })
	if s.waitFor(s.drainTimeout / 2) {
		return
	}
	s.log.Warn("dropping clients that did not close in time")
	s.forEach(func(c *conn) { _ = c.raw.Close() })
	s.running.Wait()
}

// stop ends what is left of HTTP. The listeners stay open until the clients are gone, so that /readyz can tell.
func (s *Server) stop(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), s.drainTimeout/2)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
}

// waitFor waits for all connections to end, and reports whether they did in time.
func (s *Server) waitFor(d time.Duration) bool {
	ended := make(chan struct{})
	go func() { // ends at the latest with the last connection, for which drain waits in any case
		s.running.Wait()
		close(ended)
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}

func (s *Server) forEach(f func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		f(c)
	}
}

// admit makes room for a connection; each true needs a leave.
func (s *Server) admit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	s.running.Add(1)
	return true
}

func (s *Server) enter(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
}

func (s *Server) leave(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.running.Done()
}

// ready reports whether clients can be served, and the state in a word.
func (s *Server) ready() (bool, string) {
	s.mu.Lock()
	draining := s.draining
	s.mu.Unlock()
	if draining {
		return false, "closing"
	}
	return s.hub.Ready()
}

func (s *Server) addAddress(ln net.Listener) {
	a := ln.Addr()
	address := "http://" + a.String()
	if a.Network() == "unix" {
		address = "unix:" + a.String()
	} else if _, secured := ln.(interface{ Secured() }); secured {
		address = "https://" + a.String()
	}
	s.log.Info("listening", "address", address)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses = append(s.addresses, address)
}

// Addresses says where the server listens, for status and log.
func (s *Server) Addresses() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.addresses...)
}
