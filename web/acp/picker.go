package acp

import (
	"net/http"
	"os"
	"path/filepath"

	"zcodehub/auth"
)

// picked is the answer of the folder picker.
type picked struct {
	Path      string       `json:"path"`
	Parent    string       `json:"parent,omitempty"`
	Creatable bool         `json:"creatable"` // the hub makes no folders
	Entries   []pickedName `json:"entries"`
	Truncated bool         `json:"truncated"`
}

type pickedName struct {
	Name string `json:"name"`
}

// pickFolder names the folders in a folder of this machine, for who may start a session in any of them.
func (a *HTTP) pickFolder(w http.ResponseWriter, r *http.Request, p *auth.Principal) {
	if p.Scoped() {
		fail(w, http.StatusForbidden, "forbidden", "this token is limited: it does not allow to look around")
		return
	}
	path := r.URL.Query().Get("path")
	if path == "" {
		path, _ = os.UserHomeDir()
	}
	if !filepath.IsAbs(path) {
		fail(w, http.StatusBadRequest, "path", "path has to be absolute")
		return
	}
	path = filepath.Clean(path)
	f, err := openAnyFolder(path, a.Private)
	if err != nil {
		a.fileFailed(w, err)
		return
	}
	defer f.close()
	entries, more, err := f.list(r.Context(), "", func(kind string) bool { return kind == kindDir })
	if err != nil {
		a.fileFailed(w, err)
		return
	}
	list := picked{Path: path, Entries: make([]pickedName, 0, len(entries)), Truncated: more}
	if parent := filepath.Dir(path); parent != path {
		list.Parent = parent
	}
	for _, e := range entries {
		list.Entries = append(list.Entries, pickedName{e.Name})
	}
	writeAnswer(w, list)
}
