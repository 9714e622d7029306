package hub

import (
	"time"

	"zcodehub/internal/wire"
	"zcodehub/session"
)

// attached are the clients that follow a session, by its events, its V4 topic or
// both.
func (h *Hub) attached(sessionID string) []*Client {
	var clients []*Client
	seen := map[*Client]bool{}
	add := func(c *Client) {
		if !seen[c] {
			seen[c] = true
			clients = append(clients, c)
		}
	}
	if s := h.sessions.Get([]byte(sessionID)); s != nil {
		for _, sub := range s.Followers() {
			add(sub.Key.(*Client))
		}
	}
	if t := h.findTopic(session.TopicConversation + sessionID); t != nil {
		for _, sub := range t.Followers() {
			add(sub.Key.(*topicPlace).client)
		}
	}
	return clients
}

// tellAttached sends a frame about a session to all who follow it, behind what
// they are owed of it.
func (h *Hub) tellAttached(sessionID string, frame []byte) {
	for _, c := range h.attached(sessionID) {
		c.sendAbout(sessionID, frame)
	}
}

// note enters what happened to a session and tells those who follow it.
func (h *Hub) note(sessionID string, e session.Entry) {
	e.At = time.Now()
	h.tellAttached(sessionID, notification("hub/activity", struct {
		SessionID string        `json:"sessionId"`
		Entry     session.Entry `json:"entry"`
	}{sessionID, h.activity.Add(sessionID, e)}))
}

// noteSettled notes how a question of the agent ended.
func (h *Hub) noteSettled(st session.Settlement) {
	e := session.Entry{Kind: session.ActAnswer, By: &st.By, RequestID: st.RequestID, Outcome: st.Outcome}
	if in := st.Interaction; in != nil {
		e.ToolCallID, e.ToolName, e.Summary = in.ToolCallID, in.ToolName, in.Summary
	}
	h.note(st.SessionID, e)
}

// noteRestart notes in every session that somebody follows, or in which
// something happened, that the agent was started anew.
func (h *Hub) noteRestart() {
	ids := map[string]bool{}
	for _, id := range h.activity.Sessions() {
		ids[id] = true
	}
	for _, s := range h.sessions.All() {
		if len(s.Followers()) > 0 {
			ids[s.ID] = true
		}
	}
	for _, t := range h.allTopics() {
		if id := t.SessionID(); id != "" && len(t.Followers()) > 0 {
			ids[id] = true
		}
	}
	for id := range ids {
		h.note(id, session.Entry{Kind: session.ActAppServer, Outcome: "restarted"})
	}
}

// acts are the V4 commands by which a person gives the agent something to do, or
// stops it.
var acts = map[string]string{
	"sendText": session.ActPrompt, "sendGoalCommand": session.ActPrompt, "createSession": session.ActPrompt,
	"editUserQuery": session.ActPrompt, "retryTurn": session.ActPrompt, "compact": session.ActPrompt,
	"stop": session.ActStop,
}

// commandOf names the command that does the same as a legacy method.
var commandOf = map[string]string{
	"session/send": "sendText", "session/compact": "compact", "session/goal": "sendGoalCommand", "session/stop": "stop",
}

// actOf is what a call is in the activity of its session, nil if it is nothing.
// It is read before the call goes out, which may take its params away.
func (c *Client) actOf(r *request) *session.Entry {
	command, idKey := commandOf[r.method], "inputId"
	if r.method == "v4/command" {
		command, _ = member(r.params, "type")
		idKey = "commandId"
	}
	kind := acts[command]
	if kind == "" {
		return nil
	}
	if _, hasInput := wire.Path(r.params, "payload", "firstInput"); command == "createSession" && !hasInput {
		return nil
	}
	if action, _ := member(r.params, "action"); r.method == "session/goal" && action == "show" {
		return nil
	}
	e := &session.Entry{Kind: kind, By: c.authorRef(), Summary: command}
	e.CommandID, _ = member(r.params, idKey)
	return e
}

// noteTaken notes what a call did that the app-server answered with a result: who
// steers the session, and what was given to the agent. A command that is repeated
// was noted when it came first.
func (c *Client) noteTaken(r *request, result []byte) {
	if r.act == nil && !r.steers {
		return
	}
	sessionID, status := r.sessionID, "accepted"
	if r.method == "v4/command" {
		status, _ = member(result, "status")
		outcome, _ := wire.Get(result, "result")
		if id, ok := member(outcome, "sessionId"); ok && sessionID == "" {
			sessionID = id
		}
		if input, ok := wire.Get(outcome, "input"); ok {
			outcome = input
		}
		if r.act != nil {
			r.act.MessageID, _ = member(outcome, "messageId")
			r.act.Outcome, _ = member(outcome, "delivery")
		}
	}
	c.steered(r, sessionID, status == "accepted" || status == "noop" || status == "duplicate")
	if r.act != nil && status == "accepted" && sessionID != "" {
		c.hub.note(sessionID, *r.act)
	}
}

// listActivity is hub/activity.
func (c *Client) listActivity(r *request) {
	var after int64
	if raw, asked := wire.Get(r.params, "after"); asked {
		n, ok := wire.Int64(raw)
		if !ok || n < 0 {
			c.refuse(r.id, badParams("after: Invalid input: expected a number that is not negative"))
			return
		}
		after = n
	}
	if r.sessionID == "" {
		c.refuse(r.id, badParams("sessionId: Invalid input: expected string"))
		return
	}
	entries, last := c.hub.activity.After(r.sessionID, uint64(after))
	if entries == nil {
		entries = []session.Entry{}
	}
	c.reply(r, jsonOf(struct {
		Entries []session.Entry `json:"entries"`
		Last    uint64          `json:"last"`
	}{entries, last}))
}
