package acp

import (
	"net/http"

	"zcodehub/auth"
)

// quota says in the contract's form that nothing is known: the app-server keeps the account of its provider to itself,
// and the hub holds no key to ask with.
func (a *HTTP) quota(w http.ResponseWriter, _ *http.Request, _ *auth.Principal) {
	writeAnswer(w, Quota())
}

// Quota is the answer of the HTTP route and of account/usage_stats.
func Quota() any {
	type kind struct {
		Kind string `json:"kind"`
	}
	return map[string]kind{"glm": {"unavailable"}, "opencode": {"not_configured"}}
}
