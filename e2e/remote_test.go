//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// A remote is a person without a browser: a client of the hub that makes sessions, prompts and answers.
type remote struct {
	t    *testing.T
	name string
	conn *websocket.Conn

	mu       sync.Mutex
	next     int
	messages []message
	came     chan struct{} // closed and replaced whenever a message comes
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// link is an address that signs a browser in as a device of this name.
func (d *demo) link(name, role string) string {
	d.t.Helper()
	return d.url + "/#token=" + d.token(name, role)
}

func (d *demo) token(name, role string) string {
	d.t.Helper()
	return strings.TrimSpace(d.hub("token", "create", "--role", role, "--name", name))
}

// connect makes somebody of this name a client of the hub, until the test ends.
func (d *demo) connect(name, role string) *remote {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, strings.Replace(d.url, "http", "ws", 1)+"/ws", &websocket.DialOptions{
		HTTPHeader: map[string][]string{"Authorization": {"Bearer " + d.token(name, role)}}})
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	conn.SetReadLimit(-1)
	r := &remote{t: d.t, name: name, conn: conn, came: make(chan struct{})}
	var reading sync.WaitGroup
	reading.Go(r.read)
	d.t.Cleanup(func() {
		_ = conn.CloseNow()
		reading.Wait()
	})
	return r
}

func (r *remote) read() {
	for {
		_, text, err := r.conn.Read(context.Background())
		if err != nil {
			return // closed
		}
		var m message
		if err := json.Unmarshal(text, &m); err != nil {
			r.t.Errorf("%s got %.100q: %v", r.name, text, err)
			return
		}
		r.mu.Lock()
		r.messages = append(r.messages, m)
		close(r.came)
		r.came = make(chan struct{})
		r.mu.Unlock()
	}
}

// want waits for a message that fits; one that came already does as well.
func (r *remote) want(what string, fits func(message) bool) message {
	r.t.Helper()
	deadline := time.After(patience)
	seen := 0
	for {
		r.mu.Lock()
		messages, came := r.messages, r.came
		r.mu.Unlock()
		for ; seen < len(messages); seen++ {
			if fits(messages[seen]) {
				return messages[seen]
			}
		}
		select {
		case <-came:
		case <-deadline:
			r.t.Fatalf("%s waited in vain for %s", r.name, what)
		}
	}
}

func (r *remote) say(m map[string]any) {
	r.t.Helper()
	text, err := json.Marshal(m)
	if err == nil {
		err = r.conn.Write(context.Background(), websocket.MessageText, text)
	}
	if err != nil {
		r.t.Fatalf("%s: %v", r.name, err)
	}
}

// call is a request and its result.
func (r *remote) call(method string, params any) json.RawMessage {
	r.t.Helper()
	reply := r.request(method, params)
	if reply.Error != nil {
		r.t.Fatalf("%s: %s: %s", r.name, method, reply.Error)
	}
	return reply.Result
}

func (r *remote) request(method string, params any) message {
	r.t.Helper()
	r.mu.Lock()
	r.next++
	id := strconv.Itoa(r.next)
	r.mu.Unlock()
	r.say(map[string]any{"id": r.next, "method": method, "params": params})
	return r.want("the reply to "+method, func(m message) bool { return m.Method == "" && string(m.ID) == id })
}

// session makes a session in a folder and follows it.
func (r *remote) session(folder string) string {
	r.t.Helper()
	var made struct {
		Session struct{ SessionID string }
	}
	result := r.call("session/create", map[string]any{"workspace": map[string]string{"workspacePath": folder, "workspaceKey": folder}})
	if err := json.Unmarshal(result, &made); err != nil || made.Session.SessionID == "" {
		r.t.Fatalf("session/create answered %s: %v", result, err)
	}
	r.call("session/subscribe", map[string]any{"sessionId": made.Session.SessionID})
	return made.Session.SessionID
}

// prompt gives the agent something to do as soon as it does nothing else.
func (r *remote) prompt(session, text string) {
	r.t.Helper()
	const busy = "-32010"
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		reply := r.request("session/send", map[string]any{"sessionId": session, "content": text})
		if reply.Error == nil {
			return
		}
		if !strings.Contains(string(reply.Error), busy) {
			r.t.Fatalf("%s: session/send: %s", r.name, reply.Error)
		}
	}
	r.t.Fatalf("%s: the agent is always busy", r.name)
}

// question is a question of the agent.
type question struct {
	id     string // to answer it
	Params struct {
		RequestID string
		SessionID string
		Input     map[string]any
	}
}

// asked waits for the n-th question in a session.
func (r *remote) asked(session string, n int) (q question) {
	r.t.Helper()
	seen := map[string]bool{}
	m := r.want("a question in "+session, func(m message) bool {
		if !strings.HasPrefix(m.Method, "interaction/request") {
			return false
		}
		if json.Unmarshal(m.Params, &q.Params) != nil || q.Params.SessionID != session {
			return false
		}
		seen[q.Params.RequestID] = true
		return len(seen) == n
	})
	_ = json.Unmarshal(m.ID, &q.id)
	return q
}

func (r *remote) answer(q question, result any) {
	r.t.Helper()
	r.say(map[string]any{"id": q.id, "result": result})
}

// settled waits for the end of a question and tells its outcome and whose it was.
func (r *remote) settled(q question) (outcome, by string) {
	r.t.Helper()
	var s struct {
		RequestID, Outcome string
		By                 struct{ Name string }
	}
	r.want("the end of a question", func(m message) bool {
		return m.Method == "hub/interactionSettled" && json.Unmarshal(m.Params, &s) == nil && s.RequestID == q.Params.RequestID
	})
	return s.Outcome, s.By.Name
}

var (
	allowOnce = map[string]any{"decision": "allow"}
	deny      = map[string]any{"decision": "deny"}
)
