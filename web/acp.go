package web

import (
	"io"
	"net/http"
	"path/filepath"
	"time"

	"zcodehub/auth"
	"zcodehub/web/acp"
)

// closedFile, in the data dir, holds which sessions clients have closed.
const closedFile = "closed-sessions.json"

func (s *Server) newACP(o Options) *acp.HTTP {
	file, private := "", o.Private
	if o.DataDir != "" {
		file, private = filepath.Join(o.DataDir, closedFile), append([]string{o.DataDir}, o.Private...)
	}
	return acp.NewHTTP(acp.HTTPOptions{
		Hub: s.hub, Directory: acp.NewDirectory(s.hub, file, s.log), Instance: s.hub.Status().Instance.ID, Workspace: o.Workspace,
		Principal: s.acpPrincipal, Good: s.stillGood, Private: private, Log: s.log,
	})
}

// allowOrigins lets pages of any origin use the ACP surface with a token, and answers what browsers ask before they do.
// The routes of the hub's own page stay closed to them: those look at the origin of the request itself.
func allowOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if acp.Serves(r.URL.Path) || r.Method == http.MethodOptions {
			acp.AllowOrigins(w.Header())
		}
		if r.Method == http.MethodOptions {
			w.Header().Set("Access-Control-Max-Age", "7200") // what browsers take at most; clients poll
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// acpCredential says who asks on the ACP surface. Pages of any origin may ask, so what a browser adds by itself (cookie,
// a proxy's header) counts for the hub's own page alone; a token counts for everybody.
func (s *Server) acpCredential(r *http.Request) (*auth.Principal, *refusal) {
	brought := r.Header["Authorization"] != nil || s.queryToken && r.URL.Query()["token"] != nil
	if !brought && !isLocal(r) {
		if err := s.edge.CheckOrigin(r); err != nil {
			return nil, &unauthorized
		}
	}
	return s.apiPrincipal(r)
}

// acpPrincipal answers a request without a good credential as clients of the surface expect it: in plain text.
func (s *Server) acpPrincipal(w http.ResponseWriter, r *http.Request) *auth.Principal {
	p, no := s.acpCredential(r)
	if no == nil {
		return p
	}
	if no.status != http.StatusUnauthorized {
		s.refuse(w, r, *no)
		return nil
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="zcode-hub"`)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, "unauthorized")
	return nil
}

// stillGood reports whether whoever a principal came from would be let in now.
func (s *Server) stillGood(p *auth.Principal) bool {
	now := time.Now()
	return p.Local || !p.Expired(now) && s.devices.Admit(p, now) == nil
}
