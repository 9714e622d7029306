package hub

import (
	"encoding/json"
	"sync"
	"time"

	"zcodehub/auth"
	"zcodehub/internal/wire"
	"zcodehub/session"
)

// How control of a session is shared among those who have the right.
const (
	ControlShared = "shared" // everybody steers
	ControlLease  = "lease"  // one device at a time; others may look and answer
)

const (
	// defaultLeaseGrace is how long a device keeps control without a connection: a
	// tunnel, a lift, a laptop that changes networks.
	defaultLeaseGrace = 30 * time.Second
	// defaultLeaseIdle is after how long without steering anybody may take control: a
	// page that was left open somewhere must not lock the session. It is longer
	// than it takes to read a long answer and think.
	defaultLeaseIdle = 5 * time.Minute
	// maxLeases bounds the sessions that one device holds: more than it can
	// follow, and an end to names that somebody made up.
	maxLeases = 256
)

// leases say who steers which session, if control is leased.
type leases struct {
	grace, idle time.Duration // fixed

	// telling is held while a change is told, so that the last notice tells how it
	// is. Before Hub.mu.
	telling sync.Mutex

	mu        sync.Mutex // before timekeeper.mu; under Hub.mu
	bySession map[string]*lease
	byDevice  map[string]int // how many each device holds
}

// A lease is one session in the hands of one device.
type lease struct {
	holder  holder
	steered time.Time // when the device last did
	due     *deadline // ends it, while the device has no connection
	// untold is the call with which the device took it, until the app-server has
	// taken that: a session that does not exist is nobody's.
	untold *request
}

type holder struct {
	Name         string    `json:"name"`
	Device       string    `json:"device"`
	ConnectionID string    `json:"connectionId"`
	Since        time.Time `json:"since"`
	// TakeableAt is when anybody may take it, unless the holder steers before.
	TakeableAt time.Time `json:"takeableAt"`
}

func newLeases(o Options) *leases {
	return &leases{grace: o.LeaseGrace, idle: o.LeaseIdle, bySession: map[string]*lease{}, byDevice: map[string]int{}}
}

func (l *leases) putLocked(sessionID string, c *Client, now time.Time) *lease {
	l.dropLocked(sessionID)
	p := c.who()
	le := &lease{steered: now, holder: holder{Name: p.Name, Device: p.Device, ConnectionID: c.id, Since: now}}
	l.bySession[sessionID] = le
	l.byDevice[p.Device]++
	return le
}

// dropLocked ends a lease. Its deadline finds it gone.
func (l *leases) dropLocked(sessionID string) {
	le := l.bySession[sessionID]
	if le == nil {
		return
	}
	delete(l.bySession, sessionID)
	if l.byDevice[le.holder.Device]--; l.byDevice[le.holder.Device] == 0 {
		delete(l.byDevice, le.holder.Device)
	}
}

func (l *leases) toldLocked(le *lease) *holder {
	h := le.holder
	h.TakeableAt = le.steered.Add(l.idle)
	return &h
}

// holds tells whether a client's device is the holder.
func (le *lease) holds(c *Client) bool { return le != nil && le.holder.Device == c.who().Device }

// controlNotice is hub/control, as an answer and as a notification.
type controlNotice struct {
	SessionID string  `json:"sessionId"`
	Mode      string  `json:"mode"`
	Holder    *holder `json:"holder"`
}

func (h *Hub) controlOf(sessionID string) controlNotice {
	h.leases.mu.Lock()
	defer h.leases.mu.Unlock()
	n := controlNotice{SessionID: sessionID, Mode: h.opts.Control}
	if le := h.leases.bySession[sessionID]; le != nil && le.untold == nil {
		n.Holder = h.leases.toldLocked(le)
	}
	return n
}

// heldLocked is the refusal of what only the holder may do.
func (l *leases) heldLocked(le *lease) *wire.ErrorObject {
	by := l.toldLocked(le)
	e := fault(codeControlHeld, "control of this session is held by "+by.Name+": take it, or ask to be handed it", "controlHeld", false, 0)
	data, err := json.Marshal(struct {
		Reason    string  `json:"reason"`
		Retryable bool    `json:"retryable"`
		Holder    *holder `json:"holder"`
	}{"controlHeld", false, by})
	if err == nil { // strings, a bool and times always marshal
		e.Data = data
	}
	return &e
}

func tooManyLeases() *wire.ErrorObject {
	e := fault(codeTooMany, "this device holds control of too many sessions: release some", "leases", false, 0)
	return &e
}

// maySteer tells whether a call that steers a session may go on, and refuses it
// if not. If nobody holds control, whoever steers first takes it; others are
// told when the app-server has taken the call.
func (c *Client) maySteer(r *request) bool {
	if c.hub.opts.Control != ControlLease || !r.steers || r.sessionID == "" {
		return true
	}
	if refused := c.hub.leases.steer(c, r); refused != nil {
		c.refuse(r.id, *refused)
		return false
	}
	return true
}

func (l *leases) steer(c *Client, r *request) *wire.ErrorObject {
	l.mu.Lock()
	defer l.mu.Unlock()
	le, now := l.bySession[r.sessionID], time.Now()
	switch {
	case le.holds(c):
		le.steered = now
	case le != nil:
		return l.heldLocked(le)
	case l.byDevice[c.who().Device] >= maxLeases:
		return tooManyLeases()
	default:
		l.putLocked(r.sessionID, c, now).untold = r
	}
	return nil
}

// Steers tells whether nobody else holds control of a session now.
func (c *Client) Steers(sessionID string) bool {
	l := c.hub.leases
	l.mu.Lock()
	defer l.mu.Unlock()
	le := l.bySession[sessionID]
	return le == nil || le.holds(c)
}

// steered notes how a call that steers ended: with success the device that made
// it holds the session, else a lease that came of this call alone is over.
func (c *Client) steered(r *request, sessionID string, ok bool) {
	h := c.hub
	if h.opts.Control != ControlLease || sessionID == "" {
		return
	}
	l := h.leases
	l.mu.Lock()
	le := l.bySession[sessionID]
	took := false
	switch {
	case !ok:
		if le != nil && le.untold == r {
			l.dropLocked(sessionID)
		}
	case le == nil && r.sessionID == "" && l.byDevice[c.who().Device] < maxLeases: // the call made the session
		l.putLocked(sessionID, c, time.Now())
		took = true
	case le.holds(c) && le.untold != nil:
		le.untold = nil
		took = true
	}
	l.mu.Unlock()
	if took {
		h.controlChanged(sessionID, session.Entry{Outcome: "taken", By: c.authorRef()})
		h.leaseIfAway(c.who().Device)
	}
}

// control is hub/control.
func (c *Client) control(r *request) {
	action, _ := member(r.params, "action")
	h := c.hub
	switch {
	case r.sessionID == "":
		c.refuse(r.id, badParams("sessionId: Invalid input: expected string"))
	case action == "state":
		c.reply(r, jsonOf(h.controlOf(r.sessionID)))
	case action != "take" && action != "release" && action != "handOver":
		c.refuse(r.id, badParams(`action: Invalid option: expected one of "take"|"release"|"handOver"|"state"`))
	case !c.has(auth.Control):
		c.refuse(r.id, forbidden("this token does not allow to take control"))
	case h.opts.Control != ControlLease:
		c.refuse(r.id, fault(codeForbidden, "control is shared on this hub: everybody who may control steers", "controlShared", false, 0))
	case action == "handOver":
		c.handOver(r)
	case action == "take":
		c.finishControl(r, h.take(c, r.sessionID))
	default:
		c.finishControl(r, h.release(c, r.sessionID))
	}
}

func (c *Client) finishControl(r *request, refused *wire.ErrorObject) {
	if refused != nil {
		c.refuse(r.id, *refused)
		return
	}
	c.reply(r, jsonOf(c.hub.controlOf(r.sessionID)))
}

// take gives a session to a client that asks for it, if nobody holds it, the
// holder has not steered for a while, or the client is an admin.
func (h *Hub) take(c *Client, sessionID string) *wire.ErrorObject {
	before, changed, refused := h.leases.take(c, sessionID)
	if refused != nil || !changed {
		return refused
	}
	h.controlChanged(sessionID, session.Entry{Outcome: "taken", By: c.authorRef(), Summary: before})
	h.leaseIfAway(c.who().Device)
	return nil
}

// take also names who held the session before, if that was another device.
func (l *leases) take(c *Client, sessionID string) (before string, changed bool, refused *wire.ErrorObject) {
	l.mu.Lock()
	defer l.mu.Unlock()
	le, now := l.bySession[sessionID], time.Now()
	switch {
	case le.holds(c):
		changed = le.untold != nil || le.holder.ConnectionID != c.id
		le.steered, le.holder.ConnectionID, le.untold = now, c.id, nil
		return "", changed, nil
	case le != nil && now.Sub(le.steered) < l.idle && !c.has(auth.Admin):
		return "", false, l.heldLocked(le)
	case l.byDevice[c.who().Device] >= maxLeases:
		return "", false, tooManyLeases()
	case le != nil:
		before = le.holder.Name
	}
	l.putLocked(sessionID, c, now)
	return before, true, nil
}

// release lets a session go.
func (h *Hub) release(c *Client, sessionID string) *wire.ErrorObject {
	released, refused := h.leases.release(c, sessionID)
	if released {
		h.controlChanged(sessionID, session.Entry{Outcome: "released", By: c.authorRef()})
	}
	return refused
}

func (l *leases) release(c *Client, sessionID string) (released bool, refused *wire.ErrorObject) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch le := l.bySession[sessionID]; {
	case le == nil:
		return false, nil
	case !le.holds(c) && !c.has(auth.Admin):
		return false, l.heldLocked(le)
	}
	l.dropLocked(sessionID)
	return true, nil
}

// handOver gives a session to another device, which must be here, and allowed to
// steer it.
func (c *Client) handOver(r *request) {
	h := c.hub
	device, _ := member(r.params, "to")
	var next *Client
	for _, other := range h.allClients() {
		if p := other.who(); p.Device == device && p.Rights.Has(auth.Control) && (next == nil || other.looksAt(r.sessionID)) {
			next = other
		}
	}
	nobody := badParams("to: Invalid input: expected the device of a client that is connected and may control this session")
	if next == nil {
		c.refuse(r.id, nobody)
		return
	}
	next.visible(r.sessionID, func(sees bool) {
		if !sees {
			c.refuse(r.id, nobody)
			return
		}
		c.finishControl(r, h.give(c, next, r.sessionID))
	})
}

func (h *Hub) give(from, to *Client, sessionID string) *wire.ErrorObject {
	if refused := h.leases.give(from, to, sessionID); refused != nil {
		return refused
	}
	h.controlChanged(sessionID, session.Entry{Outcome: "handedOver", By: from.authorRef(), Summary: to.who().Name})
	h.leaseIfAway(to.who().Device)
	return nil
}

func (l *leases) give(from, to *Client, sessionID string) *wire.ErrorObject {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch le := l.bySession[sessionID]; {
	case le != nil && !le.holds(from) && !from.has(auth.Admin):
		return l.heldLocked(le)
	case l.byDevice[to.who().Device] >= maxLeases:
		return tooManyLeases()
	}
	l.putLocked(sessionID, to, time.Now())
	return nil
}

// controlChanged tells those who follow a session who holds it now.
func (h *Hub) controlChanged(sessionID string, e session.Entry) {
	h.leases.telling.Lock()
	h.tellAttached(sessionID, notification("hub/control", h.controlOf(sessionID)))
	h.leases.telling.Unlock()
	e.Kind = session.ActControl
	h.note(sessionID, e)
}

// leaseIfAway looks again after a lease was given: the device may have left in
// between.
func (h *Hub) leaseIfAway(device string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.devices[device] == nil {
		h.holderLeftLocked(device)
	}
}

// holderLeftLocked begins the grace of all leases of a device that has no
// connection any more.
func (h *Hub) holderLeftLocked(device string) {
	l := h.leases
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byDevice[device] == 0 {
		return
	}
	for id, le := range l.bySession {
		if le.holder.Device == device && le.due == nil {
			le.due = h.time.after(l.grace, func() { h.endLease(id, le) })
		}
	}
}

// holderCameLocked ends that grace: the device is back.
func (h *Hub) holderCameLocked(device string) {
	l := h.leases
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byDevice[device] == 0 {
		return
	}
	for _, le := range l.bySession {
		if le.holder.Device == device {
			h.time.cancel(le.due)
			le.due = nil
		}
	}
}

// endLease takes a session from a device that did not come back.
func (h *Hub) endLease(sessionID string, le *lease) {
	l := h.leases
	l.mu.Lock()
	over := l.bySession[sessionID] == le && le.due != nil
	if over {
		l.dropLocked(sessionID)
	}
	l.mu.Unlock()
	if over {
		h.leaseEnded(sessionID, le)
	}
}

func (h *Hub) leaseEnded(sessionID string, le *lease) {
	h.controlChanged(sessionID, session.Entry{Outcome: "ended", By: &session.Author{Name: le.holder.Name, Device: le.holder.Device}})
}

// endLeases takes all from a device that was revoked.
func (h *Hub) endLeases(device string) {
	l := h.leases
	l.mu.Lock()
	ended := map[string]*lease{}
	for id, le := range l.bySession {
		if le.holder.Device == device {
			ended[id] = le
			h.time.cancel(le.due)
			l.dropLocked(id)
		}
	}
	l.mu.Unlock()
	for id, le := range ended {
		h.leaseEnded(id, le)
	}
}
