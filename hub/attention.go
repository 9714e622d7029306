package hub

import (
	"zcodehub/internal/wire"
	"zcodehub/session"
)

// attention is what a client says of the person before it.
type attention struct {
	visible   bool
	sessionID string // which session is looked at; empty for all
}

// setAttention is hub/attention: a page says whether somebody can see it, and what.
func (c *Client) setAttention(r *request) {
	raw, _ := wire.Get(r.params, "visible")
	if text := string(raw); text != "true" && text != "false" {
		c.refuse(r.id, badParams("visible: Invalid input: expected boolean"))
		return
	}
	now := attention{visible: string(raw) == "true", sessionID: r.sessionID}
	c.mu.Lock()
	before := c.attention
	c.attention = now
	c.mu.Unlock()
	c.replyAtOnce(r, []byte("{}"))
	if before.visible && !now.visible {
		c.hub.lookedAway(c.who().Device)
	}
	if now != before {
		for _, id := range c.followed() {
			c.hub.tellPresence(id)
		}
	}
}

// looksAt tells whether somebody sees a session on this client.
func (c *Client) looksAt(sessionID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attention.visible && (c.attention.sessionID == "" || c.attention.sessionID == sessionID)
}

// looks tells whether somebody sees anything on this client.
func (c *Client) looks() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attention.visible
}

// followed lists the sessions that the client follows.
func (c *Client) followed() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]string, 0, len(c.subs)+len(c.places))
	for id := range c.subs {
		ids = append(ids, id)
	}
	for _, p := range c.places {
		if id := p.topic.SessionID(); id != "" && c.subs[id] == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// follows tells whether the client follows a session, by its events or its
// topic.
func (c *Client) follows(sessionID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subs[sessionID] != nil || c.places[session.TopicConversation+sessionID] != nil
}
