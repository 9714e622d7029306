package hub

import (
	"encoding/json"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"zcodehub/auth"
	"zcodehub/fanout"
	"zcodehub/internal/wire"
	"zcodehub/session"
)

// Close codes that the hub asks for; web has the whole table.
const (
	closeGoingAway = 1001
	closeTooSlow   = 4408
)

// Sink is the connection as the hub writes to it.
type Sink interface {
	// WriteFrames writes ready server frames (RFC 6455: text, unmasked) in
	// order, with a deadline of its own. One goroutine at a time calls it.
	WriteFrames(bufs net.Buffers) error
	// CloseSoon ends the connection with this close code. It never blocks.
	CloseSoon(code int, reason string)
}

// A Roomy sink can tell that a write of so many bytes will not have to wait for
// the client.
type Roomy interface{ Room(bytes int) bool }

// An Extender is a Sink that ends with its credential; a newer token moves the
// end.
type Extender interface{ ExtendUntil(time.Time) }

// ClientInfo says who attaches, from the credential and the connection.
type ClientInfo struct {
	Principal  *auth.Principal
	Profile    auth.Profile
	RemoteAddr string
	UserAgent  string
	// DeviceExpiresAt is when the device's own time is over, however often its token is renewed; zero = never, or not known.
	DeviceExpiresAt time.Time
}

// Client is one attached connection.
type Client struct {
	// fixed after construction
	hub    *Hub
	id     string
	info   ClientInfo
	since  time.Time
	sink   Sink
	outbox *fanout.Outbox
	rate   *rate.Limiter
	device *deviceUse // set by Attach

	principal atomic.Pointer[auth.Principal] // replaced by hub/refreshToken

	mu             sync.Mutex // before the outbox's and the streams' locks
	profile        auth.Profile
	clientID       string // bound by hub/initialize or first use; then fixed
	kind, version  string
	onlySubscribed bool                            // wants interactions of followed sessions only
	attention      attention                       // what it says of who looks at it
	subs           map[string]*fanout.Subscription // by session id
	places         map[string]*topicPlace          // by topic name
	waiting        int64                           // bytes of calls that wait for the app-server
	uploads        bool                            // has used its upload connection id
	snapshots      []time.Time                     // when lag last cost it its backlog
	detached       bool
}

// Attach admits a connection. hub/hello is the first thing it is sent.
func (h *Hub) Attach(info ClientInfo, sink Sink) (*Client, error) {
	c := &Client{hub: h, info: info, since: time.Now(), sink: sink, profile: info.Profile, id: "conn-" + session.NewEpoch(),
		rate: rate.NewLimiter(rate.Limit(h.opts.RateLimit), h.opts.RateBurst), subs: map[string]*fanout.Subscription{}, places: map[string]*topicPlace{}}
	c.principal.Store(info.Principal)
	delivered := h.metrics.delivered(info.Profile)
	var room func(int) bool
	if roomy, ok := sink.(Roomy); ok {
		room = roomy.Room
	}
	c.outbox = fanout.NewOutbox(fanout.OutboxOptions{
		Write:     sink.WriteFrames,
		Room:      room,
		Overflow:  func() { h.metrics.overflows.Inc(); sink.CloseSoon(closeTooSlow, "too slow: resume with your cursor") },
		Lagged:    c.lagged,
		Delivered: delivered,
	})
	h.mu.Lock()
	if h.closing {
		h.mu.Unlock()
		return nil, ErrClosing
	}
	if c.device = h.admitLocked(info.Principal); c.device == nil {
		h.mu.Unlock()
		return nil, ErrTooManyConnections
	}
	h.clients[c.id] = c
	h.holderCameLocked(info.Principal.Device)
	c.greet() // under the lock: what is told to all clients comes behind it
	h.mu.Unlock()
	h.metrics.attached(info, 1)
	c.auditEvent("client.attached", "", map[string]string{"connectionId": c.id, "role": string(info.Principal.Role)})
	c.showAll()
	return c, nil
}

// Detach ends the attachment. When it returns nothing is being written to the
// sink and nothing will be.
func (c *Client) Detach() {
	c.mu.Lock()
	if c.detached {
		c.mu.Unlock()
		return
	}
	c.detached = true
	subs := c.subs
	c.subs = map[string]*fanout.Subscription{}
	places := c.places
	c.places = map[string]*topicPlace{}
	uploads, looked := c.uploads, c.attention.visible
	c.mu.Unlock()
	h := c.hub
	h.mu.Lock()
	delete(h.clients, c.id)
	if h.leaveLocked(c.info.Principal) {
		h.holderLeftLocked(c.info.Principal.Device)
	}
	h.mu.Unlock()
	c.outbox.Close()
	if looked {
		h.lookedAway(c.info.Principal.Device)
	}
	h.metrics.attached(c.info, -1)
	c.auditEvent("client.detached", "", map[string]string{"connectionId": c.id})
	if uploads {
		h.ask("v4/connection/flow", jsonOf(map[string]string{"connectionId": c.id, "state": "closed"}), func(reply) {})
	}
	for _, p := range places {
		c.leaveTopic(p)
	}
	for id, sub := range subs {
		if s := h.sessions.Get([]byte(id)); s != nil {
			s.Unfollow(sub)
			h.tellPresence(s.ID)
			h.forgetIfUnused(s)
		}
	}
}

// ID is the connection id.
func (c *Client) ID() string { return c.id }

// who is the principal as it is now.
func (c *Client) who() *auth.Principal { return c.principal.Load() }

func (c *Client) author() session.Author {
	p := c.who()
	return session.Author{Name: p.Name, Device: p.Device}
}

// authorRef is author for members that may be missing.
func (c *Client) authorRef() *session.Author {
	by := c.author()
	return &by
}

func (c *Client) mayControlAll() bool {
	p := c.who()
	return !p.Scoped() && p.Rights.Has(auth.Control)
}

func (c *Client) sees(s *session.Session) bool {
	p := c.who()
	return p.Rights.Has(auth.View) && p.SeesSession(s.ID, s.Workspace())
}

// subscription is the client's place in a session, nil if it does not follow.
func (c *Client) subscription(sessionID string) *fanout.Subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subs[sessionID]
}

func (c *Client) delivery() fanout.Delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	return deliveryOf(c.profile)
}

func deliveryOf(p auth.Profile) fanout.Delivery {
	if p == auth.Continuous {
		return fanout.Continuous
	}
	return fanout.Replayable
}

// send queues a frame about a session behind everything that the client is
// owed of it; s is nil for frames about none.
func (c *Client) send(frame []byte, s *session.Session) {
	if s != nil {
		c.sendAbout(s.ID, frame)
		return
	}
	_ = c.outbox.Send(frame) // an outbox that is closed has nobody to tell
}

// sendAbout is send for a session of which the hub may hold no more than its V4
// topic.
func (c *Client) sendAbout(sessionID string, frame []byte) {
	c.mu.Lock()
	subs := make([]*fanout.Subscription, 0, 2)
	if sub := c.subs[sessionID]; sub != nil {
		subs = append(subs, sub)
	}
	if p := c.places[session.TopicConversation+sessionID]; p != nil {
		subs = append(subs, p.sub)
	}
	c.mu.Unlock()
	_ = c.outbox.SendAfter(frame, subs...)
}

// notify queues a notification of the hub's own.
func (c *Client) notify(method string, params any, s *session.Session) {
	c.send(notification(method, params), s)
}

// notification makes a ready frame.
func notification(method string, params any) []byte {
	return fanout.Frame(wire.AppendNotification(nil, method, jsonOf(params)))
}

// jsonOf marshals what always can be: structs of the hub's own.
func jsonOf(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// greet sends hub/hello.
func (c *Client) greet() {
	h, p := c.hub, c.who()
	status, capabilities := h.gate.snapshot()
	type named struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	type holder struct {
		Name            string    `json:"name"`
		Device          string    `json:"device"`
		Rights          []string  `json:"rights"`
		Sessions        []string  `json:"sessions,omitempty"`
		ExpiresAt       time.Time `json:"expiresAt,omitzero"`
		DeviceExpiresAt time.Time `json:"deviceExpiresAt,omitzero"`
	}
	who := holder{Name: p.Name, Device: p.Device, Rights: p.Rights.Names(), Sessions: p.Sessions,
		ExpiresAt: p.ExpiresAt, DeviceExpiresAt: c.info.DeviceExpiresAt}
	c.notify("hub/hello", struct {
		ProtocolVersion int             `json:"protocolVersion"`
		HubVersion      string          `json:"hubVersion"`
		Instance        named           `json:"instance"`
		ConnectionID    string          `json:"connectionId"`
		Epoch           string          `json:"epoch"`
		ServerTime      int64           `json:"serverTime"`
		ClientMode      auth.Profile    `json:"clientMode"`
		DeliveryProfile string          `json:"deliveryProfile"`
		Principal       holder          `json:"principal"`
		AppServer       appServerNotice `json:"appServer"`
		Limits          map[string]any  `json:"limits"`
		Capabilities    map[string]any  `json:"capabilities"`
	}{
		ProtocolVersion: 1, HubVersion: h.opts.Version, Instance: named{h.opts.InstanceID, h.opts.InstanceName},
		ConnectionID: c.id, Epoch: h.epoch, ServerTime: time.Now().UnixMilli(),
		ClientMode: c.info.Profile, DeliveryProfile: c.info.Profile.Delivery(), Principal: who,
		AppServer:    appServerNotice{State: status.State, Generation: status.Generation, Detail: status.Detail, Capabilities: capabilities},
		Limits:       map[string]any{"maxMessageBytes": h.opts.MaxMessageBytes, "framesPerSecond": h.opts.RateLimit, "frameBurst": h.opts.RateBurst},
		Capabilities: map[string]any{"events": true, "conversation": true, "control": h.opts.Control, "page": h.opts.Page, "push": h.opts.Push != nil},
	}, nil)
}
