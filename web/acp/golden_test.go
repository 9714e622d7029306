package acp

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("update", false, "rewrite the transcripts under testdata/golden")

// client plays an ACP client and what stands between it and the app-server, and writes down what the client is sent.
type client struct {
	*simSession
	tr     *Translator
	kind   ClientKind
	answer func(method string, params json.RawMessage) string // the result that the client sends
	nextID int
	log    [][]byte // whole messages
	story  *story
}

// watch makes the client hear from now on.
func (c *client) watch() {
	c.tr.Settings(memberOf(c.snapshot(), "settings"))
	c.hear = func(m said) { c.tell(hearing(c.tr, []said{m})) }
	c.ask = c.show
}

func (c *client) tell(updates []Update) {
	c.t.Helper()
	for _, u := range updates {
		if faults := c.story.add(u); len(faults) > 0 {
			c.t.Errorf("%s\n  in %s", strings.Join(faults, "; "), u.JSON)
		}
		c.log = append(c.log, u.Notification(c.session))
	}
}

// show puts a question to the client and gives the answer for the app-server.
func (c *client) show(method string, params json.RawMessage) string {
	a, ok := ReadAsk(method, params)
	if !ok {
		c.t.Fatalf("ReadAsk(%s, %s) sees no question", method, params)
	}
	c.tell(c.tr.Introduce(a))
	d := NewDialog(a, c.kind)
	for r := d.Request(); ; {
		c.tell(r.Before)
		if faults := checkRequest(r.Method, r.Params); len(faults) > 0 {
			c.t.Errorf("%s\n  in %s", strings.Join(faults, "; "), r.Params)
		}
		c.nextID++
		c.log = append(c.log, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.nextID, r.Method, r.Params))
		result := c.answer(r.Method, r.Params)
		if result == "" {
			return ""
		}
		o, err := d.Answer([]byte(result))
		if err != nil {
			c.t.Fatalf("Answer(%s): %v", result, err)
		}
		c.tell(o.After)
		if o.Next == nil {
			return fmt.Sprintf(`"result":%s`, o.Reply)
		}
		r = *o.Next
	}
}

// settled is what follows a turn: what was stored and never streamed.
func (c *client) settled() { c.tell(c.tr.Reconcile(c.messages())) }

// choose answers permissions with the option of this id.
func choose(optionID string) func(string, json.RawMessage) string {
	return func(string, json.RawMessage) string {
		return fmt.Sprintf(`{"outcome":{"outcome":"selected","optionId":%q}}`, optionID)
	}
}

// always answers with one result.
func always(result string) func(string, json.RawMessage) string {
	return func(string, json.RawMessage) string { return result }
}

// inTurn answers one after the other.
func inTurn(optionIDs ...string) func(string, json.RawMessage) string {
	return func(method string, params json.RawMessage) string {
		next := optionIDs[0]
		optionIDs = optionIDs[1:]
		return choose(next)(method, params)
	}
}

// scenario is one conversation whose translation is pinned.
type scenario struct {
	name     string
	prompts  []string
	kind     ClientKind
	terminal bool
	speed    float64
	answer   func(string, json.RawMessage) string
	play     func(*client) // nil: one prompt after the other
}

var (
	editor = ClientKind{Form: true}
	remote = ClientKind{ChoiceForm: true}
	bare   = ClientKind{}
)

func scenarios() []scenario {
	allow, deny := choose("allow_once"), choose("deny")
	ask := []string{"ask ls -l"}
	return []scenario{
		{name: "answer", prompts: []string{"What is this project?"}},
		{name: "echo", prompts: []string{"Reply with exactly: pong"}},
		{name: "help", prompts: []string{"help"}},
		{name: "two-turns", prompts: []string{"Reply with exactly: one", "Reply with exactly: two"}},
		{name: "ask-allowed", prompts: ask, answer: allow},
		{name: "ask-allowed-always", prompts: []string{"ask ls -l", "ask ls -l"}, answer: choose("allow_project")},
		{name: "ask-denied", prompts: ask, answer: deny},
		{name: "ask-dismissed", prompts: ask, answer: always(`{"outcome":{"outcome":"cancelled"}}`)},
		{name: "ask-terminal", prompts: ask, answer: allow, terminal: true},
		{name: "ask-terminal-denied", prompts: ask, answer: deny, terminal: true},
		{name: "question-form", prompts: []string{"question"}, kind: editor,
			answer: always(`{"action":"accept","content":{"q_0":"Red","q_1":["Tests","Lint"],"q_1_other":"Spelling"}}`)},
		{name: "question-remote", prompts: []string{"question"}, kind: remote,
			answer: always(`{"action":"accept","content":{"q_0_other":"Green","q_1":["Build"]}}`)},
		{name: "question-declined", prompts: []string{"question"}, kind: remote, answer: always(`{"action":"decline"}`)},
		{name: "question-permissions", prompts: []string{"question"}, kind: bare, answer: inTurn("Blue", "Tests:yes", "Build:no", "Lint:yes")},
		{name: "question-permissions-skipped", prompts: []string{"question"}, kind: bare, answer: inTurn(skip, "Tests:no", "Build:no", "Lint:no")},
		{name: "plan-approved", prompts: []string{"plan"}, kind: remote, answer: choose("approve")},
		{name: "plan-rejected", prompts: []string{"plan"}, kind: remote, answer: choose("reject")},
		{name: "plan-feedback", prompts: []string{"plan"}, kind: editor,
			answer: always(`{"action":"accept","content":{"approval":"reject","feedback":"split step 2"}}`)},
		{name: "burst", prompts: []string{"burst 5"}},
		{name: "big", prompts: []string{"big 3000"}},
		{name: "fail", prompts: []string{"fail"}},
		{name: "todo", prompts: []string{"todo"}},
		{name: "edit-allowed", prompts: []string{"edit style.css"}, answer: allow},
		{name: "edit-denied", prompts: []string{"edit style.css"}, answer: deny},
		{name: "background", prompts: []string{"background 2s"}},
		{name: "background-terminal", prompts: []string{"background 2s"}, terminal: true},
		{name: "background-cancelled", speed: 1, play: playBackgroundCancelled},
		{name: "background-agent-gone", speed: 1, terminal: true, play: playAgentGone},
		{name: "subagent", prompts: []string{"subagent ask"}, answer: allow},
		{name: "subagent-denied", prompts: []string{"subagent ask"}, answer: deny},
		{name: "unicode", prompts: []string{"unicode"}},
		{name: "reverse", prompts: []string{"reverse"}},
		{name: "cancelled-at-question", play: playCancelled},
		{name: "settings", play: playSettings},
		{name: "guided", play: playGuided},
		{name: "goal", play: playGoal},
		{name: "load", play: playLoad},
		{name: "load-at-question", play: playLoadAtQuestion},
		{name: "load-earlier", play: playLoadEarlier},
		{name: "load-compacted", play: playLoadCompacted},
	}
}

// inBackground leaves a command running and gives its id.
func (c *client) inBackground() (taskID string) {
	c.call("session/send", object{"content": "background 10m"})
	c.pass(10 * time.Second)
	for _, m := range c.heard {
		taskID = first(textOf(memberOf(m.Params, "payload"), "taskId"), taskID)
	}
	return taskID
}

func playBackgroundCancelled(c *client) {
	taskID := c.inBackground()
	c.call("session/cancelBackgroundTask", object{"taskId": taskID})
	c.settle()
}

func playAgentGone(c *client) {
	c.inBackground()
	c.tell(c.tr.CloseOpen())
}

func playCancelled(c *client) {
	c.answer = always("")
	c.call("session/send", object{"content": "ask ls -l"})
	c.settle()
	c.tell(c.tr.Cancel())
	c.call("session/stop", object{})
	c.settle()
	c.prompt("Reply with exactly: next")
}

func playSettings(c *client) {
	c.tell([]Update{CommandsUpdate(Commands(memberOf(c.snapshot(), "slashCommands"), OwnCommands...))})
	for _, choice := range [][2]string{{optionMode, "edit"}, {optionModel, `demo\demo-pro`}, {optionThought, "low"}} {
		change, err := c.tr.Set(choice[0], choice[1])
		if err != nil {
			c.t.Fatalf("Set(%v): %v", choice, err)
		}
		c.call(change.Method, change.Params)
	}
	c.prompt("edit style.css")
}

// playGuided has an input join the running turn.
func playGuided(c *client) {
	c.answer = always("")
	c.call("session/send", object{"content": "ask ls -l"})
	c.call("v4/command", object{"commandId": "guide", "clientId": "other", "type": "sendText", "issuedAt": 1,
		"payload": object{"text": "be quick", "requestedDelivery": "guide"}})
	c.answer = choose("allow_once")
	c.pass(time.Minute)
}

func playGoal(c *client) {
	c.call("session/goal", object{"action": "set", "objective": "todo"})
	c.pass(time.Minute)
}

// playLoad is a client that comes when two turns are over.
func playLoad(c *client) {
	c.hear, c.ask = nil, approve
	for _, prompt := range []string{"ask ls -l", "edit style.css", "todo", "question", "plan"} {
		c.prompt(prompt)
	}
	c.load(ReadLog(c.messages()).All())
	c.watch()
	c.prompt("Reply with exactly: live")
}

// load replays as session/load does, without what only the connection adds.
func (c *client) load(page Page) {
	snapshot := c.snapshot()
	c.tr.Settings(memberOf(snapshot, "settings"))
	c.tr.Running(textOf(memberOf(snapshot, "runtime"), "activeTurnId"))
	c.tell(c.tr.History(page.Messages))
	c.tell(c.tr.Plan(memberOf(snapshot, "todos")))
	var used struct{ ContextUsed, ContextWindow int64 }
	_ = json.Unmarshal(memberOf(snapshot, "projection"), &used)
	c.tell(c.tr.Usage(used.ContextUsed, used.ContextWindow))
	c.replied("load", object{"modes": c.tr.Modes(), "configOptions": c.tr.ConfigOptions(), "replayMeta": page.Meta})
}

// replied writes down an answer that the client gets.
func (c *client) replied(id string, result object) {
	c.log = append(c.log, encode(object{"jsonrpc": "2.0", "id": id, "result": result}))
}

func playLoadAtQuestion(c *client) {
	c.hear, c.ask = nil, func(string, json.RawMessage) string { return "" }
	c.call("session/send", object{"content": "ask ls -l"})
	c.settle()
	c.load(ReadLog(c.messages()).Tail(30))
	c.watch()
	c.answer = choose("allow_once")
	c.pass(3 * time.Second) // the question is announced again
	c.pass(time.Minute)
}

func playLoadEarlier(c *client) {
	c.hear, c.ask = nil, approve
	for _, prompt := range []string{"ask ls -l", "todo", "edit style.css"} {
		c.prompt(prompt)
	}
	page := ReadLog(c.messages()).Tail(2)
	c.load(page)
	for page.Meta.HasMore {
		var err error
		if page, err = ReadLog(c.messages()).Before(*page.Meta.Cursor, 2); err != nil {
			c.t.Fatal(err)
		}
		c.tell(c.tr.Earlier(page.Messages))
		c.replied("load_earlier", object{"replayMeta": page.Meta})
	}
}

func playLoadCompacted(c *client) {
	c.hear, c.ask = nil, approve
	c.prompt("Reply with exactly: before")
	c.call("session/compact", object{})
	c.pass(time.Minute)
	c.prompt("Reply with exactly: after")
	c.load(ReadLog(c.messages()).All())
}

// TestTranscriptsArePinned compares what a client is sent in whole conversations with what was read by eye once. The
// files are lists of complete JSON-RPC messages, so that the validators of other implementations can read them as well.
func TestTranscriptsArePinned(t *testing.T) {
	for i, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			var log [][]byte
			simulate(t, uint64(i+1), s.speed, func(session *simSession) {
				c := &client{simSession: session, kind: s.kind, answer: s.answer, story: newStory(),
					tr: NewTranslator(TranslatorOptions{SessionID: session.session, Terminal: s.terminal})}
				c.watch()
				if s.play != nil {
					s.play(c)
				}
				for _, prompt := range s.prompts {
					c.prompt(prompt)
					c.settled()
				}
				if open := c.story.open(); len(open) > 0 {
					t.Errorf("cards are open at the end: %v", open)
				}
				log = c.log
			})
			pin(t, filepath.Join("testdata", "golden", s.name+".json"), log)
		})
	}
}

func pin(t *testing.T, path string, log [][]byte) {
	t.Helper()
	got := append(append([]byte("[\n"), bytes.Join(log, []byte(",\n"))...), "\n]\n"...)
	if !json.Valid(got) {
		t.Fatalf("this is no JSON: %s", got)
	}
	if *rewrite {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("what a client is sent differs from %s (-want +got; rewrite with go test -update):\n%s", path, diff)
	}
}
