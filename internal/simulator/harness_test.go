package simulator

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
)

// sim is a running simulator with a client that answers as its fields say. It lives in a synctest bubble.
type sim struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *recorder
	stderr *recorder
	cancel context.CancelFunc
	ended  chan error

	preferences string // answer to session/requestRuntimePreferences; "" leaves it open
	decide      func(msg) string
	seen        int      // bytes of out that were looked at
	log         []string // everything said so far, "C …" and "A …"
	nextID      int
	commands    int // V4 commands sent so far, for their ids
}

// msg is one line of the simulator, decoded.
type msg map[string]any

// recorder keeps what is written, and what each Write held.
type recorder struct {
	mu     sync.Mutex
	text   []byte
	writes int
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, p...)
	r.writes++
	return len(p), nil
}

func (r *recorder) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Split(strings.TrimSuffix(string(r.text), "\n"), "\n")
}

// inBubble runs f with a simulator in a bubble and stops it afterwards.
func inBubble(t *testing.T, o Options, f func(*sim)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, o)
		defer s.stop() // also when f gives up, or the bubble would not end
		f(s)
	})
}

func start(t *testing.T, o Options) *sim {
	t.Helper()
	in, w := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	s := &sim{t: t, in: w, out: &recorder{}, stderr: &recorder{}, cancel: cancel, ended: make(chan error, 1),
		preferences: `"result":{"nativeSearchEnhancementsEnabled":false}`, decide: allowAll, nextID: 1}
	o.In, o.Out, o.Err = in, s.out, s.stderr
	if o.Seed == 0 {
		o.Seed = 1
	}
	go func() { s.ended <- Run(ctx, o) }()
	synctest.Wait()
	return s
}

func (s *sim) stop() {
	s.cancel()
	if err := <-s.ended; err != nil {
		s.t.Errorf("Run ended with %v", err)
	}
}

// send writes one line to stdin.
func (s *sim) send(line string) {
	s.t.Helper()
	s.log = append(s.log, "C "+line)
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatalf("stdin: %v", err)
	}
}

// settle lets the simulator work until it waits for time or for an answer this client does not give, and returns what
// it said meanwhile.
func (s *sim) settle() []msg {
	s.t.Helper()
	var said []msg
	for {
		synctest.Wait()
		fresh := s.fresh()
		if len(fresh) == 0 {
			return said
		}
		for _, line := range fresh {
			s.log = append(s.log, "A "+line)
			var m msg
			if json.Unmarshal([]byte(line), &m) != nil {
				continue // the prompt "noise"
			}
			said = append(said, m)
			if a := s.answerTo(m); a != "" {
				s.send(fmt.Sprintf(`{"id":%q,%s}`, m["id"], a))
			}
		}
	}
}

func (s *sim) fresh() []string {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	text := s.out.text[s.seen:]
	if len(text) == 0 {
		return nil
	}
	s.seen += len(text)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func (s *sim) answerTo(m msg) string {
	if m["id"] == nil || m["method"] == nil {
		return ""
	}
	if m["method"] == "session/requestRuntimePreferences" {
		return s.preferences
	}
	return s.decide(m)
}

// allowAll answers questions the way a friendly user would.
func allowAll(m msg) string {
	switch m["method"] {
	case "interaction/requestPermission":
		return `"result":{"decision":"allow","reason":"Approved once"}`
	case "interaction/requestUserInput":
		if at(m, "params.toolName") == "ExitPlanMode" {
			return `"result":{"action":"accept","content":{"answer":"approve"}}`
		}
		return `"result":{"action":"accept","content":{"answer_0":"Blue","answer_1":["Tests","Lint"]}}`
	}
	return fmt.Sprintf(`"error":{"code":-32601,"message":"Method not found: %s"}`, m["method"])
}

func nobody(msg) string { return "" }

// call makes a request and returns its response, with whatever else was said before the simulator settled.
func (s *sim) call(method, params string) (msg, []msg) {
	s.t.Helper()
	id := s.request(method, params)
	said := s.settle()
	for _, m := range said {
		if m["method"] == nil && m["id"] == float64(id) {
			return m, said
		}
	}
	s.t.Fatalf("%s %s was not answered; the simulator said %s", method, params, show(said))
	return nil, nil
}

func (s *sim) request(method, params string) int {
	id := s.nextID
	s.nextID++
	s.send(fmt.Sprintf(`{"id":%d,"method":%q,"params":%s}`, id, method, params))
	return id
}

// result is call for what has to succeed.
func (s *sim) result(method, params string) msg {
	s.t.Helper()
	m, _ := s.call(method, params)
	result, ok := m["result"].(map[string]any)
	if !ok {
		s.t.Fatalf("%s %s: got %s, want a result", method, params, show(m))
	}
	return result
}

// fails is call for what has to fail with this code and text.
func (s *sim) fails(method, params string, code int, text string) msg {
	s.t.Helper()
	m, _ := s.call(method, params)
	if at(m, "error.code") != float64(code) || !strings.Contains(fmt.Sprint(at(m, "error.message")), text) {
		s.t.Fatalf("%s %s: got %s, want error %d %q", method, params, show(m), code, text)
	}
	return m
}

const demoWorkspace = `{"workspacePath":"/w/demo","workspaceKey":"demo"}`

// open makes a session and subscribes to it.
func (s *sim) open() string {
	s.t.Helper()
	id := s.create()
	s.result("session/subscribe", fmt.Sprintf(`{"sessionId":%q,"deliveryKind":"desktop-continuous"}`, id))
	return id
}

func (s *sim) create() string {
	s.t.Helper()
	created := s.result("session/create", `{"workspace":`+demoWorkspace+`}`)
	return at(created, "session.sessionId").(string)
}

// prompt sends an input and returns what was said until the simulator settled.
func (s *sim) prompt(id, text string) []msg {
	s.t.Helper()
	_, said := s.call("session/send", fmt.Sprintf(`{"sessionId":%q,"content":%s}`, id, encode(text)))
	return said
}

// pass lets simulated time go by and returns what was said in it.
func (s *sim) pass(d time.Duration) []msg {
	s.t.Helper()
	var said []msg
	for deadline := time.Now().Add(d); ; {
		said = append(said, s.settle()...)
		left := time.Until(deadline)
		if left <= 0 {
			return said
		}
		time.Sleep(min(left, max(d/100, 10*time.Millisecond)))
	}
}

// at digs into decoded JSON by a path such as params.payload.kind; nil if there is nothing.
func at(v any, path string) any {
	for _, step := range strings.Split(path, ".") {
		switch o := v.(type) {
		case msg:
			v = o[step]
		case map[string]any:
			v = o[step]
		default:
			return nil
		}
	}
	return v
}

// only picks the messages of one method.
func only(said []msg, method string) []msg {
	var list []msg
	for _, m := range said {
		if m["method"] == method {
			list = append(list, m)
		}
	}
	return list
}

// eventNames are the types of session events, with the payload's kind where there is one.
func eventNames(said []msg) []string {
	var names []string
	for _, m := range only(said, "session/event") {
		name := at(m, "params.type").(string)
		if kind, ok := at(m, "params.payload.kind").(string); ok {
			name += ":" + kind
		}
		names = append(names, name)
	}
	return names
}

// findEvent finds the first session event with this name, as eventNames gives it.
func findEvent(t *testing.T, said []msg, name string) map[string]any {
	t.Helper()
	for i, n := range eventNames(said) {
		if n == name {
			return at(only(said, "session/event")[i], "params").(map[string]any)
		}
	}
	t.Fatalf("no event %s in %v", name, eventNames(said))
	return nil
}

func reasons(said []msg) string {
	var list []string
	for _, m := range only(said, "state.updated") {
		list = append(list, at(m, "params.reason").(string))
	}
	return strings.Join(list, " ")
}

func show(v any) string {
	text := encode(v)
	if len(text) > 2000 {
		text = append(bytes.Clone(text[:2000]), "…"...)
	}
	return string(text)
}
