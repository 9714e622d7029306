package hub

import (
	"zcodehub/auth"
)

// A rule says what the hub does with a method that a client calls. This file
// and package session hold what the hub knows of the app-server's method names.
type rule struct {
	right auth.Right
	// scoped methods may be called by holders of a token that is limited to
	// sessions or workspaces, since the hub can check what they touch.
	scoped scopeCheck
	// steers is set for what changes the course of the session that it names:
	// with leased control it is the holder's.
	steers bool
	// local methods end in the hub.
	local func(*Client, *request)
	// readOnly methods change nothing, so that a call that got lost may be
	// repeated.
	readOnly bool
	// after is called with the app-server's result before the client gets it,
	// and may replace it.
	after func(*Client, *request, []byte) []byte
}

// A scopeCheck says how the hub checks a scoped token's call.
type scopeCheck uint8

const (
	scopeRefused   scopeCheck = iota // not for scoped tokens
	scopeSession                     // params.sessionId must be there; nothing else is touched
	scopeWorkspace                   // params.workspace is within the scope
	scopeCreates                     // as scopeSession, but another session comes of it: not for tokens limited to sessions
	scopeFree                        // nothing but params.sessionId, if it is there: the answer is filtered, or says nothing of others
)

// ruleFor is the rule of a method. What the hub does not know is forwarded for
// those who may control everything: future methods need no new hub.
func ruleFor(method string) rule {
	if r, ok := rules[method]; ok {
		return r
	}
	return rule{right: auth.Control, steers: true}
}

var rules map[string]rule

// rules is filled by init, since the methods it names look rules up themselves.
func init() {
	view := func(s scopeCheck) rule { return rule{right: auth.View, scoped: s, readOnly: true} }
	control := func(s scopeCheck) rule { return rule{right: auth.Control, scoped: s} }
	steers := func(s scopeCheck) rule { return rule{right: auth.Control, scoped: s, steers: true} }
	admin := rule{right: auth.Admin}
	local := func(s scopeCheck, f func(*Client, *request)) rule {
		return rule{right: auth.View, scoped: s, local: f, readOnly: true}
	}
	snapshot := func(r rule) rule { r.after = (*Client).learnWorkspace; return r }

	rules = map[string]rule{
		// ended in the hub
		"session/subscribe":           local(scopeSession, (*Client).subscribe),
		"session/unsubscribe":         local(scopeSession, (*Client).unsubscribe),
		"hub/initialize":              local(scopeFree, (*Client).initialize),
		"hub/setProfile":              local(scopeFree, (*Client).setProfile),
		"hub/pendingInteractions":     local(scopeFree, (*Client).pendingInteractions),
		"hub/presence":                local(scopeFree, (*Client).presence),
		"hub/attention":               local(scopeFree, (*Client).setAttention),
		"hub/activity":                local(scopeSession, (*Client).listActivity),
		"hub/control":                 local(scopeSession, (*Client).control),
		"hub/ping":                    local(scopeFree, (*Client).ping),
		"hub/refreshToken":            local(scopeFree, (*Client).refreshToken),
		"hub/restartAppServer":        {right: auth.Admin, local: (*Client).restartAppServer},
		"v4/conversation/subscribe":   local(scopeFree, (*Client).subscribeTopic),
		"v4/conversation/resync":      local(scopeFree, (*Client).resyncTopic),
		"v4/conversation/unsubscribe": local(scopeFree, (*Client).unsubscribeTopic),
		"v4/connection/flow":          local(scopeFree, (*Client).flow),

		// looking
		"session/list":                         {right: auth.View, scoped: scopeFree, readOnly: true, after: (*Client).filterSessions},
		"session/read":                         snapshot(view(scopeSession)),
		"session/messages":                     view(scopeSession),
		"session/events":                       view(scopeSession),
		"session/subagents":                    view(scopeSession),
		"session/usage":                        view(scopeSession),
		"usage/stats":                          view(scopeRefused),
		"runtime/capabilities":                 view(scopeFree),
		"workspace/readPresentation":           view(scopeWorkspace),
		"skills/referenceCatalog":              view(scopeRefused),
		"v4/conversation/rowsRange":            view(scopeSession),
		"v4/conversation/plans":                view(scopeSession),
		"v4/conversation/fileChanges":          view(scopeSession),
		"v4/conversation/usage":                view(scopeSession),
		"v4/conversation/attachmentStat":       view(scopeSession),
		"v4/conversation/attachmentRead":       view(scopeSession),
		"v4/conversation/backgroundBashOutput": view(scopeSession),
		"v4/usage/stats":                       view(scopeRefused),
		"v4/commands/query":                    view(scopeSession), // each command's own session, see inScope
		"v4/attachment/read":                   view(scopeSession),

		// acting
		"session/create":               snapshot(control(scopeWorkspace)),
		"session/resume":               {right: auth.Control, scoped: scopeSession, after: (*Client).resumed},
		"session/send":                 steers(scopeSession),
		"session/stop":                 steers(scopeSession),
		"session/fork":                 steers(scopeCreates),
		"session/compact":              steers(scopeSession),
		"session/goal":                 steers(scopeSession),
		"session/setMode":              snapshot(steers(scopeSession)),
		"session/setModel":             snapshot(steers(scopeSession)),
		"session/setThoughtLevel":      snapshot(steers(scopeSession)),
		"session/cancelBackgroundTask": steers(scopeSession),
		"session/close":                {right: auth.Control, scoped: scopeSession, steers: true, after: (*Client).closedSession},
		"v4/attachment/begin":          control(scopeSession),
		"v4/attachment/chunk":          control(scopeSession),
		"v4/attachment/commit":         control(scopeSession),
		"v4/attachment/abort":          control(scopeSession),
		"v4/command":                   {right: auth.View, scoped: scopeFree, local: (*Client).command}, // by its type, see command

		// what reaches beyond conversations
		"workspace/hooks/trustGrant":   admin,
		"provider/updateAccountConfig": admin,
		"process/childProcesses":       admin,
		"plugins/install":              admin,
		"plugins/uninstall":            admin,
		"plugins/update":               admin,
	}
}

// notForClients are notifications that no client of a conversation shows; some
// come by the thousand (protocol document 1.9 and 2.6).
func notForClients(method []byte) bool {
	switch string(method) {
	case "v4/telemetry/event", "v4/telemetry/local-ttft", "v4/cua/permission-observation",
		"computer-use/operation-event", "interaction/providerRuntimeHeadersCancelled",
		"process/mcpTelemetry", "process/mcpResourceSamples", "process/toolExecResource",
		"process/resourceSample", "process/networkRequests":
		return true
	}
	return false
}

// answered are the app-server's requests that the hub answers itself, at once:
// a client may be slow or absent, and the app-server works on nothing else
// meanwhile (protocol document 3.4 to 3.6). What is neither here nor an
// interaction does not exist.
var answered = map[string]string{
	"session/requestRuntimePreferences":         `{"nativeSearchEnhancementsEnabled":false,"memoryEnabled":false,"askUserQuestionAutoResolutionEnabled":true,"modelContextBudgetStrategy":"preflight-v1"}`,
	"interaction/requestProviderRuntimeHeaders": `{"headersApplied":false,"errorMessage":"the hub has no provider credentials to give: use an API key provider"}`,
	"interaction/requestOfficialMcpAuthHeaders": `{"ok":false,"reason":"the hub has no MCP credentials to give"}`,
}
