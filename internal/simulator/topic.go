package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Families of topics, by prefix.
const (
	conversationTopic = "conversation/"
	indexTopic        = "sessions-index/"
	configTopic       = "workspace-config/"
)

// maxID is the longest id string of V4.
const maxID = 256

var (
	shortID    = boundedString(maxID)
	topicName  = prefixed(conversationTopic, indexTopic, configTopic)
	baseShape  = strict(req("logEpoch", nonEmpty), req("seq", sequence))
	topicShape = strict(
		req("topic", topicName), opt("base", baseShape), opt("visibility", oneOf("foreground", "background")),
		req("connectionId", shortID), req("clientMode", deliveryShape), opt("workspace", workspaceShape),
		opt("legacyTaskIds", listOf(nonEmpty, 0, 200)), opt("resumeThoughtLevel", nonEmpty), opt("workflowRunDeltas", boolean))
	resyncShape = strict(
		req("topic", topicName), req("subscriptionId", shortID), req("connectionId", shortID),
		req("base", nullable(baseShape)), opt("forceSnapshot", boolean))
	unsubscribeShape = strict(req("topic", topicName), req("subscriptionId", shortID), req("connectionId", shortID))
	flowShape        = strict(req("connectionId", shortID), req("state", oneOf("saturated", "drained", "closed")))
)

type topicParams struct {
	Topic        string `json:"topic"`
	Base         *base  `json:"base"`
	Connection   string `json:"connectionId"`
	Subscription string `json:"subscriptionId"`
	ClientMode   string `json:"clientMode"`
	Snapshot     bool   `json:"forceSnapshot"`
	State        string `json:"state"`
}

// v4Method is method for V4, where params that fail their schema are an internal error.
func v4Method[P any](shape schema, h func(*server, *request, P) (any, *fault)) handler {
	return func(s *server, r *request) (any, *fault) {
		params, issues := decodeStrict[P](r.params, shape)
		if len(issues) > 0 {
			return nil, &fault{codeInternal, zodError(issues), issueText(issues)}
		}
		return h(s, r, params)
	}
}

// answerTopic answers v4/conversation/subscribe: the acknowledgement, and behind it the initial frame.
func (s *server) answerTopic(r *request, p topicParams) (any, *fault) {
	timing := object{"version": 1, "initialFrameEncodeMs": 0, "sessionRuntimeState": "warm"}
	pub, cold, failed := s.publisher(p.Topic)
	if failed != nil {
		return nil, failed
	}
	if cold {
		timing["sessionRuntimeState"] = "cold"
	}
	if !pub.resumable(p.Base) && pub.tooLarge() {
		return nil, tooLarge()
	}
	prof := profiles[p.ClientMode]
	isConversation := strings.HasPrefix(p.Topic, conversationTopic)
	if !isConversation { // lists have no window and no filter
		prof = profile{}
	}
	sub := pub.open(p.Connection, prof)
	from, buffer := sub.startingPoint(p.Base)
	r.then(func() { sub.begin(from, buffer) })
	ack := object{"subscriptionId": sub.id, "mode": mode(from), "logEpoch": pub.epoch}
	if isConversation {
		if from == nil {
			timing["snapshotRowCount"] = len(s.sessions[sessionOf(p.Topic)].chat.window())
		}
		ack["openTiming"] = timing
	}
	return object{"ack": ack}, nil
}

func notOwned() *fault { return thrown("Error", "fault.subscription.notOwned") }

func tooLarge() *fault { return thrown("Error", "proto.frameEnvelopeTooLarge") }

// startingPoint decides whether a client can go on from b, which then comes back with what it has missed.
func (sub *subscription) startingPoint(b *base) (*base, opBuffer) {
	if !sub.p.resumable(b) {
		return nil, opBuffer{}
	}
	buffer := sub.p.since(*b, sub.profile)
	if len(buffer.ops) > maxBufferedOps || buffer.size > minBufferBytes {
		return nil, opBuffer{}
	}
	return b, buffer
}

func mode(from *base) string {
	if from == nil {
		return "snapshot"
	}
	return "resume"
}

func (s *server) answerResync(r *request, p topicParams) (any, *fault) {
	pub := s.topics[p.Topic]
	if pub == nil || pub.find(p.Connection, p.Subscription) == nil {
		return nil, notOwned()
	}
	if _, _, failed := s.publisher(p.Topic); failed != nil { // the session may have left memory
		return nil, failed
	}
	sub := pub.find(p.Connection, p.Subscription)
	if sub == nil {
		return nil, notOwned()
	}
	if p.Snapshot {
		p.Base = nil
	}
	if !pub.resumable(p.Base) && pub.tooLarge() {
		return nil, tooLarge()
	}
	from, buffer := sub.startingPoint(p.Base)
	r.then(func() { sub.recover(from, buffer) })
	return object{"ack": object{"subscriptionId": sub.id, "mode": mode(from), "logEpoch": pub.epoch}}, nil
}

// answerUnsubscribe ends a subscription; what does not exist is ended already.
func (s *server) answerUnsubscribe(r *request, p topicParams) (any, *fault) {
	if pub := s.topics[p.Topic]; pub != nil {
		if sub := pub.find(p.Connection, p.Subscription); sub != nil {
			pub.close(sub)
			if id := sessionOf(p.Topic); len(pub.subs) == 0 && id != p.Topic && s.sessions[id] == nil {
				delete(s.topics, p.Topic)
			}
		}
	}
	return object{}, nil
}

// answerFlow stops and restarts the frames of a connection.
func (s *server) answerFlow(r *request, p topicParams) (any, *fault) {
	switch p.State {
	case "saturated":
		s.saturated[p.Connection] = true
		return object{}, nil
	case "closed":
		s.dropUploads(p.Connection)
	}
	delete(s.saturated, p.Connection)
	r.then(func() {
		for _, sub := range s.subscriptionsOf(p.Connection) {
			if p.State == "closed" {
				sub.disarm()
			} else {
				sub.flush()
			}
		}
	})
	return object{}, nil
}

// subscriptionsOf are the subscriptions of a connection, ordered by topic.
func (s *server) subscriptionsOf(connectionID string) []*subscription {
	var list []*subscription
	for _, name := range slices.Sorted(maps.Keys(s.topics)) {
		for _, sub := range s.topics[name].subs {
			if sub.connectionID == connectionID {
				list = append(list, sub)
			}
		}
	}
	return list
}

// publisher gives the publisher of a topic, made by the first one who asks. A session that is not in memory is loaded.
func (s *server) publisher(topic string) (pub *publisher, cold bool, failed *fault) {
	if id, ok := strings.CutPrefix(topic, conversationTopic); ok {
		_, resident := s.sessions[id]
		x, failed := s.load(id)
		if failed != nil {
			return nil, false, failed
		}
		x.touch()
		return x.publisher(), !resident, nil
	}
	if pub, ok := s.topics[topic]; ok {
		return pub, false, nil
	}
	if id, ok := strings.CutPrefix(topic, indexTopic); ok {
		return s.newIndex(topic, id), false, nil
	}
	return s.newWorkspaceConfig(topic, strings.TrimPrefix(topic, configTopic)), false, nil
}

func sessionOf(topic string) string { return strings.TrimPrefix(topic, conversationTopic) }

// publisher gives the publisher of the session's conversation.
func (x *session) publisher() *publisher {
	c := x.conversation()
	if c.p == nil {
		topic := conversationTopic + x.ID
		c.p = &publisher{s: x.s, topic: topic, prefix: "sub", retention: retainedEvents}
		x.s.topics[topic] = c.p
		c.serve()
	}
	return c.p
}

// serve makes the conversation what its publisher publishes, under a new epoch.
func (c *conversation) serve() {
	c.p.state, c.p.bound = c.snapshot, c.snapshotBound
	c.p.start(c.seq)
}

// detach leaves the publisher of a session that goes out of memory to its subscribers, if it has any.
func (s *server) detach(x *session) {
	topic := conversationTopic + x.ID
	if p := s.topics[topic]; p != nil {
		p.log = nil
		if len(p.subs) == 0 {
			delete(s.topics, topic)
		}
	}
}

// rejoin takes over the publisher that an earlier life of the session in memory has left behind. Its subscribers get a
// snapshot, since nothing that they have is of the new epoch.
func (c *conversation) rejoin() {
	c.p = c.x.s.topics[conversationTopic+c.x.ID]
	if c.p == nil {
		return
	}
	c.serve()
	for _, sub := range c.p.subs {
		sub.replace()
		sub.arm()
	}
}

// followed reports whether V4 clients watch the session.
func (x *session) followed() bool { return x.chat != nil && x.chat.p != nil && len(x.chat.p.subs) > 0 }

func boundedString(most int) schema {
	return func(v any, path []any) []issue {
		if issues := nonEmpty(v, path); issues != nil {
			return issues
		}
		if len(v.(string)) > most {
			return []issue{tooBig("string", float64(most), fmt.Sprintf("Too big: expected string to have <=%d characters", most), path)}
		}
		return nil
	}
}

func nullable(s schema) schema {
	return func(v any, path []any) []issue {
		if v == nil {
			return nil
		}
		return s(v, path)
	}
}

// prefixed is a string that begins with one of the prefixes and has more to it.
func prefixed(prefixes ...string) schema {
	return func(v any, path []any) []issue {
		if issues := nonEmpty(v, path); issues != nil {
			return issues
		}
		for _, prefix := range prefixes {
			if rest, ok := strings.CutPrefix(v.(string), prefix); ok && rest != "" {
				return nil
			}
		}
		return []issue{{Code: "invalid_format", Format: "starts_with", Path: root(path), Message: "Invalid topic"}}
	}
}
