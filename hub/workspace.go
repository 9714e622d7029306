package hub

import (
	"crypto/sha256"

	"zcodehub/auth"
	"zcodehub/internal/wire"
)

// maxWorkspaces is how many workspaces are remembered as told; more than anybody
// has, and a hostile app-server cannot make it grow. Beyond it none is told any
// more: clients then see new ones when they list the sessions again.
const maxWorkspaces = 4096

// tellWorkspace tells clients of a workspace when something first happens in it,
// so that those who show lists know which topic to follow. e is a state.updated,
// whose params name the session's workspace (protocol document 2.5). It runs on
// the stdout goroutine, which owns h.reading.
func (h *Hub) tellWorkspace(e *wire.Envelope) {
	workspace, ok := wire.Get(e.Params, "workspace")
	if !ok || len(e.SessionID) == 0 {
		return
	}
	told := h.reading.workspaces
	key := sha256.Sum256(workspace) // of one size, whatever the app-server prints
	if told[key] || len(told) == maxWorkspaces {
		return
	}
	told[key] = true
	path, _ := member(workspace, "workspacePath")
	sessionID := string(e.SessionID)
	frame := notification("hub/workspace", struct {
		Workspace raw `json:"workspace"`
	}{raw(workspace)})
	for _, c := range h.allClients() {
		if p := c.who(); p.Rights.Has(auth.View) && p.SeesSession(sessionID, path) {
			c.send(frame, nil)
		}
	}
}
