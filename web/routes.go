package web

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"zcodehub/auth"
)

// routes is the one router of all listeners. The order of the layers matters: what is refused is logged and counted
// too, and nothing looks at a credential before host and origin are known to be right.
func (s *Server) routes() (http.Handler, error) {
	r := chi.NewRouter()
	r.Use(s.observe, s.checkHost, allowOrigins, middleware.GetHead)
	r.NotFound(notFound)
	r.MethodNotAllowed(func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusMethodNotAllowed, "method_not_allowed", "this method is not served here")
	})
	r.Get("/healthz", s.health)
	r.Get("/readyz", s.readiness)
	r.Group(func(r chi.Router) { // what takes a credential
		r.Use(s.checkOrigin, limitBody)
		r.Get("/ws", s.serveWS)
		r.Get("/metrics", s.serveMetrics)
		r.Post("/api/login", s.login)
		r.Post("/api/logout", s.logout)
		r.Post("/api/tickets", s.issueTicket)
		r.Get("/api/status", s.forAdmins(s.status))
		r.Post("/api/token/create", s.onSocket(s.createToken))
		r.Post(auth.RefreshPath, s.renew)
		r.Post("/api/pair", s.pair)
		r.Get("/api/pairings", s.forAdmins(s.listPairings))
		r.Post("/api/pairings", s.forAdmins(s.openPairing))
		r.Delete("/api/pairings/{id}", s.forAdmins(s.cancelPairing))
		r.Get("/api/devices", s.forAdmins(s.listDevices))
		r.Post("/api/devices/{id}/revoke", s.forAdmins(s.revokeDevice))
		r.Post("/api/devices/{id}/rename", s.forAdmins(s.renameDevice))
		r.Get("/api/push/key", s.forPush(s.pushKey))
		r.Post("/api/push/subscriptions", s.forPush(s.subscribePush))
		r.Delete("/api/push/subscriptions", s.forPush(s.unsubscribePush))
		r.Post("/api/push/act", s.act)
		r.Post("/api/keys/rotate", s.onSocket(s.rotateKeys))
		r.Post("/api/keys/{kid}/forget", s.onSocket(s.forgetKey))
	})
	r.Group(func(r chi.Router) { // what pages of other origins may use, with a token
		r.Use(limitBody)
		r.Get(acpSocket, s.serveACP)
		s.acp.Mount(r)
	})
	return r, s.mountPage(r)
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	writeError(w, http.StatusNotFound, "not_found", "there is nothing here")
}

// checkHost refuses requests under foreign names and sets the headers that keep browsers strict. The local socket is
// out of reach of browsers, and its clients make up a host name.
func (s *Server) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if err := s.edge.CheckHost(r); err != nil && !isLocal(r) {
			s.log.Debug("host refused", "error", err)
			s.refuse(w, r, refusal{status: http.StatusMisdirectedRequest, code: "host", message: "this host name is not served here; allow it with --allow-host or --public-url"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) checkOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.edge.CheckOrigin(r); err != nil && !isLocal(r) {
			s.log.Debug("origin refused", "error", err)
			s.refuse(w, r, refusal{status: http.StatusForbidden, code: "origin", message: "this origin may not use the hub"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// secure sets what holds for every answer; pages add their content policy.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// observe counts and logs every request. Query strings and headers may carry credentials and are never logged.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		recorder := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() { // also of what was broken off (http.ErrAbortHandler)
			route := chi.RouteContext(r.Context()).RoutePattern()
			if route == "" || recorder.Status() == http.StatusNotFound {
				route = "other"
			}
			s.metrics.request(route, recorder.Status())
			s.log.Debug("http", "method", bounded(r.Method), "path", bounded(r.URL.Path), "status", recorder.Status(),
				"bytes", recorder.BytesWritten(), "duration", time.Since(started), "remote", s.remoteAddr(r))
		}()
		next.ServeHTTP(recorder, r)
	})
}

// bounded keeps hostile requests from filling the log.
func bounded(s string) string {
	const enough = 200
	if len(s) > enough {
		return s[:enough] + "…"
	}
	return s
}

func limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		next.ServeHTTP(w, r)
	})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client may be gone
}

// errorBody is the answer to everything that failed.
type errorBody struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func writeError(w http.ResponseWriter, status int, code, message string) {
	var body errorBody
	body.Error.Code, body.Error.Message = code, message
	writeJSON(w, status, body)
}
