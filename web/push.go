package web

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/push"
)

// pushKey serves the key that browsers subscribe with.
func (s *Server) pushKey(w http.ResponseWriter, _ *http.Request, _ *auth.Principal) {
	writeJSON(w, http.StatusOK, map[string]string{"publicKey": s.push.PublicKey()})
}

// subscribePush enters the browser's subscription for the device that asks. The page does so each time it comes, so
// that what the device may do is known as it is now.
func (s *Server) subscribePush(w http.ResponseWriter, r *http.Request, p *auth.Principal) {
	var ask push.Subscription
	if !readBody(w, r, &ask) {
		return
	}
	switch fresh, err := s.push.Subscribe(p, ask, time.Now()); {
	case errors.Is(err, push.ErrSubscription):
		writeError(w, http.StatusBadRequest, "subscription", err.Error())
	case errors.Is(err, push.ErrFull):
		writeError(w, http.StatusServiceUnavailable, "too_many_subscriptions", err.Error())
	case err != nil:
		s.log.Error("a push subscription was not stored", "device", p.Device, "error", err)
		writeError(w, http.StatusInternalServerError, "internal", "the subscription could not be stored; the hub's log says why")
	case fresh:
		s.audit(auth.AuditEvent{Event: "push.subscribed", Name: p.Name, Device: p.Device, Addr: s.remoteAddr(r)})
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) unsubscribePush(w http.ResponseWriter, r *http.Request, p *auth.Principal) {
	var ask struct {
		Endpoint string `json:"endpoint"`
	}
	if !readBody(w, r, &ask) {
		return
	}
	if err := s.push.Unsubscribe(p.Device, ask.Endpoint); err != nil {
		s.log.Error("a push subscription was not removed", "device", p.Device, "error", err)
		writeError(w, http.StatusInternalServerError, "internal", "the subscription could not be removed; the hub's log says why")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// forPush serves devices that may answer. The local socket is no device: there is nowhere to send to.
func (s *Server) forPush(serve func(w http.ResponseWriter, r *http.Request, p *auth.Principal)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.push == nil {
			notFound(w, r)
			return
		}
		p, no := s.apiPrincipal(r)
		switch {
		case no != nil:
			s.refuse(w, r, *no)
		case p.Local || !p.Rights.Has(auth.Answer):
			s.refuse(w, r, forbidden("this is for devices that may answer"))
		default:
			serve(w, r, p)
		}
	}
}

// actTimeout bounds how long an answer by token waits to be taken by the app-server.
const actTimeout = 10 * time.Second

var errAction = fmt.Errorf("%w: %w", auth.ErrBadToken, hub.ErrBadAction)

// act answers a question by the token in a notification, which is the only credential: a service worker may come without
// a cookie. A token that is not good counts as a bad credential of its address.
func (s *Server) act(w http.ResponseWriter, r *http.Request) {
	if s.push == nil {
		notFound(w, r)
		return
	}
	var ask struct {
		Token    string `json:"token"`
		Decision string `json:"decision"`
	}
	if !readBody(w, r, &ask) {
		return
	}
	became := make(chan hub.Acted, 1)
	_, no := judge(s, r, func(time.Time) (struct{}, error) {
		if s.hub.Act(ask.Token, ask.Decision, func(a hub.Acted) { became <- a }) != nil {
			return struct{}{}, errAction
		}
		return struct{}{}, nil
	})
	if no != nil {
		s.refuse(w, r, *no)
		return
	}
	timeout := time.NewTimer(actTimeout)
	defer timeout.Stop()
	select {
	case a := <-became:
		s.metrics.actions.WithLabelValues(a.Status).Inc()
		writeJSON(w, http.StatusOK, a)
	case <-timeout.C:
		s.metrics.actions.WithLabelValues("timeout").Inc()
		writeError(w, http.StatusGatewayTimeout, "timeout", "the app-server did not take the answer in time; whether it will is not known")
	case <-r.Context().Done():
		s.metrics.actions.WithLabelValues("timeout").Inc()
	}
}
