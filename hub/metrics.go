package hub

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"zcodehub/auth"
	"zcodehub/fanout"
)

// metrics are the hub's counters. Labels take values from fixed sets only.
// docs/metrics.md says what each means.
type metrics struct {
	clients      *prometheus.GaugeVec
	frames       *prometheus.CounterVec
	bytes        *prometheus.CounterVec
	delay        *prometheus.HistogramVec
	lag          *prometheus.CounterVec
	replays      *prometheus.CounterVec
	snapshots    *prometheus.CounterVec
	asked        *prometheus.CounterVec
	settled      *prometheus.CounterVec
	answers      *prometheus.CounterVec
	answerTime   prometheus.Histogram
	reverse      *prometheus.CounterVec
	lines        prometheus.Counter
	badLines     prometheus.Counter
	dropped      prometheus.Counter
	strayReplies prometheus.Counter
	gaps         prometheus.Counter
	restarts     prometheus.Counter
	resumes      prometheus.Counter
	timeouts     prometheus.Counter
	refused      prometheus.Counter
	received     prometheus.Counter
	badFrames    prometheus.Counter
	limited      prometheus.Counter
	overflows    prometheus.Counter
	frameFaults  *prometheus.CounterVec
	resyncs      prometheus.Counter
	mismatches   prometheus.Counter
}

func newMetrics(h *Hub, registerer prometheus.Registerer, budget *fanout.Budget) *metrics {
	f := factory{registerer}
	m := &metrics{
		clients:      f.gauges("hub_clients", "Connected clients, by the profile they came with.", "profile", "role"),
		frames:       f.counters("hub_sent_frames_total", "WebSocket messages written to clients, by the profile they came with.", "profile"),
		bytes:        f.counters("hub_sent_bytes_total", "Bytes written to clients, frame headers included.", "profile"),
		delay:        f.histograms("hub_fanout_delay_seconds", "Time from an app-server line to the end of the socket write that carries it.", prometheus.ExponentialBuckets(0.0001, 2, 18), "profile"),
		lag:          f.counters("hub_lag_steps_total", "Steps taken for slow clients.", "action"),
		replays:      f.counters("hub_replays_total", "Verdicts on subscribe: fresh, resumed or refused.", "verdict"),
		snapshots:    f.counters("hub_snapshots_total", "Snapshots that replaced a client's state.", "reason"),
		asked:        f.counters("hub_interactions_total", "Questions of the agent.", "kind"),
		settled:      f.counters("hub_interactions_settled_total", "How questions of the agent ended.", "outcome"),
		answers:      f.counters("hub_answers_total", "Answers of clients by what became of them.", "status"),
		answerTime:   f.histogram("hub_answer_seconds", "Time from a question to its settlement.", prometheus.ExponentialBuckets(0.25, 2, 16)),
		reverse:      f.counters("hub_reverse_requests_total", "Requests of the app-server that the hub answered itself.", "method"),
		lines:        f.counter("hub_appserver_lines_total", "Lines read from the app-server."),
		badLines:     f.counter("hub_appserver_bad_lines_total", "Lines from the app-server that were no message."),
		dropped:      f.counter("hub_appserver_dropped_total", "Notifications of the app-server that are for no client."),
		strayReplies: f.counter("hub_appserver_stray_replies_total", "Replies that nobody waited for any more."),
		gaps:         f.counter("hub_appserver_gaps_total", "Breaks in the numbers of a session's events."),
		restarts:     f.counter("hub_appserver_restarts_total", "Ends of the app-server after which it was started again."),
		resumes:      f.counter("hub_session_resumes_total", "Sessions that the hub loaded again because they had been evicted."),
		timeouts:     f.counter("hub_call_timeouts_total", "Calls that the app-server did not answer in time."),
		refused:      f.counter("hub_stdin_full_total", "Calls refused because the app-server does not read its input."),
		received:     f.counter("hub_received_frames_total", "WebSocket messages read from clients."),
		badFrames:    f.counter("hub_received_bad_frames_total", "Messages from clients that were no protocol message."),
		limited:      f.counter("hub_rate_limited_total", "Messages from clients refused by the rate limit."),
		frameFaults:  f.counters("hub_topic_frame_faults_total", "V4 frames of the app-server that could not be put together.", "fault"),
		resyncs:      f.counter("hub_topic_resyncs_total", "Snapshots of V4 topics that the hub asked for, checks included."),
		mismatches:   f.counter("hub_topic_mismatches_total", "Checks in which the folded state of a topic was not the app-server's."),
		overflows:    f.counter("hub_queue_overflows_total", "Clients cut off because their private messages piled up."),
	}
	f.gaugeFunc("hub_interactions_open", "Questions of the agent that wait for an answer.", func() float64 {
		n := 0
		for _, s := range h.sessions.All() {
			n += len(s.Ledger.Open())
		}
		return float64(n)
	})
	f.gaugeFunc("hub_ring_bytes", "Memory held for replay.", func() float64 { return float64(budget.Bytes()) })
	f.gaugeFunc("hub_calls_pending", "Calls that wait for the app-server.", func() float64 { return float64(h.calls.len()) })
	for _, state := range []string{stateStarting, stateMigrating, stateReady, stateRestarting, stateFailed} {
		f.register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "hub_appserver_state", Help: "1 for the state the app-server is in.",
			ConstLabels: prometheus.Labels{"state": state}}, func() float64 {
			if status, _ := h.gate.snapshot(); status.State == state {
				return 1
			}
			return 0
		}))
	}
	build := f.gauges("hub_build_info", "The hub's version; always 1.", "version")
	build.WithLabelValues(h.opts.Version).Set(1)
	return m
}

func (m *metrics) attached(info ClientInfo, by float64) {
	m.clients.WithLabelValues(info.Profile.Delivery(), string(info.Principal.Role)).Add(by)
}

// delivered returns what counts the writes of one client.
func (m *metrics) delivered(p auth.Profile) func(fanout.Delivered) {
	frames, bytes := m.frames.WithLabelValues(p.Delivery()), m.bytes.WithLabelValues(p.Delivery())
	delay := m.delay.WithLabelValues(p.Delivery())
	return func(d fanout.Delivered) {
		frames.Add(float64(d.Frames))
		bytes.Add(float64(d.Bytes))
		if !d.Oldest.IsZero() {
			delay.Observe(time.Since(d.Oldest).Seconds())
		}
	}
}

func (m *metrics) replay(asked, resumed bool) {
	verdict := "fresh"
	switch {
	case resumed:
		verdict = "resumed"
	case asked:
		verdict = "refused"
	}
	m.replays.WithLabelValues(verdict).Inc()
}

// factory makes collectors and registers them.
type factory struct{ to prometheus.Registerer }

func (f factory) register(c prometheus.Collector) { f.to.MustRegister(c) }

func (f factory) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	f.register(c)
	return c
}

func (f factory) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	f.register(c)
	return c
}

func (f factory) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	c := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	f.register(c)
	return c
}

func (f factory) gaugeFunc(name, help string, value func() float64) {
	f.register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

func (f factory) histogram(name, help string, buckets []float64) prometheus.Histogram {
	c := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	f.register(c)
	return c
}

func (f factory) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	c := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	f.register(c)
	return c
}
