package hub

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"zcodehub/fanout"
	"zcodehub/internal/wire"
	"zcodehub/session"
	"zcodehub/session/conversation"
)

// A topicPlace is a client's place in a V4 topic.
type topicPlace struct {
	client *Client
	topic  *session.Topic
	sub    *fanout.Subscription
	// filtered places are not in a lane: the client's token shows it a part of
	// the list, so each frame is made for it.
	filtered bool

	// opening is held from where something is taken out of the topic until it is
	// queued, so that it is queued in the order of the topic. Before Client.mu,
	// the topic's and the outbox's locks. It guards what follows.
	opening sync.Mutex
	ordinal uint64 // of the last frame that only this client got
	told    bool   // filtered: it has had its snapshot …
	seq     uint64 // … and all up to here
}

// topicCall is what the three topic methods carry.
type topicCall struct {
	topic, subscriptionID string
	cursor                *fanout.Cursor
	force                 bool
}

// v4Fault is an error as V4 methods report it: all of them are -32603, and the
// text is the fault (protocol document 1.4).
func v4Fault(message string) wire.ErrorObject {
	return wire.ErrorObject{Code: codeInternal, Message: message}
}

// parseTopicCall reads strict params. keys are those that the method takes.
func parseTopicCall(params []byte, keys string) (call topicCall, fault string) {
	for m := range wire.Members(params) {
		key := string(m.Key)
		if !strings.Contains(keys, " "+key+" ") {
			return call, fmt.Sprintf("Unrecognized key: %q", key)
		}
		ok := true
		switch key {
		case "topic":
			call.topic, ok = wire.StringValue(m.Value)
		case "subscriptionId":
			call.subscriptionID, ok = wire.StringValue(m.Value)
		case "forceSnapshot":
			call.force = string(m.Value) == "true"
		case "base":
			call.cursor, ok = parseBase(m.Value)
		}
		if !ok {
			return call, key + ": Invalid input"
		}
	}
	if call.topic == "" {
		return call, "topic: Invalid input: expected string"
	}
	return call, ""
}

func parseBase(raw []byte) (*fanout.Cursor, bool) {
	if string(raw) == "null" {
		return nil, true
	}
	epoch, hasEpoch := member(raw, "logEpoch")
	value, _ := wire.Get(raw, "seq")
	seq, hasSeq := wire.Int64(value)
	return &fanout.Cursor{Epoch: epoch, Seq: uint64(max(seq, 0))}, hasEpoch && hasSeq && seq >= 0
}

// subscribeTopic is v4/conversation/subscribe: ended here, answered with the
// ack and then the frame that brings the client to the present.
func (c *Client) subscribeTopic(r *request) {
	call, fault := parseTopicCall(r.params, " topic base visibility workspace legacyTaskIds resumeThoughtLevel workflowRunDeltas ")
	if fault != "" {
		c.refuse(r.id, v4Fault(fault))
		return
	}
	c.seesTopic(call.topic, func(sees, filtered bool) {
		if !sees {
			c.refuse(r.id, notFoundTopic(call.topic))
			return
		}
		if !c.mayFollow(call.topic) {
			c.refuse(r.id, tooManyFollowed())
			return
		}
		c.enterTopic(r, call, filtered)
	})
}

// enterTopic gives the client its place in a topic when that is there.
func (c *Client) enterTopic(r *request, call topicCall, filtered bool) {
	t := c.hub.topic(call.topic)
	c.hub.openTopic(t, func(err []byte) {
		if err != nil {
			c.replyError(r, err)
			return
		}
		p := c.placeIn(t, filtered)
		switch {
		case p == nil: // it has gone
		case c.hub.findTopic(t.Name) != t: // and so had the topic before this client entered it
			c.leaveTopic(p)
			c.enterTopic(r, call, filtered)
		default:
			c.openAt(r, p, call.cursor, conversation.Initial, false)
			c.hub.tellPresenceIn(t)
		}
	})
}

// notFoundTopic is the answer for what does not exist and for what is outside a
// token's scope.
func notFoundTopic(topic string) wire.ErrorObject {
	if id, ok := strings.CutPrefix(topic, session.TopicConversation); ok {
		return notFound(id)
	}
	return v4Fault("fault.subscription.unknownTopic")
}

// seesTopic tells whether the client may follow a topic, and whether it may see
// a part of it only.
func (c *Client) seesTopic(topic string, done func(sees, filtered bool)) {
	p := c.who()
	if id, ok := strings.CutPrefix(topic, session.TopicConversation); ok {
		if !p.Scoped() {
			done(id != "", false)
			return
		}
		c.visible(id, func(ok bool) { done(ok, false) })
		return
	}
	path := workspaceOfTopic(topic)
	switch {
	case path == "":
		done(false, false)
	case !p.Scoped():
		done(true, false)
	case strings.HasPrefix(topic, session.TopicConfig):
		done(p.MayCreateIn(path), false)
	default:
		// The list of a workspace outside the scope is an empty list.
		done(true, true)
	}
}

// maxFollowed bounds the sessions and topics that one client follows: each costs
// a subscription upstream. Nobody looks at more.
const maxFollowed = 256

// mayFollow tells that the client follows this session or topic already, or few
// enough others.
func (c *Client) mayFollow(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subs[name] != nil || c.places[name] != nil || len(c.subs)+len(c.places) < maxFollowed
}

func tooManyFollowed() wire.ErrorObject {
	return fault(codeTooMany, "this client follows too many sessions and topics", "followed", false, 0)
}

// placeIn enters the client's place in a topic; nil if it has gone.
func (c *Client) placeIn(t *session.Topic, filtered bool) *topicPlace {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.detached {
		return nil
	}
	p := c.places[t.Name]
	if p == nil || p.topic != t {
		p = &topicPlace{client: c, topic: t, filtered: filtered}
		p.sub = c.outbox.Subscribe(t.Stream, p)
		c.places[t.Name] = p
		t.Follow(p.sub)
	}
	return p
}

// openAt answers r (nil for none) with the ack, and brings the client from its
// cursor to the present. always sends a frame even if nothing was missed.
func (c *Client) openAt(r *request, p *topicPlace, cursor *fanout.Cursor, kind string, always bool) {
	err := c.tryOpen(r, p, cursor, kind, always)
	switch {
	case r == nil: // the topic begins anew, and who follows it will be told then
	case errors.Is(err, fanout.ErrStale):
		c.openAt(r, p, cursor, kind, always)
	case errors.Is(err, session.ErrAbsent):
		c.hub.openTopic(p.topic, func(err []byte) {
			if err != nil {
				c.replyError(r, err)
				return
			}
			c.openAt(r, p, cursor, kind, always)
		})
	}
}

// tryOpen is openAt unless the topic begins anew at the same time.
func (c *Client) tryOpen(r *request, p *topicPlace, cursor *fanout.Cursor, kind string, always bool) error {
	p.opening.Lock()
	defer p.opening.Unlock()
	if p.filtered {
		return c.openFiltered(r, p, kind)
	}
	delivery := c.delivery()
	o, err := p.topic.Open(p.sub, session.Ask{Delivery: delivery, Cursor: cursor, Kind: kind, Ordinal: p.ordinal, Always: always,
		Limit: int(c.hub.opts.MaxMessageBytes)})
	switch {
	case errors.Is(err, session.ErrAbsent):
		return err
	case err != nil:
		c.cannotTell(r, p, err)
		return nil
	}
	p.ordinal = o.Ordinal
	var frames []byte
	if r != nil {
		c.hub.metrics.replay(cursor != nil, o.Resumed)
		frames = append(frames, resultFrame(r.id, ackOf(p.topic, o.Resumed, o.Epoch))...)
	}
	for _, msg := range o.Messages {
		frames = fanout.AppendFrame(frames, msg)
	}
	if err := c.outbox.Seat(frames, o.Seat); err != nil {
		return err
	}
	if now := c.delivery(); now != delivery { // changed meanwhile, and the seat undid it
		_ = c.outbox.Change(nil, now, p.sub)
	}
	return nil
}

// cannotTell ends a place whose state does not fit the frames allowed.
func (c *Client) cannotTell(r *request, p *topicPlace, err error) {
	c.hub.log.Error("a topic cannot be told in frames of the size allowed", "topic", p.topic.Name, "error", err)
	if r == nil {
		c.lose(p, rawError(v4Fault(err.Error())))
		return
	}
	c.refuse(r.id, v4Fault(err.Error()))
	c.leaveTopic(p)
}

// lose ends a place and tells the client why.
func (c *Client) lose(p *topicPlace, err []byte) {
	c.notify("hub/topicLost", map[string]any{"topic": p.topic.Name, "subscriptionId": p.topic.SubscriptionID, "error": raw(err)}, nil)
	c.leaveTopic(p)
}

func ackOf(t *session.Topic, resumed bool, epoch string) []byte {
	mode := "snapshot"
	if resumed {
		mode = "resume"
	}
	type ack struct {
		SubscriptionID string `json:"subscriptionId"`
		Mode           string `json:"mode"`
		LogEpoch       string `json:"logEpoch"`
	}
	return jsonOf(map[string]ack{"ack": {t.SubscriptionID, mode, epoch}})
}

// resyncTopic is v4/conversation/resync: the client's own wish to begin anew.
func (c *Client) resyncTopic(r *request) {
	call, fault := parseTopicCall(r.params, " topic subscriptionId base forceSnapshot ")
	if fault != "" {
		c.refuse(r.id, v4Fault(fault))
		return
	}
	p := c.place(call)
	if p == nil {
		c.refuse(r.id, v4Fault("fault.subscription.notOwned"))
		return
	}
	if call.force {
		call.cursor = nil
	}
	c.hub.openTopic(p.topic, func(err []byte) {
		if err != nil {
			c.replyError(r, err)
			return
		}
		c.openAt(r, p, call.cursor, conversation.Recovery, true)
	})
}

// unsubscribeTopic is v4/conversation/unsubscribe; what the client does not own
// is none of its business.
func (c *Client) unsubscribeTopic(r *request) {
	call, fault := parseTopicCall(r.params, " topic subscriptionId ")
	if fault != "" {
		c.refuse(r.id, v4Fault(fault))
		return
	}
	if p := c.place(call); p != nil {
		c.leaveTopic(p)
	}
	_ = c.outbox.Send(resultFrame(r.id, []byte("{}")))
}

// place finds the client's place by topic and subscription.
func (c *Client) place(call topicCall) *topicPlace {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.places[call.topic]; p != nil && p.topic.SubscriptionID == call.subscriptionID {
		return p
	}
	return nil
}

// leaveTopic ends the client's place in a topic.
func (c *Client) leaveTopic(p *topicPlace) {
	c.mu.Lock()
	if c.places[p.topic.Name] == p {
		delete(c.places, p.topic.Name)
	}
	c.mu.Unlock()
	c.outbox.Unsubscribe(p.sub)
	p.topic.Unfollow(p.sub)
	c.hub.tellPresenceIn(p.topic)
	if len(p.topic.Followers()) == 0 {
		c.hub.leaveTopicSoon(p.topic)
	}
}

// tellPresenceIn tells who follows the session of a conversation topic.
func (h *Hub) tellPresenceIn(t *session.Topic) {
	if id := t.SessionID(); id != "" {
		h.tellPresence(id)
	}
}

// reopenAll gives everyone who follows a topic its snapshot: the numbers did
// not go on.
func (h *Hub) reopenAll(t *session.Topic) {
	for _, sub := range t.Followers() {
		p := sub.Key.(*topicPlace)
		h.metrics.snapshots.WithLabelValues("topic").Inc()
		p.client.openAt(nil, p, nil, conversation.Online, true)
	}
}

// openFiltered answers for a client that may see a part of the list. p.opening
// is held.
func (c *Client) openFiltered(r *request, p *topicPlace, kind string) error {
	sees := c.seesSummary(p.topic)
	return p.topic.View(func(epoch string, seq uint64, snapshot []byte) {
		var frames []byte
		if r != nil {
			frames = resultFrame(r.id, ackOf(p.topic, false, epoch))
		}
		payload := conversation.FilterIndex(conversation.SnapshotPayload(snapshot), sees)
		p.told, p.seq = true, seq
		c.sendOwn(p, frames, kind, 0, seq, time.Now().UnixMilli(), payload)
	})
}

// sendOwn queues a frame that is made for this client, behind others. p.opening
// is held.
func (c *Client) sendOwn(p *topicPlace, frames []byte, kind string, from, to uint64, sentAt int64, payload []byte) {
	head := p.topic.OwnHead(to, p.ordinal, kind)
	p.ordinal = head.Ordinal
	messages, err := conversation.Messages(head, from, to, sentAt, payload, int(c.hub.opts.MaxMessageBytes))
	if err != nil {
		c.hub.log.Error("a topic cannot be told in frames of the size allowed", "topic", p.topic.Name, "error", err)
	}
	for _, msg := range messages {
		frames = fanout.AppendFrame(frames, msg)
	}
	_ = c.outbox.Send(frames)
}

// seesSummary tells which sessions of a list the client may know of.
func (c *Client) seesSummary(t *session.Topic) conversation.Sees {
	p, path := c.who(), workspaceOfTopic(t.Name)
	return func(sessionID string, _ []byte) bool { return p.SeesSession(sessionID, path) }
}

// tellFiltered hands a frame to those who see a part of it.
func (h *Hub) tellFiltered(t *session.Topic, f *conversation.Frame) {
	if !strings.HasPrefix(t.Name, session.TopicIndex) {
		return
	}
	for _, sub := range t.Followers() {
		p := sub.Key.(*topicPlace)
		if !p.filtered {
			continue
		}
		p.opening.Lock()
		if p.told && f.To > p.seq { // else it is in the snapshot that it had, or will have
			p.seq = f.To
			payload := conversation.FilterIndex(f.Payload, p.client.seesSummary(t))
			p.client.sendOwn(p, nil, conversation.Online, f.From, f.To, f.SentAt, payload)
		}
		p.opening.Unlock()
	}
}
