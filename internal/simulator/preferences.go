package simulator

import (
	"encoding/json"
	"time"
)

// preferencesTimeout is how long the client may take to say what its user prefers (protocol: 15 s).
const preferencesTimeout = 15 * time.Second

// Scopes in which preferences are asked for.
const (
	scopeMaterialization = "runtime-materialization"
	scopeExecution       = "user-execution"
)

// preferences are the answer to session/requestRuntimePreferences.
type preferences struct {
	AutoResolution bool `json:"askUserQuestionAutoResolutionEnabled"`
	Memory         bool `json:"memoryEnabled"`
}

var preferencesSchema = strict(
	req("nativeSearchEnhancementsEnabled", boolean),
	opt("subagentRuntimeConfigEnabled", boolean),
	opt("memoryEnabled", boolean),
	opt("askUserQuestionAutoResolutionEnabled", boolean),
	opt("integratedTerminalShell", tagged("mode", map[string]schema{
		"auto": strict(req("mode", oneOf("auto"))),
		"shell": strict(req("mode", oneOf("shell")), req("dialect", nonEmpty), req("id", nonEmpty),
			req("label", nonEmpty), req("path", nonEmpty)),
	})),
	opt("modelContextBudgetStrategy", nonEmpty),
)

// askPreferences asks the client. Two errors mean "this client has none" and give the defaults; every other error, a
// bad answer and silence fail the request that needed them.
func (s *server) askPreferences(sessionID, scope string) (preferences, *fault) {
	chosen := preferences{AutoResolution: true}
	c := newCall("session/requestRuntimePreferences", object{"sessionId": sessionID, "scope": scope})
	s.put(c)
	a := s.await(s.ctx, c, preferencesTimeout)
	switch {
	case a.fault != nil:
		return chosen, a.fault
	case a.failed != nil && (a.failed.Code == codeMethodNotFound || a.failed.Code == codeNoClient):
		return chosen, nil
	case a.failed != nil:
		return chosen, &fault{codeInternal, object{"name": "ZCodeProtocolError", "code": a.failed.Code}, a.failed.Message}
	}
	if _, issues := decodeStrict[object](a.result, preferencesSchema); len(issues) > 0 {
		return chosen, &fault{codeInternal, zodError(issues), issueText(issues)}
	}
	if err := json.Unmarshal(a.result, &chosen); err != nil {
		return chosen, thrown("Error", err.Error())
	}
	return chosen, nil
}

// ensurePreferences asks before the first execution of a session, once as long as it is in memory.
func (x *session) ensurePreferences() *fault {
	if x.prefsKnown {
		return nil
	}
	chosen, failed := x.s.askPreferences(x.ID, scopeExecution)
	if failed == nil {
		x.prefs, x.prefsKnown = chosen, true
		x.reportServers()
	}
	return failed
}
