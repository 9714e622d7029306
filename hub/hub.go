package hub

import (
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"zcodehub/auth"
	"zcodehub/fanout"
	"zcodehub/internal/child"
	"zcodehub/session"
)

// Options configures a Hub. The zero value of a field means what its comment
// says.
type Options struct {
	AppServer       []string      // program and arguments; required
	Dir             string        // its working directory; empty means the hub's
	Env             []string      // its environment; nil means the hub's less HUB_*
	DataDir         string        // where its process group is noted; empty means nowhere
	InstanceID      string        // stable id of this hub
	InstanceName    string        // for people
	Version         string        // of the hub
	Page            string        // build id of the page that the edge serves; told to clients
	CallTimeout     time.Duration // for one call; 0 means 180 s, the app-server's own host's (protocol document 1.8)
	ReadyWait       time.Duration // how long calls wait for an app-server that is not ready; 0 means 10 s
	MaxMessageBytes int64         // told to clients, kept by the edge; 0 means 32 MiB
	RateLimit       float64       // frames a second from one client; 0 means 50
	RateBurst       int           // and at once; 0 means 200
	TopicLinger     time.Duration // how long a V4 topic is kept after its last follower; 0 means 5 min
	MaxConnections  int           // of one device; 0 means 10,000
	Control         string        // ControlShared or ControlLease; empty means shared
	LeaseGrace      time.Duration // how long a device keeps control without a connection; 0 means 30 s
	LeaseIdle       time.Duration // after how long without steering others may take control; 0 means 5 min
	Push            Pusher        // tells devices on which nobody looks; nil tells none
	// Verify checks a newer token (hub/refreshToken); nil refuses all.
	Verify func(token string, now time.Time) (*auth.Principal, error)
	// Audit takes what the record keeps; it must not block. nil keeps none.
	Audit      func(auth.AuditEvent)
	Log        *slog.Logger          // nil discards
	Registerer prometheus.Registerer // nil keeps the metrics to itself
}

// What the options are when nobody says.
const (
	// DefaultCallTimeout: the app-server's own desktop gives up on a call after
	// the same time (protocol document 1.8).
	DefaultCallTimeout = 180 * time.Second
	// DefaultMaxMessageBytes: a prompt with a few photographs in it passes.
	DefaultMaxMessageBytes = 32 << 20
	// DefaultRateLimit and DefaultRateBurst: a person's page sends a few frames
	// a second, a script that lists and reads some dozens; the burst lets one
	// reconnect to many sessions at once.
	DefaultRateLimit = 50
	DefaultRateBurst = 200
	// DefaultMaxConnections leaves room for a thousand scripts under one token
	// and keeps one that leaked from using up the 65,536 file descriptors that
	// the service unit allows.
	DefaultMaxConnections = 10_000

	defaultReadyWait = 10 * time.Second
	// defaultTopicLinger: a phone that was in a pocket for some minutes resumes.
	defaultTopicLinger = 5 * time.Minute
	rateRetry          = time.Second // the hint with -32042
)

func (o *Options) fillIn() {
	if o.CallTimeout == 0 {
		o.CallTimeout = DefaultCallTimeout
	}
	if o.ReadyWait == 0 {
		o.ReadyWait = defaultReadyWait
	}
	if o.MaxMessageBytes == 0 {
		o.MaxMessageBytes = DefaultMaxMessageBytes
	}
	if o.RateLimit == 0 {
		o.RateLimit = DefaultRateLimit
	}
	if o.RateBurst == 0 {
		o.RateBurst = DefaultRateBurst
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = DefaultMaxConnections
	}
	if o.LeaseGrace == 0 {
		o.LeaseGrace = defaultLeaseGrace
	}
	if o.LeaseIdle == 0 {
		o.LeaseIdle = defaultLeaseIdle
	}
	if o.Control == "" {
		o.Control = ControlShared
	}
	if o.TopicLinger == 0 {
		o.TopicLinger = defaultTopicLinger
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
}

// Hub joins one app-server and many clients.
type Hub struct {
	// fixed after construction
	opts     Options
	log      *slog.Logger
	metrics  *metrics
	epoch    string // names this run of the hub
	started  time.Time
	sessions *session.Registry
	activity *session.Activity
	time     *timekeeper
	gate     *gate
	calls    *calls
	leases   *leases
	notices  *notices
	restart  chan struct{} // one slot: end the app-server that runs; never closed

	budget  *fanout.Budget
	topics  topics
	servers servers
	loading turnstile // of sessions that are resumed and not subscribed to yet
	reading reading   // owned by the app-server's stdout goroutine

	mu          sync.Mutex // before gate.mu, Client.mu, timekeeper.mu
	clients     map[string]*Client
	devices     map[string]*deviceUse // those that are connected
	closing     bool
	resuming    map[string][]func(err []byte) // session/resume under way, by session
	presenceDue map[string]bool               // by session
}

// New makes a hub. It fails, with a sentence for whoever typed the command, if
// the app-server cannot be started.
func New(o Options) (*Hub, error) {
	o.fillIn()
	if _, err := child.Check(o.AppServer, o.Dir); err != nil {
		return nil, err
	}
	budget := fanout.NewBudget(0)
	h := &Hub{
		opts: o, log: o.Log, epoch: session.NewEpoch(), started: time.Now(),
		sessions: session.NewRegistry(budget), activity: session.NewActivity(), leases: newLeases(o), notices: newNotices(), time: newTimekeeper(), calls: &calls{pending: map[uint64]*call{}},
		restart: make(chan struct{}, 1),
		budget:  budget, topics: topics{byName: map[string]*session.Topic{}, linger: map[*session.Topic]*deadline{}, asking: map[*session.Topic]bool{}},
		reading: reading{others: map[*session.Session]struct{}{}, workspaces: map[[sha256.Size]byte]bool{}},
		clients: map[string]*Client{}, devices: map[string]*deviceUse{}, resuming: map[string][]func([]byte){}, presenceDue: map[string]bool{},
	}
	h.gate = &gate{hub: h, status: AppServerStatus{State: stateStarting}}
	h.metrics = newMetrics(h, o.Registerer, budget)
	return h, nil
}

// Ready tells whether the app-server answers, and its state.
func (h *Hub) Ready() (ok bool, state string) {
	status, _ := h.gate.snapshot()
	return status.State == stateReady, status.State
}

func (h *Hub) clientsLocked() []*Client {
	all := make([]*Client, 0, len(h.clients))
	for _, c := range h.clients {
		all = append(all, c)
	}
	return all
}

func (h *Hub) allClients() []*Client {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clientsLocked()
}

// appServerNotice is what hub/hello and hub/appServer say of the app-server.
type appServerNotice struct {
	State        string          `json:"state"`
	Generation   int             `json:"generation"`
	Detail       string          `json:"detail,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
}

// tellState tells every client the state of the app-server.
func (h *Hub) tellState(status AppServerStatus) {
	frame := notification("hub/appServer", appServerNotice{State: status.State, Generation: status.Generation, Detail: status.Detail})
	for _, c := range h.allClients() {
		c.send(frame, nil)
	}
}

// drainWait bounds how long Drain lets what is queued go out before it closes.
const drainWait = 500 * time.Millisecond

// Drain takes no more clients, tells those who are there that the hub closes
// and when to come back, and closes their connections with 1001. The hint is
// spread over retryAfter and as much again, so that they do not all return in
// the same instant.
func (h *Hub) Drain(reason string, retryAfter time.Duration) {
	h.mu.Lock()
	h.closing = true
	clients := h.clientsLocked()
	h.mu.Unlock()
	for _, c := range clients {
		hint := retryAfter + time.Duration(rand.Int64N(int64(retryAfter)+1))
		c.notify("hub/closing", map[string]any{"reason": reason, "retryAfterMs": hint.Milliseconds()}, nil)
	}
	deadline := time.Now().Add(drainWait)
	for _, c := range clients {
		c.outbox.WaitIdle(deadline)
		c.sink.CloseSoon(closeGoingAway, reason)
	}
}
