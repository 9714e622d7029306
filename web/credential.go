package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"zcodehub/auth"
)

// refusal is the answer to a request that is not admitted. The code is for programs and counts in the metrics.
type refusal struct {
	status     int
	code       string
	message    string
	retryAfter time.Duration // 0 = says nothing of when to come back
}

// The answer to every bad credential is one and the same: it must not say whether a token is unknown, forged, expired
// or missing.
var unauthorized = refusal{status: http.StatusUnauthorized, code: "unauthorized", message: "a valid credential is needed"}

func forbidden(message string) refusal {
	return refusal{status: http.StatusForbidden, code: "forbidden", message: message}
}

// tooSoon answers an address whose credentials failed too often.
func tooSoon(wait time.Duration) *refusal {
	return &refusal{http.StatusTooManyRequests, "too_many_failures", "too many bad credentials came from this address: wait", wait}
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, no refusal) {
	if r.URL.Path == "/ws" || r.URL.Path == acpSocket {
		s.metrics.refused.WithLabelValues(no.code).Inc()
	}
	switch no.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="zcode-hub"`)
	case http.StatusServiceUnavailable:
		no.retryAfter = retryAfter
	}
	if no.retryAfter > 0 {
		seconds := (no.retryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	writeError(w, no.status, no.code, no.message)
}

// principal says who asks: by the connection (local socket), the Authorization header, the page's cookie, or the header
// of a proxy that signs people in. A request that carries a bad credential is not given a second chance with another.
func (s *Server) principal(r *http.Request) (*auth.Principal, *refusal) {
	if isLocal(r) {
		return auth.LocalPrincipal(), nil
	}
	if r.Header["Authorization"] != nil {
		token, _ := auth.Bearer(r) // what is malformed is a bad token like any other
		return s.verify(r, token)
	}
	if token, ok := s.edge.Cookie(r); ok {
		return s.verify(r, token)
	}
	if token, ok := s.gate.HeaderToken(r); ok {
		return s.verify(r, token)
	}
	return nil, &unauthorized
}

// apiPrincipal is principal for the /api routes that set no cookie. There a token may stand in the address, unless that
// is switched off, for clients in browsers that can set no header; what the browser adds by itself does not count beside.
func (s *Server) apiPrincipal(r *http.Request) (*auth.Principal, *refusal) {
	given := r.URL.Query()["token"]
	if !s.queryToken || given == nil || isLocal(r) || r.Header["Authorization"] != nil {
		return s.principal(r)
	}
	if len(given) > 1 {
		return s.verify(r, "") // as for two headers: a bad token like any other
	}
	return s.verify(r, given[0])
}

func (s *Server) verify(r *http.Request, token string) (*auth.Principal, *refusal) {
	return judge(s, r, func(now time.Time) (*auth.Principal, error) { return s.gate.Authenticate(r.Context(), token, now) })
}

// socketPrincipal is principal for a WebSocket handshake. Browsers cannot set its headers, so it may bring a ticket;
// and browsers send it across origins with cookies, so a cookie (or what a proxy adds by itself) counts only together
// with an Origin (that the Origin is a good one was checked before).
func (s *Server) socketPrincipal(r *http.Request) (*auth.Principal, *refusal) {
	_, ambient := s.edge.Cookie(r)
	if !ambient {
		_, ambient = s.gate.HeaderToken(r)
	}
	if isLocal(r) || r.Header["Authorization"] != nil || ambient && r.Header.Get("Origin") != "" {
		return s.principal(r)
	}
	if ticket := r.URL.Query().Get("ticket"); ticket != "" {
		return s.redeem(r, ticket)
	}
	return nil, &unauthorized
}

var errTicket = fmt.Errorf("%w: an unknown, spent or misplaced ticket", auth.ErrBadToken)

// redeem ends a ticket for this path. Its device may have been revoked since it was made.
func (s *Server) redeem(r *http.Request, ticket string) (*auth.Principal, *refusal) {
	return judge(s, r, func(now time.Time) (*auth.Principal, error) {
		p, ok := s.tickets.RedeemFor(ticket, r.URL.Path)
		if !ok {
			return nil, errTicket
		}
		return p, s.devices.Admit(p, now)
	})
}

// judge looks at a credential, and slows down addresses whose credentials fail: while such an address has to wait, none
// is looked at. Where strangers and owners may share one address (a tunnel that ends on this machine), a good one is
// let through nevertheless, or a stranger could lock everybody out.
func judge[T any](s *Server, r *http.Request, look func(now time.Time) (T, error)) (T, *refusal) {
	var none T
	now := time.Now()
	addr := auth.ClientAddr(r, s.proxies)
	wait := s.waitOf(addr, now)
	if wait > 0 && !addr.IsLoopback() {
		return none, tooSoon(wait)
	}
	got, err := look(now)
	switch {
	case err == nil:
		if addr.IsValid() {
			s.limiter.Succeeded(addr)
		}
		return got, nil
	case errors.Is(err, auth.ErrExpired):
		s.log.Debug("credential refused", "cause", auth.Cause(err))
		return none, &unauthorized // it was good once: nobody is guessing
	case errors.Is(err, auth.ErrTooManyGuesses):
		return none, tooSoon(time.Minute)
	case !errors.Is(err, auth.ErrBadToken):
		s.log.Error("a credential could not be looked at", "error", err)
		return none, &refusal{status: http.StatusInternalServerError, code: "internal", message: "the hub could not look at the credential; its log says why"}
	case wait > 0:
		return none, tooSoon(wait)
	}
	if addr.IsValid() {
		s.limiter.Failed(addr, now)
	}
	s.noteFailure(r, err, now)
	return none, &unauthorized
}

// waitOf is zero where the address is not known: such a listener is not on a network.
func (s *Server) waitOf(addr netip.Addr, now time.Time) time.Duration {
	if !addr.IsValid() {
		return 0
	}
	return s.limiter.Wait(addr, now)
}

// failures bound what bad credentials write to log and audit: whoever sends thousands fills neither.
type failures struct {
	notes   *rate.Limiter
	skipped atomic.Int64 // since the last one noted
}

const (
	failureNotes     = 1  // a second
	failureNoteBurst = 20 // at once: a person who types, some clients that reconnect
)

func newFailures() failures { return failures{notes: rate.NewLimiter(failureNotes, failureNoteBurst)} }

func (s *Server) noteFailure(r *http.Request, err error, now time.Time) {
	if !s.failures.notes.AllowN(now, 1) {
		s.failures.skipped.Add(1)
		return
	}
	skipped := s.failures.skipped.Swap(0)
	s.log.Info("credential refused", "cause", auth.Cause(err), "remote", s.remoteAddr(r), "alsoRefused", skipped)
	detail := map[string]string{"cause": auth.Cause(err), "path": bounded(r.URL.Path)}
	if skipped > 0 {
		detail["alsoRefused"] = strconv.FormatInt(skipped, 10)
	}
	s.audit(auth.AuditEvent{Event: "credential.failed", Addr: s.remoteAddr(r), Detail: detail})
}

// forAdmins serves holders of the right and the local socket; by is who asks.
func (s *Server) forAdmins(serve func(w http.ResponseWriter, r *http.Request, by *auth.Principal)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, no := s.apiPrincipal(r)
		switch {
		case no != nil:
			s.refuse(w, r, *no)
		case !p.Rights.Has(auth.Admin):
			s.refuse(w, r, forbidden("this is for admins"))
		default:
			serve(w, r, p)
		}
	}
}

// onSocket serves whoever holds the local socket. Elsewhere there is nothing: a token makes no tokens and no keys.
func (s *Server) onSocket(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r) {
			notFound(w, r)
			return
		}
		serve(w, r)
	}
}
