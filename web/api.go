package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
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

// readBody decodes a JSON body strictly: a misspelt scope must not become a grant without one. It answers what is wrong.
func readBody(w http.ResponseWriter, r *http.Request, into any) bool {
	return answerBadBody(w, decodeBody(r, into))
}

// readOptionalBody is readBody for routes that need none.
func readOptionalBody(w http.ResponseWriter, r *http.Request, into any) bool {
	err := decodeBody(r, into)
	if errors.Is(err, io.EOF) {
		err = nil // nothing at all; what ends too early is another error
	}
	return answerBadBody(w, err)
}

func decodeBody(r *http.Request, into any) error {
	body := json.NewDecoder(r.Body)
	body.DisallowUnknownFields()
	err := body.Decode(into)
	if err == nil && body.More() {
		err = errors.New("more than one value")
	}
	return err
}

// answerBadBody reports whether there was nothing wrong.
func answerBadBody(w http.ResponseWriter, err error) bool {
	if err != nil {
		writeError(w, http.StatusBadRequest, "body", "the body is not what this route takes: "+err.Error())
	}
	return err == nil
}

// login exchanges a token for the page's cookie. Only the Authorization header counts, which no foreign page can send.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if r.Header["Authorization"] == nil {
		s.refuse(w, r, unauthorized)
		return
	}
	token, _ := auth.Bearer(r)
	p, no := s.verify(r, token)
	if no != nil {
		s.refuse(w, r, *no)
		return
	}
	if err := s.edge.SetCookie(w, r, token, p.ExpiresAt); err != nil {
		writeError(w, http.StatusBadRequest, "token_too_long", err.Error())
		return
	}
	if _, found := s.edge.RefreshCookie(r); found {
		s.edge.ClearRefreshCookie(w, r) // of the device that the page was before
	}
	writeJSON(w, http.StatusOK, describe(p))
}

// logout takes the cookies back. A paired device has its secrets nowhere else, so it ends: a copy of them is worth
// nothing then.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if p, no := s.principal(r); no == nil && !p.Local {
		now := time.Now()
		if dev, found := s.devices.Find(p.Device, now); found && dev.Kind == auth.KindPaired {
			if _, err := s.devices.Revoke(dev.ID, "signed out", now); err != nil {
				s.log.Error("signing out", "error", err)
			}
		}
	}
	s.edge.ClearCookie(w, r)
	s.edge.ClearRefreshCookie(w, r)
	w.WriteHeader(http.StatusNoContent)
}

// RenewalPath is the path of tickets for hub/refreshToken on an open connection: the page cannot read its own token.
const RenewalPath = "hub/refreshToken"

// ticketPaths are what a ticket may be for.
var ticketPaths = []string{"/ws", acpSocket, RenewalPath}

// issueTicket gives a browser client what it can put into the address of its handshake. It is good on one path.
func (s *Server) issueTicket(w http.ResponseWriter, r *http.Request) {
	forgot := s.keysForgot.Load()
	p, no := s.apiPrincipal(r)
	if no != nil {
		s.refuse(w, r, *no)
		return
	}
	ask := struct {
		Path string `json:"path"`
	}{Path: "/ws"}
	if !readOptionalBody(w, r, &ask) {
		return
	}
	if !slices.Contains(ticketPaths, ask.Path) {
		writeError(w, http.StatusBadRequest, "path", "tickets are for /ws and "+RenewalPath)
		return
	}
	ticket, expiresAt := s.tickets.IssueFor(p, ask.Path)
	if s.keysForgot.Load() != forgot {
		s.tickets.DropAll() // the caller's token may be of the key that was taken back meanwhile
	}
	writeJSON(w, http.StatusOK, struct {
		Ticket    string    `json:"ticket"`
		ExpiresAt time.Time `json:"expiresAt"`
	}{ticket, expiresAt})
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request, _ *auth.Principal) {
	writeJSON(w, http.StatusOK, struct {
		hub.Status
		Addresses []string `json:"addresses"`
	}{s.hub.Status(), s.Addresses()})
}

// grantRequest is what a token or a pairing is asked to hold.
type grantRequest struct {
	Name       string         `json:"name"`
	Role       auth.Role      `json:"role"`
	Sessions   []string       `json:"sessions"`
	Workspaces []string       `json:"workspaces"`
	Profiles   []auth.Profile `json:"profiles"`
	TTLSeconds int64          `json:"ttlSeconds"`
}

func (g grantRequest) grant() auth.Grant {
	return auth.Grant{
		Name: g.Name, Role: g.Role, Sessions: g.Sessions, Workspaces: g.Workspaces, Profiles: g.Profiles,
		TTL: time.Duration(g.TTLSeconds) * time.Second,
	}
}

// createToken makes or renews the device of a name and mints a token of it.
func (s *Server) createToken(w http.ResponseWriter, r *http.Request) {
	var ask grantRequest
	if !readBody(w, r, &ask) {
		return
	}
	token, p, err := s.gate.Issue(ask.grant(), time.Now())
	if err != nil {
		writeError(w, http.StatusBadRequest, "grant", err.Error())
		return
	}
	s.endWider(p)
	s.log.Info("token created", "name", p.Name, "device", p.Device, "role", p.Role, "expires", p.ExpiresAt)
	created := auth.TokenCreated(p)
	created.Addr = s.remoteAddr(r)
	s.audit(created)
	writeJSON(w, http.StatusOK, struct {
		Token string `json:"token"`
		who
	}{token, describe(p)})
}

// endWider closes what is still open under more rights than the device was left with: narrowing works at once.
func (s *Server) endWider(p *auth.Principal) {
	s.forEach(func(c *conn) {
		if c.holder.Device == p.Device && p.CheckSuccessor(c.holder) != nil {
			c.CloseSoon(CloseTokenExpired, "the device was given fewer rights: use its new token")
		}
	})
}
