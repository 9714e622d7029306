package web

import (
	"io"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// health says that the process serves requests, and nothing about the app-server.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
}

// readiness says whether a client that connects now would be served.
func (s *Server) readiness(w http.ResponseWriter, r *http.Request) {
	ready, state := s.ready()
	status := http.StatusOK
	if !ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, struct {
		Ready bool   `json:"ready"`
		State string `json:"state"`
	}{ready, state})
}

// MetricsHandler serves the metrics without asking who reads them, for --metrics-listen.
func (s *Server) MetricsHandler() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{})
}

// serveMetrics is free for a scraper on this machine; with a proxy in front everybody comes from this machine, so then
// a token is asked for. A token limited to some sessions does not see figures about the others.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if !direct(r) {
		p, no := s.principal(r)
		if no != nil {
			s.refuse(w, r, *no)
			return
		}
		if p.Scoped() {
			s.refuse(w, r, forbidden("a limited token does not see the metrics"))
			return
		}
	}
	s.MetricsHandler().ServeHTTP(w, r)
}

// forwarding are the headers by which proxies and tunnels give themselves away.
var forwarding = []string{
	"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Server",
	"X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Cf-Ray", "Tailscale-User-Login", "Ngrok-Trace-Id",
}

// direct reports whether a request came from this machine with no proxy in between, as far as can be told.
func direct(r *http.Request) bool {
	if isLocal(r) {
		return true
	}
	conn, ok := r.Context().Value(connKey{}).(net.Conn)
	if !ok || !loopback(conn.LocalAddr()) || !loopback(conn.RemoteAddr()) {
		return false
	}
	for _, name := range forwarding {
		if r.Header[name] != nil {
			return false
		}
	}
	return true
}

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
