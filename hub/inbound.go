package hub

import (
	"crypto/sha256"
	"strconv"
	"time"

	"zcodehub/fanout"
	"zcodehub/internal/wire"
	"zcodehub/session"
)

// reading is what the app-server's stdout goroutine keeps between lines. Only
// that goroutine touches it, and there is only one at a time.
type reading struct {
	envelope wire.Envelope
	scratch  []byte // for building an update
	touched  *session.Session
	others   map[*session.Session]struct{} // touched too, in the same batch

	workspaces map[[sha256.Size]byte]bool // that clients were told of, by hash
}

// inbound takes one line of the app-server, on its stdout goroutine:
//
//	inbound ── notification ─ update ──> Stream.Append … Publish at batch end
//	   │            └─ other ──────────> followers of its session
//	   ├─ request ─ interaction ───────> ledger, shown to those who may see it
//	   │      └─ for the hub ──────────> answered at once
//	   └─ reply ── calls.take ─────────> done: to its asker, behind the updates
//
// It never waits for a client.
func (h *Hub) inbound(line []byte, more bool) {
	h.metrics.lines.Inc()
	e := &h.reading.envelope
	if err := wire.ParseEnvelope(line, e); err != nil {
		h.badLine(err)
	} else {
		h.route(line, e)
	}
	if !more {
		h.endBatch()
	}
}

func (h *Hub) route(line []byte, e *wire.Envelope) {
	switch e.Kind {
	case wire.Notification:
		h.notified(line, e)
	case wire.Request:
		h.asked(e)
	case wire.Response, wire.Error:
		h.replied(e)
	case wire.Invalid:
	}
}

// badLine counts what is not a message; the next line is as good as ever.
func (h *Hub) badLine(err error) {
	h.metrics.badLines.Inc()
	h.log.Warn("the app-server printed a line that is no message", "error", err)
}

func (h *Hub) endBatch() {
	r := &h.reading
	if r.touched == nil && len(h.topics.touched) == 0 {
		return
	}
	now := time.Now()
	h.publishTopics(now)
	if r.touched == nil {
		return
	}
	r.touched.Stream.Publish(now)
	r.touched = nil
	for s := range r.others {
		s.Stream.Publish(now)
		delete(r.others, s)
	}
}

func (h *Hub) touch(s *session.Session) {
	r := &h.reading
	if r.touched == nil || r.touched == s {
		r.touched = s
		return
	}
	r.others[s] = struct{}{}
}

func (h *Hub) notified(line []byte, e *wire.Envelope) {
	switch string(e.Method) {
	case "session/event":
		h.updated(e)
	case "v4/conversation/frame":
		h.framed(e.Params)
	case "startup/storageState":
		h.storageState(e.Params)
	default:
		h.forwardNotification(line, e)
	}
}

// updated puts one event of a session into its stream.
func (h *Hub) updated(e *wire.Envelope) {
	if len(e.SessionID) == 0 || !e.HasSeq || e.Seq == 0 {
		h.metrics.badLines.Inc()
		h.log.Warn("the app-server sent an event without session or number")
		return
	}
	s := h.sessions.Get(e.SessionID)
	if s == nil || !s.Listening() {
		h.metrics.dropped.Inc() // of a session that was closed, or a residency that ended
		return
	}
	head := s.Stream.Head()
	if e.Seq != head+1 {
		if e.Seq <= head && e.Seq != 1 {
			h.metrics.dropped.Inc()
			h.log.Warn("the app-server repeated an event", "session", s.ID, "seq", e.Seq, "newest", head)
			return
		}
		h.brokeOff(s, e.Seq-1)
	}
	r := &h.reading
	r.scratch = session.AppendUpdate(r.scratch[:0], e.Seq-1, e.Params)
	s.Stream.Append(e.Seq, r.scratch)
	if cap(r.scratch) > maxScratch {
		r.scratch = nil
	}
	h.touch(s)
	if session.Settles(e.Type) {
		h.settled(s, s.Ledger.Observe(session.ParseEvent(e.Params), time.Now()))
	}
}

// maxScratch is the largest build buffer kept between lines: ordinary updates
// fit, and a 20 MiB one does not stay behind for ever.
const maxScratch = 1 << 20

// brokeOff begins a new epoch after seq: the numbers do not go on, so something
// was lost or the session was loaded anew. Those who follow get a snapshot.
func (h *Hub) brokeOff(s *session.Session, seq uint64) {
	h.metrics.gaps.Inc()
	h.log.Warn("the app-server's event numbers broke off", "session", s.ID, "newest", s.Stream.Head(), "next", seq+1)
	s.Stream.Reset(session.NewEpoch(), seq)
	h.reseatAll(s, "gap")
}

// forwardNotification hands on what is no update, as it came: to those who
// follow its session, or, where it names none, to those who may control
// everything. What is not meant for people is left out.
func (h *Hub) forwardNotification(line []byte, e *wire.Envelope) {
	if notForClients(e.Method) {
		h.metrics.dropped.Inc()
		return
	}
	if string(e.Method) == "state.updated" {
		h.tellWorkspace(e)
		h.noticeLoaded(e)
	}
	frame := fanout.Frame(line)
	if len(e.SessionID) == 0 {
		for _, c := range h.allClients() {
			if c.mayControlAll() {
				c.send(frame, nil)
			}
		}
		return
	}
	if s := h.sessions.Get(e.SessionID); s != nil {
		for _, sub := range s.Followers() {
			sub.Key.(*Client).send(frame, s)
		}
	}
}

// replied hands a reply to whoever asked.
func (h *Hub) replied(e *wire.Envelope) {
	id, ok := hubID(e.ID)
	var cl *call
	if ok {
		cl = h.calls.take(id)
	}
	if cl == nil {
		h.metrics.strayReplies.Inc()
		h.log.Warn("the app-server answered what nobody waits for", "id", string(e.ID[:min(len(e.ID), 64)]), "error", string(e.Error[:min(len(e.Error), 512)]))
		return
	}
	h.finish(cl, reply{result: e.Result, err: e.Error})
}

// storageState tells clients what the app-server does with its store while it
// starts (protocol document 1.6).
func (h *Hub) storageState(params []byte) {
	raw, _ := wire.Get(params, "phase")
	phase, _ := wire.StringValue(raw)
	status, _ := h.gate.snapshot()
	if status.State == stateReady {
		return
	}
	state := status.State
	switch phase {
	case "migrating", "committing", "waiting_for_lock":
		state = stateMigrating
	case "failed":
		state = stateFailed
		code, _ := wire.Get(params, "errorCode")
		text, _ := wire.StringValue(code)
		phase = "its store failed: " + text
	case "ready":
		phase = ""
	}
	if status, changed := h.gate.note(state, phase); changed {
		h.tellState(status)
	}
}

func appendID(dst []byte, id uint64) []byte { return strconv.AppendUint(dst, id, 10) }
