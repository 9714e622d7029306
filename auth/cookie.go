package auth

import (
	"fmt"
	"net/http"
	"time"
)

// maxCookie: browsers drop, without a word, a cookie whose name and value exceed 4096 bytes.
const maxCookie = 4096

// hostPrefix makes browsers refuse the cookie unless it is Secure, for this host alone and for all paths: no sibling
// host can plant one.
const hostPrefix = "__Host-"

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

// ClearCookie takes the cookie back.
func (e *Edge) ClearCookie(w http.ResponseWriter, r *http.Request) {
	c := e.cookieFor(r)
	c.MaxAge = -1
	http.SetCookie(w, &c)
}

// Cookie reads the token from the page's cookie. Two of them are none: one was planted.
func (e *Edge) Cookie(r *http.Request) (string, bool) {
	found := r.CookiesNamed(e.cookieFor(r).Name)
	if len(found) != 1 || found[0].Value == "" {
		return "", false
	}
	return found[0].Value, true
}

func (e *Edge) hasCookie(r *http.Request) bool { return len(r.CookiesNamed(e.cookieFor(r).Name)) > 0 }
