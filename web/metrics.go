package web

import (
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the edge's own; what clients get is counted by the hub. Labels take values from fixed sets only, so that
// nobody outside can make up series.
type metrics struct {
	requests      *prometheus.CounterVec
	refused       *prometheus.CounterVec
	closes        *prometheus.CounterVec
	actions       *prometheus.CounterVec
	missedPongs   prometheus.Counter
	receivedBytes prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string) prometheus.CounterOpts { return prometheus.CounterOpts{Name: name, Help: help} }
	m := &metrics{
		requests:      prometheus.NewCounterVec(counter("hub_http_requests_total", "HTTP requests by route and status code."), []string{"route", "code"}),
		refused:       prometheus.NewCounterVec(counter("hub_websocket_refused_total", "WebSocket handshakes refused, by reason."), []string{"reason"}),
		closes:        prometheus.NewCounterVec(counter("hub_websocket_closed_total", "WebSocket connections ended, by close code (none = lost without one)."), []string{"code"}),
		actions:       prometheus.NewCounterVec(counter("hub_push_actions_total", "Answers by a token of a notification, by what became of them."), []string{"status"}),
		missedPongs:   prometheus.NewCounter(counter("hub_websocket_missed_pongs_total", "Pings that stayed without an answer.")),
		receivedBytes: prometheus.NewCounter(counter("hub_websocket_received_bytes_total", "Bytes received from WebSocket clients.")),
	}
	return m, errors.Join(registerer.Register(m.requests), registerer.Register(m.refused), registerer.Register(m.closes), registerer.Register(m.actions),
		registerer.Register(m.missedPongs), registerer.Register(m.receivedBytes))
}

func (m *metrics) request(route string, status int) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
}

// closed counts the end of a connection. A peer may close with any of thousands of codes: those share a label.
func (m *metrics) closed(code int) {
	label := "other"
	switch code {
	case 0:
		label = "none"
	case CloseNormal, CloseGoingAway, CloseProtocol, closeNoStatus, CloseNotUTF8, ClosePolicy, CloseTooBig, CloseOverloaded,
		CloseTokenExpired, CloseRevoked, CloseTooSlow:
		label = strconv.Itoa(code)
	}
	m.closes.WithLabelValues(label).Inc()
}
