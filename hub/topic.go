package hub

import (
	"strings"
	"time"

	"zcodehub/auth"
	"zcodehub/internal/wire"
	"zcodehub/session"
	"zcodehub/session/conversation"
)

// topics are the V4 topics that somebody follows, or followed lately.
//
//	client ─ v4/conversation/subscribe ─> open ─ once ─> app-server
//	app-server ─ v4/conversation/frame ─> Assembler ─> Topic.Take ─┬─> lanes ─> clients
//	                                                               └─> state, from which clients get snapshots
type topics struct {
	assembler conversation.Assembler // owned by the stdout goroutine

	// guarded by Hub.mu
	byName  map[string]*session.Topic
	linger  map[*session.Topic]*deadline // unsubscribes when it is due
	asking  map[*session.Topic]bool      // a resync is under way
	touched []*session.Topic             // owned by the stdout goroutine: to be published at batch end
}

// topicConnection is the hub's own connection id upstream: one subscription for
// each topic, whatever the number of clients.
func (h *Hub) topicConnection() string { return "hub-" + h.epoch }

// topic finds or enters a topic.
func (h *Hub) topic(name string) *session.Topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics.byName[name]
	if t == nil {
		t = session.NewTopic(name, h.budget, int(h.opts.MaxMessageBytes))
		h.topics.byName[name] = t
	}
	return t
}

func (h *Hub) findTopic(name string) *session.Topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.topics.byName[name]
}

func (h *Hub) allTopics() []*session.Topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*session.Topic, 0, len(h.topics.byName))
	for _, t := range h.topics.byName {
		all = append(all, t)
	}
	return all
}

// openTopic makes sure that the topic's frames come. done is called when its
// state is there, or with the error object that says why not; it may be nil.
func (h *Hub) openTopic(t *session.Topic, done func(err []byte)) {
	already, begin := t.Listen(done)
	switch {
	case already && done != nil:
		done(nil)
	case begin:
		h.joinTopic(t)
	}
}

func (h *Hub) joinTopic(t *session.Topic) {
	params := map[string]any{"topic": t.Name, "connectionId": h.topicConnection(), "clientMode": auth.Continuous}
	if path := workspaceOfTopic(t.Name); path != "" {
		params["workspace"] = map[string]string{"workspacePath": path, "workspaceKey": path}
	}
	h.ask("v4/conversation/subscribe", jsonOf(params), func(r reply) {
		raw, _ := wire.Path(r.result, "ack", "subscriptionId")
		id, ok := wire.StringValue(raw)
		switch {
		case r.own: // the app-server ended: whoever follows waits for the next one
			failAll(t.Lost(), r.err)
			h.tryAgain(&t.Feed, func() { h.openTopic(t, nil) })
			return
		case r.err != nil || !ok:
			h.topicLost(t, r.err)
			return
		}
		t.Subscribed(id) // the initial frame follows the reply at once (protocol document 1.5)
	})
}

// workspaceOfTopic is the workspace that an index or settings topic names.
func workspaceOfTopic(name string) string {
	for _, family := range []string{session.TopicIndex, session.TopicConfig} {
		if path, ok := strings.CutPrefix(name, family); ok {
			return path
		}
	}
	return ""
}

// topicLost tells those who waited for a topic, and those who followed it, that
// it does not come.
func (h *Hub) topicLost(t *session.Topic, err []byte) {
	if err == nil {
		err = rawError(wire.ErrorObject{Code: codeInternal, Message: "the app-server acknowledged without a subscriptionId"})
	}
	failAll(t.Lost(), err)
	for _, sub := range t.Followers() {
		place := sub.Key.(*topicPlace)
		place.client.lose(place, err)
	}
	h.dropTopic(t)
}

func failAll(waiters []session.Waiter, err []byte) {
	for _, w := range waiters {
		w(err)
	}
}

// framed takes one physical frame of the app-server.
func (h *Hub) framed(params []byte) {
	now := time.Now()
	for _, fault := range h.topics.assembler.Expire(now) {
		h.frameFault(fault)
	}
	frame, fault := h.topics.assembler.Add(params, now)
	switch {
	case fault != nil:
		h.frameFault(fault)
	case frame != nil:
		h.takeFrame(frame)
	}
}

func (h *Hub) frameFault(f *conversation.Fault) {
	h.metrics.frameFaults.WithLabelValues(f.Code).Inc()
	h.log.Warn("a frame of the app-server was lost", "fault", f.Code, "topic", f.Topic)
	h.topics.assembler.Forget(f.Topic, f.SubscriptionID) // its ordinal may have been wrong: the recovery's is the one that counts
	if t := h.findTopic(f.Topic); t != nil && t.Upstream() == f.SubscriptionID {
		h.resync(t)
	}
}

// takeFrame folds a whole frame and hands it on.
func (h *Hub) takeFrame(f *conversation.Frame) {
	t := h.findTopic(f.Topic)
	if t == nil {
		h.metrics.dropped.Inc() // of a topic that was left
		return
	}
	taken, err := t.Take(f)
	if err != nil {
		h.log.Warn("a frame of the app-server does not fit", "topic", t.Name, "error", err)
		h.resync(t)
		return
	}
	if taken.Ignored {
		h.metrics.dropped.Inc()
		return
	}
	if taken.Mismatch {
		h.metrics.mismatches.Inc()
		h.log.Error("the state of a topic was not what the app-server has", "topic", t.Name)
	}
	h.topics.touched = append(h.topics.touched, t)
	if taken.Reseat {
		h.reopenAll(t)
	} else {
		h.tellFiltered(t, f)
	}
	for _, w := range taken.Waiters {
		w(nil)
	}
	if taken.Reseat && t.Unused() {
		h.leaveTopicSoon(t) // those who wanted it have gone meanwhile
	}
	if taken.Doubtful {
		h.resync(t)
	}
	h.confirmAnswered(t, taken.Answered)
}

// confirmAnswered settles decisions whose question the agent lists no more.
func (h *Hub) confirmAnswered(t *session.Topic, requestIDs []string) {
	if len(requestIDs) == 0 {
		return
	}
	s := h.sessions.Get([]byte(t.SessionID()))
	if s == nil {
		return
	}
	for _, id := range requestIDs {
		if st, ok := s.Ledger.Confirm(id, time.Now()); ok {
			h.settled(s, []session.Settlement{st})
		}
	}
}

// publishTopics ends a batch of frames.
func (h *Hub) publishTopics(now time.Time) {
	for i, t := range h.topics.touched {
		t.Stream.Publish(now)
		h.topics.touched[i] = nil
	}
	h.topics.touched = h.topics.touched[:0]
}

// resync asks for a snapshot after something went wrong, once at a time.
func (h *Hub) resync(t *session.Topic) {
	upstream := t.Upstream()
	if upstream == "" {
		return // it is subscribed anew, and that brings one
	}
	h.mu.Lock()
	under := h.topics.asking[t]
	h.topics.asking[t] = true
	h.mu.Unlock()
	if under {
		return
	}
	h.metrics.resyncs.Inc()
	params := jsonOf(map[string]any{"topic": t.Name, "subscriptionId": upstream, "connectionId": h.topicConnection(), "base": nil, "forceSnapshot": true})
	h.ask("v4/conversation/resync", params, func(r reply) {
		h.mu.Lock()
		delete(h.topics.asking, t)
		h.mu.Unlock()
		if r.err != nil && !r.own {
			h.joinTopic(t) // the app-server knows nothing of the subscription: begin again
		}
	})
}

// checkEvery is how often the folded state of a busy topic is compared with the
// app-server's own: seldom enough to cost nothing, often enough to find a fault
// of the fold in a day of work.
const checkEvery = 10 * time.Minute

// checkTopics asks for a snapshot of every open topic; Topic.Take compares.
func (h *Hub) checkTopics() {
	for _, t := range h.allTopics() {
		if t.Listening() && len(t.Followers()) > 0 {
			h.resync(t)
		}
	}
	h.time.after(checkEvery, h.checkTopics)
}

// leaveTopicSoon keeps a topic that nobody follows for a while, so that a phone
// that comes back resumes, and then lets the app-server evict it.
func (h *Hub) leaveTopicSoon(t *session.Topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.topics.byName[t.Name] != t {
		return
	}
	h.time.cancel(h.topics.linger[t]) // of an earlier leave: the while begins anew
	h.topics.linger[t] = h.time.after(h.opts.TopicLinger, func() { h.leaveTopic(t) })
}

// leaveTopic drops a topic that nobody follows, here and upstream.
func (h *Hub) leaveTopic(t *session.Topic) {
	if !h.dropTopic(t) {
		return
	}
	id := t.Upstream()
	if id == "" {
		return
	}
	params := jsonOf(map[string]string{"topic": t.Name, "subscriptionId": id, "connectionId": h.topicConnection()})
	h.ask("v4/conversation/unsubscribe", params, func(r reply) {
		if !r.own { // then this is the stdout goroutine, which the assembler belongs to
			h.topics.assembler.Forget(t.Name, id)
		}
	})
}

// dropTopic forgets a topic that nobody follows or waits for. Whoever found it
// just before notices after having entered it (see enterTopic).
func (h *Hub) dropTopic(t *session.Topic) bool {
	h.mu.Lock()
	drop := h.topics.byName[t.Name] == t && t.Unused()
	if drop {
		delete(h.topics.byName, t.Name)
		h.time.cancel(h.topics.linger[t])
		delete(h.topics.linger, t)
	}
	h.mu.Unlock()
	if drop {
		t.Stream.Close()
	}
	return drop
}

// topicsAway notes that the app-server is gone, and with it its subscriptions.
func (h *Hub) topicsAway() {
	for _, t := range h.allTopics() {
		failAll(t.Lost(), rawError(unavailable("exited", true)))
	}
	h.topics.assembler = conversation.Assembler{}
}

// rejoinTopics subscribes again to what is followed; the rest is dropped.
func (h *Hub) rejoinTopics() {
	for _, t := range h.allTopics() {
		if len(t.Followers()) > 0 {
			h.openTopic(t, nil)
		} else {
			h.dropTopic(t)
		}
	}
}
