package push

import "github.com/prometheus/client_golang/prometheus"

// metrics are the service's counters; docs/metrics.md says what each means.
type metrics struct {
	messages *prometheus.CounterVec
	retries  prometheus.Counter
}

func newMetrics(s *Service, registerer prometheus.Registerer) *metrics {
	m := &metrics{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hub_push_messages_total", Help: "Web Push messages by what became of them."}, []string{"outcome"}),
		retries:  prometheus.NewCounter(prometheus.CounterOpts{Name: "hub_push_retries_total", Help: "Tries of Web Push messages that failed and were put off."}),
	}
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			s.mu.Lock()
			defer s.mu.Unlock()
			return float64(value())
		})
	}
	registerer.MustRegister(m.messages, m.retries,
		gauge("hub_push_subscriptions", "Browsers that want to be told.", func() int { return s.count }),
		gauge("hub_push_queued", "Web Push messages that wait to be sent.", func() int { return len(s.queue) }))
	return m
}
