package session

import (
	"zcodehub/internal/wire"
)

// PlainAnswer is the result that says yes, once, or no to a permission, and
// nothing more. ok is false for other interactions, and where that is not
// offered.
func (in *Interaction) PlainAnswer(allow bool) (result []byte, ok bool) {
	if in.Kind != Permission || in.Params == nil {
		return nil, false
	}
	decision, kind := decisionDeny, "deny"
	if allow {
		decision, kind = decisionAllow, "allow_once"
	}
	options, _ := wire.Get(in.Params, "options")
	for raw := range wire.Elements(options) {
		response, _ := wire.Get(raw, "response")
		_, updates := wire.Get(response, "permissionUpdates")
		_, rewrites := wire.Get(response, "modifiedInput")
		if textOf(raw, "kind") == kind && textOf(response, "decision") == decision && !updates && !rewrites {
			return response, true
		}
	}
	if allow && len(in.options) > 0 {
		return nil, false
	}
	return []byte(`{"decision":"` + decision + `"}`), true
}
