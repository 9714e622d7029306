package web

import (
	"encoding/json"
	"net/http"
	"time"

	"zcodehub/auth"
	"zcodehub/hub"
)

// who is how an answer describes a principal.
type who struct {
	Name      string     `json:"name"`
	Device    string     `json:"device"`
	Role      auth.Role  `json:"role"`
	Rights    []string   `json:"rights"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

func describe(p *auth.Principal) who {
	w := who{Name: p.Name, Device: p.Device, Role: p.Role, Rights: p.Rights.Names()}
	if !p.ExpiresAt.IsZero() {
		w.ExpiresAt = &p.ExpiresAt
	}
	return w
}

// login exchanges a token for the page's cookie. Only the Authorization header counts, which no foreign page can send.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	token, ok := auth.Bearer(r)
	if !ok {
		s.refuse(w, r, unauthorized)
		return
	}
	p, ok := s.verify(token)
	if !ok {
		s.refuse(w, r, unauthorized)
		return
	}
	if err := s.edge.SetCookie(w, r, token, p.ExpiresAt); err != nil {
		writeError(w, http.StatusBadRequest, "token_too_long", err.Error())
		return
	}
	writeJSON(w, http.StatusOK, describe(p))
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	s.edge.ClearCookie(w, r)
	w.WriteHeader(http.StatusNoContent)
}

// issueTicket gives a browser client what it can put into the address of its handshake.
func (s *Server) issueTicket(w http.ResponseWriter, r *http.Request) {
	p, ok := s.principal(r)
	if !ok {
		s.refuse(w, r, unauthorized)
		return
	}
	ticket, expiresAt := s.tickets.Issue(p)
	writeJSON(w, http.StatusOK, struct {
		Ticket    string    `json:"ticket"`
		ExpiresAt time.Time `json:"expiresAt"`
	}{ticket, expiresAt})
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	p, ok := s.principal(r)
	switch {
	case !ok:
		s.refuse(w, r, unauthorized)
	case !p.Rights.Has(auth.Admin):
		s.refuse(w, r, refusal{http.StatusForbidden, "forbidden", "the status is for admins"})
	default:
		writeJSON(w, http.StatusOK, struct {
			hub.Status
			Addresses []string `json:"addresses"`
		}{s.hub.Status(), s.Addresses()})
	}
}

// tokenRequest is the body of POST /api/token/create.
type tokenRequest struct {
	Name       string         `json:"name"`
	Device     string         `json:"device"`
	Role       auth.Role      `json:"role"`
	Sessions   []string       `json:"sessions"`
	Workspaces []string       `json:"workspaces"`
	Profiles   []auth.Profile `json:"profiles"`
	TTLSeconds int64          `json:"ttlSeconds"`
}

// createToken mints for whoever holds the local socket. Elsewhere it does not exist: a token cannot make tokens.
func (s *Server) createToken(w http.ResponseWriter, r *http.Request) {
	if !isLocal(r) {
		notFound(w, r)
		return
	}
	var ask tokenRequest
	body := json.NewDecoder(r.Body)
	body.DisallowUnknownFields() // a misspelt scope must not become a token without one
	if err := body.Decode(&ask); err != nil {
		writeError(w, http.StatusBadRequest, "body", "the body is not a token request: "+err.Error())
		return
	}
	token, p, err := s.keys.Mint(auth.Grant{
		Name: ask.Name, Device: ask.Device, Role: ask.Role, Sessions: ask.Sessions, Workspaces: ask.Workspaces,
		Profiles: ask.Profiles, TTL: time.Duration(ask.TTLSeconds) * time.Second,
	}, time.Now())
	if err != nil {
		writeError(w, http.StatusBadRequest, "grant", err.Error())
		return
	}
	s.log.Info("token created", "name", p.Name, "device", p.Device, "role", p.Role, "expires", p.ExpiresAt)
	writeJSON(w, http.StatusOK, struct {
		Token string `json:"token"`
		who
	}{token, describe(p)})
}
