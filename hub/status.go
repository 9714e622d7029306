package hub

import (
	"slices"
	"strings"
	"time"
)

// Status is what runs, who is connected and what waits for an answer.
type Status struct {
	Instance  InstanceStatus  `json:"instance"`
	Version   string          `json:"version"`
	UptimeMs  int64           `json:"uptimeMs"`
	AppServer AppServerStatus `json:"appServer"`
	Clients   []ClientStatus  `json:"clients"`
	Sessions  []SessionStatus `json:"sessions"`
	Pending   []PendingStatus `json:"pending"`
}

// InstanceStatus names the hub.
type InstanceStatus struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// AppServerStatus describes the app-server.
type AppServerStatus struct {
	State      string `json:"state"`
	Generation int    `json:"generation"` // counts the starts
	Pid        int    `json:"pid,omitempty"`
	Detail     string `json:"detail,omitempty"`
}

// ClientStatus describes one connection.
type ClientStatus struct {
	ConnectionID string    `json:"connectionId"`
	Name         string    `json:"name"`
	Device       string    `json:"device"`
	Role         string    `json:"role"`
	Profile      string    `json:"profile"`
	RemoteAddr   string    `json:"remoteAddr"`
	UserAgent    string    `json:"userAgent,omitempty"`
	ClientKind   string    `json:"clientKind,omitempty"` // what it says of itself, like the next
	AppVersion   string    `json:"appVersion,omitempty"`
	Since        time.Time `json:"since"`
	Sessions     []string  `json:"sessions,omitempty"`
	QueuedBytes  int64     `json:"queuedBytes"` // private messages that wait
}

// SessionStatus describes one session that the hub has met.
type SessionStatus struct {
	ID          string `json:"id"`
	Epoch       string `json:"epoch"`
	Seq         uint64 `json:"seq"`
	Listening   bool   `json:"listening"`
	Subscribers int    `json:"subscribers"`
	RingBytes   int64  `json:"ringBytes"`
	Open        int    `json:"openInteractions"`
}

// PendingStatus describes one open interaction.
type PendingStatus struct {
	RequestID string    `json:"requestId"`
	SessionID string    `json:"sessionId"`
	Kind      string    `json:"kind"`
	ToolName  string    `json:"toolName,omitempty"`
	Since     time.Time `json:"since"`
}

// Status reports what runs, who is connected and what waits.
func (h *Hub) Status() Status {
	server, _ := h.gate.snapshot()
	st := Status{
		Instance: InstanceStatus{h.opts.InstanceID, h.opts.InstanceName}, Version: h.opts.Version,
		UptimeMs: time.Since(h.started).Milliseconds(), AppServer: server,
		Clients: []ClientStatus{}, Sessions: []SessionStatus{}, Pending: []PendingStatus{},
	}
	for _, c := range h.allClients() {
		st.Clients = append(st.Clients, c.status())
	}
	slices.SortFunc(st.Clients, func(a, b ClientStatus) int { return a.Since.Compare(b.Since) })
	for _, s := range h.sessions.All() {
		stream, open := s.Stream.State(), s.Ledger.Open()
		st.Sessions = append(st.Sessions, SessionStatus{ID: s.ID, Epoch: stream.Epoch, Seq: stream.Seq, Listening: s.Listening(),
			Subscribers: len(s.Followers()), RingBytes: stream.RingBytes, Open: len(open)})
		for _, in := range open {
			st.Pending = append(st.Pending, PendingStatus{RequestID: in.RequestID, SessionID: s.ID, Kind: string(in.Kind), ToolName: in.ToolName, Since: in.OpenedAt})
		}
	}
	slices.SortFunc(st.Pending, func(a, b PendingStatus) int { return a.Since.Compare(b.Since) })
	return st
}

func (c *Client) status() ClientStatus {
	p := c.who()
	c.mu.Lock()
	defer c.mu.Unlock()
	st := ClientStatus{ConnectionID: c.id, Name: p.Name, Device: p.Device, Role: string(p.Role), Profile: string(c.profile),
		RemoteAddr: c.info.RemoteAddr, UserAgent: c.info.UserAgent, ClientKind: c.kind, AppVersion: c.version, Since: c.since, QueuedBytes: c.outbox.Queued()}
	for id := range c.subs {
		st.Sessions = append(st.Sessions, id)
	}
	slices.SortFunc(st.Sessions, strings.Compare)
	return st
}
