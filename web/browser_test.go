package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"zcodehub/auth"
	"zcodehub/hub"
)

const pageSession = "sess_1"

// pageHub plays one session to the page and records what the page answers.
type pageHub struct {
	*fakeHub
	mu      sync.Mutex
	client  *pageClient // the newest
	answers chan string // results that the page sent
	afters  []string    // cursors that the page subscribed with
	resumed chan struct{}
	seq     int
	epoch   string
}

type pageClient struct {
	hub      *pageHub
	sink     hub.Sink
	mu       sync.Mutex // one WriteFrames at a time
	detached chan struct{}
}

func (h *pageHub) Attach(_ hub.ClientInfo, sink hub.Sink) (Client, error) {
	c := &pageClient{hub: h, sink: sink, detached: make(chan struct{})}
	h.mu.Lock()
	h.client = c
	h.mu.Unlock()
	c.send(`{"method":"hub/hello","params":{"protocolVersion":1,"connectionId":"c1","principal":{"name":"phone","rights":["view","answer","control"]},"appServer":{"state":"ready","generation":1}}}`)
	return c, nil
}

func (h *pageHub) Drain(string, time.Duration) { h.newest().sink.CloseSoon(CloseGoingAway, "") }

func (h *pageHub) newest() *pageClient {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.client
}

// event sends the next update of the session.
func (h *pageHub) event(kind, payload string) {
	h.mu.Lock()
	h.seq++
	seq := h.seq
	h.mu.Unlock()
	h.newest().send(fmt.Sprintf(`{"method":"session/event","params":{"fromSeq":%d,"seq":%d,"sessionId":%q,"type":%q,"payload":%s}}`, seq-1, seq, pageSession, kind, payload))
}

func (c *pageClient) send(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.sink.WriteFrames(net.Buffers{textFrame(text)}) // a page that is gone is noticed elsewhere
}

func (c *pageClient) Detach()    { close(c.detached) }
func (c *pageClient) ID() string { return "c1" }

func (c *pageClient) Handle(frame []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Content  string
			AfterSeq *int
			Epoch    string
		}
		Result json.RawMessage
	}
	if err := json.Unmarshal(frame, &m); err != nil {
		panic(err)
	}
	reply := func(result string) { c.send(fmt.Sprintf(`{"id":%s,"result":%s}`, m.ID, result)) }
	switch m.Method {
	case "":
		c.hub.answers <- string(m.Result)
	case "session/list":
		reply(`{"sessions":[{"sessionId":"sess_1","title":"First <b>session</b>","status":"idle","updatedAt":1,"workspace":{"workspacePath":"/w/demo"}}]}`)
	case "session/subscribe":
		c.hub.mu.Lock()
		c.hub.afters = append(c.hub.afters, fmt.Sprint(m.Params.Epoch, " ", m.Params.AfterSeq != nil))
		seq, epoch := c.hub.seq, c.hub.epoch
		c.hub.mu.Unlock()
		if m.Params.AfterSeq != nil {
			reply(fmt.Sprintf(`{"sessionId":"sess_1","eventSeq":%d,"epoch":%q,"resumed":true,"events":[]}`, seq, epoch))
			c.hub.resumed <- struct{}{}
			return
		}
		reply(fmt.Sprintf(`{"sessionId":"sess_1","eventSeq":%d,"epoch":%q,"resumed":false,"events":[],"snapshot":{"session":{"sessionId":"sess_1","title":"First session"},"projection":{"status":"idle"},"messages":[{"info":{"messageId":"m0","role":"user"},"parts":[{"type":"text","partId":"p0","text":"an old prompt"}]}]}}`, seq, epoch))
	case "session/send":
		reply(`{"accepted":true}`)
		c.hub.event("turn.started", fmt.Sprintf(`{"messageId":"m1","input":%q}`, m.Params.Content))
		c.hub.event("model.streaming", `{"kind":"text_delta","assistantMessageId":"m2","delta":"I will <i>look"}`)
		c.hub.event("model.streaming", `{"kind":"text_delta","assistantMessageId":"m2","delta":"</i> now"}`)
		c.hub.event("model.streaming", `{"kind":"tool_call","assistantMessageId":"m2","toolCallId":"t1","toolName":"Bash","input":{"command":"ls"}}`)
	case "hub/pendingInteractions":
		reply(`{"pending":[{"requestId":"perm_3"}],"settled":[]}`)
	default:
		reply(`{}`)
	}
}

const permissionRequest = `{"id":"ask-1","method":"interaction/requestPermission","params":{"requestId":"perm_1","sessionId":"sess_1","toolName":"Bash","riskLevel":"high","reason":"needs approval","input":{"command":"rm -rf build"},"options":[
 {"optionId":"allow_once","kind":"allow_once","name":"Allow once","response":{"decision":"allow","reason":"Approved once"}},
 {"optionId":"deny","kind":"deny","name":"Deny","response":{"decision":"deny","reason":"Denied"}}]}}`

const questionRequest = `{"id":"ask-2","method":"interaction/requestUserInput","params":{"requestId":"perm_2","sessionId":"sess_1","toolName":"AskUserQuestion","prompt":"A question","questions":[{"question":"Which checks?","multiSelect":true,"options":[{"value":"Tests","label":"Tests"},{"value":"Build","label":"Build"}]}]}}`

const planRequest = `{"id":"ask-3","method":"interaction/requestUserInput","params":{"requestId":"perm_3","sessionId":"sess_1","toolName":"ExitPlanMode","schema":{"interaction":"plan_approval"},"input":{"plan":"1. do this"},"questions":[{"question":"Review it.","header":"Plan","options":[{"value":"approve","label":"Approve"}]}]}}`

// TestPageDoesItsJobInABrowser walks the page's whole job under the real content policy: sign in by link, follow a
// session, prompt, answer each kind of question, and resume after the connection was lost.
func TestPageDoesItsJobInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium on this machine")
	}
	play := &pageHub{fakeHub: newFakeHub(), answers: make(chan string, 10), resumed: make(chan struct{}, 10), seq: 7, epoch: "e1"}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := newHarnessFor(t, play, ln)
	defer h.stop()
	token := h.token(auth.Grant{})

	tab, complaints := openBrowser(t, browser)
	run := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(tab, actions...); err != nil {
			t.Fatal(err)
		}
	}
	answered := func(want string) {
		t.Helper()
		if got := <-play.answers; got != want {
			t.Errorf("the page answered %s, want %s", got, want)
		}
	}

	run(chromedp.Navigate("http://"+ln.Addr().String()+"/#token="+token), shows("First <b>session</b>"))
	if address, err := chromedp.Run(tab, chromedp.Location()); err != nil || strings.Contains(address, "token") {
		t.Errorf("the token is still in the address bar (%v)", err)
	}
	run(chromedp.Click(chromedp.CSS("#session-list button")), shows("an old prompt"),
		chromedp.SendKeys(chromedp.ID("prompt"), "have a look"), click("Send"),
		shows("have a look"), shows("I will <i>look</i> now"), shows("Bash – preparing"), shows("working"))

	play.newest().send(permissionRequest)
	run(shows("rm -rf build"), click("Allow once"), shows("not confirmed yet"))
	answered(`{"decision":"allow","reason":"Approved once"}`)
	play.newest().send(`{"method":"hub/answer","params":{"id":"ask-1","requestId":"perm_1","status":"accepted"}}`)
	run(shows("Accepted."))
	play.newest().send(`{"method":"hub/interactionSettled","params":{"requestId":"perm_1","sessionId":"sess_1","outcome":"allow","by":{"name":"phone"},"at":"2026-01-01T00:00:00Z"}}`)
	run(shows("allow by phone"))

	play.newest().send(questionRequest)
	run(shows("Which checks?"), chromedp.Click(chromedp.CSS("input[value=Tests]")), chromedp.Click(chromedp.CSS("input[value=Build]")), click("Answer"))
	answered(`{"action":"accept","content":{"answers":{"Which checks?":["Tests","Build"]}}}`)
	play.newest().send(`{"method":"hub/answer","params":{"id":"ask-2","requestId":"perm_2","status":"late","decidedBy":{"name":"laptop"}}}`)
	run(shows("laptop answered first"))

	play.newest().send(planRequest)
	run(shows("1. do this"))

	// The connection is lost: the page comes back by itself, goes on from its cursor, and the open question again works.
	play.newest().sink.CloseSoon(CloseTooSlow, "too slow")
	<-play.newest().detached
	<-play.resumed
	play.newest().send(planRequest)
	play.event("turn.completed", `{"resultType":"cancelled"}`)
	run(shows("turn ended: cancelled"), shows("idle"), click("Approve"))
	answered(`{"action":"accept","content":{"answers":{"Review it.":"approve"}}}`)
	play.mu.Lock()
	if got := strings.Join(play.afters, ", "); got != " false, e1 true" {
		t.Errorf("the page subscribed with %q", got)
	}
	play.mu.Unlock()

	// A revoked device is told so and does not come back.
	play.newest().sink.CloseSoon(CloseRevoked, "revoked")
	run(shows("This device was revoked"))
	for _, complaint := range complaints() {
		t.Errorf("the browser said: %s", complaint)
	}
}

// openBrowser returns a tab as wide as a phone, and what its console has said so far.
func openBrowser(t *testing.T, path string) (context.Context, func() []string) {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(400, 800))
	allocator, stopBrowser := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stopBrowser)
	var mu sync.Mutex
	var said []string
	tab, closeTab := chromedp.NewContext(allocator, chromedp.WithListener(func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			said = append(said, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			said = append(said, e.Entry.Text)
		}
	}))
	t.Cleanup(closeTab)
	if err := chromedp.Do(tab); err != nil { // the browser lives as long as the context of the first call
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(tab, time.Minute) // a busy machine takes ten seconds
	t.Cleanup(cancel)
	return limited, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return said
	}
}

// shows waits for a text on the page. The page's policy forbids what chromedp's own waiting does.
func shows(text string) chromedp.Action[chromedp.Void] {
	wait := fmt.Sprintf(`new Promise(done => { const look = () => document.body.innerText.includes(%q) ? done(true) : setTimeout(look, 20); look(); })`, text)
	return func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Evaluate[bool](wait, chromedp.EvalAwaitPromise)(ctx, tab)
		if err != nil {
			err = fmt.Errorf("waiting for %q: %w", text, err)
		}
		return chromedp.Void{}, err
	}
}

func click(text string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.Search(fmt.Sprintf(`//button[normalize-space()=%q and not(@disabled)]`, text)))
}
