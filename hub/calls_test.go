package hub_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
)

// everyID are raw ids of all kinds that the protocol allows.
var everyID = []string{`1`, `0`, `-7`, `9007199254740993`, `"1"`, `""`, `"a \"quoted\" id"`, `"\u0041"`, `-9007199254740993`, `"server-1"`}

// Twenty clients use the same ids for different calls at the same time, and
// every reply comes to its asker, under the id as it was written.
func TestReplyReachesItsAskerOnly(t *testing.T) {
	h, script, p := scripted(t)
	script.Answer("test/echo", nil)
	clients := make([]*hubtest.Client, 20)
	var all sync.WaitGroup
	for i := range clients {
		clients[i] = h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)})
		all.Go(func() {
			for _, id := range everyID {
				clients[i].Say(fmt.Sprintf(`{"id":%s,"method":"test/echo","params":{"who":%d,"id":%s}}`, id, i, id))
			}
		})
	}
	all.Wait()
	total := len(clients) * len(everyID)
	p.WantRequest("test/echo", total)
	var calls []hubtest.Line
	for _, l := range p.Lines() {
		if l.Method == "test/echo" {
			calls = append(calls, l)
		}
	}
	rand.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	for _, l := range calls {
		p.Reply(l, l.Params)
	}
	for i, c := range clients {
		for _, id := range everyID {
			c.WantReply(id)
		}
		c.MustCall("hub/ping", "{}")
		for _, id := range everyID {
			replies := c.Replies(id)
			want := fmt.Sprintf(`{"who":%d,"id":%s}`, i, id)
			if len(replies) != 1 || string(replies[0].Result) != want {
				t.Errorf("%s got under id %s: %s, want once %s", c.Name, id, replies, want)
			}
		}
	}
}

// The app-server prints events and then a reply, in one write or in two: no
// client sees the reply first, in either lane.
func TestReplyNeverOvertakesUpdates(t *testing.T) {
	for _, profile := range []auth.Profile{auth.Continuous, auth.Replayable} {
		t.Run(profile.Delivery(), func(t *testing.T) {
			h, script, p := scripted(t)
			script.Answer("test/about", nil)
			script.Answer("session/send", nil)
			c := h.Connect("client", hubtest.As{Profile: profile})
			c.Subscribe("s1", "")
			seq := 0
			for round := range 60 {
				method, params := "session/send", `{"sessionId":"s1"}`
				if round%2 == 1 {
					method, params = "test/about", `{}` // names no session, so it follows all
				}
				id := c.Request(method, params)
				call := p.WantRequest(method, round/2+1)
				var lines []string
				for range 1 + round%3 {
					seq++
					lines = append(lines, delta("s1", seq, "word "))
				}
				if round%5 == 0 {
					seq++
					lines = append(lines, progress("s1", seq, 10)) // of which nothing survives in one lane
				}
				p.Print(append(lines, fmt.Sprintf(`{"id":%s,"result":{"after":%d}}`, call.ID, seq))...)
				c.WantReply(id)
				var cursor hubtest.Cursor
				for _, m := range c.Messages() {
					if m.Method == "" && m.ID == id {
						break
					}
					cursor.See(m, "s1")
				}
				wantChain(t, c.Name, &cursor)
				if cursor.Seq != uint64(seq) {
					t.Fatalf("round %d: the reply came when the client had %d of %d", round, cursor.Seq, seq)
				}
			}
		})
	}
}

// pendingCalls reads the hub's own gauge.
func pendingCalls(t *testing.T, r *prometheus.Registry) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "hub_calls_pending" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("there is no gauge hub_calls_pending")
	return 0
}

func TestEveryPendingCallEnds(t *testing.T) {
	registry := prometheus.NewRegistry()
	h, script, p := scripted(t, func(o *hub.Options) { o.Registerer, o.CallTimeout = registry, 3*time.Second })
	c := h.Connect("client", hubtest.As{})
	wantPending := func(want float64) {
		t.Helper()
		hubtest.Want(t, fmt.Sprint(want, " pending calls"), func() bool { return pendingCalls(t, registry) == want })
	}
	wantFault := func(m hubtest.Message, code, retryable string) {
		t.Helper()
		if m.Path("error", "code") != code || m.Path("error", "data", "retryable") != retryable {
			t.Errorf("the call ended with %s, want code %s, retryable %s", m, code, retryable)
		}
	}
	// by a reply or an error of the app-server
	id := c.Request("session/usage", `{"sessionId":"s1"}`)
	wantPending(1)
	p.ReplyError(p.WantRequest("session/usage", 1), `{"code":-32603,"message":"no","data":{"name":"Error"}}`)
	if m := c.WantReply(id); string(m.Error) != `{"code":-32603,"message":"no","data":{"name":"Error"}}` {
		t.Errorf("the app-server's error came as %s", m)
	}
	// by the timeout; the app-server talks meanwhile, so it is not restarted
	alive := make(chan struct{})
	var talking sync.WaitGroup
	talking.Go(func() {
		for {
			select {
			case <-alive:
				return
			case <-time.After(50 * time.Millisecond):
				p.Print(`{"method":"process/resourceSample","params":{}}`)
			}
		}
	})
	look, act := c.Request("session/usage", `{"sessionId":"s1"}`), c.Request("session/stop", `{"sessionId":"s1"}`)
	wantFault(c.WantReply(look), "-32044", "true")
	wantFault(c.WantReply(act), "-32044", "false")
	wantPending(0)
	close(alive)
	talking.Wait()
	if g := h.Status().AppServer.Generation; g != 1 {
		t.Errorf("an app-server that talks was restarted: generation %d", g)
	}
	// a reply that comes too late is nobody's
	p.Reply(p.WantRequest("session/stop", 1), `{}`)
	// by the end of the app-server
	look, act = c.Request("session/usage", `{"sessionId":"s1"}`), c.Request("session/stop", `{"sessionId":"s1"}`)
	p.WantRequest("session/stop", 2)
	p.Exit(9)
	wantFault(c.WantReply(look), "-32043", "true")
	wantFault(c.WantReply(act), "-32043", "false")
	wantPending(0)
	// by the end of the hub
	p2 := script.Next()
	h.WantState("ready", 2)
	look = c.Request("session/usage", `{"sessionId":"s1"}`)
	p2.WantRequest("session/usage", 1)
	h.Stop()
	c.WantClosed(1001)
	if n := pendingCalls(t, registry); n != 0 {
		t.Errorf("%v calls are pending after Run", n)
	}
	for _, id := range []string{look, act} {
		if n := len(c.Replies(id)); n > 1 {
			t.Errorf("call %s ended %d times", id, n)
		}
	}
	if _, err := h.TryConnect("late", hubtest.As{}); !errors.Is(err, hub.ErrClosing) {
		t.Errorf("a closed hub took a client: %v", err)
	}
}

// While no app-server is ready calls wait, in order and for a while only.
func TestCallsWaitForTheAppServer(t *testing.T) {
	s := hubtest.NewScript(t)
	s.Answer("runtime/capabilities", nil)
	s.Answer("test/echo", func(l hubtest.Line) string { return l.Params })
	h := hubtest.Start(t, s, func(o *hub.Options) { o.ReadyWait = 3 * time.Second })
	p := s.Next()
	c := h.Connect("client", hubtest.As{})
	m := c.Call("test/echo", `{"n":0}`)
	if m.Path("error", "code") != "-32043" || m.Path("error", "data", "retryable") != "true" {
		t.Errorf("a call in vain ended with %s", m)
	}
	p.Print(`{"method":"startup/storageState","params":{"phase":"migrating","sequence":2}}`)
	c.WantNotice("hub/appServer", `"migrating"`)
	var ids []string
	for i := range 20 {
		ids = append(ids, c.Request("test/echo", fmt.Sprintf(`{"n":%d}`, i+1)))
	}
	p.Reply(p.WantRequest("runtime/capabilities", 1), `{}`)
	for i, id := range ids {
		if m := c.WantReply(id); string(m.Result) != fmt.Sprintf(`{"n":%d}`, i+1) {
			t.Errorf("held call %d ended with %s", i+1, m)
		}
	}
	n := 0
	for _, l := range p.Lines() {
		if l.Method == "test/echo" {
			if n++; l.Params != fmt.Sprintf(`{"n":%d}`, n) {
				t.Errorf("call %d reached the app-server as %s", n, l.Params)
			}
		}
	}
}
