package hub

import (
	"slices"
	"strings"
	"time"
)

const (
	// presenceEvery is the shortest time between two presence notices of one
	// session: a thousand clients that come at once must not tell each other of
	// every one.
	presenceEvery = time.Second
	// maxPresent is how many clients a notice names; total counts them all.
	maxPresent = 32
)

// present is one client as others see it. Kind and Visible are what it says of
// itself; the rest comes from its credential and connection.
type present struct {
	ConnectionID string    `json:"connectionId"`
	Name         string    `json:"name"`
	Device       string    `json:"device"`
	Kind         string    `json:"kind,omitempty"`
	Rights       []string  `json:"rights"`
	Visible      bool      `json:"visible"`
	Since        time.Time `json:"since"`
}

type presenceNotice struct {
	SessionID string    `json:"sessionId"`
	Total     int       `json:"total"`
	Clients   []present `json:"clients"`
}

// presentAt lists who follows a session, those who look first.
func (h *Hub) presentAt(sessionID string) presenceNotice {
	clients := h.attached(sessionID)
	notice := presenceNotice{SessionID: sessionID, Total: len(clients), Clients: []present{}}
	for _, c := range clients {
		p := c.who()
		c.mu.Lock()
		kind := c.kind
		c.mu.Unlock()
		notice.Clients = append(notice.Clients, present{c.id, p.Name, p.Device, kind, p.Rights.Names(), c.looksAt(sessionID), c.since})
	}
	slices.SortFunc(notice.Clients, func(a, b present) int {
		if a.Visible != b.Visible {
			if a.Visible {
				return -1
			}
			return 1
		}
		return strings.Compare(a.ConnectionID, b.ConnectionID)
	})
	if len(notice.Clients) > maxPresent {
		notice.Clients = notice.Clients[:maxPresent]
	}
	return notice
}

// tellPresence tells those who follow a session who does, soon: changes that
// come together are told together.
func (h *Hub) tellPresence(sessionID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.presenceDue[sessionID] {
		return
	}
	h.presenceDue[sessionID] = true
	h.time.after(presenceEvery, func() {
		h.mu.Lock()
		delete(h.presenceDue, sessionID)
		h.mu.Unlock()
		h.tellAttached(sessionID, notification("hub/presence", h.presentAt(sessionID)))
	})
}

// presence is hub/presence.
func (c *Client) presence(r *request) { c.reply(r, jsonOf(c.hub.presentAt(r.sessionID))) }
