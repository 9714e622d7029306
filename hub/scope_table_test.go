package hub_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
)

// reach says what a method can touch, as whoever put it into the table thought
// it through. A method that is not here fails TestEveryMethodKeepsToItsScope.
var reach = map[string]string{
	"session/subscribe": "session", "session/unsubscribe": "session", "session/read": "session", "session/messages": "session",
	"session/events": "session", "session/subagents": "session", "session/usage": "session", "session/resume": "session",
	"session/send": "session", "session/stop": "session", "session/fork": "session", "session/compact": "session",
	"session/goal": "session", "session/setMode": "session", "session/setModel": "session", "session/setThoughtLevel": "session",
	"session/cancelBackgroundTask": "session", "session/close": "session",

	"v4/conversation/rowsRange": "session", "v4/conversation/plans": "session", "v4/conversation/fileChanges": "session",
	"v4/conversation/usage": "session", "v4/conversation/attachmentStat": "session", "v4/conversation/attachmentRead": "session",
	"v4/conversation/backgroundBashOutput": "session", "v4/commands/query": "session", "v4/attachment/read": "session",
	"v4/attachment/begin": "session", "v4/attachment/chunk": "session", "v4/attachment/commit": "session", "v4/attachment/abort": "session",
	"v4/command": "session",

	"v4/conversation/subscribe": "topic", "v4/conversation/resync": "topic", "v4/conversation/unsubscribe": "topic",

	"session/create": "workspace", "workspace/readPresentation": "workspace",

	// The answer is filtered, or says nothing of any session.
	"session/list": "filtered", "runtime/capabilities": "filtered",

	// Of the connection itself.
	"hub/activity": "session", "hub/control": "session", "hub/initialize": "own", "hub/attention": "own", "hub/setProfile": "own", "hub/pendingInteractions": "own", "hub/presence": "own", "hub/ping": "own",
	"hub/refreshToken": "own", "v4/connection/flow": "own",

	// Not for limited tokens.
	"hub/restartAppServer": "all", "usage/stats": "all", "v4/usage/stats": "all", "skills/referenceCatalog": "all",
	"workspace/hooks/trustGrant": "all", "provider/updateAccountConfig": "all", "process/childProcesses": "all",
	"plugins/install": "all", "plugins/uninstall": "all", "plugins/update": "all",

	// Not in the table: what the app-server may learn one day.
	"future/method": "all", "session/delete": "all", "session/search": "all", "v4/conversation/export": "all", "workspace/generateText": "all",
}

// attempts are params that name a session in every way that some method takes
// one. ID and FOLDER stand
// for a session outside and its workspace, MINE for the session inside.
var attempts = []string{
	`{"sessionId":"ID"}`,
	`{"session\u0049d":"ID","content":"x"}`,
	`{"sessionId":"ID","content":"x","mode":"yolo","state":"saturated","profile":"desktop-continuous","clientId":"c","messageLimit":5}`,
	`{"sessionId":"ID","connectionId":"x","clientMode":"desktop-continuous","subscriberScope":"all"}`,
	`{"topic":"conversation/ID"}`,
	`{"topic":"conversation/ID","subscriptionId":"sub-1","forceSnapshot":true}`,
	`{"topic":"sessions-indexFOLDER"}`,
	`{"topic":"workspace-configFOLDER"}`,
	`{"workspace":{"workspacePath":"FOLDER","workspaceKey":"w"}}`,
	`{"workspace":{"workspacePath":"FOLDER","workspaceKey":"w"},"sessionId":"ID"}`,
	`{"workspace":{"workspacePath":"/work","workspaceKey":"w"},"parentSessionId":"ID"}`,
	`{"sessionIds":["ID"],"includeArchived":true}`,
	`{"commands":[{"sessionId":"ID","commandId":"c"}]}`,
	`{"sessionId":"MINE","commands":[{"sessionId":"MINE"},{"sessionId":"ID"}],"ref":"zcode-artifact://ID/a"}`,
	`{"type":"sendText","commandId":"c1","sessionId":"ID","payload":{"text":"x"}}`,
	`{"type":"resolveInteraction","commandId":"c2","sessionId":"ID","payload":{"interactionId":"ASK","answer":{"decision":"allow"}}}`,
	`{"type":"createSession","commandId":"c3","payload":{"workspaceId":"FOLDER"}}`,
	`{"type":"deleteSession","commandId":"c4","payload":{"sessionId":"ID"}}`,
}

// noise differs between two answers without telling anything.
var noise = regexp.MustCompile(`"serverTime":\d+|"subscriptionId":"[^"]*"|"logEpoch":"[^"]*"`)

// names tells whether the call names the session outside in a place that the
// method looks at; elsewhere it is a word like any other.
func names(method, attempt string) bool {
	if strings.Contains(attempt, "MINE") {
		return method == "v4/commands/query" || method == "v4/attachment/read" || strings.HasPrefix(method, "v4/conversation/attachment")
	}
	return strings.HasPrefix(attempt, `{"sessionId":`) || strings.HasPrefix(attempt, `{"session\u`) || strings.Contains(attempt, `,"sessionId":"ID"`)
}

// Whoever is limited to one session tries every method of the protocol on
// another one: it learns nothing, not even whether that exists, and changes
// nothing.
func TestEveryMethodKeepsToItsScope(t *testing.T) {
	for method := range hub.Methods() {
		if reach[method] == "" {
			t.Errorf("%s is new: say in reach what it can touch, and see this test pass", method)
		}
	}
	for method, what := range reach {
		scoped, known := hub.Methods()[method]
		if scoped != (what != "all") {
			t.Errorf("%s reaches %q, and limited tokens may call it: %v (in the table: %v)", method, what, scoped, known)
		}
	}

	h, sim := simulated(t)
	owner := h.Connect("owner", hubtest.As{})
	mine, other := owner.Create("/work"), owner.Create("/secret")
	owner.Prompt(other, "ask hush")
	ask := owner.WantNotice("interaction/requestPermission", other)
	state := func() string {
		return string(owner.MustCall("session/read", fmt.Sprintf(`{"sessionId":%q}`, other))) +
			string(owner.MustCall("hub/pendingInteractions", fmt.Sprintf(`{"sessionId":%q}`, other)))
	}
	before := state()
	const nobody = "sess_00000000-0000-0000-0000-000000000000"
	requestID := ask.Path("params", "requestId")

	for _, role := range []auth.Role{auth.RoleViewer, auth.RoleApprover, auth.RoleOperator} {
		c := h.Connect(string(role), hubtest.As{Role: role, Sessions: []string{mine}})
		for method, what := range reach {
			for _, attempt := range attempts {
				heard := len(sim.Heard())
				outside := try(t, c, method, attempt, other, "/secret", mine, requestID)
				nothing := try(t, c, method, attempt, nobody, "/nothing", mine, requestID)
				if outside != nothing {
					t.Errorf("%s: %s(%s): outside the scope %s, of nobody %s", role, method, attempt, outside, nothing)
				}
				if strings.Contains(outside, "hush") || what == "all" && strings.HasPrefix(outside, "{") {
					t.Errorf("%s: %s(%s) gave %s", role, method, attempt, outside)
				}
				if !names(method, attempt) {
					continue
				}
				if what == "session" && strings.HasPrefix(outside, "{") {
					t.Errorf("%s: %s(%s) gave %s", role, method, attempt, outside)
				}
				for _, line := range sim.Heard()[heard:] {
					if bytes.Contains(line, []byte(other)) && what != "filtered" {
						t.Errorf("%s: %s(%s) reached the app-server as %s", role, method, attempt, line)
					}
				}
			}
		}
		for _, m := range c.Messages() {
			told := strings.NewReplacer("sessions-index/secret", "", `"workspacePath":"/secret"`, "").Replace(string(m.Text)) // its own words
			if m.Method != "" && (strings.Contains(told, other) || strings.Contains(told, "hush") || strings.Contains(told, "/secret")) {
				t.Errorf("%s was told %s", role, m)
			}
		}
	}
	if after := state(); after != before {
		t.Errorf("the session outside changed from\n%s\nto\n%s", before, after)
	}
}

// try makes a call and returns the result, or "error " and the error, without
// what was asked for.
func try(t *testing.T, c *hubtest.Client, method, attempt, sessionID, folder, mine, requestID string) string {
	t.Helper()
	params := strings.NewReplacer("ID", sessionID, "FOLDER", folder, "MINE", mine, "ASK", requestID).Replace(attempt)
	m := c.Call(method, params)
	answer := string(m.Result)
	if m.Kind == wire.Error {
		answer = "error " + string(m.Error)
	}
	return noise.ReplaceAllString(strings.NewReplacer(sessionID, "ID", folder, "FOLDER").Replace(answer), "")
}
