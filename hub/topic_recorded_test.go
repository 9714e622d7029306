package hub_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
)

// recorded is one subscription of a recording: how it was acknowledged, and its
// frames as they came.
type recorded struct {
	topic    string
	ack      string
	frames   []string
	snapshot []byte // the newest, raw
	last     uint64
}

func value(msg []byte, keys ...string) string {
	raw, _ := wire.Path(msg, keys...)
	if s, ok := wire.StringValue(raw); ok {
		return s
	}
	return string(raw)
}

func readRecording(t *testing.T, file string) (subscriptions []*recorded) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*recorded{}
	for line := range bytes.Lines(text) {
		msg, _ := wire.Get(line, "msg")
		if ack, ok := wire.Path(msg, "result", "ack", "subscriptionId"); ok {
			id, _ := wire.StringValue(ack)
			if byID[id] == nil {
				byID[id] = &recorded{}
				subscriptions = append(subscriptions, byID[id])
				result, _ := wire.Get(msg, "result")
				byID[id].ack = string(result)
			}
		}
		if value(msg, "method") != "v4/conversation/frame" {
			continue
		}
		r := byID[value(msg, "params", "subscriptionId")]
		if r == nil {
			continue // a part of the frame is missing in the recording
		}
		r.topic = value(msg, "params", "topic")
		r.frames = append(r.frames, string(msg))
		if snapshot, ok := wire.Path(msg, "params", "frame", "payload", "snapshot"); ok {
			r.snapshot = snapshot
		}
		_, _ = fmt.Sscan(value(msg, "params", "frame", "toSeq"), &r.last)
	}
	return subscriptions
}

// What real app-servers sent passes through a topic and both of its lanes
// without a resync. It reads ../shared/recorded beside the repository, which is
// not part of it.
func TestRecordedFramesPassThroughATopic(t *testing.T) {
	files, _ := filepath.Glob("../../shared/recorded/ndjson/*.ndjson")
	if len(files) == 0 {
		t.Skip("no recorded traffic in ../shared/recorded/ndjson beside the repository")
	}
	var all []*recorded
	for _, file := range files {
		all = append(all, readRecording(t, file)...)
	}
	if text, err := os.ReadFile("../../shared/recorded/ndjson/bridge-post-turn-snapshot.json"); err == nil {
		snapshot := wire.OneLine(bytes.TrimSpace(text))
		u := &upstreamTopic{topic: "conversation/" + value(snapshot, "sessionId"), id: "sub-1", epoch: value(snapshot, "logEpoch")}
		all = append(all, &recorded{topic: u.topic, ack: u.ack(), last: 33, snapshot: snapshot,
			frames: []string{u.physical("initial", 1, 0, 33, `{"kind":"snapshot","snapshot":`+string(snapshot)+`}`)}})
	}
	frames := 0
	for i, r := range all {
		if len(r.frames) == 0 {
			continue
		}
		metrics, withMetrics := withCounters()
		h, script, p := scripted(t, withMetrics)
		script.Answer("v4/conversation/subscribe", func(hubtest.Line) string {
			return r.ack + "}\n" + strings.TrimSuffix(strings.Join(r.frames, "\n"), "}")
		})
		for i := range 2 {
			f := follow(t, h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)}), r.topic)
			f.wantSeq(r.last)
			f.wantState(r.snapshot)
		}
		if n := p.Count("v4/conversation/resync"); n != 0 || metrics.value("hub_topic_mismatches_total") != 0 || metrics.value("hub_topic_frame_faults_total") != 0 {
			t.Errorf("subscription %d: %d resyncs, %v mismatches, %v faults", i, n, metrics.value("hub_topic_mismatches_total"), metrics.value("hub_topic_frame_faults_total"))
		}
		frames += len(r.frames)
	}
	if frames < 5 {
		t.Errorf("only %d frames", frames)
	}
	t.Logf("%d frames", frames)
}
