package conversation

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zcodehub/fanout"
	"zcodehub/internal/wire"
)

const recordings = "../../../shared/recorded/ndjson"

// TestRecordedFramesPassWithoutAFault reads ../shared/recorded beside the
// repository, which is not part of it.
func TestRecordedFramesPassWithoutAFault(t *testing.T) {
	files, err := filepath.Glob(recordings + "/*.ndjson")
	if err != nil || len(files) == 0 {
		t.Skip("no recorded traffic in ../shared/recorded/ndjson beside the repository")
	}
	frames, snapshots := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		var a Assembler
		states := map[string]*Projection{}
		for line := range bytes.Lines(text) {
			msg, _ := wire.Get(line, "msg")
			if method, _ := wire.Get(msg, "method"); string(method) != `"v4/conversation/frame"` {
				continue
			}
			if _, lost := wire.Get(line, "lost"); lost {
				continue // the recording has neither the topic nor the deltas
			}
			f, fault := a.Add(params(msg), testNow)
			if fault != nil || f == nil {
				t.Errorf("%s: frame %v, fault %v, of %.300s", filepath.Base(file), f, fault, msg)
				continue
			}
			p := states[f.SubscriptionID]
			if p == nil {
				p = new(Projection)
				states[f.SubscriptionID] = p
			}
			if f.Kind == Snapshot {
				// What was kept so far must be what the app-server has.
				if p.Seq() == f.To && p.Epoch() != "" {
					wantSnapshot(t, p, string(f.Snapshot()))
				}
				snapshots++
			}
			if err := p.Apply(f); err != nil {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
			if f.Kind == Snapshot {
				wantSnapshot(t, p, string(f.Snapshot()))
			}
			passesBothLanes(t, f)
			frames++
		}
	}
	if frames < 6 || snapshots < 5 {
		t.Errorf("only %d frames with %d snapshots in %d files", frames, snapshots, len(files))
	}
}

// passesBothLanes sends a frame down each lane and wants its payload back.
func passesBothLanes(t *testing.T, f *Frame) {
	t.Helper()
	heads := counter{name: "c"}
	msg := AppendFrame(nil, heads.online(f.To), f.From, f.To, f.SentAt, f.Payload)
	if !bytes.Equal(Payload(msg), f.Payload) {
		t.Errorf("the continuous lane changed %.300s", f.Payload)
	}
	c := NewReplayable(heads.online)
	c.Add(f.From, f.To, msg)
	c.Flush(true, func(from, to uint64, msg []byte) {
		if !Equal(Payload(msg), f.Payload) || from != f.From || to != f.To {
			t.Errorf("the replayable lane changed (%d, %d] %.300s to (%d, %d] %.300s", f.From, f.To, f.Payload, from, to, msg)
		}
	})
	if _, ok := Merge(updates{{f.From, f.To, msg}}, fanout.Replayable); ok != (f.Kind == Deltas) {
		t.Errorf("Merge of %.300s: %v", f.Payload, ok)
	}
}

// TestRecordedSnapshotOfATurnIsServedAsItCame reads ../shared/recorded beside
// the repository, which is not part of it.
func TestRecordedSnapshotOfATurnIsServedAsItCame(t *testing.T) {
	text, err := os.ReadFile(recordings + "/bridge-post-turn-snapshot.json")
	if err != nil {
		t.Skip("no recorded snapshot in ../shared/recorded/ndjson beside the repository")
	}
	text = wire.OneLine(bytes.TrimSpace(text))
	h := Head{SubscriptionID: "s", LogicalFrameID: "l", Ordinal: 1, DeliveryKind: Initial, Topic: testTopic}
	messages, err := Messages(h, 0, 33, 1, SnapshotPayload(text), 2000)
	must(t, err)
	var a Assembler
	var p Projection
	for _, msg := range messages {
		f, fault := a.Add(params(msg), testNow)
		if fault != nil {
			t.Fatal(fault)
		}
		if f != nil {
			must(t, p.Apply(f))
		}
	}
	wantSnapshot(t, &p, string(text))
	if p.Seq() != 33 || p.Epoch() != "muuyuz7p-6ndyfy96" || p.Doubtful() {
		t.Errorf("at %s, %d, doubtful %v", p.Epoch(), p.Seq(), p.Doubtful())
	}
	must(t, p.Apply(deltasFrame(33, 34, piece(4, "text", " more"))))
	wantSnapshot(t, &p, strings.Replace(strings.Replace(string(text), "好的", "好的 more", 1), `"seq": 33`, `"seq": 34`, 1))
}
