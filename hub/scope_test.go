package hub_test

import (
	"fmt"
	"strings"
	"testing"

	"zcodehub/auth"
	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
)

// A token limited to sessions: nothing else exists for its holder, and what
// exists outside is answered letter for letter as what does not.
func TestScopedToSessions(t *testing.T) {
	h, sim := simulated(t)
	owner := h.Connect("owner", hubtest.As{})
	mine, other := owner.Create("/projects"), owner.Create("/secret")
	owner.Prompt(other, "ask")
	owner.WantNotice("interaction/requestPermission", other)
	c := h.Connect("scoped", hubtest.As{Sessions: []string{mine}})
	c.Subscribe(mine, "")
	list := string(c.MustCall("session/list", "{}"))
	if !strings.Contains(list, mine) || strings.Contains(list, other) || strings.Contains(list, "/secret") {
		t.Errorf("the list tells %s", list)
	}
	const nobody = "sess_00000000-0000-0000-0000-000000000000"
	before := len(sim.Heard())
	for _, call := range []string{
		`"session/subscribe","params":{"sessionId":"%s"}`, `"session/read","params":{"sessionId":"%s"}`, `"session/send","params":{"sessionId":"%s","content":"x"}`,
		`"session/stop","params":{"sessionId":"%s"}`, `"session/resume","params":{"sessionId":"%s"}`, `"session/usage","params":{"sessionId":"%s"}`,
		`"session/close","params":{"sessionId":"%s"}`, `"hub/presence","params":{"sessionId":"%s"}`, `"hub/pendingInteractions","params":{"sessionId":"%s"}`,
		`"v4/command","params":{"type":"sendPrompt","sessionId":"%s"}`, `"session/read","params":{"session\u0049d":"%s"}`,
		`"v4/command","params":{"type":"resolveInteraction","sessionId":"%s","payload":{}}`, `"session/unsubscribe","params":{"sessionId":"%s"}`,
		`"v4/attachment/read","params":{"sessionId":"%s"}`, `"session/fork","params":{"sessionId":"%s"}`,
	} {
		answers := map[string]string{}
		for _, id := range []string{other, nobody} {
			n := c.Received()
			c.Say(`{"id":7,"method":` + fmt.Sprintf(call, id) + `}`)
			m := c.WantAfter(n, "a reply to "+call, func(m hubtest.Message) bool { return m.ID == "7" })
			if m.Kind != wire.Error {
				t.Errorf("%s gave %s", fmt.Sprintf(call, id), m)
			}
			answers[id] = strings.ReplaceAll(string(m.Text), id, "ID")
		}
		if answers[other] != answers[nobody] {
			t.Errorf("%s: outside the scope %s, of nobody %s", call, answers[other], answers[nobody])
		}
	}
	if after := len(sim.Heard()); after != before {
		t.Errorf("%d of these calls reached the app-server", after-before)
	}
	for name, params := range map[string]string{
		"session/create":                    `{"workspace":{"workspacePath":"/projects","workspaceKey":"w"}}`,
		"usage/stats":                       `{"range":"7d"}`,
		"future/method":                     `{"sessionId":"` + mine + `"}`,
		"workspace/generateText":            `{"workspace":{"workspacePath":"/projects","workspaceKey":"w"}}`,
		"v4/command":                        `{"type":"createSession","payload":{"workspaceId":"/projects"}}`,
		"v4/attachment/read":                `{"sessionId":"` + mine + `","ref":"zcode-artifact://` + other + `/x"}`,
		"v4/commands/query":                 `{"commands":[{"sessionId":"` + mine + `"},{"sessionId":"` + other + `"}]}`,
		"workspace/readPresentation":        `{"workspace":{"workspacePath":"/projects","workspaceKey":"w"}}`,
		"hub/restartAppServer":              `{}`,
		"session/messages":                  `{}`,
		"v4/conversation/rowsRange":         `{"sessionId":5}`,
		"provider/updateAccountConfig":      `{}`,
		"plugins/install":                   `{}`,
		"workspace/hooks/trustGrant":        `{}`,
		"session/cancelBackgroundTask":      `{"sessionId":null}`,
		"v4/conversation/attachmentRead":    `[]`,
		"skills/referenceCatalog":           `{"sessionId":"` + mine + `"}`,
		"process/childProcesses":            `{}`,
		"session/subscribe":                 `{"sessionId":["` + mine + `"]}`,
		"v4/conversation/attachmentStat":    `{"sessionId":"` + other + `","ref":"zcode-artifact://` + mine + `/x"}`,
		"v4/conversation/fileChanges":       `{}`,
		"workspace/updateOffPeakToolPolicy": `{}`,
	} {
		if m := c.Call(name, params); m.Kind != wire.Error {
			t.Errorf("%s(%s) gave %s", name, params, m)
		}
	}
	// Its interactions are not shown, not listed, and cannot be answered.
	ask := owner.WantNotice("interaction/requestPermission", other)
	c.Say(`{"id":` + ask.ID + `,"result":` + deny + `}`)
	known := c.WantNotice("hub/answer", ask.ID)
	c.Say(`{"id":"ask-1-NONSENSE","result":` + deny + `}`)
	unknown := c.WantNotice("hub/answer", "NONSENSE")
	if a, b := strings.ReplaceAll(string(known.Text), ask.ID, "ID"), strings.ReplaceAll(string(unknown.Text), `"ask-1-NONSENSE"`, "ID"); a != b {
		t.Errorf("an answer outside the scope: %s, to nothing: %s", a, b)
	}
	owner.Say(`{"id":` + ask.ID + `,"result":` + deny + `}`)
	owner.WantNotice("hub/interactionSettled", other)
	c.MustCall("hub/ping", "{}")
	for _, m := range c.Messages() {
		if m.Method != "" && strings.Contains(string(m.Text), other) {
			t.Errorf("the holder learned of %s", m)
		}
	}
	// What is within the scope works.
	n := c.Received()
	c.Prompt(mine, "help")
	c.WantTurnEnd(n, mine)
}

// A token limited to workspaces sees their sessions and creates only there.
func TestScopedToWorkspaces(t *testing.T) {
	h, _ := simulated(t)
	owner := h.Connect("owner", hubtest.As{})
	inside, outside := owner.Create("/projects"), owner.Create("/secret")
	below := owner.Create("/projects/deep")
	c := h.Connect("scoped", hubtest.As{Workspaces: []string{"/projects"}})
	list := string(c.MustCall("session/list", "{}"))
	if !strings.Contains(list, inside) || strings.Contains(list, outside) || strings.Contains(list, below) {
		t.Errorf("the list tells %s", list)
	}
	for id, may := range map[string]bool{inside: true, outside: false, below: false, "sess_none": false} {
		m := c.Call("session/subscribe", fmt.Sprintf(`{"sessionId":%q}`, id))
		if may != (m.Kind == wire.Response) {
			t.Errorf("subscribe to %s gave %s", id, m)
		}
		if !may && string(m.Error) != fmt.Sprintf(`{"code":-32004,"message":"Session not found: %s"}`, id) {
			t.Errorf("outside the scope the error is %s", m.Error)
		}
	}
	for path, may := range map[string]bool{"/projects": true, "/projects/": true, "/secret": false, "/projects/../secret": false, "/projects/deep": false, "projects": false} {
		m := c.Call("session/create", fmt.Sprintf(`{"workspace":{"workspacePath":%q,"workspaceKey":"w"}}`, path))
		if may != (m.Kind == wire.Response) {
			t.Errorf("create in %s gave %s", path, m)
		}
	}
	for _, params := range []string{
		`{"workspace":{"workspacePath":"/projects","workspaceKey":"w"},"parentSessionId":"` + outside + `"}`,
		`{"workspace":{"workspacePath":"/secret","workspacePath":"/projects","workspaceKey":"w"},"sessionId":"x"}`,
		`{"workspace":{"workspacePath":"/projects","workspaceKey":"w"},"workspace":{"workspacePath":"/secret","workspaceKey":"w"}}`,
	} {
		if m := c.Call("session/create", params); m.Kind != wire.Error {
			t.Errorf("create %s gave %s", params, m)
		}
	}
	// Interactions of its workspace come, others do not.
	owner.Prompt(outside, "ask")
	owner.WantNotice("interaction/requestPermission", outside)
	owner.Prompt(inside, "ask")
	c.WantNotice("interaction/requestPermission", inside)
	late := h.Connect("late", hubtest.As{Workspaces: []string{"/projects"}, Role: auth.RoleApprover})
	late.WantNotice("interaction/requestPermission", inside)
	c.MustCall("hub/ping", "{}")
	for _, who := range []*hubtest.Client{c, late} {
		for _, m := range who.Messages() {
			if m.Method != "" && strings.Contains(string(m.Text), outside) {
				t.Errorf("%s learned of %s", who.Name, m)
			}
		}
	}
}
