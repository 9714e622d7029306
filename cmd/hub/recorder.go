package main

import (
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"zcodehub/auth"
)

// maxRecords bounds what waits for the disk, each of a few hundred bytes: minutes of a busy hub, or a disk that stalls.
const maxRecords = 4096

// recorder writes audit events and sightings on a goroutine of its own, so that nothing that serves a client waits for
// the disk. When the queue is full, events are dropped, and the audit says how many.
type recorder struct {
	// fixed after construction
	audit   *auth.Audit
	devices *auth.Devices
	log     *slog.Logger
	dropped prometheus.Counter
	queue   chan record // closed by close
	ended   chan struct{}

	mu      sync.Mutex // guards what follows; never held across I/O
	closed  bool
	missing int64 // events dropped since the last one that was queued
}

// record is an event, or a device that was seen.
type record struct {
	event           auth.AuditEvent
	at              time.Time
	missing         int64 // events that were dropped before this one
	seen            bool
	addr, userAgent string
}

func newRecorder(audit *auth.Audit, devices *auth.Devices, registry prometheus.Registerer, log *slog.Logger) *recorder {
	r := &recorder{
		audit: audit, devices: devices, log: log, queue: make(chan record, maxRecords), ended: make(chan struct{}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{Name: "hub_audit_dropped_total", Help: "Audit events lost because the disk did not keep up."}),
	}
	registry.MustRegister(r.dropped)
	go r.run()
	return r
}

// event queues an event; it never blocks.
func (r *recorder) event(e auth.AuditEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	select {
	case r.queue <- record{event: e, at: time.Now(), missing: r.missing}:
		r.missing = 0
	default:
		r.missing++
		r.dropped.Inc()
	}
}

// seen queues a sighting. One that is lost does no harm: the next connection makes another.
func (r *recorder) seen(device, addr, userAgent string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	select {
	case r.queue <- record{event: auth.AuditEvent{Device: device}, at: time.Now(), seen: true, addr: addr, userAgent: userAgent}:
	default:
	}
}

// close writes what is queued and returns when it is written.
func (r *recorder) close() {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.queue)
	}
	r.mu.Unlock()
	<-r.ended
}

func (r *recorder) run() {
	defer close(r.ended)
	unsealed := false // written since the audit's head was
	for next := range r.queue {
		if next.seen {
			if err := r.devices.Seen(next.event.Device, next.addr, next.userAgent, next.at); err != nil {
				r.log.Warn("a sighting was not written", "device", next.event.Device, "error", err)
			}
		} else {
			r.record(next)
			unsealed = true
		}
		if unsealed && len(r.queue) == 0 {
			unsealed = false
			if err := r.audit.Seal(); err != nil {
				r.log.Error("the head of the audit was not written", "error", err)
			}
		}
	}
}

func (r *recorder) record(next record) {
	if next.missing > 0 {
		r.log.Error("audit events were dropped: the disk did not keep up", "events", next.missing)
		r.write(auth.AuditEvent{Event: "audit.dropped", Detail: map[string]string{"events": strconv.FormatInt(next.missing, 10)}}, next.at)
	}
	r.write(next.event, next.at)
}

func (r *recorder) write(e auth.AuditEvent, at time.Time) {
	if err := r.audit.AppendMore(e, at); err != nil {
		r.log.Error("an audit event was not written", "event", e.Event, "error", err)
	}
}
