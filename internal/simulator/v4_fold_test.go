package simulator

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	hubside "zcodehub/session/conversation"
)

// TestFoldsEqualSnapshot plays random conversations and compares what three kinds of subscribers have folded with a
// fresh snapshot: one that takes everything, one that takes the replayable profile, one that comes and goes.
func TestFoldsEqualSnapshot(t *testing.T) {
	seeds := 20
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inBubble(t, Options{Seed: uint64(seed + 1)}, func(s *sim) {
				p := newScenario(s, uint64(seed))
				for range 14 {
					p.act()
				}
				p.finish()
			})
		})
	}
}

// scenario is a random user with three clients.
type scenario struct {
	s       *sim
	rand    *rand.Rand
	id      string
	steady  *v4Client
	replay  *v4Client
	visitor *v4Client // unsubscribes and comes back
	away    bool
	open    []string // ids of permission requests that are not answered
}

func newScenario(s *sim, seed uint64) *scenario {
	p := &scenario{s: s, rand: rand.New(rand.NewPCG(seed, 1))}
	p.id = s.draft()
	p.steady = s.follow("conversation/"+p.id, "steady", "desktop-continuous", "")
	p.replay = s.follow("conversation/"+p.id, "replay", "web-remote-replayable", "")
	p.visitor = s.follow("conversation/"+p.id, "visitor", "desktop-continuous", "")
	s.decide = func(m msg) string {
		if p.rand.IntN(4) == 0 { // leave it open, so that commands meet a running turn
			p.open = append(p.open, at(m, "params.requestId").(string))
			return ""
		}
		if p.rand.IntN(4) == 0 && m["method"] == "interaction/requestPermission" {
			return `"result":{"decision":"deny","reason":"no"}`
		}
		return allowAll(m)
	}
	return p
}

// heard gives everybody what was said.
func (p *scenario) heard(said []msg) {
	p.steady.take(said)
	p.replay.take(said)
	if !p.away {
		p.visitor.take(said)
	}
}

func (p *scenario) command(kind, payload string, more ...string) map[string]any {
	a, said := p.s.command(p.id, kind, payload, more...)
	p.heard(said)
	return a
}

// pass lets time go by; now and then not long enough for a flush.
func (p *scenario) pass() {
	if p.rand.IntN(3) > 0 {
		p.heard(p.s.settle())
		time.Sleep(time.Duration(p.rand.IntN(200)) * time.Millisecond)
	}
	p.heard(p.s.settle())
}

// known is the state as the steady client has it, with everything that is on its way.
func (p *scenario) known() map[string]any {
	p.heard(p.s.flushed())
	return p.steady.state
}

func (p *scenario) act() {
	prompts := []string{"ask ls", "question", "plan", "todo", "edit a.css", "big 200kb", "fail", "hello", "help", "subagent ask", "background 2s", "burst 700", "unicode"}
	switch p.rand.IntN(12) {
	case 0, 1, 2, 3:
		delivery := []string{"", `,"requestedDelivery":"queue"`, `,"requestedDelivery":"guide"`, `,"heldQueueDisposition":"keepQueueAndSend"`,
			`,"heldQueueDisposition":"clearQueueAndSend"`}[p.rand.IntN(5)]
		p.command("sendText", fmt.Sprintf(`{"text":%q%s}`, prompts[p.rand.IntN(len(prompts))], delivery))
	case 4:
		_, said := p.s.call("session/send", fmt.Sprintf(`{"sessionId":%q,"content":"ask"}`, p.id))
		p.heard(said)
	case 5:
		p.command("stop", `{}`)
	case 6:
		p.resolve()
	case 7:
		p.settings()
	case 8:
		p.onRow()
	case 9:
		p.onQueue()
	case 10:
		p.comeAndGo()
	case 11:
		p.command("compact", `{}`)
	}
	p.pass()
}

func (p *scenario) resolve() {
	if len(p.open) == 0 {
		return
	}
	option := []string{"allowOnce", "allowAlways", "deny", "other"}[p.rand.IntN(4)]
	p.command("resolveInteraction", fmt.Sprintf(`{"interactionId":%q,"answer":{"optionId":%q}}`, p.open[len(p.open)-1], option))
}

func (p *scenario) base() []string {
	state := p.known()
	return []string{fmt.Sprintf(`"baseRevision":%v`, state["revision"]), fmt.Sprintf(`"baseLogEpoch":%q`, state["logEpoch"])}
}

func (p *scenario) settings() {
	base := p.base()
	switch p.rand.IntN(4) {
	case 0:
		p.command("setFollowupMode", fmt.Sprintf(`{"mode":%q}`, []string{"queue", "guide"}[p.rand.IntN(2)]), base...)
	case 1:
		p.command("switchModelConfig", fmt.Sprintf(`{"provider":"demo","model":%q,"thought":"low"}`, []string{"demo-pro", "demo-flash"}[p.rand.IntN(2)]), base...)
	case 2:
		p.command("switchCollaborationMode", fmt.Sprintf(`{"mode":%q}`, []string{"build", "edit", "plan", "yolo"}[p.rand.IntN(4)]), base...)
	case 3:
		p.command("renameSession", `{"title":"Renamed"}`)
	}
}

// onRow edits, retries or forks at a random row.
func (p *scenario) onRow() {
	base := p.base()
	window := at(p.steady.state, "rows.window").([]any)
	if len(window) == 0 {
		return
	}
	r := window[p.rand.IntN(len(window))]
	target := fmt.Sprintf(`"target":{"rowId":%v,"entityId":%q}`, at(r, "rowId"), at(r, "entityId"))
	switch p.rand.IntN(4) {
	case 0:
		p.command("editUserQuery", `{`+target+`,"newText":"ask again"}`, base...)
	case 1:
		p.command("retryTurn", `{`+target+`}`, base...)
	case 2:
		p.command("forkAssistant", `{`+target+`}`, base...)
	case 3:
		p.command("setAssistantFeedback", `{`+target+`,"feedback":"like"}`, base...)
	}
}

func (p *scenario) onQueue() {
	base := p.base()
	items := at(p.steady.state, "queue.items").([]any)
	if len(items) == 0 || p.rand.IntN(6) == 0 {
		p.command("setAutoDrain", fmt.Sprintf(`{"autoDrain":%v}`, p.rand.IntN(2) == 0), base...)
		return
	}
	item := fmt.Sprintf(`{"queueItemId":%q`, at(items[p.rand.IntN(len(items))], "queueItemId"))
	switch p.rand.IntN(4) {
	case 0:
		p.command("deleteQueueItem", item+`}`, base...)
	case 1:
		p.command("editQueueItem", item+`,"newText":"ask changed"}`, base...)
	case 2:
		p.command("reorderQueueItem", item+`,"beforeQueueItemId":null}`, base...)
	case 3:
		p.command("sendQueuedNow", item+`}`, base...)
	}
}

func (p *scenario) comeAndGo() {
	switch p.rand.IntN(4) {
	case 0:
		state := []string{"saturated", "drained"}[p.rand.IntN(2)]
		_, said := p.s.call("v4/connection/flow", fmt.Sprintf(`{"connectionId":"steady","state":%q}`, state))
		p.heard(said)
	case 1:
		_, said := p.s.call("v4/conversation/resync", fmt.Sprintf(`{"topic":%q,"connectionId":"replay","subscriptionId":%q,"base":{"logEpoch":%q,"seq":%v}}`,
			p.replay.topic, p.replay.id, p.replay.state["logEpoch"], p.replay.seq))
		p.heard(said)
	default:
		p.toggle()
	}
}

// toggle lets the visitor leave, or come back with what it had.
func (p *scenario) toggle() {
	v := p.visitor
	if p.away = !p.away; p.away {
		_, said := p.s.call("v4/conversation/unsubscribe", fmt.Sprintf(`{"topic":%q,"connectionId":"visitor","subscriptionId":%q}`, v.topic, v.id))
		p.heard(said)
		return
	}
	v.profile = []string{"desktop-continuous", "web-remote-replayable"}[p.rand.IntN(2)]
	v.subscribe(fmt.Sprintf(`,"base":{"logEpoch":%q,"seq":%v}`, v.state["logEpoch"], v.seq))
}

// finish brings everything to an end and compares.
func (p *scenario) finish() {
	t := p.s.t
	p.s.decide = allowAll
	_, said := p.s.call("v4/connection/flow", `{"connectionId":"steady","state":"drained"}`)
	p.heard(said)
	for range 20 { // questions that are open, queued inputs, background commands
		p.command("stop", `{}`)
		time.Sleep(3 * time.Second)
		p.heard(p.s.settle())
	}
	if p.away {
		p.toggle()
	}
	p.heard(p.s.flushed())
	want := p.steady.fresh()
	for _, c := range []*v4Client{p.steady, p.replay, p.visitor} {
		if c.doubt { // rows before those it has loaded have come into the window
			_, said := p.s.call("v4/conversation/resync", fmt.Sprintf(`{"topic":%q,"connectionId":%q,"subscriptionId":%q,"base":null}`, c.topic, c.connection, c.id))
			p.heard(said)
		}
		wantSame(t, c.connection, c.canonical(), want)
	}
	p.compareHub()
	if n := p.replay.paths["inputText"] + p.replay.paths[outputPath] + p.replay.paths["summaryText"]; n > 0 {
		t.Errorf("the replayable profile got %d deltas that it leaves out: %v", n, p.replay.paths)
	}
	if slices.Contains(p.steady.kinds[1:], "initial snapshot") {
		t.Error("a second initial snapshot")
	}
}

// compareHub has the hub's own projection follow the raw frames of the steady and of the replayable subscription. Both
// must end where the last snapshot is that anybody got, byte for byte but for the order of members.
func (p *scenario) compareHub() {
	t := p.s.t
	follow := map[string]*hubside.Projection{p.steady.id: {}, p.replay.id: {}}
	var assembler hubside.Assembler
	var last []byte
	for _, line := range p.s.log {
		if !strings.HasPrefix(line, `A {"method":"v4/conversation/frame"`) {
			continue
		}
		var m struct {
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal([]byte(line[2:]), &m); err != nil {
			t.Fatal(err)
		}
		f, fault := assembler.Add(m.Params, time.Now())
		if fault != nil {
			t.Fatalf("assemble: %v", fault)
		}
		if f == nil {
			continue
		}
		if f.Kind == hubside.Snapshot {
			last = f.Snapshot()
		}
		if state := follow[f.SubscriptionID]; state != nil {
			if err := state.Apply(f); err != nil {
				t.Fatalf("apply: %v", err)
			}
		}
	}
	for id, state := range follow {
		if !hubside.Equal(state.Snapshot(), last) && !state.Doubtful() {
			t.Errorf("the hub's projection of %s differs at %s", id, hubside.Difference(state.Snapshot(), last))
		}
	}
}
