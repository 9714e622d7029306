package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
)

// dist is the page as web/ui builds it.
//
//go:embed dist
var dist embed.FS

// pageFS is the page's own folder: its names are addresses.
func pageFS() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is valid
	}
	return files
}

// PageID names the embedded page, in hub/hello too, so that a page of another build can tell that it is not this hub's.
func PageID() (string, error) { return pageID(pageFS()) }

func pageID(files fs.FS) (string, error) {
	raw, err := fs.ReadFile(files, "build.json")
	if err != nil {
		return "", fmt.Errorf("the page has no build id: %w", err)
	}
	var build struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(raw, &build); err != nil || build.ID == "" {
		return "", fmt.Errorf("the page has no build id in build.json: %q", raw)
	}
	return build.ID, nil
}

// mediaTypes are those of the files that a page may have. The system's own table differs from machine to machine.
var mediaTypes = map[string]string{
	".html":        "text/html; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".json":        "application/json",
	".webmanifest": "application/manifest+json",
	".svg":         "image/svg+xml",
	".png":         "image/png",
	".ico":         "image/x-icon",
	".woff2":       "font/woff2",
}

// An asset is one file of the page, ready to be served. It is immutable.
type asset struct {
	kind     string
	plain    encoding
	squeezed encoding // gzip; without body if that saves little
}

type encoding struct {
	body []byte
	etag string
}

// mountPage serves the embedded page: index.html at / and all other files under their names. All of it is public; what
// it shows comes over /ws after a login. The page's own routes stand in the fragment, which no server sees.
func (s *Server) mountPage(r chi.Router) error {
	assets, err := loadPage(pageFS())
	if err != nil {
		return err
	}
	build, err := PageID()
	if err != nil {
		return err
	}
	for name, a := range assets {
		if name == "index.html" {
			name = ""
		}
		r.Get("/"+name, ofBuild(build, a.serve))
	}
	return nil
}

// loadPage reads the files of a page, and squeezes them once for all requests.
func loadPage(files fs.FS) (map[string]*asset, error) {
	assets := map[string]*asset{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		kind, known := mediaTypes[path.Ext(name)]
		if !known {
			return fmt.Errorf("the page's file %s is of no kind that the hub serves", name)
		}
		assets[name] = newAsset(kind, content)
		return nil
	})
	if err == nil && assets["index.html"] == nil {
		err = fmt.Errorf("the page has no index.html")
	}
	return assets, err
}

func newAsset(kind string, content []byte) *asset {
	sum := sha256.Sum256(content)
	tag := hex.EncodeToString(sum[:8])
	a := &asset{kind: kind, plain: encoding{content, `"` + tag + `"`}}
	if small := squeeze(content); len(small) < len(content)*9/10 { // pictures are compressed already
		a.squeezed = encoding{small, `"` + tag + `-gzip"`}
	}
	return a
}

func squeeze(content []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is one of the package's
	}
	_, _ = w.Write(content) // memory takes everything
	_ = w.Close()
	return out.Bytes()
}

// ofBuild serves a file to pages of this build and to whoever names none. A page of another one, left open while the hub
// was replaced, must not be given parts that do not fit it.
func ofBuild(build string, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if named, names := r.URL.Query()["v"]; names && (len(named) != 1 || named[0] != build) {
			writeError(w, http.StatusNotFound, "other_build", "this hub serves another build of the page: load it anew")
			return
		}
		serve(w, r)
	}
}

// serve serves the file. Browsers ask each time whether it is still the same, so that a page never talks to a hub of
// another build than its own without knowing; what is named with its build cannot change and need not be asked for.
func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Content-Security-Policy", contentPolicy(r.Host))
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Has("v") {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	e := a.plain
	if a.squeezed.body != nil {
		h.Set("Vary", "Accept-Encoding")
		if takesGzip(r.Header.Values("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			e = a.squeezed
		}
	}
	h.Set("ETag", e.etag)
	if has(r.Header.Values("If-None-Match"), e.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(e.body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(e.body) // the client may be gone
}

// takesGzip reads Accept-Encoding (RFC 9110 section 12.5.3): gzip by its name or as any, unless its weight is zero.
func takesGzip(lines []string) bool {
	takes, named := false, false
	for item := range items(lines) {
		coding, parameters, _ := strings.Cut(item, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		if isGzip := coding == "gzip" || coding == "x-gzip"; isGzip || coding == "*" && !named {
			takes, named = !isZeroWeight(parameters), named || isGzip
		}
	}
	return takes
}

func isZeroWeight(parameters string) bool {
	for p := range strings.SplitSeq(parameters, ";") {
		if key, value, _ := strings.Cut(p, "="); strings.EqualFold(strings.TrimSpace(key), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err != nil || q == 0
		}
	}
	return false
}

// has tells whether a list of entity tags names one, weakly compared (RFC 9110 section 13.1.2).
func has(lines []string, etag string) bool {
	for item := range items(lines) {
		if item == "*" || strings.TrimPrefix(item, "W/") == etag {
			return true
		}
	}
	return false
}

// items are the parts of a header that is a list, over all its lines.
func items(lines []string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, line := range lines {
			for item := range strings.SplitSeq(line, ",") {
				if item = strings.TrimSpace(item); item != "" && !yield(item) {
					return
				}
			}
		}
	}
}

// contentPolicy allows the page its own files and its own hub, pictures that it made or was given as data, and no
// inline code. The WebSocket addresses are spelt out because older Safari does not count them as 'self'; host passed
// the Host check, so nothing else can be in it.
func contentPolicy(host string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; manifest-src 'self'; worker-src 'self'; " +
		"connect-src 'self' ws://" + host + " wss://" + host + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
