package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"zcodehub/internal/wire"
)

// emitted is one message that came out of a coalescer.
type emitted struct {
	from, to uint64
	msg      string
	kept     []byte // the slice as it was given out
}

func collect(list *[]emitted) func(from, to uint64, msg []byte) {
	return func(from, to uint64, msg []byte) {
		_ = append(msg, "a receiver may append to what it keeps"...)
		*list = append(*list, emitted{from, to, string(msg), msg})
	}
}

// streaming is the params of a model.streaming event. text is the contents of a
// JSON string, escapes and all.
func streaming(seq uint64, kind, text, more string) string {
	return fmt.Sprintf(`{"deliveryKind":"desktop-continuous","eventId":"e-%d","payload":{"assistantMessageId":"m","delta":"%s","done":false,"kind":"%s"%s},"seq":%d,"sessionId":"s","timestamp":%d,"turnId":"t","type":"model.streaming"}`,
		seq, text, kind, more, seq, 1000+seq)
}

// event is the params of any other event.
func event(seq uint64, eventType, payload string) string {
	return fmt.Sprintf(`{"deliveryKind":"desktop-continuous","eventId":"e-%d","payload":%s,"seq":%d,"sessionId":"s","timestamp":%d,"turnId":"t","type":"%s"}`,
		seq, payload, seq, 1000+seq, eventType)
}

// coalesce runs the params through one window that ends at a boundary.
func coalesce(params ...string) (list []emitted) {
	c := NewReplayable()
	for i, p := range params {
		c.Add(uint64(i), uint64(i)+1, AppendUpdate(nil, uint64(i), []byte(p)))
	}
	c.Flush(true, collect(&list))
	return list
}

// outline shows what came out: interval, kind or type, and delta.
func outline(list []emitted) string {
	var b strings.Builder
	for _, m := range list {
		params := UpdateParams([]byte(m.msg))
		e := ParseEvent(params)
		what := e.Type
		if kind := e.Text("kind"); kind != "" {
			what = kind
		}
		delta, _ := wire.Get(e.Payload, "delta")
		fmt.Fprintf(&b, "(%d,%d] %s %s\n", m.from, m.to, what, delta)
	}
	return b.String()
}

func TestReplayableMergesOnlyLikeDeltas(t *testing.T) {
	tests := []struct {
		name   string
		params []string
		want   string
	}{
		{"a run", []string{streaming(1, "text_delta", "a", ""), streaming(2, "text_delta", "b", ""), streaming(3, "text_delta", "", "")},
			"(0,3] text_delta \"ab\"\n"},
		{"escapes stay", []string{streaming(1, "text_delta", `\u0041\n`, ""), streaming(2, "text_delta", `\"é`, "")},
			"(0,2] text_delta \"\\u0041\\n\\\"é\"\n"},
		{"a split surrogate pair", []string{streaming(1, "text_delta", `\ud83d`, ""), streaming(2, "text_delta", `\ude00`, "")},
			"(0,2] text_delta \"\\ud83d\\ude00\"\n"},
		{"other kind", []string{streaming(1, "reasoning_delta", "a", ""), streaming(2, "text_delta", "b", "")},
			"(0,1] reasoning_delta \"a\"\n(1,2] text_delta \"b\"\n"},
		{"other part", []string{streaming(1, "text_delta", "a", `,"partId":"p"`), streaming(2, "text_delta", "b", `,"partId":"q"`)},
			"(0,1] text_delta \"a\"\n(1,2] text_delta \"b\"\n"},
		{"other parent", []string{streaming(1, "text_delta", "a", ""), streaming(2, "text_delta", "b", `,"parentToolUseId":"p"`)},
			"(0,1] text_delta \"a\"\n(1,2] text_delta \"b\"\n"},
		{"other input", []string{streaming(1, "text_delta", "a", `,"inputId":"p"`), streaming(2, "text_delta", "b", "")},
			"(0,1] text_delta \"a\"\n(1,2] text_delta \"b\"\n"},
		{"an event between", []string{streaming(1, "text_delta", "a", ""), event(2, "session.updated", `{}`), streaming(3, "text_delta", "b", "")},
			"(0,1] text_delta \"a\"\n(1,2] session.updated \n(2,3] text_delta \"b\"\n"},
		{"progress between", []string{streaming(1, "text_delta", "a", ""), event(2, "tool.updated", `{"kind":"progress"}`), streaming(3, "text_delta", "b", "")},
			"(0,3] text_delta \"ab\"\n"},
		{"tool input between", []string{streaming(1, "text_delta", "a", ""), streaming(2, "tool_input_start", "", ""), streaming(3, "text_delta", "b", "")},
			"(0,1] text_delta \"a\"\n(1,3] text_delta \"b\"\n"},
		{"tool input before its call", []string{streaming(1, "tool_input_start", "", ""), streaming(2, "tool_input_delta", "{", ""), streaming(3, "tool_input_end", "", ""), streaming(4, "tool_call", "", "")},
			"(0,4] tool_call \"\"\n"},
		{"nothing left at a boundary", []string{streaming(1, "text_delta", "a", ""), streaming(2, "tool_input_start", "", "")},
			"(0,1] text_delta \"a\"\n(1,2] hub.advanced \n"},
		{"no delta", []string{event(1, "model.streaming", `{"kind":"text_delta"}`), event(2, "model.streaming", `{"kind":"text_delta","delta":null}`)},
			"(0,1] text_delta \n(1,2] text_delta null\n"},
		{"two deltas", []string{event(1, "model.streaming", `{"kind":"text_delta","delta":"a","delta":"b"}`), event(2, "model.streaming", `{"kind":"text_delta","delta":"a","delta":"b"}`)},
			"(0,1] text_delta \"b\"\n(1,2] text_delta \"b\"\n"},
		{"other kinds of tool news", []string{event(1, "tool.updated", `{"kind":"started"}`), event(2, "tool.updated", `{"kind":"result"}`)},
			"(0,1] started \n(1,2] result \n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := outline(coalesce(test.params...)); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}

func TestMergedMessageHasTheLastEnvelope(t *testing.T) {
	list := coalesce(streaming(1, "text_delta", "a", ""), streaming(2, "text_delta", "b", ""))
	want := `{"method":"session/event","params":{"fromSeq":0,"deliveryKind":"web-remote-replayable","eventId":"e-2",` +
		`"payload":{"assistantMessageId":"m","delta":"ab","done":false,"kind":"text_delta"},` +
		`"seq":2,"sessionId":"s","timestamp":1002,"turnId":"t","type":"model.streaming"}}`
	if len(list) != 1 || list[0].msg != want {
		t.Errorf("got %v\nwant %s", list, want)
	}
}

func TestCarrierClosesTheIntervalAtABoundary(t *testing.T) {
	list := coalesce(streaming(1, "tool_input_start", "", ""), event(2, "tool.updated", `{"kind":"progress"}`))
	want := `{"method":"session/event","params":{"fromSeq":0,"seq":2,"sessionId":"s","type":"hub.advanced","deliveryKind":"web-remote-replayable"}}`
	if len(list) != 1 || list[0].msg != want {
		t.Errorf("got %v\nwant %s", list, want)
	}
}

func TestLeftOutUpdatesWaitWithoutABoundary(t *testing.T) {
	var list []emitted
	c := NewReplayable()
	c.Add(7, 8, AppendUpdate(nil, 7, []byte(streaming(8, "tool_input_start", "", ""))))
	c.Flush(false, collect(&list))
	if len(list) != 0 || !c.Pending() {
		t.Fatalf("Flush emitted %v, Pending() = %v; want nothing yet, and true", list, c.Pending())
	}
	c.Add(8, 9, AppendUpdate(nil, 8, []byte(event(9, "session.updated", `{}`))))
	c.Flush(false, collect(&list))
	if got, want := outline(list), "(7,9] session.updated \n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if c.Pending() {
		t.Error("Pending() = true after everything came out")
	}
}

func TestMergedMessageDoesNotGrowPastItsCap(t *testing.T) {
	third := strings.Repeat("x", maxMerged/3)
	var params []string
	for seq := range uint64(7) {
		params = append(params, streaming(seq+1, "text_delta", third, ""))
	}
	list := coalesce(params...)
	if len(list) != 3 {
		t.Fatalf("%d thirds of the cap came out as %d messages, want 3", len(params), len(list))
	}
	for _, m := range list {
		if len(m.msg) > maxMerged+1000 {
			t.Errorf("a message has %d bytes", len(m.msg))
		}
	}
	big := coalesce(streaming(1, "text_delta", strings.Repeat("x", 2*maxMerged), ""), streaming(2, "text_delta", "y", ""))
	if got := len(big); got != 2 {
		t.Errorf("a delta over the cap was merged: %d messages", got)
	}
}

func TestForeignMessagePassesUntouched(t *testing.T) {
	const foreign = `{"method":"hub/presence","params":{"deliveryKind":"x"}}`
	var list []emitted
	c := NewReplayable()
	c.Add(0, 1, []byte(foreign))
	c.Flush(true, collect(&list))
	if len(list) != 1 || list[0].msg != foreign {
		t.Errorf("got %v, want %s", list, foreign)
	}
}

// genEvents makes the params of a run of events numbered after start. Few distinct
// ids, so that runs of like deltas are common.
func genEvents(t *rapid.T, start uint64) []string {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("aé\u2028😀<")), 0, 4, -1)
	piece := rapid.SampledFrom([]string{"", "a", `\n`, `\"`, `\\`, `\ud83d`, `\ude00`, `\u0041`})
	big := strings.Repeat("z", maxMerged/2)
	more := rapid.SampledFrom([]string{"", "", "", `,"partId":"p"`, `,"parentToolUseId":"x"`, `,"inputId":"i"`})
	call := rapid.SampledFrom([]string{"c1", "c2"})
	others := rapid.SampledFrom([]string{
		`session.titleUpdated {"title":"T","source":"generated"}`,
		`turn.started {"input":"hi","turnNumber":0}`,
		`turn.completed {"response":"ok","resultType":"success"}`,
		`turn.failed {"error":{"type":"x"}}`,
		`permission.requested {"requestId":"r","toolCallId":"c1"}`,
		`permission.resolved {"requestId":"r","toolCallId":"c1","decision":"allow"}`,
		`session.updated {"messageCount":1}`,
	})
	tools := rapid.SampledFrom([]string{"scheduled", "started", "progress", "result", "error", "batch"})
	n := rapid.IntRange(0, 40).Draw(t, "events")
	events := make([]string, n)
	for i := range events {
		seq := start + uint64(i) + 1
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0, 1, 2, 3, 4:
			kind := rapid.SampledFrom([]string{"text_delta", "text_delta", "reasoning_delta"}).Draw(t, "kind")
			delta := text.Draw(t, "text") + piece.Draw(t, "piece")
			if rapid.IntRange(0, 60).Draw(t, "big") == 60 {
				delta += big
			}
			events[i] = streaming(seq, kind, delta, more.Draw(t, "more"))
		case 5:
			kind := rapid.SampledFrom([]string{"tool_input_start", "tool_input_delta", "tool_input_end"}).Draw(t, "kind")
			events[i] = streaming(seq, kind, piece.Draw(t, "piece"), `,"toolCallId":"`+call.Draw(t, "call")+`"`)
		case 6:
			events[i] = streaming(seq, "tool_call", "", `,"toolName":"Bash","input":{"x":1},"toolCallId":"`+call.Draw(t, "call")+`"`)
		case 7, 8:
			id := call.Draw(t, "call")
			events[i] = event(seq, "tool.updated", fmt.Sprintf(`{"kind":"%s","toolCallId":"%s","toolCallIds":["%[2]s"],"result":{"success":true}}`, tools.Draw(t, "tool"), id))
		default:
			eventType, payload, _ := strings.Cut(others.Draw(t, "other"), " ")
			events[i] = event(seq, eventType, payload)
		}
	}
	return events
}

// Whatever comes and whenever it is flushed: the intervals chain without a gap,
// each message says its interval itself, and both lanes fold to the same state.
func TestReplayableLaneEqualsContinuousLane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Uint64Range(0, 1<<40).Draw(t, "start")
		events := genEvents(t, start)
		var continuous, replayable Fold
		var list []emitted
		c := NewReplayable()
		for i, params := range events {
			from := start + uint64(i)
			continuous.Add([]byte(params))
			c.Add(from, from+1, AppendUpdate(nil, from, []byte(params)))
			if rapid.IntRange(0, 3).Draw(t, "flush") > 0 {
				continue
			}
			boundary := rapid.Bool().Draw(t, "boundary")
			c.Flush(boundary, collect(&list))
			if boundary && end(list, start) != from+1 {
				t.Fatalf("a boundary at %d ended at %d", from+1, end(list, start))
			}
		}
		c.Flush(true, collect(&list))
		if got, want := end(list, start), start+uint64(len(events)); got != want || c.Pending() {
			t.Fatalf("the lane ends at %d, want %d; Pending() = %v", got, want, c.Pending())
		}
		at := start
		for _, m := range list {
			checkMessage(t, m, at)
			at = m.to
			replayable.Add(UpdateParams([]byte(m.msg)))
		}
		if got, want := replayable.JSON(), continuous.JSON(); !bytes.Equal(got, want) {
			t.Fatalf("replayable lane\n%s\ncontinuous lane\n%s", got, want)
		}
	})
}

func end(list []emitted, start uint64) uint64 {
	if len(list) == 0 {
		return start
	}
	return list[len(list)-1].to
}

func checkMessage(t *rapid.T, m emitted, at uint64) {
	if string(m.kept) != m.msg {
		t.Fatalf("a message changed after it was emitted: %s, was %s", m.kept, m.msg)
	}
	if m.from != at {
		t.Fatalf("(%d,%d] follows %d", m.from, m.to, at)
	}
	if !json.Valid(m.kept) || !wire.Valid(m.kept) || bytes.ContainsAny(m.kept, "\r\n") {
		t.Fatalf("no valid line: %s", m.msg)
	}
	var got struct {
		Params struct {
			FromSeq, Seq uint64
			DeliveryKind string
		}
	}
	if err := json.Unmarshal(m.kept, &got); err != nil {
		t.Fatal(err)
	}
	if got.Params.FromSeq != m.from || got.Params.Seq != m.to || got.Params.DeliveryKind != "web-remote-replayable" {
		t.Fatalf("(%d,%d] says of itself: %+v", m.from, m.to, got.Params)
	}
}

// FuzzReplayable feeds any valid object as params.
func FuzzReplayable(f *testing.F) {
	f.Add([]byte(streaming(1, "text_delta", `\ud83d`, "")), []byte(streaming(2, "text_delta", `\ude00`, "")))
	f.Add([]byte(`{}`), []byte(`{"payload":1,"type":"model.streaming"}`))
	f.Add([]byte(`{"payload":{"kind":"text_delta","delta":"a"},"type":"model.streaming"}`), []byte(`{"payload":[],"payload":{"kind":"text_delta","delta":"a"},"type":"model.streaming"}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		c := NewReplayable()
		for i, params := range [][]byte{a, b, a} {
			if !wire.Valid(params) || params[0] != '{' || slices.Contains(params, '\n') {
				return
			}
			c.Add(uint64(i), uint64(i)+1, AppendUpdate(nil, uint64(i), params))
		}
		at := uint64(0)
		c.Flush(true, func(from, to uint64, msg []byte) {
			if from != at || !wire.Valid(msg) {
				t.Fatalf("(%d,%d] after %d: %q", from, to, at, msg)
			}
			at = to
		})
		if at != 3 {
			t.Fatalf("ended at %d", at)
		}
	})
}

func BenchmarkReplayable(b *testing.B) {
	msg := AppendUpdate(nil, 0, []byte(streaming(1, "text_delta", "some forty characters of streamed text…", "")))
	c := NewReplayable()
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	for n := uint64(0); b.Loop(); n++ {
		c.Add(n, n+1, msg)
		if n%100 == 99 {
			c.Flush(false, func(uint64, uint64, []byte) {})
		}
	}
}
