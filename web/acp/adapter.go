package acp

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"zcodehub/hub"
)

// Options configures an Adapter.
type Options struct {
	// Attach is the hub's.
	Attach    func(hub.ClientInfo, hub.Sink) (Attached, error)
	Directory *Directory // which sessions lists show
	Version   string     // of the hub
	Log       *slog.Logger
	// Registerer takes the metrics; nil keeps them to the adapter.
	Registerer prometheus.Registerer
}

// Adapter serves ACP connections. What they share of a session is its room; everything else is the hub's.
type Adapter struct {
	// fixed after construction
	attach    func(hub.ClientInfo, hub.Sink) (Attached, error)
	directory *Directory
	version   string
	log       *slog.Logger
	metrics   *metrics
	silence   time.Duration // how long a client is left without a word while a turn runs; tests set it

	mu    sync.Mutex // before room.mu
	rooms map[string]*room
}

// NewAdapter makes an adapter; nothing runs.
func NewAdapter(o Options) (*Adapter, error) {
	a := &Adapter{attach: o.Attach, directory: o.Directory, version: o.Version, log: o.Log, rooms: map[string]*room{}, silence: maxSilence}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	var err error
	a.metrics, err = newMetrics(o.Registerer)
	return a, err
}

// Attach begins an ACP connection that writes to sink.
func (a *Adapter) Attach(info hub.ClientInfo, sink hub.Sink) (*Conn, error) {
	c := newConn(a, info, sink)
	native, err := Attach(info, a.attach, Events{Notify: c.told, Ask: c.asked, Written: func() { c.write(func(*output) {}) }, Closed: sink.CloseSoon})
	if err != nil {
		c.cancel(err)
		return nil, err
	}
	c.native = native
	c.introduce("")
	return c, nil
}

// Closed tells everybody who follows a session that it was closed.
func (a *Adapter) Closed(sessionID string) {
	a.mu.Lock()
	r := a.rooms[sessionID]
	a.mu.Unlock()
	if r != nil {
		r.tellClosed(nil)
	}
}
