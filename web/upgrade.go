package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"zcodehub/auth"
	"zcodehub/hub"
)

// subprotocol may be offered by clients; it changes nothing.
const subprotocol = "zcode-hub.v1"

// serveWS turns a request into a connection and returns: the connection lives on in its own goroutine, so that the
// request and its buffers can go.
func (s *Server) serveWS(w http.ResponseWriter, r *http.Request) {
	forgot := s.keysForgot.Load()
	info, no := s.checkHandshake(r)
	if no != nil {
		s.refuse(w, r, *no)
		return
	}
	s.accept(w, r, info, forgot, s.hub.Attach)
}

// accept upgrades a request whose credential was checked after forgot keys had been taken back, and joins the connection
// to the hub with attach.
func (s *Server) accept(w http.ResponseWriter, r *http.Request, info hub.ClientInfo, forgot int64, attach attach) {
	if !s.admit() {
		s.refuse(w, r, refusal{status: http.StatusServiceUnavailable, code: "closing", message: "the hub is shutting down"})
		return
	}
	c := newConn(s)
	ws, err := websocket.Accept(&lender{w, c}, r, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // checkOrigin did, by stricter rules
		CompressionMode:    websocket.CompressionDisabled,
		OnPingReceived:     c.pinged,
		OnPongReceived:     c.ponged,
	})
	if err != nil {
		s.metrics.refused.WithLabelValues("handshake").Inc()
		s.log.Debug("handshake failed", "error", err)
		s.leave(c)
		return
	}
	ws.SetReadLimit(s.maxMessage)
	c.ws, c.holder = ws, info.Principal
	s.enter(c)
	c.startTimers(info.Principal.ExpiresAt)
	c.attach(info, attach)
	if s.keysForgot.Load() != forgot {
		c.mustComeAgain()
	}
	go func() {
		defer s.leave(c)
		c.run()
	}()
}

// checkHandshake decides who connects and how. The ticket is redeemed last: it is good for one try only.
func (s *Server) checkHandshake(r *http.Request) (hub.ClientInfo, *refusal) {
	query := r.URL.Query()
	switch {
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return hub.ClientInfo{}, &refusal{status: http.StatusUpgradeRequired, code: "not_websocket", message: "this address speaks WebSocket only"}
	case query.Has("token"):
		return hub.ClientInfo{}, &refusal{status: http.StatusBadRequest, code: "token_in_url", message: "a token does not belong in a URL, where logs keep it: send Authorization: Bearer, or get a ticket from POST /api/tickets"}
	}
	profile, err := auth.ParseProfile(query.Get("profile"))
	if query.Get("profile") != "" && err != nil {
		return hub.ClientInfo{}, &refusal{status: http.StatusBadRequest, code: "profile", message: err.Error()}
	}
	p, no := s.socketPrincipal(r)
	if no != nil {
		return hub.ClientInfo{}, no
	}
	if profile == "" {
		profile = p.DefaultProfile()
	}
	if !p.Allows(profile) {
		return hub.ClientInfo{}, &refusal{status: http.StatusForbidden, code: "profile", message: "the token does not allow the profile " + string(profile)}
	}
	device, _ := s.devices.Find(p.Device, time.Now())
	return hub.ClientInfo{Principal: p, Profile: profile, RemoteAddr: s.remoteAddr(r), UserAgent: bounded(r.UserAgent()), DeviceExpiresAt: device.ExpiresAt}, nil
}

// attach is how a connection joins the hub: as the native client that it is, or through an adapter.
type attach func(hub.ClientInfo, hub.Sink) (Client, error)

// attach joins the connection to the hub. A hub that is closing takes nobody, and none takes more than its bound from
// one device: the connection then closes with the code that says so.
func (c *conn) attach(info hub.ClientInfo, attach attach) {
	client, err := attach(info, c)
	switch {
	case errors.Is(err, hub.ErrTooManyConnections):
		c.client = nobody{}
		c.CloseSoon(CloseOverloaded, "this device has too many connections")
		return
	case err != nil:
		c.client = nobody{}
		c.CloseSoon(CloseGoingAway, "the hub is shutting down")
		return
	}
	c.client = client
	// A revocation between the credential check and Attach found nobody to close.
	if err := c.server.devices.Admit(info.Principal, time.Now()); err != nil {
		c.CloseSoon(CloseRevoked, "this device was revoked: pair again")
	}
	if !info.Principal.Local {
		c.server.seen(info.Principal.Device, info.RemoteAddr, info.UserAgent)
	}
	c.server.log.Info("client connected", "connection", client.ID(), "name", info.Principal.Name, "device", info.Principal.Device, "tokenId", info.Principal.TokenID,
		"profile", info.Profile, "remote", info.RemoteAddr)
}

// nobody stands in for a client that the hub did not take.
type nobody struct{}

func (nobody) Handle([]byte) {}
func (nobody) Detach()       {}
func (nobody) ID() string    { return "" }
