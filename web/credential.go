package web

import (
	"net/http"
	"strconv"
	"time"

	"zcodehub/auth"
)

// refusal is the answer to a request that is not admitted. The code is for programs and counts in the metrics.
type refusal struct {
	status  int
	code    string
	message string
}

// The answer to every bad credential is one and the same: it must not say whether a token is unknown, forged, expired
// or missing.
var unauthorized = refusal{http.StatusUnauthorized, "unauthorized", "a valid credential is needed"}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, no refusal) {
	if r.URL.Path == "/ws" {
		s.metrics.refused.WithLabelValues(no.code).Inc()
	}
	switch no.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="zcode-hub"`)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
	}
	writeError(w, no.status, no.code, no.message)
}

// principal says who asks: by the connection (local socket), the Authorization header, or the page's cookie. A request
// that carries a bad credential is not given a second chance with another.
func (s *Server) principal(r *http.Request) (*auth.Principal, bool) {
	if isLocal(r) {
		return auth.LocalPrincipal(), true
	}
	if r.Header["Authorization"] != nil {
		token, ok := auth.Bearer(r)
		if !ok {
			return nil, false
		}
		return s.verify(token)
	}
	if token, ok := s.edge.Cookie(r); ok {
		return s.verify(token)
	}
	return nil, false
}

func (s *Server) verify(token string) (*auth.Principal, bool) {
	p, err := s.keys.Verify(token, time.Now())
	if err != nil {
		s.log.Info("credential refused", "cause", auth.Cause(err))
		return nil, false
	}
	return p, true
}

// socketPrincipal is principal for a WebSocket handshake. Browsers cannot set its headers, so it may bring a ticket;
// and browsers send it across origins with cookies, so a cookie counts only together with an Origin (that the Origin
// is a good one was checked before).
func (s *Server) socketPrincipal(r *http.Request) (*auth.Principal, bool) {
	_, hasCookie := s.edge.Cookie(r)
	trusted := isLocal(r) || r.Header["Authorization"] != nil || hasCookie && r.Header.Get("Origin") != ""
	if trusted {
		return s.principal(r)
	}
	if ticket := r.URL.Query().Get("ticket"); ticket != "" {
		return s.tickets.Redeem(ticket)
	}
	return nil, false
}
