package hub

import (
	"slices"
	"strings"
	"time"

	"zcodehub/session"
)

const (
	// presenceEvery is the shortest time between two presence notices of one
	// session: a thousand clients that come at once must not tell each other of
	// every one.
	presenceEvery = time.Second
	// maxPresent is how many clients a notice names; total counts them all.
	maxPresent = 32
)

// present is one client as others see it. All of it but kind comes from its
// credential.
type present struct {
	ConnectionID string   `json:"connectionId"`
	Name         string   `json:"name"`
	Device       string   `json:"device"`
	Rights       []string `json:"rights"`
	ClientKind   string   `json:"clientKind,omitempty"`
}

type presenceNotice struct {
	SessionID string    `json:"sessionId"`
	Total     int       `json:"total"`
	Clients   []present `json:"clients"`
}

// presentAt lists who follows a session.
func presentAt(s *session.Session) presenceNotice {
	followers := s.Followers()
	notice := presenceNotice{SessionID: s.ID, Total: len(followers), Clients: []present{}}
	for _, sub := range followers {
		c := sub.Key.(*Client)
		p := c.who()
		c.mu.Lock()
		kind := c.kind
		c.mu.Unlock()
		notice.Clients = append(notice.Clients, present{c.id, p.Name, p.Device, p.Rights.Names(), kind})
	}
	slices.SortFunc(notice.Clients, func(a, b present) int { return strings.Compare(a.ConnectionID, b.ConnectionID) })
	if len(notice.Clients) > maxPresent {
		notice.Clients = notice.Clients[:maxPresent]
	}
	return notice
}

// tellPresence tells those who follow a session who does, soon: changes that
// come together are told together.
func (h *Hub) tellPresence(s *session.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.presenceDue[s] {
		return
	}
	h.presenceDue[s] = true
	h.time.after(presenceEvery, func() {
		h.mu.Lock()
		delete(h.presenceDue, s)
		h.mu.Unlock()
		frame := notification("hub/presence", presentAt(s))
		for _, sub := range s.Followers() {
			sub.Key.(*Client).send(frame, s)
		}
	})
}
