package web

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"zcodehub/auth"
)

// pageNames are the embedded files.
func pageNames(t *testing.T) (names []string) {
	t.Helper()
	err := fs.WalkDir(pageFS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatalf("the page has %d files: %v", len(names), err)
	}
	return names
}

func embedded(t *testing.T, name string) []byte {
	t.Helper()
	content, err := fs.ReadFile(pageFS(), name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// addressOf is where a file of the page is served.
func addressOf(name string) string {
	if name == "index.html" {
		return "/"
	}
	return "/" + name
}

// The content policy allows no inline code or style, and text of the agent must never be read as HTML.
func TestPageHasNoInlineCode(t *testing.T) {
	inPage := map[string]*regexp.Regexp{
		"an inline script":       regexp.MustCompile(`<script(?:[^>]*)>[^<]`),
		"a handler attribute":    regexp.MustCompile(`<[^>]+\son[a-z]+=`),
		"an inline style":        regexp.MustCompile(`<style|<[^>]+\sstyle=`),
		"another site's address": regexp.MustCompile(`(?:src|href)="(?:https?:)?//`),
	}
	for what, pattern := range inPage {
		if found := pattern.Find(embedded(t, "index.html")); found != nil {
			t.Errorf("index.html holds %s: %q", what, found)
		}
	}
	inSource := map[string]*regexp.Regexp{
		"text made into HTML": regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc|createContextualFragment|dangerouslySet`),
		"text made into code": regexp.MustCompile(`\beval\(|new Function|setTimeout\(["'\x60]|javascript:["'\x60]`),
	}
	sources := 0
	err := filepath.WalkDir(filepath.Join("ui", "src"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		sources++
		for what, pattern := range inSource {
			if found := pattern.Find(content); found != nil {
				t.Errorf("%s holds %s: %q", path, what, found)
			}
		}
		return err
	})
	if err != nil || sources == 0 {
		t.Errorf("%d sources were read: %v", sources, err)
	}
}

// Every file is served as it is embedded, whole or squeezed, under a strict policy, and asked for again in vain.
func TestPageIsServedAsItIsEmbedded(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		for _, name := range pageNames(t) {
			content := embedded(t, name)
			for _, accepted := range []string{"identity", "gzip, br;q=0.5"} {
				code, header, body := h.request("GET", addressOf(name), http.Header{"Accept-Encoding": {accepted}})
				got := []byte(body)
				if squeezed := header.Get("Content-Encoding") == "gzip"; squeezed {
					got = unsqueezed(t, got)
					if accepted == "identity" {
						t.Errorf("%s is squeezed for who does not take it", name)
					}
				}
				if code != 200 || !bytes.Equal(got, content) {
					t.Errorf("GET %s (%s) answered %d with %d bytes, %d are embedded", name, accepted, code, len(got), len(content))
				}
				if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src 'self' ws://"+address) || strings.Contains(policy, "unsafe") {
					t.Errorf("GET %s: policy %q", name, policy)
				}
				if header.Get("Content-Type") != mediaTypes[filepath.Ext(name)] || header.Get("Cache-Control") != "no-cache" || header.Get("X-Content-Type-Options") != "nosniff" {
					t.Errorf("GET %s: %v", name, header)
				}
				if len(content) > 1024 && strings.HasSuffix(name, ".js") && header.Get("Vary") != "Accept-Encoding" {
					t.Errorf("GET %s does not say that it varies", name)
				}
				headCode, headHeader, headBody := h.request("HEAD", addressOf(name), http.Header{"Accept-Encoding": {accepted}})
				if headCode != 200 || headBody != "" || headHeader.Get("Content-Length") != header.Get("Content-Length") || headHeader.Get("Etag") != header.Get("Etag") {
					t.Errorf("HEAD %s answered %d, %v; GET %v", name, headCode, headHeader, header)
				}
				code, again, body := h.request("GET", addressOf(name), http.Header{"Accept-Encoding": {accepted}, "If-None-Match": {`"x", W/` + header.Get("Etag")}})
				if code != http.StatusNotModified || body != "" || again.Get("Etag") != header.Get("Etag") {
					t.Errorf("GET %s again answered %d", name, code)
				}
				if code, _, _ = h.request("GET", addressOf(name), http.Header{"Accept-Encoding": {accepted}, "If-None-Match": {`"of an older build"`}}); code != 200 {
					t.Errorf("GET %s with the tag of another build answered %d", name, code)
				}
			}
		}
		for _, path := range []string{"/index.html", "/dist/app.js", "/app.js/", "/../page.go", "/ui/src/main.tsx", "/sessions"} {
			if code, _, _ := h.request("GET", path, nil); code != 404 {
				t.Errorf("GET %s answered %d", path, code)
			}
		}
		if code, _, _ := h.request("POST", "/", nil); code != http.StatusMethodNotAllowed {
			t.Errorf("POST / answered %d", code)
		}
	})
}

func unsqueezed(t *testing.T, body []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// firstLoadLimit is what a first visit may cost over a phone network: at 1.6 Mbit/s this takes 0.6 s.
const firstLoadLimit = 120 << 10

// What index.html and the manifest name is there; what the first of them needs at once is little, and everything else is
// fetched when it is needed.
func TestFirstLoadIsSmallAndWhole(t *testing.T) {
	var manifest struct {
		Icons []struct{ Src string }
	}
	if err := json.Unmarshal(embedded(t, "manifest.webmanifest"), &manifest); err != nil || len(manifest.Icons) == 0 {
		t.Errorf("the manifest names %d icons: %v", len(manifest.Icons), err)
	}
	for _, icon := range manifest.Icons {
		embedded(t, icon.Src)
	}
	total := len(squeeze(embedded(t, "index.html")))
	for _, tag := range regexp.MustCompile(`<(?:link|script)[^>]*>`).FindAllString(string(embedded(t, "index.html")), -1) {
		name := regexp.MustCompile(`(?:src|href)="([^"?]+)`).FindStringSubmatch(tag)
		if name == nil {
			continue
		}
		content := embedded(t, name[1])
		if strings.Contains(tag, "<script") || strings.Contains(tag, "stylesheet") || strings.Contains(tag, "modulepreload") {
			total += len(squeeze(content))
		}
	}
	if total > firstLoadLimit {
		t.Errorf("a first visit costs %d bytes, more than %d", total, firstLoadLimit)
	}
}

func TestPageTellsItsBuild(t *testing.T) {
	id, err := PageID()
	if err != nil || !regexp.MustCompile(`^[0-9A-Za-z]{8,64}$`).MatchString(id) {
		t.Errorf("the page's build is %q: %v", id, err)
	}
	for _, content := range []string{``, `{}`, `{"id":""}`, `{"id":7}`, `[]`} {
		if id, err := pageID(fstest.MapFS{"build.json": {Data: []byte(content)}}); err == nil {
			t.Errorf("build.json %q gives the id %q", content, id)
		}
	}
	if _, err := pageID(fstest.MapFS{}); err == nil {
		t.Error("a page without build.json has an id")
	}
}

// A page that was left open while the hub was replaced gets no parts of another build; its own parts are kept for good.
func TestPartsOfAnotherBuildAreNotServed(t *testing.T) {
	id, err := PageID()
	if err != nil {
		t.Fatal(err)
	}
	bubble(t, func(t *testing.T, h *harness) {
		for query, want := range map[string]int{"?v=" + id: 200, "": 200, "?v=0123456789abcdef": 404, "?v=": 404, "?v=" + id + "&v=x": 404} {
			code, header, _ := h.request("GET", "/app.js"+query, nil)
			if code != want || strings.Contains(header.Get("Cache-Control"), "immutable") != (want == 200 && query != "") {
				t.Errorf("/app.js%s answered %d, to be kept: %q", query, code, header.Get("Cache-Control"))
			}
		}
	})
}

func TestPageThatCannotBeServedIsRefused(t *testing.T) {
	for what, files := range map[string]fstest.MapFS{
		"a file of no kind": {"index.html": {}, "a.exe": {}},
		"no index":          {"app.js": {}},
	} {
		if _, err := loadPage(files); err == nil {
			t.Errorf("a page with %s was taken", what)
		}
	}
}

func TestAcceptedEncodingsAreRead(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "gzip": true, "br, gzip": true, "GZIP;q=0.1": true, "gzip;q=0": false, "gzip; q=0.000": false, "*": true, "*;q=0": false,
		"gzip;q=0, *": false, "*, gzip;q=0": false, "*;q=0, gzip": true, "identity": false, "gzipped": false, "gzip;q=x": false, "deflate,br": false,
	} {
		if got := takesGzip([]string{header}); got != want {
			t.Errorf("Accept-Encoding %q takes gzip: %v", header, got)
		}
	}
}

func FuzzPageHeaders(f *testing.F) {
	f.Add("gzip;q=0.5, *", `"x", W/"y"`)
	f.Fuzz(func(t *testing.T, accepted, tags string) {
		takesGzip([]string{accepted, tags})
		if has([]string{tags}, `"never-there"`) && !strings.Contains(tags, `"never-there"`) && !strings.Contains(tags, "*") {
			t.Errorf("%q names a tag that is not in it", tags)
		}
	})
}

// A bookmark, a link in a chat, or a page on another port of this machine may lead to the page; the cookie that the
// browser sends along must not turn that into a refusal.
func TestPageOpensFromALinkElsewhere(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		cookie := h.login(h.token(auth.Grant{}))
		header := http.Header{"Cookie": {cookie}, "Sec-Fetch-Site": {"same-site"}}
		if code, _, _ := h.request("GET", "/", header); code != 200 {
			t.Errorf("the page answered %d", code)
		}
		if code, _, _ := h.request("GET", "/api/status", header); code != 403 {
			t.Errorf("the API answered %d", code)
		}
	})
}
