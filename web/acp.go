package web

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/web/acp"
)

// closedFile, in the data dir, holds which sessions clients have closed.
const closedFile = "closed-sessions.json"

// acpSocket is where ACP clients connect.
const acpSocket = "/acp"

// startACP makes both parts of the ACP surface, which share what lists show.
func (s *Server) startACP(o Options) (err error) {
	file, private := "", o.Private
	if o.DataDir != "" {
		file, private = filepath.Join(o.DataDir, closedFile), append([]string{o.DataDir}, o.Private...)
	}
	directory := acp.NewDirectory(s.hub, file, s.log)
	s.adapter, err = acp.NewAdapter(acp.Options{
		Attach: s.attachNative, Directory: directory, Version: s.hub.Status().Version, Log: s.log, Registerer: o.Registry,
	})
	s.acp = acp.NewHTTP(acp.HTTPOptions{
		Hub: s.hub, Directory: directory, Instance: s.hub.Status().Instance.ID, Workspace: o.Workspace,
		Principal: s.acpPrincipal, Good: s.stillGood, Closed: s.adapter.Closed, Private: private, Log: s.log,
	})
	return err
}

// attachNative gives the adapter a client of the hub for one of its connections.
func (s *Server) attachNative(info hub.ClientInfo, sink hub.Sink) (acp.Attached, error) {
	client, err := s.hub.Attach(info, sink)
	if err != nil {
		return nil, err // not client: a nil Client would be an Attached that is not nil
	}
	native, ok := client.(acp.Attached)
	if !ok {
		client.Detach()
		return nil, errors.New("this hub has no clients for ACP")
	}
	return native, nil
}

// attachACP joins a connection to the hub through the adapter.
func (s *Server) attachACP(info hub.ClientInfo, sink hub.Sink) (Client, error) {
	client, err := s.adapter.Attach(info, sink)
	if err != nil {
		return nil, err // as above
	}
	return client, nil
}

// serveACP is serveWS for ACP clients.
func (s *Server) serveACP(w http.ResponseWriter, r *http.Request) {
	forgot := s.keysForgot.Load()
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		s.refuse(w, r, refusal{status: http.StatusUpgradeRequired, code: "not_websocket", message: "this address speaks WebSocket only"})
		return
	}
	p, no := s.acpSocketCredential(r)
	if no != nil {
		s.refuseACP(w, r, *no)
		return
	}
	instance, named := r.URL.Query()["instance"]
	_, state := s.hub.Ready()
	switch {
	case named && (len(instance) != 1 || instance[0] != s.hub.Status().Instance.ID):
		s.refuse(w, r, refusal{status: http.StatusNotFound, code: "no_instance", message: "there is no such instance"})
		return
	case state == "failed":
		s.refuse(w, r, refusal{status: http.StatusBadGateway, code: "unreachable", message: "the app-server cannot be started: the hub's log says why"})
		return
	}
	profile := p.DefaultProfile()
	if p.Allows(auth.Continuous) {
		profile = auth.Continuous // the other one leaves out what commands print while they run
	}
	s.accept(w, r, hub.ClientInfo{Principal: p, Profile: profile, RemoteAddr: s.remoteAddr(r), UserAgent: bounded(r.UserAgent())}, forgot, s.attachACP)
}

// acpSocketCredential says who connects. As on the routes, a page of another origin has to bring a token.
func (s *Server) acpSocketCredential(r *http.Request) (*auth.Principal, *refusal) {
	if r.Header["Authorization"] != nil || s.queryToken && r.URL.Query()["token"] != nil {
		return s.apiPrincipal(r)
	}
	if err := s.edge.CheckOrigin(r); err != nil && !isLocal(r) {
		return nil, &unauthorized
	}
	return s.socketPrincipal(r)
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
	s.refuseACP(w, r, *no)
	return nil
}

// refuseACP refuses a credential on the ACP surface.
func (s *Server) refuseACP(w http.ResponseWriter, r *http.Request, no refusal) {
	if no.status != http.StatusUnauthorized {
		s.refuse(w, r, no)
		return
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="zcode-hub"`)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, "unauthorized")
	if r.URL.Path == acpSocket {
		s.metrics.refused.WithLabelValues(no.code).Inc()
	}
}

// stillGood reports whether whoever a principal came from would be let in now.
func (s *Server) stillGood(p *auth.Principal) bool {
	now := time.Now()
	return p.Local || !p.Expired(now) && s.devices.Admit(p, now) == nil
}
