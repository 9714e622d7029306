package acp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"zcodehub/auth"
	"zcodehub/hub"
)

// maxInstanceSessions is how many sessions of an instance are listed: clients fetch the list every few seconds, and
// look for older ones in projects.
const maxInstanceSessions = 200

// instance is this hub as an element of GET /api/instances. To its clients the hub with its app-server is one instance
// that was started by hand.
type instance struct {
	ID        string          `json:"id"`
	Port      int             `json:"port"`
	Pid       int             `json:"pid"`
	StartedAt int64           `json:"startedAt"` // ms
	Workspace string          `json:"workspace"`
	Origin    string          `json:"origin"`
	Sessions  []listedSession `json:"sessions"`
}

type listedSession struct {
	SessionID string `json:"sessionId"`
	Title     string `json:"title,omitempty"`
	UpdatedAt int64  `json:"updatedAt"` // ms
	Status    string `json:"status"`
}

// instances answers at once in any state of the app-server, and always names the instance: a client that misses it
// leaves the conversation.
func (a *HTTP) instances(w http.ResponseWriter, r *http.Request, p *auth.Principal) {
	age := fresh
	if probe := r.URL.Query().Get("probe"); probe == "1" || probe == "true" {
		age = 0
	}
	all, err := a.Directory.List(r.Context(), p, age)
	if err != nil {
		a.Log.Debug("sessions are listed as they were last", "error", err)
	}
	live := openable(all)
	writeAnswer(w, []instance{{
		ID: a.Instance, Port: port(r), Pid: pid, StartedAt: a.started.UnixMilli(),
		Workspace: a.workspaceFor(p, live), Origin: "serve", Sessions: describe(live),
	}})
}

// status is the list without the last known one: it says when the app-server cannot be reached.
func (a *HTTP) status(w http.ResponseWriter, r *http.Request, p *auth.Principal) {
	all, err := a.Directory.List(r.Context(), p, fresh)
	if err != nil {
		a.failed(w, err)
		return
	}
	writeAnswer(w, map[string]any{"sessions": describe(openable(all))})
}

func openable(all []Session) []Session {
	live := make([]Session, 0, min(len(all), maxInstanceSessions))
	for _, s := range all {
		if s.Live && len(live) < maxInstanceSessions {
			live = append(live, s)
		}
	}
	return live
}

func describe(sessions []Session) []listedSession {
	list := make([]listedSession, 0, len(sessions))
	for _, s := range sessions {
		status := "idle"
		if s.Running {
			status = "running"
		}
		list = append(list, listedSession{s.ID, s.Title, s.UpdatedAt.UnixMilli(), status})
	}
	return list
}

// workspaceFor names a folder of which the principal may know.
func (a *HTTP) workspaceFor(p *auth.Principal, live []Session) string {
	switch {
	case !p.Scoped():
		return a.Workspace
	case len(p.Workspaces) > 0:
		return p.Workspaces[0]
	case len(live) > 0:
		return live[0].Workspace
	}
	return "/" // to clients: not known
}

// closeSession frees what a session holds and takes it off the lists until its next use.
func (a *HTTP) closeSession(w http.ResponseWriter, r *http.Request, p *auth.Principal) {
	if s, ok := a.release(w, r, p); ok {
		a.Directory.Close(s.ID, false)
		a.Closed(s.ID)
		writeAnswer(w, map[string]bool{"ok": true})
	}
}

// deleteSession takes a session off the lists of its project too. What the app-server stored stays: it has no way to
// delete it.
func (a *HTTP) deleteSession(w http.ResponseWriter, r *http.Request, p *auth.Principal) {
	if s, ok := a.release(w, r, p); ok {
		a.Directory.Close(s.ID, true)
		a.Closed(s.ID)
		writeAnswer(w, map[string]bool{"ok": true, "deleted": true})
	}
}

// release has the app-server let go of a session in which no turn runs. It has answered if ok is false.
func (a *HTTP) release(w http.ResponseWriter, r *http.Request, p *auth.Principal) (s Session, ok bool) {
	s, ok = a.session(w, r, p)
	switch {
	case !ok:
		return s, false
	case s.Running:
		fail(w, http.StatusConflict, "running", "a turn runs in this session: stop it first")
		return s, false
	}
	_, err := a.call(r, p, "session/close", map[string]string{"sessionId": s.ID})
	var said *hub.CallError
	if errors.As(err, &said) && strings.HasPrefix(said.Message, "Session is not active") {
		err = nil // it holds nothing
	}
	if err != nil {
		a.failed(w, err)
		return s, false
	}
	return s, true
}

// session finds the session that the path names, as it is now.
func (a *HTTP) session(w http.ResponseWriter, r *http.Request, p *auth.Principal) (Session, bool) {
	s, ok, err := a.Directory.Find(r.Context(), p, param(r, "session"), 0)
	switch {
	case err != nil:
		a.failed(w, err)
		return s, false
	case !ok:
		noSession(w)
		return s, false
	}
	return s, true
}

// callWait bounds what a client waits for a change: it has no timeout of its own, and a request may take 30 s.
const callWait = 15 * time.Second

func (a *HTTP) call(r *http.Request, p *auth.Principal, method string, params any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(r.Context(), callWait)
	defer cancel()
	return a.Hub.CallAs(ctx, p, method, params)
}

const (
	maxRenameBody = 4 << 10 // the contract's, as the next
	maxTitle      = 80
)

// renameSession gives a session a title that automatic titles do not replace.
func (a *HTTP) renameSession(w http.ResponseWriter, r *http.Request, p *auth.Principal) {
	var ask struct{ Title string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRenameBody)).Decode(&ask); err != nil {
		fail(w, http.StatusBadRequest, "body", "the body is not {title} of at most 4 KiB")
		return
	}
	title := oneLine(ask.Title)
	if title == "" {
		fail(w, http.StatusBadRequest, "title", "the title is empty")
		return
	}
	s, ok := a.session(w, r, p)
	if !ok {
		return
	}
	if err := a.rename(r, p, s.ID, title); err != nil {
		a.failed(w, err)
		return
	}
	a.Directory.Changed()
	writeAnswer(w, map[string]any{"ok": true, "title": title})
}

func (a *HTTP) rename(r *http.Request, p *auth.Principal, sessionID, title string) error {
	result, err := a.call(r, p, "v4/command", map[string]any{
		"commandId": rand.Text(), "sessionId": sessionID, "type": "renameSession",
		"payload": map[string]string{"title": title}, "issuedAt": time.Now().UnixMilli(),
	})
	if err != nil {
		return err
	}
	var ack struct{ Status, Message string }
	if err := json.Unmarshal(result, &ack); err != nil {
		return err
	}
	switch ack.Status {
	case "accepted", "noop", "duplicate":
		return nil
	}
	return &hub.CallError{Code: codeInternal, Message: "the agent did not take the title: " + ack.Message}
}

// oneLine makes one line of a title, of bounded length.
func oneLine(title string) string {
	words := strings.FieldsFunc(title, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar })
	line := []rune(strings.Join(words, " "))
	return strings.TrimSpace(string(line[:min(len(line), maxTitle)]))
}

// openProject answers which instance serves a project: this one. A session that is named is shown in lists again.
func (a *HTTP) openProject(w http.ResponseWriter, r *http.Request, p *auth.Principal) {
	var ask struct{ WorkspacePath, SessionID string }
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || !filepath.IsAbs(ask.WorkspacePath) {
		fail(w, http.StatusBadRequest, "body", "the body is not {workspacePath, sessionId?} with an absolute path")
		return
	}
	all, err := a.Directory.List(r.Context(), p, fresh)
	if err != nil {
		a.failed(w, err)
		return
	}
	workspace := filepath.Clean(ask.WorkspacePath)
	if !p.MayCreateIn(workspace) && len(inProject(all, workspace)) == 0 {
		fail(w, http.StatusForbidden, "unknown_project", "unknown project")
		return
	}
	if ask.SessionID != "" {
		s, ok, err := a.Directory.Find(r.Context(), p, ask.SessionID, fresh)
		if err != nil {
			a.failed(w, err)
			return
		}
		if !ok || s.Workspace != workspace {
			noSession(w)
			return
		}
		a.Directory.Use(s.ID)
	}
	writeAnswer(w, map[string]any{"id": a.Instance, "reused": true})
}
