package hub

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"zcodehub/auth"
	"zcodehub/fanout"
	"zcodehub/internal/wire"
	"zcodehub/session"
	"zcodehub/session/conversation"
)

// snapshotWait bounds how long a subscribe waits for the snapshot that it asked
// for: a busy app-server must not keep a phone from seeing its stream.
const snapshotWait = 2 * time.Second

// A subscribeCall is session/subscribe as a client makes it.
type subscribeCall struct {
	*request
	cursor       *fanout.Cursor // afterSeq with epoch; nil without either
	asked        bool           // afterSeq was given: something was missed
	wantSnapshot bool
}

// subscribe attaches the client to a session's stream.
func (c *Client) subscribe(r *request) {
	call, fault := parseSubscribe(r)
	if fault != "" {
		c.refuse(r.id, badParams(fault))
		return
	}
	if !c.mayFollow(r.sessionID) {
		c.refuse(r.id, tooManyFollowed())
		return
	}
	s := c.hub.sessions.Meet(r.sessionID)
	c.hub.listen(s, func(err []byte) {
		if err != nil {
			c.replyError(r, err)
			return
		}
		c.attachOrWait(s, call)
	})
}

func parseSubscribe(r *request) (*subscribeCall, string) {
	call := &subscribeCall{request: r}
	var afterSeq int64 = -1
	var epoch string
	hasEpoch := false
	for m := range wire.Members(r.params) {
		var ok bool
		switch key := string(m.Key); key {
		case "sessionId":
			ok = r.sessionID != ""
		case "afterSeq":
			afterSeq, ok = wire.Int64(m.Value)
			ok = ok && afterSeq >= 0
		case "epoch":
			epoch, ok = wire.StringValue(m.Value)
			hasEpoch = ok
		case "includeSnapshot":
			call.wantSnapshot = string(m.Value) == "true"
			ok = call.wantSnapshot || string(m.Value) == "false"
		case "deliveryKind": // the connection's profile decides; only the shape is checked
			kind, _ := wire.StringValue(m.Value)
			ok = kind == string(auth.Continuous) || kind == string(auth.Replayable)
		default:
			return nil, fmt.Sprintf("Unrecognized key: %q", key)
		}
		if !ok {
			return nil, string(m.Key) + ": Invalid input"
		}
	}
	if r.sessionID == "" {
		return nil, "sessionId: Invalid input: expected string"
	}
	call.asked = afterSeq >= 0
	if call.asked && hasEpoch { // afterSeq without epoch is never resumed: numbers repeat between epochs
		call.cursor = &fanout.Cursor{Epoch: epoch, Seq: uint64(afterSeq)}
	}
	return call, ""
}

// attachOrWait attaches at once, or when the snapshot has come that the client
// asked for or needs because its cursor cannot be resumed.
func (c *Client) attachOrWait(s *session.Session, call *subscribeCall) {
	if !call.wantSnapshot && (!call.asked || resumable(s, call.cursor)) {
		if !c.attach(s, call, nil) && call.asked { // what it missed was evicted since the look
			c.hub.bringSnapshot(s, func(snapshot []byte) { c.sendSnapshot(s, "late", snapshot) })
		}
		return
	}
	var once sync.Once
	late := c.hub.time.after(snapshotWait, func() {
		once.Do(func() { c.attach(s, call, nil) })
	})
	c.hub.snapshot(s, func(snapshot []byte) {
		c.hub.time.cancel(late)
		first := false
		once.Do(func() { first = true; c.attach(s, call, snapshot) })
		switch {
		case snapshot == nil:
			c.hub.bringSnapshot(s, func(snapshot []byte) { c.sendSnapshot(s, "late", snapshot) })
		case !first:
			c.sendSnapshot(s, "late", snapshot)
		}
	})
}

func resumable(s *session.Session, cursor *fanout.Cursor) bool {
	st := s.Stream.State()
	return cursor != nil && cursor.Epoch == st.Epoch && st.Floor <= cursor.Seq && cursor.Seq <= st.Seq
}

// attach registers the client and captures what it missed in one step, answers
// with that, and then shows what is still open. It is false if it answered that
// the cursor was not resumed.
func (c *Client) attach(s *session.Session, call *subscribeCall, snapshot []byte) (resumed bool) {
	sub := c.follow(s)
	if sub == nil {
		return true // it has gone
	}
	if c.hub.sessions.Get([]byte(s.ID)) != s {
		// It was forgotten before this client followed it: to begin again is to
		// ask for it anew.
		c.unfollow(s.ID)
		c.subscribe(call.request)
		return true
	}
	delivery := c.delivery()
	a := s.Stream.Attach(sub, delivery, call.cursor)
	c.hub.metrics.replay(call.asked, a.Resumed)
	err := c.outbox.Seat(resultFrame(call.id, subscribeResult(s.ID, delivery, a, snapshot)), a.Seat)
	if errors.Is(err, fanout.ErrStale) {
		c.attachOrWait(s, call) // the session was loaded anew meanwhile
		return true
	}
	c.showOpen(s)
	c.hub.tellPresence(s.ID)
	return a.Resumed
}

// follow enters the client's subscription to s, once; nil if it has detached.
func (c *Client) follow(s *session.Session) *fanout.Subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.detached {
		return nil
	}
	sub := c.subs[s.ID]
	if sub == nil {
		sub = c.outbox.Subscribe(s.Stream, c)
		c.subs[s.ID] = sub
		s.Follow(sub)
	}
	return sub
}

// subscribeResult is {sessionId, eventSeq, epoch, resumed, floorSeq, events, snapshot?}.
func subscribeResult(sessionID string, d fanout.Delivery, a fanout.Attachment, snapshot []byte) []byte {
	out := make([]byte, 0, 256+int(a.Missed.Bytes())+len(snapshot))
	out = append(out, `{"sessionId":`...)
	out = wire.AppendString(out, sessionID)
	out = append(out, `,"eventSeq":`...)
	out = strconv.AppendUint(out, a.Seq, 10)
	out = append(out, `,"epoch":`...)
	out = wire.AppendString(out, a.Epoch)
	out = append(out, `,"resumed":`...)
	out = strconv.AppendBool(out, a.Resumed)
	out = append(out, `,"floorSeq":`...)
	out = strconv.AppendUint(out, a.Floor, 10)
	out = append(out, `,"events":[`...)
	first := true
	add := func(_, _ uint64, msg []byte) {
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(out, session.UpdateParams(msg)...)
	}
	if d == fanout.Replayable {
		a.Missed.Coalesced(session.NewReplayable(), add)
	} else {
		a.Missed.Each(add)
	}
	out = append(out, ']')
	if snapshot != nil {
		out = append(out, `,"snapshot":`...)
		out = append(out, snapshot...)
	}
	return append(out, '}')
}

// unsubscribe is the hub's own: the app-server has none.
func (c *Client) unsubscribe(r *request) {
	c.unfollow(r.sessionID)
	c.reply(r, []byte("{}"))
}

func (c *Client) unfollow(sessionID string) {
	c.mu.Lock()
	sub := c.subs[sessionID]
	delete(c.subs, sessionID)
	c.mu.Unlock()
	if sub == nil {
		return
	}
	c.outbox.Unsubscribe(sub)
	if s := c.hub.sessions.Get([]byte(sessionID)); s != nil {
		s.Unfollow(sub)
		c.hub.tellPresence(s.ID)
		c.hub.forgetIfUnused(s)
	}
}

// sendSnapshot replaces what the client has of a session: everything up to the
// newest number is out, then comes the snapshot. Called on the goroutine on
// which the app-server's reply came, so that the two belong together.
func (c *Client) sendSnapshot(s *session.Session, reason string, snapshot []byte) {
	at := s.Stream.Flush()
	c.send(snapshotFrame(s.ID, reason, at, snapshot), s)
}

func snapshotFrame(sessionID, reason string, at fanout.Cursor, snapshot []byte) []byte {
	if snapshot == nil {
		snapshot = []byte("null")
	}
	return notification("hub/snapshot", struct {
		SessionID string `json:"sessionId"`
		Epoch     string `json:"epoch"`
		EventSeq  uint64 `json:"eventSeq"`
		Reason    string `json:"reason"`
		Snapshot  raw    `json:"snapshot"`
	}{sessionID, at.Epoch, at.Seq, reason, snapshot})
}

// raw is JSON that stands in a message as it is, unchecked: it came from the
// app-server in a line that was checked.
type raw []byte

// MarshalJSON returns the bytes.
func (r raw) MarshalJSON() ([]byte, error) { return r, nil }

// reseatAll gives everyone who follows s a snapshot under its present epoch.
func (h *Hub) reseatAll(s *session.Session, reason string) {
	h.bringSnapshot(s, func(snapshot []byte) {
		for _, sub := range s.Followers() {
			sub.Key.(*Client).reseat(s, sub, reason, snapshot)
		}
	})
}

// reseat begins sub anew with a snapshot. If the epoch ends meanwhile, the next
// one brings a snapshot of its own.
func (c *Client) reseat(s *session.Session, sub *fanout.Subscription, reason string, snapshot []byte) {
	a := s.Stream.Attach(sub, c.delivery(), nil)
	_ = c.outbox.Seat(snapshotFrame(s.ID, reason, fanout.Cursor{Epoch: a.Epoch, Seq: a.Seq}, snapshot), a.Seat)
	c.hub.metrics.snapshots.WithLabelValues(reason).Inc()
	c.showOpen(s)
}

const (
	// lagWindow and lagSnapshots: a client that cost its backlog so often in
	// such a time does not keep up at all, and is asked to come back.
	lagWindow    = time.Minute
	lagSnapshots = 3
)

// lagged is the outbox's word that a subscription took a step of the ladder.
// It runs on the client's writer.
func (c *Client) lagged(sub *fanout.Subscription, step fanout.Step) []byte {
	about := map[string]string{}
	again := func() {}
	if p, ok := sub.Key.(*topicPlace); ok {
		about["topic"] = p.topic.Name
		again = func() { c.openAt(nil, p, nil, conversation.Online, true) }
	} else if s := c.sessionOf(sub); s != nil {
		about["sessionId"] = s.ID
		again = func() { c.hub.bringSnapshot(s, func(snapshot []byte) { c.reseat(s, sub, "lag", snapshot) }) }
	}
	action := ""
	switch step {
	case fanout.StepCoalesced:
		c.hub.metrics.lag.WithLabelValues("coalesced").Inc()
		return nil
	case fanout.StepDowngraded:
		action = "downgraded"
	case fanout.StepRestored:
		action = "restored"
	case fanout.StepSnapshot:
		action = "snapshot"
		c.lostBacklog(again)
	}
	c.hub.metrics.lag.WithLabelValues(action).Inc()
	about["action"] = action
	return notification("hub/lagged", about)
}

// lostBacklog brings the snapshot that replaces a backlog, or gives up on a
// client that needed too many.
func (c *Client) lostBacklog(again func()) {
	now := time.Now()
	c.mu.Lock()
	recent := c.snapshots[:0]
	for _, at := range c.snapshots {
		if now.Sub(at) < lagWindow {
			recent = append(recent, at)
		}
	}
	c.snapshots = append(recent, now)
	tooMany := len(c.snapshots) > lagSnapshots
	c.mu.Unlock()
	if tooMany {
		c.hub.metrics.lag.WithLabelValues("closed").Inc()
		c.sink.CloseSoon(closeTooSlow, "too slow: resume with your cursor")
		return
	}
	again()
}

// sessionOf finds the session of one of the client's subscriptions.
func (c *Client) sessionOf(sub *fanout.Subscription) *session.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, other := range c.subs {
		if other == sub {
			return c.hub.sessions.Get([]byte(id))
		}
	}
	return nil
}
