package acp

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
)

// stage is a hub with its adapter.
type stage struct {
	*hubtest.Hub
	adapter *Adapter
	script  *hubtest.Script // nil unless the app-server is scripted
	t       *testing.T
}

// serve starts an adapter for a hub.
func serve(t *testing.T, h *hubtest.Hub) *stage {
	t.Helper()
	log := slog.New(slog.NewTextHandler(h.Log, nil))
	a, err := NewAdapter(Options{Attach: attachTo(h), Directory: NewDirectory(h.Hub, "", log), Version: "0.0.0-test", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return &stage{Hub: h, adapter: a, t: t}
}

// incomingMessage is one message that a client received.
type incomingMessage struct {
	text   []byte
	id     string // raw
	method string
	params []byte
	result []byte
	failed []byte
}

func (s incomingMessage) String() string {
	if len(s.text) > 400 {
		return string(s.text[:400]) + "…"
	}
	return string(s.text)
}

// path reads a string in the message, or the raw value of what is none.
func (s incomingMessage) path(keys ...string) string {
	raw, _ := wire.Path(s.text, keys...)
	if text, ok := wire.StringValue(raw); ok {
		return text
	}
	return string(raw)
}

// kind is the sessionUpdate of an update.
func (s incomingMessage) kind() string { return s.path("params", "update", "sessionUpdate") }

// peer is an ACP connection without a network. It keeps all that it receives.
type peer struct {
	*Conn
	name string
	t    *testing.T

	mu       sync.Mutex
	messages []incomingMessage
	changed  chan struct{}     // closed and replaced with every write
	frozen   chan struct{}     // when set, writes block until it is closed
	stories  map[string]*story // what it was told, by session; nil after a second load
	loads    map[string]int
	closed   int
	left     bool
	widest   int // bytes of the largest write
	calls    int
}

// as says who a client is.
type as struct {
	role     auth.Role
	sessions []string
	params   string // of initialize; the default is what the remote client sends
	silent   bool   // does not initialize
	sink     func(*peer) hub.Sink
}

const (
	remoteClient = `{"protocolVersion":1,"clientCapabilities":{}}`
	plainEditor  = `{"protocolVersion":1,"clientCapabilities":{},"clientInfo":{"name":"editor","version":"1"}}`
	formEditor   = `{"protocolVersion":1,"clientCapabilities":{"elicitation":{"form":{}},"_meta":{"terminal_output":true}},"clientInfo":{"name":"editor","version":"1"}}`
)

func (s *stage) connect(name string, as as) *peer {
	s.t.Helper()
	if as.role == "" {
		as.role = auth.RoleOperator
	}
	if as.params == "" {
		as.params = remoteClient
	}
	p := holder(name, as.role)
	p.Sessions = as.sessions
	c := &peer{name: name, t: s.t, changed: make(chan struct{}), stories: map[string]*story{}, loads: map[string]int{}}
	sink := hub.Sink(c)
	if as.sink != nil {
		sink = as.sink(c)
	}
	var err error
	if c.Conn, err = s.adapter.Attach(hub.ClientInfo{Principal: p, Profile: auth.Continuous, RemoteAddr: "192.0.2.1:1"}, sink); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.leave)
	if !as.silent {
		c.must("initialize", as.params)
	}
	return c
}

// leave ends the connection, as when its socket breaks.
func (c *peer) leave() {
	c.mu.Lock()
	gone := c.left
	c.left = true
	c.thawLocked()
	c.mu.Unlock()
	if !gone {
		c.Detach()
	}
}

func (c *peer) WriteFrames(frames net.Buffers) error {
	c.mu.Lock()
	frozen := c.frozen
	c.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left || c.closed != 0 {
		return errors.New("the connection is closed")
	}
	for _, b := range frames {
		c.widest = max(c.widest, len(b))
		for len(b) > 0 {
			text, rest, err := nextFrame(b)
			if err != nil {
				c.t.Errorf("%s: %v", c.name, err)
				return err
			}
			c.messages = append(c.messages, c.read(append([]byte(nil), text...)))
			b = rest
		}
	}
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

func (c *peer) read(text []byte) (s incomingMessage) {
	if !wire.Valid(text) || text[0] != '{' || !strings.HasPrefix(string(text), `{"jsonrpc":"2.0"`) {
		c.t.Errorf("%s got what is no message: %.300q", c.name, text)
	}
	s.text = text
	for m := range wire.Members(text) {
		switch string(m.Key) {
		case "id":
			s.id = string(m.Value)
		case "method":
			s.method, _ = wire.StringValue(m.Value)
		case "params":
			s.params = m.Value
		case "result":
			s.result = m.Value
		case "error":
			s.failed = m.Value
		}
	}
	c.check(s)
	return s
}

// check reports what a strict client would find wrong.
func (c *peer) check(m incomingMessage) {
	var faults []string
	switch {
	case m.method == "session/update":
		raw, _ := wire.Get(m.params, "update")
		if c.loads[m.path("params", "sessionId")] > 1 {
			faults = checkUpdate(raw)
			break
		}
		faults = c.story(m).add(Update{m.kind(), raw})
	case m.id != "" && m.method != "":
		faults = checkRequest(m.method, m.params)
		if call := m.path("params", "toolCall", "toolCallId"); call != "" && c.loads[m.path("params", "sessionId")] < 2 {
			if _, known := c.story(m).cards[call]; !known {
				faults = append(faults, "a permission for a card that was never begun: "+call)
			}
		}
	}
	if len(faults) > 0 {
		c.t.Errorf("%s: %s\n  in %s", c.name, strings.Join(faults, "; "), m)
	}
}

func (c *peer) story(m incomingMessage) *story {
	id := m.path("params", "sessionId")
	if c.stories[id] == nil {
		c.stories[id] = newStory()
	}
	return c.stories[id]
}

func (c *peer) CloseSoon(code int, _ string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == 0 {
		c.closed = code
	}
	c.thawLocked()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *peer) freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = make(chan struct{})
}

func (c *peer) thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.thawLocked()
}

func (c *peer) thawLocked() {
	if c.frozen != nil {
		close(c.frozen)
		c.frozen = nil
	}
}

// closeCode is what the connection was closed with, 0 while it is open.
func (c *peer) closeCode() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func (c *peer) say(frame string) { c.Handle([]byte(frame)) }

func (c *peer) notify(method, params string) {
	c.say(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`)
}

// request sends a request under an id of its own and returns the raw id.
func (c *peer) request(method, params string) (id string) {
	c.mu.Lock()
	id = fmt.Sprint(c.calls) // from 0, as the SDK does
	c.calls++
	if method == "session/load" {
		c.loads[stringIn([]byte(params), "sessionId")]++
	}
	c.mu.Unlock()
	c.say(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	return id
}

// call sends a request and waits for its answer, be it an error.
func (c *peer) call(method, params string) incomingMessage {
	c.t.Helper()
	return c.wantAnswer(c.request(method, params))
}

// must is call for what has to succeed; it returns the result.
func (c *peer) must(method, params string) []byte {
	c.t.Helper()
	m := c.call(method, params)
	if m.result == nil {
		c.t.Fatalf("%s: %s(%.200s) = %s", c.name, method, params, m)
	}
	return m.result
}

// answer answers a request of the hub.
func (c *peer) answer(to incomingMessage, result string) {
	c.say(`{"jsonrpc":"2.0","id":` + to.id + `,"result":` + result + `}`)
}

func (c *peer) all() []incomingMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.messages[:len(c.messages):len(c.messages)]
}

// mark is how many messages the client has.
func (c *peer) mark() int { return len(c.all()) }

// wantAfter waits for the first message that fits among those that are not the first n.
func (c *peer) wantAfter(n int, what string, fits func(incomingMessage) bool) (incomingMessage, int) {
	c.t.Helper()
	timeout := time.NewTimer(hubtest.Patience)
	defer timeout.Stop()
	for {
		c.mu.Lock()
		fresh, changed := c.messages[min(n, len(c.messages)):], c.changed
		c.mu.Unlock()
		for i, m := range fresh {
			if fits(m) {
				return m, n + i
			}
		}
		n += len(fresh)
		select {
		case <-changed:
		case <-timeout.C:
			all := c.all()
			var last []string
			for _, m := range all[max(0, len(all)-12):] {
				last = append(last, m.String())
			}
			c.t.Fatalf("%s did not get %s; it has %d messages (close code %d), the last:\n%s", c.name, what, len(all), c.closeCode(), strings.Join(last, "\n"))
		}
	}
}

func (c *peer) want(what string, fits func(incomingMessage) bool) incomingMessage {
	c.t.Helper()
	m, _ := c.wantAfter(0, what, fits)
	return m
}

func (c *peer) wantAnswer(id string) incomingMessage {
	c.t.Helper()
	return c.want("an answer to "+id, func(m incomingMessage) bool { return m.id == id && m.method == "" })
}

// wantMethod waits for a message of a method whose text contains all parts, after the first n.
func (c *peer) wantMethod(n int, method string, parts ...string) incomingMessage {
	c.t.Helper()
	m, _ := c.wantAfter(n, method+" with "+strings.Join(parts, ", "), func(m incomingMessage) bool { return m.method == method && containsAll(m.text, parts) })
	return m
}

// count is how many messages of a method contain all parts.
func (c *peer) count(method string, parts ...string) (n int) {
	for _, m := range c.all() {
		if m.method == method && containsAll(m.text, parts) {
			n++
		}
	}
	return n
}

func containsAll(text []byte, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(string(text), part) {
			return false
		}
	}
	return true
}

// index is where the first message that fits stands; -1 if there is none.
func (c *peer) index(fits func(incomingMessage) bool) int {
	for i, m := range c.all() {
		if fits(m) {
			return i
		}
	}
	return -1
}

// newSession makes a session in a workspace of its own.
func (c *peer) newSession() string {
	c.t.Helper()
	result := c.must("session/new", `{"cwd":"/w/demo","mcpServers":[]}`)
	return stringIn(result, "sessionId")
}

func session(id string) string { return `{"sessionId":` + quoted(id) + `}` }

func quoted(s string) string { return string(jsonOf(s)) }

// load loads a session; limit -1 loads all of it.
func (c *peer) load(id string, limit int) []byte {
	c.t.Helper()
	return c.must("session/load", loadParams(id, limit))
}

func loadParams(id string, limit int) string {
	params := map[string]any{"sessionId": id, "mcpServers": []string{}}
	if limit >= 0 {
		params["_meta"] = map[string]any{"zcode": map[string]any{"limit": limit}}
	}
	return string(jsonOf(params))
}

func promptParams(id, text string) string {
	return string(jsonOf(map[string]any{"sessionId": id, "prompt": []any{map[string]string{"type": "text", "text": text}}}))
}

// prompt sends a prompt and waits for its answer.
func (c *peer) prompt(id, text string) incomingMessage {
	c.t.Helper()
	return c.call("session/prompt", promptParams(id, text))
}

// transcript is what a client shows of a session, message by message, and its open cards.
func (c *peer) transcript(sessionID string, from int) string {
	var b strings.Builder
	last := ""
	for _, m := range c.all()[from:] {
		if m.method != "session/update" || m.path("params", "sessionId") != sessionID {
			continue
		}
		switch kind := m.kind(); kind {
		case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk":
			if id := kind + m.path("params", "update", "messageId"); id != last {
				last = id
				b.WriteString("\n" + kind[:strings.IndexByte(kind, '_')] + ": ")
			}
			b.WriteString(m.path("params", "update", "content", "text"))
		case "tool_call", "tool_call_update":
			last = ""
			if status := m.path("params", "update", "status"); status != "" {
				b.WriteString("\n" + kind + " " + status)
			}
		}
	}
	return b.String()
}

// paced is a hub whose simulated model takes its time, so that there is something to do while it works.
func paced(t *testing.T, speed float64) *hubtest.Hub {
	t.Helper()
	return hubtest.Start(t, hubtest.NewSimulator(t, hubtest.SimulatorOptions{Speed: speed}))
}

// wantAsk waits for the next request of the hub after the first n messages.
func (c *peer) wantAsk(n int, parts ...string) (incomingMessage, int) {
	c.t.Helper()
	return c.wantAfter(n, "a question with "+strings.Join(parts, ", "), func(m incomingMessage) bool {
		return m.id != "" && m.method != "" && containsAll(m.text, parts)
	})
}

// option answers a permission.
func (c *peer) option(to incomingMessage, optionID string) {
	c.answer(to, `{"outcome":{"outcome":"selected","optionId":`+quoted(optionID)+`}}`)
}

// questions are the requests of the hub so far.
func (c *peer) questions() (all []incomingMessage) {
	for _, m := range c.all() {
		if m.id != "" && m.method != "" {
			all = append(all, m)
		}
	}
	return all
}

// flush makes sure that what is on its way has come: an answer comes behind it.
func (c *peer) flush() {
	c.t.Helper()
	c.must("session/list", `{}`)
}

// optionIn is the id of the first option in params.
func optionIn(params []byte) (id string) {
	options, _ := wire.Get(params, "options")
	for o := range wire.Elements(options) {
		return stringIn(o, "optionId")
	}
	return ""
}

// scripted is a hub whose app-server does what the test says. It has the session s1, which is idle.
func scripted(t *testing.T) (*stage, *hubtest.Process) {
	t.Helper()
	script := hubtest.NewScript(t)
	for method, result := range map[string]string{
		"session/list":      `{"sessions":[{"sessionId":"s1","workspace":{"workspacePath":"/w/demo","workspaceKey":"w"},"title":"One","status":"idle","updatedAt":1791032434000}]}`,
		"session/subscribe": `{"sessionId":"s1","eventSeq":0,"events":[]}`,
		"session/read":      idleSnapshot,
		"session/messages":  `{"messages":[]}`,
		"session/send":      `{"accepted":true,"sessionId":"s1","stateRevision":1}`,
		"session/stop":      `{}`,
		"v4/command":        `{"commandId":"c","status":"accepted","revisionAtDecision":0}`,
	} {
		script.Answer(method, func(hubtest.Line) string { return result })
	}
	h := hubtest.Start(t, script)
	p := script.Next()
	h.WantReady()
	s := serve(t, h)
	s.script = script
	return s, p
}

const idleSnapshot = `{"session":{"sessionId":"s1","workspace":{"workspacePath":"/w/demo","workspaceKey":"w"},"title":"One","mode":"build","status":"idle"},` +
	`"settings":{"mode":{"current":"build"},"model":{"current":{"providerId":"p","modelId":"m"},"available":[{"ref":{"providerId":"p","modelId":"m"},"label":"M","contextWindow":1000}]},"thoughtLevel":{"enabled":false,"available":[]}},` +
	`"projection":{"status":"idle","contextUsed":10,"contextWindow":1000,"activeToolCalls":[],"backgroundJobs":[]},"runtime":{"eventSeq":0},"messages":[],"todos":[],"slashCommands":[]}`

// elementsOf reads the elements of a member that is an array.
func elementsOf(obj []byte, key string) (elements [][]byte, ok bool) {
	raw, ok := wire.Get(obj, key)
	for e := range wire.Elements(raw) {
		elements = append(elements, e)
	}
	return elements, ok
}
