package hub

import (
	"golang.org/x/time/rate"

	"zcodehub/auth"
	"zcodehub/internal/wire"
)

// closeRevoked is the close code that means "pair again".
const closeRevoked = 4403

// Revoke closes every connection of a device at once. Whoever calls it has made
// sure that the device's credential admits nobody any more.
func (h *Hub) Revoke(device string) {
	for _, c := range h.allClients() {
		if p := c.who(); p.Device == device && !p.Local {
			c.sink.CloseSoon(closeRevoked, "this device was revoked: pair again")
		}
	}
	h.endLeases(device)
	h.notices.forget(device)
}

// deviceShare is how many times the pace of one connection all connections of a
// device may go together: more than anybody's windows and scripts need, and an
// end to a token that floods from thousands of connections.
const deviceShare = 100

// deviceUse is what the connections of one device have in common.
type deviceUse struct {
	connections int // guarded by Hub.mu
	rate        *rate.Limiter
}

// admitLocked counts a connection of a device in, if it may have one more; nil
// if not.
func (h *Hub) admitLocked(p *auth.Principal) *deviceUse {
	use := h.devices[p.Device]
	if use == nil {
		use = &deviceUse{rate: rate.NewLimiter(rate.Limit(h.opts.RateLimit*deviceShare), h.opts.RateBurst*deviceShare)}
		h.devices[p.Device] = use
	}
	if !p.Local && use.connections >= h.opts.MaxConnections {
		return nil
	}
	use.connections++
	return use
}

// leaveLocked counts a connection out, and tells whether it was the device's
// last.
func (h *Hub) leaveLocked(p *auth.Principal) (last bool) {
	use := h.devices[p.Device]
	if use.connections--; use.connections > 0 {
		return false
	}
	delete(h.devices, p.Device)
	return true
}

// audit hands one event to whoever keeps the record.
func (h *Hub) audit(e auth.AuditEvent) {
	if h.opts.Audit != nil {
		h.opts.Audit(e)
	}
}

func (c *Client) auditEvent(event, sessionID string, detail map[string]string) {
	p := c.who()
	c.hub.audit(auth.AuditEvent{Event: event, Name: p.Name, Device: p.Device, Addr: c.info.RemoteAddr, SessionID: sessionID, Detail: detail})
}

// auditPrompt notes that a prompt went to the agent: its length and hash, not
// its text.
func (c *Client) auditPrompt(r *request) {
	if c.hub.opts.Audit == nil {
		return
	}
	var raw []byte
	switch r.method {
	case "session/send":
		raw, _ = wire.Get(r.params, "content")
	case "v4/command":
		if kind, _ := member(r.params, "type"); kind != "sendText" && kind != "sendGoalCommand" {
			return
		}
		raw, _ = wire.Path(r.params, "payload", "text")
	default:
		return
	}
	text, _ := wire.StringValue(raw)
	c.auditEvent("prompt.sent", r.sessionID, auth.Digest([]byte(text)))
}
