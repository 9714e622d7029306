package hub

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"zcodehub/auth"
	"zcodehub/internal/wire"
	"zcodehub/session"
)

// inScope tells whether a call stays within what the client's token covers.
// The answer comes later if the hub has yet to learn where a session belongs.
func (c *Client) inScope(r *request, done func(ok bool)) {
	p := c.who()
	if !p.Scoped() {
		done(true)
		return
	}
	switch r.rule.scoped {
	case scopeRefused:
		done(false)
		return
	case scopeWorkspace:
		done(c.mayUseWorkspace(r.params))
		return
	case scopeCreates:
		if p.Sessions != nil || r.sessionID == "" {
			done(false)
			return
		}
	case scopeSession:
		if r.method == "v4/commands/query" {
			ids := queriedSessions(r.params)
			if r.sessionID != "" {
				ids = append(ids, r.sessionID)
			}
			c.allVisible(ids, done)
			return
		}
		if r.sessionID == "" || !ownArtifact(r) {
			done(false)
			return
		}
	case scopeFree:
	}
	if r.sessionID == "" {
		done(true)
		return
	}
	c.visible(r.sessionID, done)
}

// refuseScope answers a call outside the scope. What exists outside is answered
// letter for letter as what does not exist.
func (c *Client) refuseScope(r *request) {
	if r.rule.scoped != scopeRefused && r.sessionID != "" {
		c.sendReply(r, errorFrame(r.id, notFound(r.sessionID)))
		return
	}
	c.refuse(r.id, forbidden("this token is limited: it does not allow "+r.method+" here"))
}

// visible tells whether a session is within the client's scope.
func (c *Client) visible(sessionID string, done func(bool)) {
	p := c.who()
	if p.Sessions != nil && !slices.Contains(p.Sessions, sessionID) {
		done(false) // not in the list, wherever it belongs
		return
	}
	if p.Workspaces == nil {
		done(p.SeesSession(sessionID, ""))
		return
	}
	if s := c.hub.sessions.Get([]byte(sessionID)); s != nil && s.Workspace() != "" {
		done(p.SeesSession(sessionID, s.Workspace()))
		return
	}
	c.hub.findWorkspace(sessionID, func(workspacePath string) {
		done(workspacePath != "" && p.SeesSession(sessionID, workspacePath))
	})
}

// keepWithin ends what a newer token of the client does not cover any more. To
// the client it looks as if it had ceased to exist.
func (c *Client) keepWithin(before, now *auth.Principal) {
	if slices.Equal(before.Sessions, now.Sessions) && slices.Equal(before.Workspaces, now.Workspaces) {
		return
	}
	c.mu.Lock()
	followed, places := maps.Clone(c.subs), maps.Clone(c.places)
	c.mu.Unlock()
	sees := func(sessionID string) bool {
		workspace := ""
		if s := c.hub.sessions.Get([]byte(sessionID)); s != nil {
			workspace = s.Workspace()
		}
		return now.SeesSession(sessionID, workspace)
	}
	for id := range followed {
		if s := c.hub.sessions.Get([]byte(id)); s != nil && !sees(id) {
			c.sendSnapshot(s, "gone", nil)
			c.unfollow(id)
		}
	}
	for name, p := range places {
		id := p.topic.SessionID()
		if (id != "" && sees(id)) || (id == "" && p.filtered) {
			continue
		}
		c.lose(p, rawError(notFoundTopic(name)))
	}
}

// findWorkspace asks the app-server in which workspace a session is; empty if it
// does not exist.
func (h *Hub) findWorkspace(sessionID string, done func(workspacePath string)) {
	h.findSession(sessionID, func(_, workspacePath string) { done(workspacePath) })
}

// findSession asks the app-server for a session's title and workspace; both are
// empty if it does not exist.
func (h *Hub) findSession(sessionID string, done func(title, workspacePath string)) {
	params := jsonOf(map[string]any{"sessionIds": []string{sessionID}, "includeArchived": true})
	h.ask("session/list", params, func(r reply) {
		title, path := "", ""
		list, _ := wire.Get(r.result, "sessions")
		for info := range wire.Elements(list) {
			if id, _ := member(info, "sessionId"); id == sessionID {
				title, _ = member(info, "title")
				path = workspaceOf(info)
			}
		}
		if path != "" {
			if s := h.sessions.Get([]byte(sessionID)); s != nil {
				s.SetWorkspace(path)
			}
		}
		done(title, path)
	})
}

// workspaceOf reads the workspace path of a SessionInfo (protocol document 2.1).
func workspaceOf(info []byte) string {
	raw, _ := wire.Path(info, "workspace", "workspacePath")
	path, _ := wire.StringValue(raw)
	return path
}

// member reads a string member of an object.
func member(obj []byte, key string) (string, bool) {
	raw, ok := wire.Get(obj, key)
	if !ok {
		return "", false
	}
	return wire.StringValue(raw)
}

func (c *Client) allVisible(ids []string, done func(bool)) {
	if len(ids) == 0 {
		done(true)
		return
	}
	c.visible(ids[0], func(ok bool) {
		if !ok {
			done(false)
			return
		}
		c.allVisible(ids[1:], done)
	})
}

// queriedSessions are the sessions that a v4/commands/query asks about. One
// without a session asks about commands of anybody, so it counts as none.
func queriedSessions(params []byte) (ids []string) {
	commands, _ := wire.Get(params, "commands")
	for command := range wire.Elements(commands) {
		id, _ := member(command, "sessionId")
		ids = append(ids, id)
	}
	return ids
}

// ownArtifact tells whether an artifact named in a call belongs to the call's
// session (protocol document 4.7 and 4.11). A form that is not known belongs to
// nobody.
func ownArtifact(r *request) bool {
	raw, named := wire.Get(r.params, "ref")
	if !named {
		return true
	}
	ref, ok := wire.StringValue(raw)
	own := strings.HasPrefix(ref, "zcode-artifact://"+r.sessionID+"/") || strings.HasPrefix(ref, "tool-output/")
	return ok && own && !strings.Contains(ref, "..")
}

// mayUseWorkspace tells whether params.workspace is one in which the client may
// create, and no session outside it is touched.
func (c *Client) mayUseWorkspace(params []byte) bool {
	workspace, _ := wire.Get(params, "workspace")
	path, ok := member(workspace, "workspacePath")
	if !ok || !c.who().MayCreateIn(path) {
		return false
	}
	for _, key := range []string{"parentSessionId", "sessionId", "importedHistory"} {
		if _, there := wire.Get(params, key); there {
			return false
		}
	}
	return true
}

const (
	// listLimit is how many sessions are listed without a limit, and maxListIDs
	// how many can be asked for by id (protocol document 2.2).
	listLimit  = 50
	maxListIDs = 64
	// scopedLimit is how many are asked for on behalf of a scoped client, so that
	// newer sessions of others do not crowd out its own.
	scopedLimit = 1000
)

// narrowList asks the app-server for what the client may see in the first place:
// it limits before the hub filters.
func (c *Client) narrowList(params []byte) []byte {
	if _, asked := wire.Get(params, "sessionIds"); asked {
		return params
	}
	if p := c.who(); len(p.Sessions) > 0 && len(p.Sessions) <= maxListIDs {
		params = withRaw(params, "sessionIds", jsonOf(p.Sessions))
	}
	params = wire.Without(params, func(key []byte) bool { return string(key) == "limit" })
	return withRaw(params, "limit", jsonOf(scopedLimit))
}

// limitOf is the limit that a session/list names.
func limitOf(params []byte) int {
	raw, _ := wire.Get(params, "limit")
	if n, ok := wire.Int64(raw); ok && n > 0 {
		return int(min(n, scopedLimit))
	}
	return listLimit
}

// filterSessions takes out of a session/list result what a scoped client must
// not see, and learns where sessions belong.
func (c *Client) filterSessions(r *request, result []byte) []byte {
	p := c.who()
	list, _ := wire.Get(result, "sessions")
	var seen [][]byte
	for info := range wire.Elements(list) {
		id, _ := member(info, "sessionId")
		place := workspaceOf(info)
		if s := c.hub.sessions.Get([]byte(id)); s != nil {
			s.SetWorkspace(place)
		}
		if p.SeesSession(id, place) {
			seen = append(seen, info)
		}
	}
	if !p.Scoped() {
		return result
	}
	seen = seen[:min(len(seen), limitOf(r.params))]
	out := append([]byte(`{"sessions":[`), bytes.Join(seen, []byte(","))...)
	return append(out, `]}`...)
}

// learnWorkspace learns from a snapshot where its session belongs.
func (c *Client) learnWorkspace(r *request, result []byte) []byte {
	info, _ := wire.Get(result, "session")
	id, _ := member(info, "sessionId")
	if r.method == "session/create" || r.method == "session/resume" {
		c.hub.servers.note(id, r.params)
	}
	if place := workspaceOf(info); id != "" && place != "" {
		if s := c.hub.sessions.Get([]byte(id)); s != nil {
			s.SetWorkspace(place)
		}
	}
	return result
}

// closedSession notes that the app-server let go of a session.
func (c *Client) closedSession(r *request, result []byte) []byte {
	if closed, _ := wire.Get(result, "closed"); string(closed) == "true" {
		if s := c.hub.sessions.Get([]byte(r.sessionID)); s != nil {
			s.Away()
			c.hub.settled(s, s.Ledger.SettleAll(session.OutcomeSessionClosed, c.author(), time.Now()))
			c.hub.forgetIfUnused(s)
		}
	}
	return result
}

// resumed notes a resume that a client asked for itself. It may have loaded the
// session anew, and then our subscribe is gone with the old residency: the
// snapshot's runtime does not name a deliveryKind (protocol document 2.3).
func (c *Client) resumed(r *request, result []byte) []byte {
	c.learnWorkspace(r, result)
	s := c.hub.sessions.Get([]byte(r.sessionID))
	if s == nil {
		return result
	}
	if _, subscribed := wire.Path(result, "runtime", "deliveryKind"); !subscribed {
		s.Away()
		if len(s.Followers()) > 0 {
			c.hub.listen(s, nil)
		}
	}
	return result
}
