package hub_test

import (
	"strings"
	"testing"

	"zcodehub/internal/hubtest"
)

// The MCP servers that a client named for its session are named again when the hub brings the session back by itself.
func TestMCPServersAreNamedAgainOnResume(t *testing.T) {
	h, script, p := scripted(t)
	script.Answer("session/create", func(hubtest.Line) string { return `{"session":{"sessionId":"s1"}}` })
	a := h.Connect("a", hubtest.As{})
	a.MustCall("session/create", `{"workspace":{"workspacePath":"/w","workspaceKey":"w"},"mcpServers":[{"name":"files","command":"mcp-files"}]}`)
	read := a.Request("session/read", `{"sessionId":"s1"}`)
	p.ReplyError(p.WantRequest("session/read", 1), `{"code":-32004,"message":"Session is not active: s1"}`)
	resume := p.WantRequest("session/resume", 1)
	if !strings.Contains(resume.Params, `"mcpServers":[{"name":"files","command":"mcp-files"}]`) || !strings.Contains(resume.Params, `"sessionId":"s1"`) {
		t.Errorf("the session was resumed with %s", resume.Params)
	}
	p.Reply(resume, `{"session":{"sessionId":"s1"}}`)
	p.Reply(p.WantRequest("session/read", 2), `{}`)
	a.WantReply(read)

	read = a.Request("session/read", `{"sessionId":"s2"}`)
	p.ReplyError(p.WantRequest("session/read", 3), `{"code":-32004,"message":"Session is not active: s2"}`)
	resume = p.WantRequest("session/resume", 2)
	if strings.Contains(resume.Params, "mcpServers") {
		t.Errorf("another session was resumed with %s", resume.Params)
	}
	p.ReplyError(resume, `{"code":-32004,"message":"Session not found: s2"}`)
	a.WantReply(read)
}
