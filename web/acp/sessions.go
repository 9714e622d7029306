package acp

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"time"

	"zcodehub/auth"
	"zcodehub/internal/wire"
)

// listPage is how many sessions one answer of session/list holds.
const listPage = 50

type listRow struct {
	SessionID string `json:"sessionId"`
	Cwd       string `json:"cwd"`
	Title     string `json:"title,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
}

// listCursor is where a page of session/list ended.
type listCursor struct {
	UpdatedAt int64  `json:"u"` // ms
	ID        string `json:"id"`
}

// listSessions takes session/list.
func (c *Conn) listSessions(r *request) (any, error) {
	var params struct{ Cursor, Cwd string }
	if err := decode(r, &params); err != nil {
		return nil, err
	}
	var at listCursor
	if params.Cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(params.Cursor)
		if err != nil || json.Unmarshal(raw, &at) != nil || at.ID == "" {
			return nil, badParams("cursor: it is none of this list")
		}
	}
	all, err := c.adapter.directory.List(r.ctx, c.info.Principal, fresh)
	if err != nil && len(all) == 0 {
		return nil, internalError("The sessions cannot be listed now: ZCode does not answer. Try again in a few seconds.")
	}
	if at.ID != "" {
		all = After(all, time.UnixMilli(at.UpdatedAt), at.ID)
	}
	result := struct {
		Sessions   []listRow `json:"sessions"`
		NextCursor string    `json:"nextCursor,omitempty"`
	}{Sessions: []listRow{}}
	var last Session
	for _, s := range all {
		if !s.Live || !filepath.IsAbs(s.Workspace) || params.Cwd != "" && s.Workspace != filepath.Clean(params.Cwd) {
			continue
		}
		if len(result.Sessions) == listPage {
			result.NextCursor = base64.RawURLEncoding.EncodeToString(jsonOf(listCursor{last.UpdatedAt.UnixMilli(), last.ID}))
			break
		}
		result.Sessions = append(result.Sessions, listRow{s.ID, s.Workspace, s.Title, s.UpdatedAt.UTC().Format("2006-01-02T15:04:05.000Z")})
		last = s
	}
	return result, nil
}

// newSession takes session/new.
func (c *Conn) newSession(r *request) (any, error) {
	var params struct {
		Cwd        string
		McpServers json.RawMessage
	}
	if err := decode(r, &params); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(params.Cwd) {
		return nil, badParams("cwd must be an absolute path")
	}
	cwd := filepath.Clean(params.Cwd)
	create := map[string]any{"workspace": map[string]string{"workspacePath": cwd, "workspaceKey": cwd}}
	if some(params.McpServers) {
		create["mcpServers"] = params.McpServers
	}
	snapshot, err := c.native.Call(r.ctx, "session/create", create)
	if err != nil {
		return nil, err
	}
	return nil, c.settleIn(r, stringIn(snapshot, "session", "sessionId"))
}

// some tells whether an array of a client has anything in it.
func some(list json.RawMessage) bool {
	for range wire.Elements(list) {
		return true
	}
	return false
}

// settleIn follows a session and answers the request with its settings, without a word of its history.
func (c *Conn) settleIn(r *request, sessionID string) error {
	p, err := c.follow(r.ctx, sessionID)
	if err != nil {
		return err
	}
	c.write(func(w *output) {
		result := map[string]any{"modes": p.translator.Modes(), "configOptions": p.translator.ConfigOptions()}
		if r.sessionID != sessionID {
			result["sessionId"] = sessionID
		}
		c.answer(w, r, appendResult(nil, r.id, result))
		p.show(w, []Update{CommandsUpdate(p.commands)})
		p.told = false
		p.running(w, p.busy())
	})
	return nil
}

// resumeSession takes session/resume: as load, without the history.
func (c *Conn) resumeSession(r *request) (any, error) {
	if err := c.bringBack(r); err != nil {
		return nil, err
	}
	if err := c.settleIn(r, r.sessionID); err != nil {
		return nil, err
	}
	c.adapter.directory.Use(r.sessionID)
	c.write(func(w *output) {
		p := c.places[r.sessionID]
		if p == nil {
			return
		}
		for _, a := range c.asks {
			if a.place == p && a.state == askParked {
				a.state = askWaiting
			}
		}
		c.showAsks(w)
	})
	return nil, nil
}

// bringBack checks that a session can be there, and passes on the MCP servers that the client wants in it.
func (c *Conn) bringBack(r *request) error {
	var params struct{ McpServers json.RawMessage }
	if err := decode(r, &params); err != nil {
		return err
	}
	if r.sessionID == "" {
		return badParams("sessionId is missing")
	}
	if !some(params.McpServers) || !c.has(auth.Control) {
		return nil
	}
	_, err := c.native.Call(r.ctx, "session/resume", map[string]any{"sessionId": r.sessionID, "mcpServers": params.McpServers})
	return err
}

// closeSession takes session/close: the turn that runs is cancelled, what the session holds is freed, and lists do not
// show it until its next use.
func (c *Conn) closeSession(r *request) (any, error) {
	if r.sessionID == "" {
		return nil, badParams("sessionId is missing")
	}
	c.cancelTurn(r.sessionID)
	if _, err := c.native.Call(r.ctx, "session/stop", map[string]string{"sessionId": r.sessionID}); err != nil && !isNotActive(err) {
		return nil, err
	}
	if _, err := c.native.Call(r.ctx, "session/close", map[string]string{"sessionId": r.sessionID}); err != nil && !isNotActive(err) {
		return nil, err
	}
	c.adapter.directory.Close(r.sessionID, false)
	c.leaveClosed(r.sessionID)
	return struct{}{}, nil
}

// leaveClosed ends the part that this client has in a closed session, and tells the others.
func (c *Conn) leaveClosed(sessionID string) {
	room := c.adapter.room(sessionID)
	c.write(func(w *output) {
		if p := c.places[sessionID]; p != nil {
			c.unfollow(w, p)
		}
	})
	if room != nil {
		room.tellClosed(c)
	}
}

// tellClosed tells everybody in the room but one that the session was closed.
func (r *room) tellClosed(but *Conn) {
	for _, c := range r.others(but) {
		c.spawn(func() {
			c.write(func(w *output) {
				if p := c.places[r.sessionID]; p != nil {
					p.notify(w, "$/zcode/session_closed", map[string]string{"sessionId": r.sessionID})
				}
			})
		})
	}
}

// deleteSession takes session/delete. What does not exist is deleted.
func (c *Conn) deleteSession(r *request) (any, error) {
	if r.sessionID == "" {
		return nil, badParams("sessionId is missing")
	}
	c.cancelTurn(r.sessionID)
	result, err := c.native.Call(r.ctx, "v4/command", map[string]any{
		"commandId": rand.Text(), "sessionId": r.sessionID, "type": "deleteSession", "payload": struct{}{}, "issuedAt": time.Now().UnixMilli(),
	})
	if err != nil && !isUnknown(err) {
		return nil, err
	}
	switch status := stringIn(result, "status"); {
	case err != nil, status == "accepted", status == "noop", status == "duplicate", stringIn(result, "reasonCode") == "proto.sessionNotFound":
	default:
		return nil, internalError("The session was not deleted: %s.", first(stringIn(result, "message"), stringIn(result, "reasonCode"), status))
	}
	c.adapter.directory.Close(r.sessionID, true)
	c.leaveClosed(r.sessionID)
	return struct{}{}, nil
}

// forkSession takes session/fork: a new session that begins with the conversation so far.
func (c *Conn) forkSession(r *request) (any, error) {
	if r.sessionID == "" {
		return nil, badParams("sessionId is missing")
	}
	latest, err := c.native.Call(r.ctx, "session/messages", map[string]any{"sessionId": r.sessionID, "limit": 1})
	if err != nil {
		return nil, err
	}
	list, _ := wire.Get(latest, "messages")
	target := map[string]string{"kind": "message", "messageId": newestID(list)}
	if target["messageId"] == "" {
		return nil, badParams("the session is empty: there is nothing to fork")
	}
	result, err := c.native.Call(r.ctx, "session/fork", map[string]any{"sessionId": r.sessionID, "target": target})
	if err != nil {
		return nil, err
	}
	return nil, c.settleIn(r, stringIn(result, "forkedSessionId"))
}
