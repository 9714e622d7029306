package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/push"
	"zcodehub/web"
)

// front is everything that runs while the hub serves: the hub, its edge and their listeners.
type front struct {
	config    *config
	hub       *hub.Hub
	edge      *web.Server
	push      *push.Service
	listeners []net.Listener // of the edge: for clients, and the local socket
	metrics   net.Listener   // nil without --metrics-listen
	log       *slog.Logger
	url       string // where clients find the hub

	running  sync.WaitGroup
	stopEdge context.CancelFunc // set by start
	edgeGone chan struct{}      // closed when the edge has let go of all clients
}

// newFront opens all listeners, so that a port that is taken is known before the app-server is started.
func newFront(c *config, h *hub.Hub, a *access, registry *prometheus.Registry, log *slog.Logger) (*front, error) {
	edge, err := newEdge(c, h, a, registry, log)
	if err != nil {
		return nil, err
	}
	f := &front{config: c, hub: h, edge: edge, push: a.push, log: log, edgeGone: make(chan struct{})}
	if err := f.listen(); err != nil {
		f.closeListeners()
		return nil, err
	}
	return f, nil
}

func newEdge(c *config, h *hub.Hub, a *access, registry *prometheus.Registry, log *slog.Logger) (*web.Server, error) {
	origins, err := auth.NewEdge(c.edge(a.gate.Keys.Instance()))
	if err != nil {
		return nil, err
	}
	proxies, err := c.trustedProxies()
	if err != nil {
		return nil, err
	}
	workspace, err := filepath.Abs(c.Cwd) // "" is the hub's own
	if err != nil {
		return nil, fmt.Errorf("--cwd: %w", err)
	}
	return web.New(web.Options{
		Hub:             web.ForHub(h),
		Gate:            a.gate,
		Tickets:         a.tickets,
		Edge:            origins,
		Push:            a.push,
		Registry:        registry,
		Log:             log,
		PublicURL:       c.PublicURL,
		TrustedProxies:  proxies,
		QueryToken:      c.QueryToken,
		Audit:           a.recorder.event,
		Seen:            a.recorder.seen,
		DataDir:         c.DataDir,
		Workspace:       workspace,
		Private:         c.private(),
		MaxMessageBytes: c.MaxMessageBytes,
		DrainTimeout:    c.DrainTimeout / 4, // asked twice of the edge; the rest is for the app-server to end
	})
}

func (f *front) listen() error {
	clients, err := net.Listen("tcp", f.config.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	scheme := "http"
	if f.config.TLSCert != "" {
		pair, err := loadCertificate(f.config.TLSCert, f.config.TLSKey, f.log)
		if err != nil {
			_ = clients.Close()
			return fmt.Errorf("--tls-cert, --tls-key: %w", err)
		}
		clients, scheme = listenTLS(clients, pair), "https"
	}
	f.url = cmp.Or(f.config.PublicURL, web.ListenURL(scheme, clients.Addr().String()))
	f.listeners = append(f.listeners, clients)
	local, err := web.ListenLocal(f.config.DataDir, f.log)
	if err != nil {
		return err
	}
	f.listeners = append(f.listeners, local)
	if f.config.MetricsListen == "" {
		return nil
	}
	if f.metrics, err = net.Listen("tcp", f.config.MetricsListen); err != nil {
		return fmt.Errorf("--metrics-listen: %w", err)
	}
	return nil
}

func (f *front) closeListeners() {
	for _, listener := range f.listeners {
		_ = listener.Close()
	}
}

// start runs the hub and its edge until drain. What ends before that sends one error, nil too, and ends the hub.
func (f *front) start(hubContext context.Context) <-chan error {
	edgeContext, stopEdge := context.WithCancel(context.Background())
	f.stopEdge = stopEdge
	ended := make(chan error, 3) // one for each below, never closed
	f.running.Go(func() { ended <- f.hub.Run(hubContext) })
	f.running.Go(func() { f.push.Run(hubContext) })
	f.running.Go(func() {
		defer close(f.edgeGone)
		ended <- f.edge.Serve(edgeContext, f.listeners...)
	})
	f.running.Go(func() { watchdog(edgeContext, f.log, f.alive) })
	if f.metrics != nil {
		f.running.Go(func() { ended <- f.serveMetrics(edgeContext) })
	}
	return ended
}

// metricsHeaderTimeout: a scraper sends its header in one packet.
const metricsHeaderTimeout = 5 * time.Second

// serveMetrics answers every path: whoever was given this address wants the metrics.
func (f *front) serveMetrics(ctx context.Context) error {
	server := &http.Server{
		Handler:           f.edge.MetricsHandler(),
		ReadHeaderTimeout: metricsHeaderTimeout,
		ErrorLog:          slog.NewLogLogger(f.log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(f.metrics); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// alive asks over the local socket for what needs the edge, a connection and the hub's locks.
func (f *front) alive() error {
	return newLocalHub(f.config.DataDir).call(http.MethodGet, "/api/status", nil, nil)
}

// drain lets the clients go first, then stops the app-server; returns when nothing runs any more.
func (f *front) drain(stopHub context.CancelFunc) {
	f.stopEdge()
	<-f.edgeGone
	stopHub()
	f.running.Wait()
}
