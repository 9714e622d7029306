package auth

import (
	"net/http"
	"strings"
)

// Bearer reads the token of an Authorization header. Several headers, another scheme or a token with characters that
// no token has count as none.
func Bearer(r *http.Request) (string, bool) {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(values[0], " ")
	if !found || !strings.EqualFold(scheme, "Bearer") || !isToken68(token) {
		return "", false
	}
	return token, true
}

// isToken68 is the alphabet of RFC 6750 section 2.1.
func isToken68(s string) bool {
	body := strings.TrimRight(s, "=")
	return body != "" && !strings.ContainsFunc(body, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~+/", r))
	})
}
