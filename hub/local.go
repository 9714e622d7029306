package hub

import (
	"time"

	"zcodehub/auth"
	"zcodehub/fanout"
	"zcodehub/internal/wire"
	"zcodehub/session"
)

// maxIdentity bounds what a client says of itself; it is shown to others.
const maxIdentity = 256

// initialize binds the client id and says what the client is.
func (c *Client) initialize(r *request) {
	id, _ := member(r.params, "clientId")
	kind, _ := member(r.params, "clientKind")
	version, _ := member(r.params, "appVersion")
	interactions, narrows := member(r.params, "interactions")
	switch {
	case id == "" || len(id) > maxIdentity:
		c.refuse(r.id, badParams("clientId: Invalid input: expected a string of 1 to 256 bytes"))
		return
	case len(kind) > maxIdentity || len(version) > maxIdentity:
		c.refuse(r.id, badParams("clientKind, appVersion: Invalid input: at most 256 bytes"))
		return
	case narrows && interactions != "subscribed" && interactions != "all":
		c.refuse(r.id, badParams(`interactions: Invalid option: expected one of "subscribed"|"all"`))
		return
	}
	c.mu.Lock()
	if c.clientID != "" && c.clientID != id {
		c.mu.Unlock()
		c.refuse(r.id, wire.ErrorObject{Code: codeInternal, Message: "fault.connection.clientChanged"})
		return
	}
	c.clientID, c.kind, c.version = id, kind, version
	c.onlySubscribed = interactions == "subscribed"
	c.mu.Unlock()
	c.reply(r, jsonOf(map[string]string{"clientId": id, "connectionId": c.id}))
}

// setProfile moves the client and all that it follows to another profile.
func (c *Client) setProfile(r *request) {
	name, _ := member(r.params, "profile")
	profile := auth.Profile(name)
	if profile != auth.Continuous && profile != auth.Replayable {
		c.refuse(r.id, badParams(`profile: Invalid option: expected one of "desktop-continuous"|"web-remote-replayable"`))
		return
	}
	if !c.who().Allows(profile) {
		c.refuse(r.id, forbidden("this token does not allow the profile "+name))
		return
	}
	c.mu.Lock()
	c.profile = profile
	subs := make([]*fanout.Subscription, 0, len(c.subs))
	for _, sub := range c.subs {
		subs = append(subs, sub)
	}
	for _, p := range c.places {
		if !p.filtered {
			subs = append(subs, p.sub)
		}
	}
	c.mu.Unlock()
	result := jsonOf(map[string]string{"clientMode": name, "deliveryProfile": profile.Delivery()})
	_ = c.outbox.Change(resultFrame(r.id, result), deliveryOf(profile), subs...)
}

// pendingInteractions lists what is open and what was settled lately, in all
// sessions that the client sees or in one.
func (c *Client) pendingInteractions(r *request) {
	pending, settled := []described{}, []session.Settlement{}
	for _, s := range c.hub.sessions.All() {
		if !c.sees(s) || (r.sessionID != "" && s.ID != r.sessionID) {
			continue
		}
		for _, in := range s.Ledger.Open() {
			pending = append(pending, describe(in, in.Offered(c.who().Rights)))
		}
		settled = append(settled, s.Ledger.Settled()...)
	}
	c.reply(r, jsonOf(map[string]any{"pending": pending, "settled": settled}))
}

// ping answers at once: a client's own look whether the hub still hears it.
func (c *Client) ping(r *request) {
	c.replyAtOnce(r, jsonOf(map[string]int64{"serverTime": time.Now().UnixMilli()}))
}

// replyAtOnce answers without waiting for what the client is still owed.
func (c *Client) replyAtOnce(r *request, result []byte) {
	_ = c.outbox.Send(resultFrame(r.id, result))
}

// refreshToken takes a newer token of the same device.
func (c *Client) refreshToken(r *request) {
	token, _ := member(r.params, "token")
	refused := fault(codeForbidden, "the token is not accepted", "token", false, 0)
	if c.hub.opts.Verify == nil {
		c.refuse(r.id, refused)
		return
	}
	next, err := c.hub.opts.Verify(token, time.Now())
	if err == nil {
		err = c.who().CheckSuccessor(next)
	}
	if err != nil {
		c.hub.log.Warn("a newer token was refused", "connection", c.id, "error", auth.Cause(err))
		c.refuse(r.id, refused)
		return
	}
	before := c.principal.Swap(next)
	c.keepWithin(before, next)
	if e, ok := c.sink.(Extender); ok {
		e.ExtendUntil(next.ExpiresAt)
	}
	c.reply(r, jsonOf(map[string]any{"expiresAt": next.ExpiresAt, "rights": next.Rights.Names()}))
}

func (c *Client) restartAppServer(r *request) {
	c.hub.log.Warn("restart asked for by a client", "by", c.who().Name, "device", c.who().Device)
	c.reply(r, []byte("{}"))
	c.hub.requestRestart("asked for by " + c.who().Name)
}

// flow is the client's own brake: it holds back its own queue and nobody's else.
func (c *Client) flow(r *request) {
	state, _ := member(r.params, "state")
	switch state {
	case "saturated":
		c.outbox.Pause()
	case "drained", "closed":
		c.outbox.Resume()
	default:
		c.refuse(r.id, wire.ErrorObject{Code: codeInternal, Message: "state: Invalid option: expected one of \"saturated\"|\"drained\"|\"closed\""})
		return
	}
	c.replyAtOnce(r, []byte("{}"))
}
