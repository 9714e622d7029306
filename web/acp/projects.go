package acp

import (
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"zcodehub/auth"
)

// project is a workspace with sessions in it.
type project struct {
	WorkspacePath string `json:"workspacePath"`
	Sessions      int    `json:"sessions"`
	LastActive    int64  `json:"lastActive"` // ms
}

func (a *HTTP) projects(w http.ResponseWriter, r *http.Request, p *auth.Principal) {
	all, err := a.Directory.List(r.Context(), p, fresh)
	if err != nil {
		a.failed(w, err)
		return
	}
	places := map[string]int{}
	list := []project{} // in the order of all: newest first
	for _, s := range all {
		place, known := places[s.Workspace]
		if !known {
			place = len(list)
			places[s.Workspace] = place
			list = append(list, project{WorkspacePath: s.Workspace, LastActive: s.UpdatedAt.UnixMilli()})
		}
		list[place].Sessions++
	}
	writeAnswer(w, list)
}

func inProject(all []Session, workspace string) []Session {
	var inside []Session
	for _, s := range all {
		if s.Workspace == workspace {
			inside = append(inside, s)
		}
	}
	return inside
}

// storedSession is a session of a project, open or not.
type storedSession struct {
	SessionID string    `json:"sessionId"`
	Title     string    `json:"title"`
	Cwd       string    `json:"cwd"`
	UpdatedAt time.Time `json:"updatedAt"`
	Live      bool      `json:"live"`
	Running   bool      `json:"running"`
}

// pageCursor is where the next page begins.
type pageCursor struct {
	Before   int64  `json:"before"` // ms
	BeforeID string `json:"beforeId"`
}

// projectPage is a part of a project's sessions, newest first.
type projectPage struct {
	WorkspacePath string            `json:"workspacePath"`
	Instance      map[string]string `json:"instance"`
	Sessions      []storedSession   `json:"sessions"`
	NextCursor    *pageCursor       `json:"nextCursor"`
}

const (
	projectLimit    = 20 // the contract's, as the next
	maxProjectLimit = 200
)

func (a *HTTP) projectSessions(w http.ResponseWriter, r *http.Request, p *auth.Principal) {
	query := r.URL.Query()
	workspace := query.Get("workspacePath")
	limit, err := number(query.Get("limit"), projectLimit, 1)
	before, err2 := number(query.Get("before"), 0, 0)
	if !filepath.IsAbs(workspace) || err != nil || err2 != nil {
		fail(w, http.StatusBadRequest, "query", "workspacePath has to be an absolute path, limit and before numbers")
		return
	}
	all, err := a.Directory.List(r.Context(), p, fresh)
	if err != nil {
		a.failed(w, err)
		return
	}
	workspace = filepath.Clean(workspace)
	inside := inProject(all, workspace)
	if len(inside) == 0 {
		fail(w, http.StatusForbidden, "unknown_project", "unknown project")
		return
	}
	if query.Has("before") {
		inside = After(inside, time.UnixMilli(before), query.Get("beforeId"))
	}
	page := projectPage{WorkspacePath: workspace, Instance: map[string]string{"id": a.Instance, "origin": "serve"}, Sessions: []storedSession{}}
	for i, s := range inside {
		if int64(i) == min(limit, maxProjectLimit) {
			last := inside[i-1]
			page.NextCursor = &pageCursor{last.UpdatedAt.UnixMilli(), last.ID}
			break
		}
		page.Sessions = append(page.Sessions, storedSession{s.ID, s.Title, s.Workspace, s.UpdatedAt.UTC(), s.Live, s.Running})
	}
	writeAnswer(w, page)
}

// number reads a number of a query, at least least; missing is the default.
func number(text string, missing, least int64) (int64, error) {
	if text == "" {
		return missing, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && n < least {
		err = strconv.ErrRange
	}
	return n, err
}
