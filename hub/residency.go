package hub

import (
	"sync"
	"time"

	"zcodehub/auth"
	"zcodehub/internal/wire"
	"zcodehub/session"
)

// listen makes sure that the app-server sends this session's events: one
// subscribe for each residency, whatever the number of clients (protocol
// document 2.3). done is called with nil when they come, at once if they
// already do, else on the app-server's stdout goroutine; or with the error
// object that says why not. It may be nil.
func (h *Hub) listen(s *session.Session, done func(err []byte)) {
	already, begin := s.Listen(done)
	switch {
	case already && done != nil:
		done(nil)
	case begin:
		h.join(s, maxResumes, func() {})
	}
}

// maxResumes is how often a session is resumed for one subscribe: the
// app-server may evict it before it is subscribed to.
const maxResumes = 3

// join sends the subscribe. A session that is not resident is resumed first, as
// often as left says. answered is called when the subscribe has been.
func (h *Hub) join(s *session.Session, left int, answered func()) {
	params := jsonOf(map[string]string{"sessionId": s.ID, "deliveryKind": string(auth.Continuous)})
	h.ask("session/subscribe", params, func(r reply) {
		answered()
		switch {
		case r.err == nil:
			raw, _ := wire.Get(r.result, "eventSeq")
			seq, _ := wire.Int64(raw)
			h.joined(s, uint64(max(seq, 0)))
		case isNotActive(r.err) && left > 0:
			h.loading.enter(func(leave func()) {
				h.resume(s.ID, func(err []byte) {
					if err != nil {
						leave()
						h.notJoined(s, err)
						return
					}
					h.join(s, left-1, leave)
				})
			})
		default:
			h.notJoined(s, r.err)
		}
	})
}

// maxLoading is how many sessions may be between their resume and their
// subscribe at once. An app-server keeps 8 that nobody subscribed to (protocol
// document 1.8): of more, those that were loaded first are evicted again.
const maxLoading = 4

// A turnstile lets maxLoading in at once; the others wait in their order. No
// more wait than there are sessions: each joins once at a time.
type turnstile struct {
	mu      sync.Mutex // a leaf
	inside  int
	waiting []func(leave func())
}

// enter runs f when there is room, at once or on the goroutine of whoever makes
// room. f sees to it that leave is called once.
func (t *turnstile) enter(f func(leave func())) {
	t.mu.Lock()
	if t.inside == maxLoading {
		t.waiting = append(t.waiting, f)
		t.mu.Unlock()
		return
	}
	t.inside++
	t.mu.Unlock()
	f(t.leave)
}

func (t *turnstile) leave() {
	t.mu.Lock()
	if len(t.waiting) == 0 {
		t.inside--
		t.mu.Unlock()
		return
	}
	next := t.waiting[0]
	t.waiting = t.waiting[1:]
	t.mu.Unlock()
	next(t.leave)
}

func (h *Hub) joined(s *session.Session, seq uint64) {
	waiters, reseat := s.Joined(true, seq)
	h.log.Debug("listening to a session", "session", s.ID, "seq", seq)
	if reseat && len(s.Followers()) > 0 {
		h.reseatAll(s, "resumed")
	}
	for _, w := range waiters {
		w(nil)
	}
}

// notJoined tells those who waited, and those who followed the session before
// the app-server lost it: their subscriptions are over.
func (h *Hub) notJoined(s *session.Session, err []byte) {
	waiters, _ := s.Joined(false, 0)
	for _, w := range waiters {
		w(err)
	}
	if isGone(err) && !isNotActive(err) {
		h.tellGone(s)
	}
	h.tryAgain(&s.Feed, func() { h.listen(s, nil) })
	h.forgetIfUnused(s)
}

// tellGone ends the subscriptions to a session that the app-server does not have
// any more.
func (h *Hub) tellGone(s *session.Session) {
	for _, sub := range s.Followers() {
		c := sub.Key.(*Client)
		c.sendSnapshot(s, "gone", nil)
		c.unfollow(s.ID)
	}
	h.activity.Forget(s.ID)
}

// joinRetry is the pause before a feed is asked for again that did not come: an
// app-server that is busy or restarting has a moment then.
const joinRetry = 2 * time.Second

// tryAgain asks once more, later, for a feed that somebody still follows.
func (h *Hub) tryAgain(f *session.Feed, join func()) {
	if len(f.Followers()) == 0 {
		return
	}
	h.time.after(joinRetry, func() {
		if len(f.Followers()) > 0 && !f.Listening() {
			join()
		}
	})
}

// resume loads a session that the app-server has evicted. Whoever asks while it
// is under way waits for the same answer.
func (h *Hub) resume(sessionID string, done func(err []byte)) {
	h.mu.Lock()
	waiting := h.resuming[sessionID]
	h.resuming[sessionID] = append(waiting, done)
	h.mu.Unlock()
	if len(waiting) > 0 {
		return
	}
	h.ask("session/resume", h.servers.resumeParams(sessionID), func(r reply) {
		h.mu.Lock()
		waiters := h.resuming[sessionID]
		delete(h.resuming, sessionID)
		h.mu.Unlock()
		if r.err == nil {
			h.metrics.resumes.Inc()
			h.loadedAnew(sessionID)
		}
		for _, w := range waiters {
			w(r.err)
		}
	})
}

// loadedAnew notes a new residency: the subscribe of the old one is gone, and
// with it the event numbers.
func (h *Hub) loadedAnew(sessionID string) {
	s := h.sessions.Get([]byte(sessionID))
	if s == nil {
		return
	}
	s.Away()
	if len(s.Followers()) > 0 {
		h.listen(s, nil)
	}
}

// noticeLoaded finds out that a session was loaded anew although nobody asked for
// that here: a V4 command, for one, loads what was evicted or closed, and nothing
// comes to those who follow it as events. e is a state.updated, which comes
// without a subscription.
func (h *Hub) noticeLoaded(e *wire.Envelope) {
	s := h.sessions.Get(e.SessionID)
	if s == nil {
		return
	}
	raw, _ := wire.Get(e.Params, "revision")
	revision, _ := wire.Int64(raw)
	raw, _ = wire.Get(e.Params, "reason")
	if s.Revised(revision) || string(raw) == `"prompt_started"` && !s.Listening() {
		h.loadedAnew(s.ID)
	}
}

// snapshot asks the app-server for a session's state, once for all who wait. w
// is called on the stdout goroutine, when the stream holds exactly what the
// snapshot includes, or with nil if there is none.
func (h *Hub) snapshot(s *session.Session, w session.SnapshotWaiter) {
	if s.AskSnapshot(w) {
		h.read(s, false)
	}
}

// bringSnapshot is snapshot for those who must have one: it asks again while
// somebody follows the session and the app-server is only in trouble. If the
// session is gone, that is told instead.
func (h *Hub) bringSnapshot(s *session.Session, w session.SnapshotWaiter) {
	h.snapshot(s, func(snapshot []byte) {
		switch {
		case snapshot != nil:
			w(snapshot)
		case len(s.Followers()) > 0:
			h.time.after(joinRetry, func() { h.bringSnapshot(s, w) })
		}
	})
}

func (h *Hub) read(s *session.Session, resumed bool) {
	h.ask("session/read", jsonOf(map[string]string{"sessionId": s.ID}), func(r reply) {
		if r.err != nil && isNotActive(r.err) && !resumed {
			h.resume(s.ID, func([]byte) { h.read(s, true) })
			return
		}
		if r.err != nil {
			h.log.Warn("no snapshot of a session", "session", s.ID, "error", string(r.err))
			if isGone(r.err) {
				h.tellGone(s)
			}
		} else {
			info, _ := wire.Get(r.result, "session")
			s.SetWorkspace(workspaceOf(info))
		}
		for _, w := range s.SnapshotCame() {
			w(r.result)
		}
	})
}

// forgetIfUnused drops a session that nothing speaks of any more.
func (h *Hub) forgetIfUnused(s *session.Session) { h.sessions.RemoveUnused(s) }
