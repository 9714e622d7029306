package hub_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
	"zcodehub/session/conversation"
)

// goldenSeeds is how many scenarios are played: as many as fit into an ordinary
// test run. HUB_TEST_SEEDS=200 plays the number that the project promises, in
// some 80 seconds.
func goldenSeeds() int {
	if n, err := strconv.Atoi(os.Getenv("HUB_TEST_SEEDS")); err == nil {
		return n
	}
	if hubtest.Race || testing.Short() {
		return 8
	}
	return 40
}

// Whatever happens in a conversation, and however a client follows it (without a
// pause in either profile, with connections that break and resume, with changes
// of the profile, with fits of not reading), it ends with the same state, which
// is that of a fresh snapshot and of a snapshot forced from the app-server.
func TestGoldenFold(t *testing.T) {
	metrics, withMetrics := withCounters()
	h, sim := simulated(t, withMetrics)
	seeds := goldenSeeds()
	const atOnce = 6 // each waits for flush windows most of the time
	tickets := make(chan uint64, seeds)
	for seed := range seeds {
		tickets <- uint64(seed)
	}
	close(tickets)
	played := make([]*scenario, seeds)
	var running sync.WaitGroup
	for range atOnce {
		running.Go(func() {
			for seed := range tickets {
				s := newScenario(t, h, seed)
				played[seed] = s
				s.play()
			}
		})
	}
	running.Wait()
	if t.Failed() {
		return
	}
	// Nothing moves any more: the forced snapshots are of the same numbers, so
	// that each is compared.
	before := sim.Count("v4/conversation/resync")
	frames := map[*scenario]int{}
	for _, s := range played {
		s.steady.catchUp()
		frames[s] = len(s.steady.kinds)
	}
	h.CheckTopics()
	played[0].steady.client.MustCall("session/list", "{}") // the app-server works in order
	if n := sim.Count("v4/conversation/resync") - before; n != seeds {
		t.Errorf("%d of %d topics were checked", n, seeds)
	}
	if n := metrics.value("hub_topic_mismatches_total"); n != 0 {
		t.Errorf("%v topics were not what the app-server has", n)
	}
	total := map[string]int{}
	for seed, s := range played {
		if s.steady.catchUp(); len(s.steady.kinds) != frames[s] {
			t.Errorf("seed %d: the forced snapshot was ahead of what the hub had: %q", seed, s.steady.kinds[frames[s]:])
		}
		for k, n := range s.did {
			total[k] += n
		}
		for _, kind := range s.steady.kinds {
			total[kind]++
		}
		rows := 0
		if p, ok := s.steady.state.(*conversation.Projection); ok {
			raw, _ := wire.Path(p.Snapshot(), "rows", "totalCount")
			rows, _ = strconv.Atoi(string(raw))
		}
		total["most rows"] = max(total["most rows"], rows)
	}
	if n := sim.Count("v4/conversation/subscribe"); n != seeds {
		t.Errorf("%d subscribes for %d topics", n, seeds)
	}
	t.Logf("%d scenarios, %d resyncs upstream before the forced ones, what happened: %v", seeds, before, total)
}

// scenario is one random conversation and those who follow it.
type scenario struct {
	t       *testing.T
	h       *hubtest.Hub
	seed    uint64
	rand    *rand.Rand
	session string
	number  int
	did     map[string]int

	author *hubtest.Client // who prompts; it follows nothing
	asked  map[string]bool // answered requests, by id

	steady, replayable, drifting, switching, freezing *follower
}

func newScenario(t *testing.T, h *hubtest.Hub, seed uint64) *scenario {
	s := &scenario{t: t, h: h, seed: seed, rand: rand.New(rand.NewPCG(seed, 3)), did: map[string]int{}, asked: map[string]bool{}}
	s.author = s.connect("author", 0)
	created := s.author.MustCall("v4/command", fmt.Sprintf(`{"commandId":"create-%d","sessionId":null,"type":"createSession","payload":{"workspaceId":"/golden/%d"},"issuedAt":1}`, seed, seed))
	raw, _ := wire.Path(created, "result", "sessionId")
	s.session, _ = wire.StringValue(raw)
	topic := "conversation/" + s.session
	s.author.MustCall("hub/initialize", `{"clientId":"author-`+fmt.Sprint(seed)+`","interactions":"subscribed"}`)
	s.steady = follow(t, s.connect("steady", 0), topic)
	s.replayable = follow(t, s.connect("replayable", 1), topic)
	s.drifting = follow(t, s.connect("drifting", s.rand.IntN(2)), topic)
	s.switching = follow(t, s.connect("switching", 0), topic)
	s.freezing = follow(t, s.connect("freezing", s.rand.IntN(2)), topic)
	return s
}

func (s *scenario) all() map[string]*follower {
	return map[string]*follower{"steady": s.steady, "replayable": s.replayable, "drifting": s.drifting, "switching": s.switching, "freezing": s.freezing}
}

func (s *scenario) connect(name string, profile int) *hubtest.Client {
	s.number++
	return s.h.Connect(fmt.Sprintf("%s-%d-%d", name, s.seed, s.number), hubtest.As{Profile: profileOf(profile), Device: name})
}

func (s *scenario) play() {
	acts := 16
	if s.seed%8 == 7 {
		acts = 70 // until rows leave the window, and rewinds bring them back
	}
	for range acts {
		s.act()
		s.disturb()
	}
	s.finish()
}

// command sends a V4 command and returns what its ACK says.
func (s *scenario) command(kind, payload, more string) (status string, revision float64) {
	s.number++
	ack := s.author.MustCall("v4/command", fmt.Sprintf(`{"commandId":"cmd-%d-%d","sessionId":%q,"type":%q,"payload":%s,"issuedAt":1%s}`,
		s.seed, s.number, s.session, kind, payload, more))
	var said struct {
		Status   string  `json:"status"`
		Revision float64 `json:"revisionAtDecision"`
	}
	if err := json.Unmarshal(ack, &said); err != nil {
		s.t.Error(err)
	}
	s.did[kind+" "+said.Status]++
	return said.Status, said.Revision
}

// basedCommand sends a command that says which state it means, again if that
// was not the newest any more.
func (s *scenario) basedCommand(kind, payload string) {
	for range 4 {
		more, _ := s.based()
		status, revision := s.command(kind, payload, more)
		if status != "stale" {
			return
		}
		hubtest.Want(s.t, fmt.Sprintf("seed %d at revision %v", s.seed, revision), func() bool {
			_, state := s.based()
			return state["revision"].(float64) >= revision
		})
	}
}

// based is what commands need that say which state they mean.
func (s *scenario) based() (more string, state map[string]any) {
	s.steady.catchUp()
	if err := json.Unmarshal(s.steady.state.Snapshot(), &state); err != nil {
		s.t.Errorf("seed %d: %v", s.seed, err)
	}
	return fmt.Sprintf(`,"baseRevision":%v,"baseLogEpoch":%q`, state["revision"], state["logEpoch"]), state
}

func (s *scenario) act() {
	prompts := []string{"ask ls", "question", "plan", "todo", "edit a.css", "big 200kb", "big 2MB", "fail", "hello", "help", "subagent ask", "background 2s", "burst 700", "unicode"}
	switch s.rand.IntN(13) {
	case 0, 1, 2, 3, 4:
		delivery := []string{"", `,"requestedDelivery":"queue"`, `,"requestedDelivery":"guide"`, `,"heldQueueDisposition":"keepQueueAndSend"`,
			`,"heldQueueDisposition":"clearQueueAndSend"`}[s.rand.IntN(5)]
		s.command("sendText", fmt.Sprintf(`{"text":%q%s}`, prompts[s.rand.IntN(len(prompts))], delivery), "")
	case 5:
		s.command("stop", `{}`, "")
	case 6, 7:
		s.answer()
	case 8:
		s.settings()
	case 9, 10:
		s.onRow()
	case 11:
		s.onQueue()
	case 12:
		s.command("compact", `{}`, "")
	}
}

// answer answers what is open, either way.
func (s *scenario) answer() {
	for _, m := range s.steady.client.Messages() {
		if m.SessionID != s.session || m.ID == "" || s.asked[m.ID] {
			continue
		}
		requestID := m.Path("params", "requestId")
		switch {
		case m.Method == "interaction/requestPermission" && s.rand.IntN(2) == 0:
			option := []string{"allowOnce", "allowAlways", "deny"}[s.rand.IntN(3)]
			s.command("resolveInteraction", fmt.Sprintf(`{"interactionId":%q,"answer":{"optionId":%q}}`, requestID, option), "")
		case m.Method == "interaction/requestPermission":
			s.steady.client.Say(`{"id":` + m.ID + `,"result":` + []string{allowOnce, deny}[s.rand.IntN(2)] + `}`)
		case m.Method == "interaction/requestUserInput" && m.Path("params", "toolName") == "ExitPlanMode":
			s.steady.client.Say(`{"id":` + m.ID + `,"result":{"action":"accept","content":{"answer":"approve"}}}`)
		case m.Method == "interaction/requestUserInput":
			s.steady.client.Say(`{"id":` + m.ID + `,"result":{"action":"accept","content":{"answer_0":"Blue","answer_1":["Tests","Lint"]}}}`)
		default:
			continue
		}
		s.asked[m.ID] = true
		s.did[m.Method]++
	}
}

func (s *scenario) settings() {
	switch s.rand.IntN(4) {
	case 0:
		s.basedCommand("setFollowupMode", fmt.Sprintf(`{"mode":%q}`, []string{"queue", "guide"}[s.rand.IntN(2)]))
	case 1:
		s.basedCommand("switchModelConfig", fmt.Sprintf(`{"provider":"demo","model":%q,"thought":"low"}`, []string{"demo-pro", "demo-flash"}[s.rand.IntN(2)]))
	case 2:
		s.basedCommand("switchCollaborationMode", fmt.Sprintf(`{"mode":%q}`, []string{"build", "edit", "plan", "yolo"}[s.rand.IntN(4)]))
	case 3:
		s.command("renameSession", `{"title":"Renamed"}`, "")
	}
}

// onRow rewinds, retries or forks at a random row that allows it.
func (s *scenario) onRow() {
	s.idle()
	_, state := s.based()
	window := state["rows"].(map[string]any)["window"].([]any)
	wish := []string{"canEdit", "canRetry", "canFork"}[s.rand.IntN(3)]
	var fitting []map[string]any
	for _, r := range window {
		row := r.(map[string]any)
		if actions, ok := row["actions"].(map[string]any); ok && actions[wish] == true {
			fitting = append(fitting, row)
		}
	}
	if len(fitting) == 0 {
		return
	}
	row := fitting[s.rand.IntN(len(fitting))]
	target := fmt.Sprintf(`"target":{"rowId":%v,"entityId":%q}`, row["rowId"], row["entityId"])
	switch wish {
	case "canEdit":
		s.basedCommand("editUserQuery", `{`+target+`,"newText":"ask again"}`)
	case "canRetry":
		s.basedCommand("retryTurn", `{`+target+`}`)
	case "canFork":
		s.basedCommand("forkAssistant", `{`+target+`}`)
	}
}

func (s *scenario) onQueue() {
	_, state := s.based()
	items := state["queue"].(map[string]any)["items"].([]any)
	if len(items) == 0 || s.rand.IntN(6) == 0 {
		s.basedCommand("setAutoDrain", fmt.Sprintf(`{"autoDrain":%v}`, s.rand.IntN(2) == 0))
		return
	}
	item := fmt.Sprintf(`{"queueItemId":%q`, items[s.rand.IntN(len(items))].(map[string]any)["queueItemId"])
	switch s.rand.IntN(4) {
	case 0:
		s.basedCommand("deleteQueueItem", item+`}`)
	case 1:
		s.basedCommand("editQueueItem", item+`,"newText":"ask changed"}`)
	case 2:
		s.basedCommand("reorderQueueItem", item+`,"beforeQueueItemId":null}`)
	case 3:
		s.basedCommand("sendQueuedNow", item+`}`)
	}
}

// disturb lets clients do what clients do.
func (s *scenario) disturb() {
	switch s.rand.IntN(6) {
	case 0, 1:
		d := s.drifting
		d.client.Leave()
		d.catchUp()
		if s.rand.IntN(2) == 0 {
			s.act()
		}
		base := d.base()
		if s.rand.IntN(4) == 0 {
			base = "" // it has forgotten everything
		}
		d.resume(s.connect("drifting", s.rand.IntN(2)), base)
		s.did["resumed by "+d.mode]++
	case 2, 3:
		profile := profileOf(s.rand.IntN(2))
		s.switching.client.MustCall("hub/setProfile", fmt.Sprintf(`{"profile":%q}`, profile))
		s.did["to "+profile.Delivery()]++
	case 4:
		s.freezing.client.Freeze()
		s.act()
		s.freezing.client.Thaw()
	case 5:
		f := s.freezing
		f.catchUp()
		base := "null"
		if s.rand.IntN(2) == 0 {
			base = fmt.Sprintf(`{"logEpoch":%q,"seq":%d}`, f.state.Epoch(), f.state.Seq())
		}
		f.resync(base)
	}
}

// control reads where the conversation is from the steady client's state.
func (s *scenario) control() (phase string, open, queued int) {
	_, state := s.based()
	control := state["control"].(map[string]any)
	phase = control["phase"].(string)
	if works := control["activeWorks"].([]any); len(works) > 0 {
		phase = "running"
	}
	for _, w := range state["backgroundWorks"].([]any) {
		if status := w.(map[string]any)["status"]; status == "running" || status == "resultPending" {
			phase = "running"
		}
	}
	return phase, len(state["pendingInteractions"].([]any)), len(state["queue"].(map[string]any)["items"].([]any))
}

// idle ends the turn and empties the queue.
func (s *scenario) idle() {
	hubtest.Want(s.t, fmt.Sprint("the end of the turn of seed ", s.seed), func() bool {
		phase, open, queued := s.control()
		switch {
		case open > 0:
			s.answer()
		case queued > 0 && phase != "running":
			_, state := s.based()
			for _, item := range state["queue"].(map[string]any)["items"].([]any) { // unless they went meanwhile
				s.basedCommand("deleteQueueItem", fmt.Sprintf(`{"queueItemId":%q}`, item.(map[string]any)["queueItemId"]))
			}
		}
		return phase != "running" && open == 0 && queued == 0
	})
}

// finish brings everything to an end and compares.
func (s *scenario) finish() {
	s.idle()
	s.basedCommand("setFollowupMode", `{"mode":"queue"}`)
	s.settled()
	fresh := follow(s.t, s.connect("fresh", 0), s.steady.topic)
	fresh.wantSeq(s.steady.state.Seq())
	want := fresh.state.Snapshot()
	for name, f := range s.all() {
		f.wantSeq(fresh.state.Seq())
		f.wantHealthy()
		if p := f.state.(*conversation.Projection); p.Doubtful() {
			// A rewind brought rows into the window from before the snapshot that
			// this one began with. It knows, as a client of the app-server would.
			f.resync("null")
			f.wantSeq(fresh.state.Seq())
			s.did["doubtful"]++
		}
		if d := conversation.Difference(f.state.Snapshot(), want); d != "" {
			s.t.Errorf("seed %d: %s ends in another state, at %s:\n%.2000s\nwant\n%.2000s", s.seed, name, d, f.state.Snapshot(), want)
		}
	}
}

// settled waits until nothing new has come for longer than every window.
func (s *scenario) settled() {
	same, last := 0, uint64(0)
	hubtest.Want(s.t, fmt.Sprint("seed ", s.seed, " to settle"), func() bool {
		s.steady.client.MustCall("session/list", "{}")
		s.steady.catchUp()
		if seq := s.steady.state.Seq(); seq != last {
			same, last = 0, seq
		}
		same++
		return same > 40 // of 2 ms and a round trip each: three flush windows of the app-server
	})
}
