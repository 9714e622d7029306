package web

import (
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"zcodehub/auth"
)

// rotateKeys makes a new signing key. Tokens of the old one stay good until they end.
func (s *Server) rotateKeys(w http.ResponseWriter, r *http.Request) {
	old := s.keys.KeyID()
	if err := s.keys.Rotate(time.Now()); err != nil {
		writeError(w, http.StatusInternalServerError, "rotate", err.Error()) // to this user only: the local socket
		return
	}
	s.log.Info("signing key rotated", "from", old, "to", s.keys.KeyID())
	s.audit(auth.AuditEvent{Event: "keys.rotated", Addr: s.remoteAddr(r), Detail: map[string]string{"from": old, "to": s.keys.KeyID()}})
	writeJSON(w, http.StatusOK, map[string]string{"keyId": s.keys.KeyID(), "retired": old})
}

// forgetKey ends a retired key with all its tokens. Which connections came in by one of them is not known, so all must
// show what they have again; those with a good token are back at once.
func (s *Server) forgetKey(w http.ResponseWriter, r *http.Request) {
	kid := chi.URLParam(r, "kid")
	if err := s.keys.Forget(kid, time.Now()); err != nil {
		writeError(w, http.StatusConflict, "forget", err.Error())
		return
	}
	s.keysForgot.Add(1) // before the rest: see who reads it
	s.tickets.DropAll()
	s.forEach((*conn).mustComeAgain)
	s.log.Info("signing key forgotten", "key", kid)
	s.audit(auth.AuditEvent{Event: "keys.forgotten", Addr: s.remoteAddr(r), Detail: map[string]string{"key": kid}})
	w.WriteHeader(http.StatusNoContent)
}

// mustComeAgain closes a connection that may have come in by a forgotten key.
func (c *conn) mustComeAgain() {
	if !c.holder.Local {
		c.CloseSoon(CloseGoingAway, "a key was taken back: come in again")
	}
}
