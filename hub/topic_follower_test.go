package hub_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"zcodehub/hub"
	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
	"zcodehub/session/conversation"
)

// follower is a client's place in a V4 topic: it folds what the client is sent
// as the protocol says, and notes what a client must never see.
type follower struct {
	t         *testing.T
	client    *hubtest.Client
	topic     string
	id        string // subscriptionId of the last ack
	mode      string // of the last ack
	epoch     string // of the last ack
	ask       string // raw id of the subscribe that is to be answered next
	assembler conversation.Assembler
	state     conversation.State
	ordinal   uint64
	seen      int      // messages of the client that were looked at
	kinds     []string // "initial snapshot", "online deltas", …
	fragments int
	resyncing bool // what is not the recovery does not count
	wrong     []string
}

func newState(topic string) conversation.State {
	switch {
	case strings.HasPrefix(topic, "sessions-index/"):
		return &conversation.IndexProjection{}
	case strings.HasPrefix(topic, "workspace-config/"):
		return &conversation.ConfigProjection{}
	}
	return &conversation.Projection{}
}

// follow subscribes a client to a topic and waits for the ack.
func follow(t *testing.T, c *hubtest.Client, topic string) *follower {
	t.Helper()
	f := &follower{t: t, client: c, topic: topic, state: newState(topic), seen: c.Received()}
	f.subscribe("")
	return f
}

// subscribe asks for the topic; more are further members, with a comma before
// them.
func (f *follower) subscribe(more string) {
	f.t.Helper()
	f.ask = f.client.Request("v4/conversation/subscribe", fmt.Sprintf(`{"topic":%q%s}`, f.topic, more))
	if m := f.client.WantReply(f.ask); m.Kind != wire.Response {
		f.t.Fatalf("%s: subscribe to %s: %s", f.client.Name, f.topic, m)
	}
	f.catchUp()
}

// base is where the follower is, as a member of subscribe.
func (f *follower) base() string {
	return fmt.Sprintf(`,"base":{"logEpoch":%q,"seq":%d}`, f.state.Epoch(), f.state.Seq())
}

// resume leaves the connection as it is and goes on over another one.
func (f *follower) resume(c *hubtest.Client, more string) {
	f.t.Helper()
	f.client, f.seen = c, 0
	f.subscribe(more)
}

// resync asks for a recovery from base, "null" or where the follower is. What
// was on its way then is passed over, as by every client.
func (f *follower) resync(base string) {
	f.t.Helper()
	f.resyncing = true
	f.client.MustCall("v4/conversation/resync", fmt.Sprintf(`{"topic":%q,"subscriptionId":%q,"base":%s}`, f.topic, f.id, base))
	f.catchUp()
}

// catchUp takes what the client was sent since.
func (f *follower) catchUp() {
	all := f.client.Messages()
	for _, m := range all[f.seen:] {
		f.see(m)
	}
	f.seen = len(all)
}

func (f *follower) see(m hubtest.Message) {
	switch {
	case m.Method == "" && m.ID == f.ask && m.Kind == wire.Response:
		f.id, f.mode, f.epoch = m.Path("result", "ack", "subscriptionId"), m.Path("result", "ack", "mode"), m.Path("result", "ack", "logEpoch")
		f.assembler, f.ordinal = conversation.Assembler{}, 0 // the subscription begins anew
	case m.Method == "v4/conversation/frame" && m.Path("params", "topic") == f.topic:
		f.frame(m)
	}
}

func (f *follower) fault(format string, args ...any) {
	if len(f.wrong) < 5 {
		f.wrong = append(f.wrong, fmt.Sprintf(format, args...))
	}
}

func (f *follower) frame(m hubtest.Message) {
	if id := m.Path("params", "subscriptionId"); id != f.id {
		f.fault("a frame of subscription %s, which is not %s", id, f.id)
		return
	}
	ordinal, _ := strconv.ParseUint(m.Path("params", "logicalFrameOrdinal"), 10, 64)
	fragment := m.Path("params", "kind") == "fragment"
	if fragment {
		f.fragments++
	}
	if ordinal < f.ordinal || ordinal == f.ordinal && !fragment || ordinal >= 1<<53 {
		f.fault("ordinal %d after %d", ordinal, f.ordinal)
	}
	f.ordinal = ordinal
	frame, fault := f.assembler.Add(m.Params, time.Now())
	if fault != nil {
		f.fault("%v", fault)
	}
	if frame == nil {
		return
	}
	if f.resyncing && frame.DeliveryKind != conversation.Recovery {
		return
	}
	f.resyncing = false
	kind := " deltas"
	if frame.Kind == conversation.Snapshot {
		kind = " snapshot"
	}
	f.kinds = append(f.kinds, frame.DeliveryKind+kind)
	if err := f.state.Apply(frame); err != nil {
		f.fault("%v in %s", err, m)
	}
}

// wantSeq waits until the follower has come to seq.
func (f *follower) wantSeq(seq uint64) {
	f.t.Helper()
	hubtest.Want(f.t, fmt.Sprintf("%s to be at %d of %s", f.client.Name, seq, f.topic), func() bool {
		f.catchUp()
		return f.state.Seq() >= seq && f.state.Epoch() != ""
	})
}

// wantHealthy checks that the follower saw nothing that it must not see.
func (f *follower) wantHealthy() {
	f.t.Helper()
	f.catchUp()
	for _, w := range f.wrong {
		f.t.Errorf("%s: %s", f.client.Name, w)
	}
}

// wantState compares the folded state with a snapshot.
func (f *follower) wantState(want []byte) {
	f.t.Helper()
	f.wantHealthy()
	if d := conversation.Difference(f.state.Snapshot(), want); d != "" {
		f.t.Errorf("%s: the state differs at %s:\n%.1500s\nwant\n%.1500s", f.client.Name, d, f.state.Snapshot(), want)
	}
}

// counters reads the hub's metrics.
type counters struct{ *prometheus.Registry }

func withCounters() (counters, func(*hub.Options)) {
	c := counters{prometheus.NewRegistry()}
	return c, func(o *hub.Options) { o.Registerer = c.Registry }
}

func (c counters) value(name string) (sum float64) {
	families, err := c.Gather()
	if err != nil {
		panic(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// An upstreamTopic is a topic as a scripted app-server has it: one conversation
// with rows of text.
type upstreamTopic struct {
	p       *hubtest.Process
	topic   string
	id      string
	epoch   string
	ordinal int
	seq     int
}

const conversationOne = "conversation/s1"

// serveTopic lets the script answer subscribes to a topic with an empty
// conversation under an epoch.
func serveTopic(script *hubtest.Script, p *hubtest.Process, topic, epoch string) *upstreamTopic {
	u := &upstreamTopic{p: p, topic: topic, id: "sub-" + epoch + "-1", epoch: epoch}
	script.Answer("v4/conversation/subscribe", func(l hubtest.Line) string {
		u.ordinal = 1
		return u.ack() + "}\n" + strings.TrimSuffix(u.physical("initial", 1, 0, u.seq, u.snapshot()), "}")
	})
	return u
}

// ack is the result of subscribe and resync. What is printed behind it in the
// same write has to complete the line, see serveTopic.
func (u *upstreamTopic) ack() string {
	return fmt.Sprintf(`{"ack":{"subscriptionId":%q,"mode":"snapshot","logEpoch":%q}}`, u.id, u.epoch)
}

// physical is one complete frame.
func (u *upstreamTopic) physical(kind string, ordinal, from, to int, payload string) string {
	return fmt.Sprintf(`{"method":"v4/conversation/frame","params":{"wireVersion":3,"kind":"complete","deliveryKind":%q,"logicalFrameId":"%s-lf-%d","logicalFrameOrdinal":%d,"topic":%q,"subscriptionId":%q,"frame":{"topic":%q,"subscriptionId":%q,"sentAt":1,"fromSeq":%d,"toSeq":%d,"payload":%s}}}`,
		kind, u.id, ordinal, ordinal, u.topic, u.id, u.topic, u.id, from, to, payload)
}

// snapshot is the payload of a snapshot; rows are raw.
func (u *upstreamTopic) snapshot(rows ...string) string {
	first := "null"
	if len(rows) > 0 {
		first = "1"
	}
	return fmt.Sprintf(`{"kind":"snapshot","snapshot":{"protocolVersion":1,"sessionId":"s1","logEpoch":%q,"seq":%d,"revision":0,"control":{"phase":"running"},"pendingInteractions":[],"rows":{"window":[%s],"totalCount":%d,"firstRowId":%s}}}`,
		u.epoch, u.seq, strings.Join(rows, ","), len(rows), first)
}

// next is the frame that carries one step of deltas.
func (u *upstreamTopic) next(deltas ...string) string {
	u.ordinal++
	u.seq++
	return u.physical("online", u.ordinal, u.seq-1, u.seq, deltasPayload(deltas...))
}

func deltasPayload(deltas ...string) string {
	return `{"kind":"deltas","deltas":[` + strings.Join(deltas, ",") + `]}`
}

// recover answers a resync with a snapshot.
func (u *upstreamTopic) recover(to hubtest.Line, rows ...string) {
	u.ordinal++
	u.p.Print(`{"id":`+to.ID+`,"result":`+u.ack()+`}`, u.physical("recovery", u.ordinal, 0, u.seq, u.snapshot(rows...)))
}

func textRow(id int, text string) string {
	return fmt.Sprintf(`{"rowId":%d,"turnId":"m","entityId":"e%d","kind":"assistantText","text":%q,"state":"streaming"}`, id, id, text)
}

func appended(row string) string { return `{"op":"row.appended","row":` + row + `}` }

func piece(id int, path, text string) string {
	return fmt.Sprintf(`{"op":"row.delta","rowId":%d,"path":%q,"append":%q}`, id, path, text)
}

// control is the phase that a conversation is in.
func (f *follower) control() string {
	p, _ := f.state.(*conversation.Projection)
	raw, _ := wire.Get(p.Member("control"), "phase")
	phase, _ := wire.StringValue(raw)
	return phase
}
