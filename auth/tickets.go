package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"sync"
	"time"
)

const (
	ticketBytes = 16               // 128 bit: not to be guessed in its 30 s
	ticketLife  = 30 * time.Second // from the answer of POST /api/tickets to the handshake over a slow tunnel
	// maxTickets bounds memory; a thousand handshakes in 30 s are more than the hub has clients.
	maxTickets = 1024
	// maxTicketsPerDevice keeps one device from pushing out the tickets of the others.
	maxTicketsPerDevice = 16
)

// Tickets are one-use stand-ins for a principal, for a handshake that cannot carry a header. When there are too many,
// the oldest goes: of the same device first. The zero value is ready; expired tickets are swept on use.
type Tickets struct {
	mu   sync.Mutex
	open []openTicket // oldest first, so in order of expiry too
}

type openTicket struct {
	hash      [sha256.Size]byte // the ticket itself is not kept: a dump of memory holds no credential
	principal *Principal
	path      string // the only route it opens, "" = any that takes tickets
	expires   time.Time
}

// Issue makes a ticket that stands for p once, until the time it returns, on any route that takes tickets.
func (t *Tickets) Issue(p *Principal) (ticket string, expires time.Time) { return t.IssueFor(p, "") }

// IssueFor makes a ticket that is good on one path only.
func (t *Tickets) IssueFor(p *Principal, path string) (ticket string, expires time.Time) {
	raw := make([]byte, ticketBytes)
	rand.Read(raw)
	ticket = base64.RawURLEncoding.EncodeToString(raw)
	now := time.Now()
	expires = now.Add(ticketLife)

	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweepLocked(now)
	t.makeRoomLocked(p.Device)
	t.open = append(t.open, openTicket{hash: sha256.Sum256([]byte(ticket)), principal: p, path: path, expires: expires})
	return ticket, expires
}

// Redeem ends a ticket that is good on any route and returns whom it stood for. The caller still asks whether that
// device was revoked.
func (t *Tickets) Redeem(ticket string) (*Principal, bool) { return t.RedeemFor(ticket, "") }

// RedeemFor is Redeem on a path. A ticket that shows up on another path than its own ends there too.
func (t *Tickets) RedeemFor(ticket, path string) (*Principal, bool) {
	hash := sha256.Sum256([]byte(ticket))
	now := time.Now()

	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweepLocked(now)
	i := slices.IndexFunc(t.open, func(o openTicket) bool { return o.hash == hash })
	if i < 0 {
		return nil, false
	}
	found := t.open[i]
	t.open = slices.Delete(t.open, i, i+1)
	if found.path != "" && found.path != path || found.principal.Expired(now) {
		return nil, false
	}
	return found.principal, true
}

// Drop ends all tickets of a device.
func (t *Tickets) Drop(device string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = slices.DeleteFunc(t.open, func(o openTicket) bool { return o.principal.Device == device })
}

// DropAll ends all tickets.
func (t *Tickets) DropAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = nil
}

func (t *Tickets) sweepLocked(now time.Time) {
	t.open = slices.DeleteFunc(t.open, func(o openTicket) bool { return !now.Before(o.expires) })
}

func (t *Tickets) makeRoomLocked(device string) {
	ofDevice := func(o openTicket) bool { return o.principal.Device == device }
	held := 0
	for _, o := range t.open {
		if ofDevice(o) {
			held++
		}
	}
	if held >= maxTicketsPerDevice {
		i := slices.IndexFunc(t.open, ofDevice)
		t.open = slices.Delete(t.open, i, i+1)
	} else if len(t.open) >= maxTickets {
		t.open = slices.Delete(t.open, 0, 1)
	}
}
