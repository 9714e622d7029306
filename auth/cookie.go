package auth

import (
	"fmt"
	"net/http"
	"time"
)

// maxCookie: browsers drop, without a word, a cookie whose name and value exceed 4096 bytes.
const maxCookie = 4096

// hostPrefix makes browsers refuse the cookie unless it is Secure, for this host alone and for all paths: no sibling
// host can plant one. securePrefix is what is left of that for a cookie with a path of its own.
const (
	hostPrefix   = "__Host-"
	securePrefix = "__Secure-"
)

// RefreshPath is the one route, with what is below it, that the page's refresh secret is sent to.
const RefreshPath = "/api/token"

// cookieName tells hubs on one host apart; cookies do not know ports.
func cookieName(instance string) string {
	const enough = 8 // hex digits: a handful of hubs on one host
	if len(instance) > enough {
		instance = instance[:enough]
	}
	if instance == "" {
		return "hub-session"
	}
	return "hub-session-" + instance
}

func (e *Edge) cookieFor(r *http.Request) http.Cookie {
	c := http.Cookie{Name: e.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if e.HTTPS(r) {
		c.Name, c.Secure = hostPrefix+e.cookie, true
	}
	return c
}

// SetCookie gives the page its session cookie: out of reach of scripts, never sent from other sites, gone when the
// token ends.
func (e *Edge) SetCookie(w http.ResponseWriter, r *http.Request, token string, expires time.Time) error {
	c := e.cookieFor(r)
	if !isToken68(token) || len(c.Name)+len(token) > maxCookie {
		return fmt.Errorf("the token does not fit into a cookie (at most %d bytes)", maxCookie-len(c.Name))
	}
	c.Value, c.Expires = token, expires
	http.SetCookie(w, &c)
	return nil
}

// ClearCookie takes the session cookie back.
func (e *Edge) ClearCookie(w http.ResponseWriter, r *http.Request) { clearCookie(w, e.cookieFor(r)) }

func clearCookie(w http.ResponseWriter, c http.Cookie) {
	c.MaxAge = -1
	http.SetCookie(w, &c)
}

func (e *Edge) refreshCookieFor(r *http.Request) http.Cookie {
	c := http.Cookie{Name: e.cookie + "-refresh", Path: RefreshPath, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if e.HTTPS(r) {
		c.Name, c.Secure = securePrefix+c.Name, true
	}
	return c
}

// SetRefreshCookie gives the page the secret by which it renews its session cookie. It is sent nowhere else.
func (e *Edge) SetRefreshCookie(w http.ResponseWriter, r *http.Request, secret string, expires time.Time) {
	c := e.refreshCookieFor(r)
	c.Value, c.Expires = secret, expires
	http.SetCookie(w, &c)
}

// ClearRefreshCookie takes the refresh secret back.
func (e *Edge) ClearRefreshCookie(w http.ResponseWriter, r *http.Request) {
	clearCookie(w, e.refreshCookieFor(r))
}

// RefreshCookie reads the page's refresh secret; two of them are none.
func (e *Edge) RefreshCookie(r *http.Request) (string, bool) {
	return onlyCookie(r, e.refreshCookieFor(r).Name)
}

// Cookie reads the token from the page's cookie. Two of them are none: one was planted.
func (e *Edge) Cookie(r *http.Request) (string, bool) {
	return onlyCookie(r, e.cookieFor(r).Name)
}

func onlyCookie(r *http.Request, name string) (string, bool) {
	found := r.CookiesNamed(name)
	if len(found) != 1 || found[0].Value == "" {
		return "", false
	}
	return found[0].Value, true
}

func (e *Edge) hasCookie(r *http.Request) bool {
	return len(r.CookiesNamed(e.cookieFor(r).Name))+len(r.CookiesNamed(e.refreshCookieFor(r).Name)) > 0
}
