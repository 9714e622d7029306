package hubtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/wire"
)

// Message is one frame that a client received. Its raw parts are views of bytes
// that the hub shares among clients.
type Message struct {
	Text   []byte
	Kind   wire.Kind
	ID     string // raw
	Method string
	Params []byte
	Result []byte
	Error  []byte

	SessionID string // params.sessionId
}

// String shows the message, cut to a readable length.
func (m Message) String() string {
	if len(m.Text) > 400 {
		return string(m.Text[:400]) + "…"
	}
	return string(m.Text)
}

// Path returns a string in the message by its path: "params", "toolName".
func (m Message) Path(keys ...string) string {
	raw, ok := wire.Path(m.Text, keys...)
	if !ok {
		return ""
	}
	if text, ok := wire.StringValue(raw); ok {
		return text
	}
	return string(raw)
}

// Client is a connection without a network. It keeps all that it receives.
type Client struct {
	*hub.Client
	Name string
	t    *testing.T

	mu       sync.Mutex
	messages []Message
	changed  chan struct{} // closed and replaced with every write
	frozen   chan struct{} // when set, WriteFrames blocks until it is closed
	bytes    int64
	closed   int // close code
	writing  bool
	left     bool
	calls    int
}

// As says who a client is; change it by options.
type As struct {
	Role       auth.Role
	Profile    auth.Profile
	Profiles   []auth.Profile
	Device     string
	Sessions   []string
	Workspaces []string
	Sink       func(*Client) hub.Sink // wraps the client as the hub sees it
}

// Connect attaches a client. Without more it is an operator with the continuous
// profile.
func (h *Hub) Connect(name string, as As) *Client {
	h.t.Helper()
	c, err := h.TryConnect(name, as)
	if err != nil {
		h.t.Fatalf("%s could not attach: %v", name, err)
	}
	return c
}

// TryConnect is Connect for when it may fail.
func (h *Hub) TryConnect(name string, as As) (*Client, error) {
	if as.Role == "" {
		as.Role = auth.RoleOperator
	}
	if as.Profile == "" {
		as.Profile = auth.Continuous
	}
	if as.Profiles == nil {
		as.Profiles = []auth.Profile{auth.Continuous, auth.Replayable}
	}
	if as.Device == "" {
		as.Device = name
	}
	p := &auth.Principal{Name: name, Device: as.Device, Role: as.Role, Rights: as.Role.Rights(), Sessions: as.Sessions,
		Workspaces: as.Workspaces, Profiles: as.Profiles, ExpiresAt: time.Now().Add(time.Hour), TokenID: "token-" + name}
	c := &Client{Name: name, t: h.t, changed: make(chan struct{})}
	sink := hub.Sink(c)
	if as.Sink != nil {
		sink = as.Sink(c)
	}
	attached, err := h.Attach(hub.ClientInfo{Principal: p, Profile: as.Profile, RemoteAddr: "192.0.2.1:1", UserAgent: "hubtest"}, sink)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.Client = attached
	c.mu.Unlock()
	h.mu.Lock()
	h.clients = append(h.clients, c)
	h.mu.Unlock()
	return c, nil
}

// WriteFrames takes what the hub writes.
func (c *Client) WriteFrames(bufs net.Buffers) error {
	c.mu.Lock()
	if c.writing {
		c.t.Errorf("%s: two writes at once", c.Name)
	}
	c.writing = true
	frozen := c.frozen
	c.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing = false
	if c.left || c.closed != 0 {
		return errors.New("the connection is closed")
	}
	for _, b := range bufs {
		c.bytes += int64(len(b))
		for len(b) > 0 {
			msg, rest, err := unframe(b)
			if err != nil {
				c.t.Errorf("%s: %v", c.Name, err)
				return err
			}
			c.messages = append(c.messages, parseMessage(c.t, msg))
			b = rest
		}
	}
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

// unframe takes one server frame from b (RFC 6455 section 5.2).
func unframe(b []byte) (msg, rest []byte, err error) {
	if len(b) < 2 || b[0] != 0x81 || b[1]&0x80 != 0 {
		return nil, nil, fmt.Errorf("no whole unmasked text frame: % x", b[:min(len(b), 8)])
	}
	size, head := uint64(b[1]), 2
	switch {
	case size == 126 && len(b) >= 4:
		size, head = uint64(binary.BigEndian.Uint16(b[2:])), 4
	case size == 127 && len(b) >= 10:
		size, head = binary.BigEndian.Uint64(b[2:]), 10
	}
	if uint64(len(b)-head) < size {
		return nil, nil, fmt.Errorf("a frame of %d bytes was cut", size)
	}
	return b[head : head+int(size)], b[head+int(size):], nil
}

func parseMessage(t *testing.T, text []byte) Message {
	var e wire.Envelope
	if err := wire.ParseEnvelope(text, &e); err != nil {
		t.Errorf("a client got what is no message (%v): %.300q", err, text)
	}
	return Message{Text: text, Kind: e.Kind, ID: string(e.ID), Method: internMethod(e.Method), Params: e.Params, Result: e.Result, Error: e.Error,
		SessionID: string(e.SessionID)}
}

// internMethod saves memory where tens of thousands of updates are kept.
func internMethod(method []byte) string {
	const update = "session/event"
	if string(method) == update {
		return update
	}
	return string(method)
}

// CloseSoon notes the close code and lets every write fail from now on.
func (c *Client) CloseSoon(code int, _ string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == 0 {
		c.closed = code
	}
	c.thawLocked()
	close(c.changed)
	c.changed = make(chan struct{})
}

// Freeze makes the next write block, as a socket does whose peer does not read.
func (c *Client) Freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = make(chan struct{})
}

// Thaw ends Freeze.
func (c *Client) Thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.thawLocked()
}

func (c *Client) thawLocked() {
	if c.frozen != nil {
		close(c.frozen)
		c.frozen = nil
	}
}

// Leave ends the connection, as when its socket breaks: what is being written
// fails, nothing more arrives.
func (c *Client) Leave() {
	c.mu.Lock()
	c.left = true
	c.thawLocked()
	c.mu.Unlock()
	c.Detach()
}

// Say sends one frame as it is.
func (c *Client) Say(frame string) { c.Handle([]byte(frame)) }

// Request sends a request under an id of its own and returns the raw id.
func (c *Client) Request(method, params string) (id string) {
	c.mu.Lock()
	c.calls++
	id = fmt.Sprintf(`"%s-%d"`, c.Name, c.calls)
	c.mu.Unlock()
	c.Say(`{"id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	return id
}

// Call sends a request and waits for its reply, be it an error.
func (c *Client) Call(method, params string) Message {
	c.t.Helper()
	return c.WantReply(c.Request(method, params))
}

// MustCall is Call for what must succeed; it returns the result.
func (c *Client) MustCall(method, params string) []byte {
	c.t.Helper()
	m := c.Call(method, params)
	if m.Kind != wire.Response {
		c.t.Fatalf("%s: %s(%.200s) = %s", c.Name, method, params, m)
	}
	return m.Result
}

// Messages returns what the client has received so far.
func (c *Client) Messages() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.messages[:len(c.messages):len(c.messages)]
}

// Received is how many messages the client has: a mark for WantAfter.
func (c *Client) Received() int { return len(c.Messages()) }

// Bytes is how many bytes were written to the client.
func (c *Client) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// Closed is the close code the hub asked for, 0 while open.
func (c *Client) Closed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Want waits for the first message that fits.
func (c *Client) Want(what string, fits func(Message) bool) Message {
	c.t.Helper()
	return c.WantAfter(0, what, fits)
}

// WantAfter waits for the first message that fits among those that are not the
// first n.
func (c *Client) WantAfter(n int, what string, fits func(Message) bool) Message {
	c.t.Helper()
	m, ok := c.await(n, fits)
	if !ok {
		all := c.Messages()
		var last []string
		for _, m := range all[max(0, len(all)-5):] {
			last = append(last, m.String())
		}
		c.t.Fatalf("%s did not get %s; it has %d messages (close code %d), the last:\n%s", c.Name, what, len(all), c.Closed(), strings.Join(last, "\n"))
	}
	return m
}

func (c *Client) await(seen int, fits func(Message) bool) (Message, bool) {
	timeout := time.NewTimer(Patience)
	defer timeout.Stop()
	for {
		c.mu.Lock()
		fresh, changed := c.messages[seen:], c.changed
		c.mu.Unlock()
		for _, m := range fresh {
			if fits(m) {
				return m, true
			}
		}
		seen += len(fresh)
		select {
		case <-changed:
		case <-timeout.C:
			return Message{}, false
		}
	}
}

// WantReply waits for the reply to a raw id.
func (c *Client) WantReply(id string) Message {
	c.t.Helper()
	return c.Want("a reply to "+id, func(m Message) bool { return m.ID == id && m.Method == "" })
}

// WantNotice waits for a notification, or a request of the hub's, of a method
// whose text contains all of parts.
func (c *Client) WantNotice(method string, parts ...string) Message {
	c.t.Helper()
	return c.WantNoticeAfter(0, method, parts...)
}

// WantNoticeAfter is WantNotice among the messages that are not the first n.
func (c *Client) WantNoticeAfter(n int, method string, parts ...string) Message {
	c.t.Helper()
	return c.WantAfter(n, method+" with "+strings.Join(parts, ", "), func(m Message) bool {
		return m.Method == method && containsAll(m.Text, parts)
	})
}

// All returns the messages of a method whose text contains all of parts.
func (c *Client) All(method string, parts ...string) (all []Message) {
	for _, m := range c.Messages() {
		if m.Method == method && containsAll(m.Text, parts) {
			all = append(all, m)
		}
	}
	return all
}

// Replies returns everything that came under a raw id.
func (c *Client) Replies(id string) (all []Message) {
	for _, m := range c.Messages() {
		if m.Method == "" && m.ID == id {
			all = append(all, m)
		}
	}
	return all
}

func containsAll(text []byte, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(string(text), part) {
			return false
		}
	}
	return true
}

// WantClosed waits until the hub closed the connection.
func (c *Client) WantClosed(code int) {
	c.t.Helper()
	Want(c.t, fmt.Sprintf("%s to be closed with %d", c.Name, code), func() bool { return c.Closed() == code })
}
