package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"time"

	"github.com/go-chi/chi/v5"
)

//go:embed page
var pageFiles embed.FS

// mountPage serves the embedded page: index.html at / and its files beside it. All of it is public; what it shows comes
// over /ws after a login.
func (s *Server) mountPage(r chi.Router) error {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		content, err := fs.ReadFile(files, entry.Name())
		if err != nil {
			return err
		}
		route := "/" + entry.Name()
		if entry.Name() == "index.html" {
			route = "/"
		}
		r.Get(route, pageFile(entry.Name(), content))
	}
	return nil
}

// pageFile serves one file. Browsers ask each time whether it is still the same, so that a page never talks to a hub of
// another version than its own.
func pageFile(name string, content []byte) http.HandlerFunc {
	sum := sha256.Sum256(content)
	etag := `"` + hex.EncodeToString(sum[:8]) + `"`
	kind := mime.TypeByExtension(path.Ext(name))
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Content-Security-Policy", contentPolicy(r.Host))
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", etag)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	}
}

// contentPolicy allows the page its own files and its own hub, and no inline code. The WebSocket addresses are spelt
// out because older Safari does not count them as 'self'; host passed the Host check, so nothing else can be in it.
func contentPolicy(host string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; manifest-src 'self'; " +
		"connect-src 'self' ws://" + host + " wss://" + host + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
