package acp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"zcodehub/auth"
	"zcodehub/hub"
)

// Hub is what the HTTP side needs of the hub: *hub.Hub.
type Hub interface {
	Ready() (ok bool, state string)
	CallAs(ctx context.Context, p *auth.Principal, method string, params any) (json.RawMessage, error)
}

// HTTPOptions configures the HTTP side.
type HTTPOptions struct {
	Hub       Hub
	Directory *Directory
	Instance  string // the stable id of this hub
	Workspace string // where the app-server runs
	// Principal says who asks. nil means that it has answered the request, which has no good credential.
	Principal func(http.ResponseWriter, *http.Request) *auth.Principal
	// Good reports whether what a principal came from is still good: a download may outlive it.
	Good func(*auth.Principal) bool
	// Closed is told of a session that was closed over HTTP; may be nil.
	Closed func(sessionID string)
	// Private are files and folders that are never served, whatever workspace they are in.
	Private []string
	Log     *slog.Logger
}

// HTTP is the part of the ACP surface that is not the socket: the instance and its sessions, projects, and files.
type HTTP struct {
	HTTPOptions
	started time.Time
}

// NewHTTP makes the HTTP side; nothing runs.
func NewHTTP(o HTTPOptions) *HTTP {
	a := &HTTP{HTTPOptions: o, started: time.Now()}
	a.Private = nil
	for _, path := range o.Private {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			a.Private = append(a.Private, resolved)
		}
	}
	if a.Closed == nil {
		a.Closed = func(string) {}
	}
	return a
}

// Mount adds the routes.
func (a *HTTP) Mount(r chi.Router) {
	r.Get("/api/health", health)
	r.Get("/api/instances", a.with(auth.View, a.instances))
	r.Post("/api/instances", a.with(auth.Control, a.openProject))
	r.Get("/api/quota", a.with(auth.View, a.quota))
	r.Get("/api/projects", a.with(auth.View, a.projects))
	r.Get("/api/projects/sessions", a.with(auth.View, a.projectSessions))
	r.Get("/api/fs/list", a.with(auth.Control, a.pickFolder))
	r.Get("/api/instances/{instance}/status", a.with(auth.View, a.status))
	r.Get("/api/instances/{instance}/fs/list", a.with(auth.View, a.listFiles))
	r.Get("/api/instances/{instance}/fs/file", a.with(auth.View, a.serveFile))
	r.Post("/api/instances/{instance}/sessions/{session}/close", a.with(auth.Control, a.closeSession))
	r.Post("/api/instances/{instance}/sessions/{session}/rename", a.with(auth.Control, a.renameSession))
	r.Post("/api/instances/{instance}/sessions/{session}/delete", a.with(auth.Control, a.deleteSession))
}

// prefixes are the paths of the surface; everything below them belongs to it, served or not: of a refusal that it may not
// read, a client in a browser knows only that something failed.
var prefixes = []string{"/acp", "/api/health", "/api/instances", "/api/quota", "/api/projects", "/api/fs", "/api/settings", "/api/upgrade"}

// Serves reports whether a path belongs to the surface, whose answers pages of any origin may read.
func Serves(path string) bool {
	for _, prefix := range prefixes {
		if rest, found := strings.CutPrefix(path, prefix); found && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// AllowOrigins lets pages of any origin read an answer: they have to bring a token, since credentials that a browser adds
// by itself are not allowed with it.
func AllowOrigins(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
	h.Set("Access-Control-Expose-Headers", firstLineHeader)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // pictures of a workspace in a page of another origin
}

// A handler serves a principal whose right was checked.
type handler func(w http.ResponseWriter, r *http.Request, p *auth.Principal)

// with checks who asks, the right that is needed, and the instance if the path names one.
func (a *HTTP) with(right auth.Right, serve handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := a.Principal(w, r)
		switch {
		case p == nil:
		case !p.Rights.Has(right):
			fail(w, http.StatusForbidden, "forbidden", "this token does not allow it")
		case chi.URLParam(r, "instance") != "" && param(r, "instance") != a.Instance:
			fail(w, http.StatusNotFound, "no_instance", "there is no such instance")
		default:
			serve(w, r, p)
		}
	}
}

// param is a part of the path. The router leaves it escaped only where the path cannot be read without that.
func param(r *http.Request, name string) string {
	raw := chi.URLParam(r, name)
	if text, err := url.PathUnescape(raw); r.URL.RawPath != "" && err == nil {
		return text
	}
	return raw
}

func health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok"))
}

func writeAnswer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the client may be gone
}

// fail answers what failed; the form is that of all of the hub's routes.
func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"code": code, "message": message}})
}

// failed answers an error of the hub or the app-server.
func (a *HTTP) failed(w http.ResponseWriter, err error) {
	const ( // of the hub's own, see docs/protocol.md
		forbidden    = -32040
		controlHeld  = -32041
		tooMany      = -32042
		notAvailable = -32004 // the app-server: no such session, or not in memory
	)
	var said *hub.CallError
	if !errors.As(err, &said) {
		a.Log.Debug("the app-server did not answer a request over HTTP", "error", err)
		fail(w, http.StatusBadGateway, "unreachable", "the agent does not answer just now: try again")
		return
	}
	switch said.Code {
	case forbidden:
		fail(w, http.StatusForbidden, "forbidden", said.Message)
	case notAvailable:
		noSession(w)
	case controlHeld:
		fail(w, http.StatusConflict, "control_held", said.Message)
	case tooMany:
		fail(w, http.StatusTooManyRequests, "too_many", said.Message)
	default:
		fail(w, http.StatusBadGateway, "unreachable", said.Message)
	}
}

func noSession(w http.ResponseWriter) {
	fail(w, http.StatusNotFound, "no_session", "there is no such session")
}

// port is where the client came in.
func port(r *http.Request) int {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return at.Port
	}
	return 0
}

// pid is the hub's: to the client it is the instance.
var pid = os.Getpid()
