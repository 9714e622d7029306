package acp

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	requests *prometheus.CounterVec // by method
	held     prometheus.Counter
	asks     *prometheus.CounterVec // by kind
	retries  *prometheus.CounterVec // by cause
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hub_acp_requests_total", Help: "Requests of ACP clients."}, []string{"method"}),
		held:     prometheus.NewCounter(prometheus.CounterOpts{Name: "hub_acp_held_overflows_total", Help: "ACP connections that were closed because too much was held back during session/load_earlier."}),
		asks:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hub_acp_asks_total", Help: "Questions that were put to ACP clients."}, []string{"kind"}),
		retries:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hub_acp_prompt_retries_total", Help: "Prompts that were sent again."}, []string{"cause"}),
	}
	var failed []error
	for _, c := range []prometheus.Collector{m.requests, m.held, m.asks, m.retries} {
		failed = append(failed, registerer.Register(c))
	}
	return m, errors.Join(failed...)
}
