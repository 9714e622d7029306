package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zcodehub/internal/simulator"
)

// simSession is a session of the simulated app-server, with somebody at its stdio. It lives in a synctest bubble.
type simSession struct {
	t       *testing.T
	in      *io.PipeWriter
	out     lineWriter
	nextID  int
	session string

	// ask answers the agent's questions; "" leaves one open.
	ask func(method string, params json.RawMessage) string
	// heard are the messages about the session, in order; hear, if there is one, gets each at once.
	heard []said
	hear  func(said)
}

// said is a message of the app-server.
type said struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// lineWriter keeps lines until they are taken.
type lineWriter struct {
	mu    sync.Mutex
	lines [][]byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range bytes.Lines(p) {
		w.lines = append(w.lines, bytes.Clone(line))
	}
	return len(p), nil
}

func (w *lineWriter) take() [][]byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	w.lines = nil
	return lines
}

// simulate runs f with a fresh session that is subscribed to. speed is that of the simulated model: 0 is at once.
func simulate(t *testing.T, seed uint64, speed float64, f func(*simSession)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		s := &simSession{t: t, in: w, ask: approve}
		ended := make(chan error, 1)
		go func() {
			ended <- simulator.Run(ctx, simulator.Options{In: in, Out: &s.out, Err: io.Discard, Seed: seed, Speed: speed})
		}()
		defer func() {
			cancel()
			<-ended
		}()
		synctest.Wait()
		created := s.call("session/create", object{"workspace": object{"workspacePath": "/w/demo", "workspaceKey": "demo"}})
		s.session = textOf(memberOf(created, "session"), "sessionId")
		s.call("session/subscribe", object{"deliveryKind": "desktop-continuous"})
		f(s)
	})
}

// approve answers as a friendly user does.
func approve(method string, params json.RawMessage) string {
	switch {
	case method == methodPermission:
		return `"result":{"decision":"allow","reason":"Approved once"}`
	case textOf(params, "toolName") == toolPlan:
		return `"result":{"action":"accept","content":{"answer_0":"approve"}}`
	}
	return `"result":{"action":"accept","content":{"answer_0":"Blue","answer_1":["Tests","Lint"]}}`
}

func (s *simSession) send(line string) {
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// settle lets the app-server work until it waits for time or for an answer.
func (s *simSession) settle() (replies []said) {
	for {
		synctest.Wait()
		lines := s.out.take()
		if len(lines) == 0 {
			return replies
		}
		for _, line := range lines {
			var m said
			if json.Unmarshal(line, &m) != nil {
				continue // the prompt "noise"
			}
			switch {
			case m.Method == "":
				replies = append(replies, m)
			case m.ID == nil:
				if textOf(m.Params, "sessionId") == s.session {
					s.note(m)
				}
			default:
				s.asked(m)
			}
		}
	}
}

func (s *simSession) note(m said) {
	s.heard = append(s.heard, m)
	if s.hear != nil {
		s.hear(m)
	}
}

func (s *simSession) asked(m said) {
	answer := `"error":{"code":-32601,"message":"Method not found"}`
	switch m.Method {
	case "session/requestRuntimePreferences":
		answer = `"result":{"nativeSearchEnhancementsEnabled":false}`
	case methodPermission, methodUserInput:
		s.note(m)
		answer = s.ask(m.Method, m.Params)
	}
	if answer != "" {
		s.send(fmt.Sprintf(`{"id":%s,%s}`, m.ID, answer))
	}
}

// call makes a request and gives its result. The params get the session's id.
func (s *simSession) call(method string, params object) json.RawMessage {
	s.t.Helper()
	if s.session != "" {
		params["sessionId"] = s.session
	}
	s.nextID++
	s.send(fmt.Sprintf(`{"id":%d,"method":%q,"params":%s}`, s.nextID, method, encode(params)))
	for _, m := range s.settle() {
		if string(m.ID) == fmt.Sprint(s.nextID) && m.Error == nil {
			return m.Result
		}
	}
	s.t.Fatalf("%s %s was not answered with a result", method, params)
	return nil
}

// prompt sends an input and lets its turn run, and what it started in the background, until nothing more comes.
func (s *simSession) prompt(text string) {
	s.t.Helper()
	s.call("session/send", object{"content": text})
	s.pass(time.Minute)
}

// pass lets time go by.
func (s *simSession) pass(d time.Duration) {
	for range 20 {
		time.Sleep(d / 20)
		s.settle()
	}
}

func (s *simSession) messages() (list []json.RawMessage) {
	s.t.Helper()
	result := s.call("session/messages", object{})
	if err := json.Unmarshal(memberOf(result, "messages"), &list); err != nil {
		s.t.Fatal(err)
	}
	return list
}

func (s *simSession) snapshot() json.RawMessage {
	return s.call("session/read", object{})
}

// hearing gives a translator what the app-server said.
func hearing(tr *Translator, heard []said) (updates []Update) {
	for _, m := range heard {
		switch m.Method {
		case "session/event":
			updates = append(updates, tr.Event(m.Params)...)
		case "state.updated":
			updates = append(updates, tr.StateUpdated(m.Params)...)
		}
	}
	return updates
}

// show is updates one a line, for people.
func show(updates []Update) string {
	var b strings.Builder
	for _, u := range updates {
		b.Write(u.JSON)
		b.WriteByte('\n')
	}
	return b.String()
}
