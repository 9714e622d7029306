package conversation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"zcodehub/fanout"
)

// A world is one conversation: a publisher that knows all of it, the hub, and
// clients of every kind.
type world struct {
	t       *rapid.T
	script  *script
	truth   reader // has every row there ever was
	hub     Projection
	up      Assembler
	upHeads counter

	stream    updates // of the continuous lane
	heads     [2]counter
	coalescer fanout.Coalescer
	clients   []*client
}

type client struct {
	reader
	name     string
	delivery fanout.Delivery
	away     bool
	at       int  // how much of the stream it had when it left
	whole    bool // it has had every row since the first, so it shows all that a snapshot has
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, upHeads: counter{name: "up"}, heads: [2]counter{{name: "c"}, {name: "r"}}}
	w.coalescer = NewReplayable(w.heads[fanout.Replayable].online)
	var rows []string
	w.script, rows = newScript(t)
	first := "null"
	if len(rows) > 0 {
		first = "1"
	}
	snapshot := fmt.Sprintf(`{"protocolVersion":1,"sessionId":"sess_1","logEpoch":"e","seq":5,"revision":0,"novel":{"x":1},"pendingInteractions":[],"rows":{"window":[%s],"totalCount":%d,"firstRowId":%s,"novel":true}}`,
		strings.Join(rows, ","), len(rows), first)
	w.truth.load(t, &Frame{To: 5, Kind: Snapshot, body: []byte(snapshot)})
	w.receive(0, 5, SnapshotPayload(w.upstream()), Initial)
	return w
}

// upstream is a snapshot as the app-server makes it.
func (w *world) upstream() []byte { return w.truth.snapshot(w.t, servedRows) }

// receive is what the hub does with a frame from the app-server.
func (w *world) receive(from, to uint64, payload []byte, deliveryKind string) {
	limit := rapid.SampledFrom([]int{0, 1000, 2000}).Draw(w.t, "limit")
	messages, err := Messages(w.upHeads.head(deliveryKind), from, to, 1000, payload, limit)
	if err != nil {
		messages, err = Messages(w.upHeads.head(deliveryKind), from, to, 1000, payload, 1<<30)
	}
	must(w.t, err)
	var frame *Frame
	for _, msg := range messages {
		f, fault := w.up.Add(params(msg), testNow)
		if fault != nil {
			w.t.Fatalf("upstream fault %v", fault)
		}
		if f != nil {
			frame = f
		}
	}
	must(w.t, w.hub.Apply(frame))
	msg := AppendFrame(nil, w.heads[fanout.Continuous].online(0), frame.From, frame.To, frame.SentAt, frame.Payload)
	w.stream = append(w.stream, update{from, to, msg})
	w.coalescer.Add(from, to, msg)
	w.deliver(fanout.Continuous, msg)
	if w.hub.Doubtful() {
		w.receive(0, w.hub.Seq(), SnapshotPayload(w.upstream()), Recovery)
		if w.hub.Doubtful() {
			w.t.Fatal("still in doubt after a snapshot")
		}
	}
}

func (w *world) deliver(d fanout.Delivery, msg []byte) {
	for _, c := range w.clients {
		if c.delivery == d && !c.away {
			must(w.t, c.read(w.t, msg))
		}
	}
}

func (w *world) flush(boundary bool) {
	w.coalescer.Flush(boundary, func(from, to uint64, msg []byte) { w.deliver(fanout.Replayable, msg) })
	if w.coalescer.Pending() {
		w.t.Fatal("pending after a flush")
	}
}

// step is one frame from the publisher.
func (w *world) step(deltas []string) {
	to := w.truth.seq + uint64(w.script.n("events", 1, 3))
	payload := []byte(`{"kind":"deltas","deltas":[` + strings.Join(deltas, ",") + `]}`)
	f := &Frame{From: w.truth.seq, To: to, Payload: payload}
	_, f.body, _ = readPayload(payload)
	from := w.truth.seq
	must(w.t, w.truth.apply(w.t, f))
	w.receive(from, to, payload, Online)
}

func (w *world) join(d fanout.Delivery) {
	w.flush(true)
	c := &client{name: fmt.Sprintf("client %d of lane %d", len(w.clients), d), delivery: d}
	c.whole = w.truth.total <= servedRows
	w.snapshotTo(c, Initial)
	w.clients = append(w.clients, c)
}

func (w *world) snapshotTo(c *client, deliveryKind string) {
	payload := SnapshotPayload(w.hub.Snapshot())
	messages, err := Messages(w.heads[c.delivery].head(deliveryKind), 0, w.hub.Seq(), 1, payload, 100_000)
	must(w.t, err)
	must(w.t, c.read(w.t, messages...))
}

func (w *world) leave(c *client) { c.away, c.at = true, len(w.stream) }

// back resumes from what the stream kept, or with a snapshot.
func (w *world) back(c *client) {
	w.flush(true)
	c.away = false
	if c.at == len(w.stream) {
		return
	}
	payload, ok := Merge(w.stream[c.at:], c.delivery)
	if !ok {
		w.snapshotTo(c, Recovery)
		return
	}
	messages, err := Messages(w.heads[c.delivery].head(Recovery), c.seq, w.hub.Seq(), 1, payload, 0)
	must(w.t, err)
	must(w.t, c.read(w.t, messages...))
	if c.delivery == fanout.Continuous {
		w.checkClient(c) // it has everything at any time
	}
}

// check compares what everybody shows.
func (w *world) check() {
	want := canonical(w.t, w.upstream())
	if got := canonical(w.t, w.hub.Snapshot()); got != want {
		w.t.Fatalf("hub %s\nhub\n%s\nwant\n%s", Difference([]byte(got), []byte(want)), got, want)
	}
	for _, c := range w.clients {
		w.checkClient(c)
	}
}

func (w *world) checkClient(c *client) {
	have := w.truth
	if !c.whole { // it may show fewer rows, never others
		have.rows = have.rows[len(have.rows)-min(len(c.rows), len(have.rows)):]
	}
	want := canonical(w.t, have.snapshot(w.t, servedRows))
	if got := canonical(w.t, c.snapshot(w.t, servedRows)); got != want {
		w.t.Fatalf("%s at %s\ngot\n%s\nwant\n%s", c.name, Difference([]byte(got), []byte(want)), got, want)
	}
}

// TestEveryWayToFollowEndsInTheSameState is the golden fold: whoever followed at
// whatever profile, was away, or asks only now, has what the publisher has.
func TestEveryWayToFollowEndsInTheSameState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.join(fanout.Continuous)
		w.join(fanout.Replayable)
		for range w.script.n("frames", 1, 60) {
			w.step(w.script.deltas())
			switch k := w.script.n("then", 0, 19); {
			case k < 5:
				w.flush(w.script.n("boundary", 0, 1) > 0)
			case k < 7:
				w.join(fanout.Delivery(w.script.n("lane", 0, 1)))
			case k < 12:
				c := w.clients[w.script.n("client", 0, len(w.clients)-1)]
				if c.away {
					w.back(c)
				} else {
					w.flush(true)
					w.leave(c)
				}
			case k == 12:
				if got := canonical(t, w.hub.Snapshot()); got != canonical(t, w.upstream()) {
					t.Fatalf("midway: %s", Difference(w.hub.Snapshot(), w.upstream()))
				}
			}
		}
		w.step(w.script.closing())
		for _, c := range w.clients {
			if c.away {
				w.back(c)
			}
		}
		w.flush(true)
		w.check()
	})
}

func TestReaderOfTheTestsCountsAsTheProtocolSays(t *testing.T) {
	var r reader
	r.load(t, &Frame{Kind: Snapshot, body: []byte(`{"rows":{"window":[{"rowId":4}],"totalCount":4,"firstRowId":1}}`)})
	r.remove(4)
	if r.total != 3 || r.first != float64(1) {
		t.Errorf("after row.removed 4: total %d, first %v", r.total, r.first)
	}
	r.remove(1)
	if r.total != 0 || r.first != nil {
		t.Errorf("after row.removed 1: total %d, first %v", r.total, r.first)
	}
	grow(t, map[string]json.RawMessage{}, "text", json.RawMessage(`"x"`))
}
