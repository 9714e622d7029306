package web

import (
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"zcodehub/auth"
)

// The content policy allows no inline code or style, and text of the agent must never be read as HTML.
func TestPageHasNoInlineCode(t *testing.T) {
	forbidden := map[string]*regexp.Regexp{
		"an inline script":       regexp.MustCompile(`<script(?:[^>]*)>[^<]`),
		"a handler attribute":    regexp.MustCompile(`<[^>]+\son[a-z]+=`),
		"an inline style":        regexp.MustCompile(`<style|<[^>]+\sstyle=`),
		"text made into HTML":    regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser`),
		"text made into code":    regexp.MustCompile(`\beval\(|new Function|setTimeout\("`),
		"another site's address": regexp.MustCompile(`(?:src|href)="(?:https?:)?//`),
	}
	total := 0
	err := fs.WalkDir(pageFiles, "page", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(pageFiles, path)
		total += len(content)
		for what, pattern := range forbidden {
			if found := pattern.Find(content); found != nil {
				t.Errorf("%s holds %s: %q", path, what, found)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if total > 60<<10 {
		t.Errorf("the page has %d bytes, want at most 60 KiB", total)
	}
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

func TestPageIsServedAndRevalidated(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		for path, kind := range map[string]string{"/": "text/html", "/app.js": "text/javascript", "/style.css": "text/css", "/icon.svg": "image/svg+xml"} {
			code, header, body := h.request("GET", path, nil)
			if code != 200 || !strings.HasPrefix(header.Get("Content-Type"), kind) || body == "" {
				t.Errorf("GET %s answered %d, %s", path, code, header.Get("Content-Type"))
			}
			if !strings.Contains(header.Get("Content-Security-Policy"), "connect-src 'self' ws://"+address) {
				t.Errorf("GET %s: policy %q", path, header.Get("Content-Security-Policy"))
			}
			code, _, _ = h.request("GET", path, http.Header{"If-None-Match": {header.Get("ETag")}})
			if code != http.StatusNotModified {
				t.Errorf("GET %s again answered %d", path, code)
			}
		}
		if code, _, _ := h.request("GET", "/index.html", nil); code != 404 {
			t.Errorf("GET /index.html answered %d: the page has one address", code)
		}
	})
}
