package conversation

import (
	"fmt"
	"strings"
	"testing"

	"zcodehub/fanout"
)

var _ Updates = fanout.Range{}

func piece(row int, path, text string) string {
	return fmt.Sprintf(`{"op":"row.delta","rowId":%d,"path":"%s","append":"%s"}`, row, path, text)
}

func upserted(row int, text string) string {
	return fmt.Sprintf(`{"op":"row.upserted","row":{"rowId":%d,"text":"%s"}}`, row, text)
}

func appended(row int) string {
	return fmt.Sprintf(`{"op":"row.appended","row":{"rowId":%d}}`, row)
}

func patched(members string) string { return `{"op":"state.updated","patch":{` + members + `}}` }

// coalesced is the deltas that come out, "|" between messages.
func coalesced(t *testing.T, frames ...[]string) string {
	t.Helper()
	heads := counter{name: "r"}
	c := NewReplayable(heads.online)
	for i, deltas := range frames {
		n := uint64(i)
		c.Add(n, n+1, AppendFrame(nil, Head{Topic: testTopic, DeliveryKind: Online}, n, n+1, int64(n), deltasFrame(0, 0, deltas...).Payload))
	}
	var out []string
	from := uint64(0)
	c.Flush(true, func(f, to uint64, msg []byte) {
		if f != from {
			t.Errorf("message (%d, %d] after %d", f, to, from)
		}
		from = to
		body := strings.TrimPrefix(string(Payload(msg)), `{"kind":"deltas","deltas":[`)
		out = append(out, strings.TrimSuffix(body, `]}`))
	})
	if from != uint64(len(frames)) {
		t.Errorf("covered up to %d of %d", from, len(frames))
	}
	return strings.Join(out, "|")
}

func TestReplayableLaneMergesByTheFourRules(t *testing.T) {
	list := func(deltas ...string) []string { return deltas }
	removed := `{"op":"row.removed","fromRowId":9}`
	odd := `{"op":"row.delta","rowId":1,"path":"text","append":"b","novel":1}`
	for _, c := range []struct {
		name     string
		in, want []string
	}{
		{"pieces of one string", list(piece(1, "text", "a"), piece(1, "text", `\ud83d`), piece(1, "text", `\ude00`)), list(piece(1, "text", `a\ud83d\ude00`))},
		{"pieces of two rows", list(piece(1, "text", "a"), piece(2, "text", "b"), piece(1, "text", "c")), list(piece(1, "text", "a"), piece(2, "text", "b"), piece(1, "text", "c"))},
		{"pieces of which one says more", list(piece(1, "text", "a"), odd, piece(1, "text", "c")), list(piece(1, "text", "a"), odd, piece(1, "text", "c"))},
		{"patches", list(patched(`"a":1,"b":2`), patched(`"b":3,"c":null`)), list(patched(`"a":1,"b":3,"c":null`))},
		{"patches with something between", list(patched(`"a":1`), appended(1), patched(`"a":2`)), list(patched(`"a":1`), appended(1), patched(`"a":2`))},
		{"a whole row after pieces", list(appended(1), piece(1, "text", "a"), patched(`"a":1`), piece(1, "text", "b"), upserted(1, "ab")), list(appended(1), patched(`"a":1`), upserted(1, "ab"))},
		{"a whole row after pieces of another", list(piece(2, "text", "a"), upserted(1, "x")), list(piece(2, "text", "a"), upserted(1, "x"))},
		{"a whole row, pieces, a whole row", list(upserted(1, "x"), piece(1, "text", "a"), upserted(1, "y")), list(upserted(1, "y"))},
		{"a whole row of two, with something between", list(upserted(1, "x"), upserted(2, "a"), upserted(1, "y")), list(upserted(1, "x"), upserted(2, "a"), upserted(1, "y"))},
		{"a new row and the same whole", list(appended(1), upserted(1, "x")), list(appended(1), upserted(1, "x"))},
		{"pieces before a new row of that number", list(piece(1, "text", "a"), appended(1), upserted(1, "x")), list(piece(1, "text", "a"), appended(1), upserted(1, "x"))},
		{"a rewind", list(piece(1, "text", "a"), removed, upserted(1, "x")), list(piece(1, "text", "a"), removed, upserted(1, "x"))},
		{"something unknown", list(piece(1, "text", "a"), `{"op":"novel"}`, upserted(1, "x")), list(piece(1, "text", "a"), `{"op":"novel"}`, upserted(1, "x"))},
		{"a known operation in unknown form", list(piece(1, "text", "a"), `{"op":"row.delta"}`), list(piece(1, "text", "a"), `{"op":"row.delta"}`)},
		{"left out", list(piece(1, "inputText", "a"), piece(1, "output.text", "a"), piece(1, "summaryText", "a"), piece(1, "text", "b")), list(piece(1, "text", "b"))},
		{"pieces on both sides of what is left out", list(piece(1, "text", "a"), piece(2, "inputText", "x"), piece(1, "text", "b")), list(piece(1, "text", "ab"))},
		{"a path that is not known", list(piece(1, "novel", "a"), piece(1, "novel", "b")), list(piece(1, "novel", "a"), piece(1, "novel", "b"))},
		{"live only", list(`{"op":"pluginUi.appToolCall"}`), list(`{"op":"pluginUi.appToolCall"}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := strings.Join(c.want, ",")
			if got := coalesced(t, c.in); got != want {
				t.Errorf("of one frame\ngot  %s\nwant %s", got, want)
			}
			each := make([][]string, len(c.in))
			for i := range c.in {
				each[i] = c.in[i : i+1]
			}
			if got := coalesced(t, each...); got != want {
				t.Errorf("of a frame each\ngot  %s\nwant %s", got, want)
			}
		})
	}
}

func TestNothingLeftIsStillAHeartbeat(t *testing.T) {
	if got := coalesced(t, []string{piece(1, "inputText", "a")}, nil); got != "" {
		t.Errorf("got %s", got)
	}
	c := NewReplayable((&counter{}).online)
	c.Flush(true, func(_, _ uint64, msg []byte) { t.Errorf("of nothing: %s", msg) })
}

func TestMessageOfTheReplayableLaneHasItsOwnHead(t *testing.T) {
	heads := counter{name: "lane", ordinal: 6}
	c := NewReplayable(heads.online)
	for n := uint64(3); n < 6; n++ {
		c.Add(n, n+1, AppendFrame(nil, Head{SubscriptionID: "other", Topic: testTopic, DeliveryKind: Online, Ordinal: n}, n, n+1, int64(100+n), deltasFrame(0, 0).Payload))
	}
	c.Flush(false, func(from, to uint64, msg []byte) {
		want := string(AppendFrame(nil, Head{SubscriptionID: "lane", LogicalFrameID: "lane-lf-7", Ordinal: 7, DeliveryKind: Online, Topic: testTopic}, 3, 6, 105, []byte(`{"kind":"deltas","deltas":[]}`)))
		if string(msg) != want || from != 3 || to != 6 {
			t.Errorf("(%d, %d]\ngot  %s\nwant %s", from, to, msg, want)
		}
	})
	if heads.ordinal != 7 {
		t.Errorf("%d heads taken", heads.ordinal-6)
	}
}

func TestFloodIsCutIntoSeveralMessages(t *testing.T) {
	var frames [][]string
	for i := range 40 {
		frames = append(frames, []string{upserted(i, strings.Repeat("x", 20_000))})
	}
	if n := strings.Count(coalesced(t, frames...), "|") + 1; n != 3 {
		t.Errorf("800 KB came in %d messages", n)
	}
	frames = nil
	for i := range 1200 {
		frames = append(frames, []string{upserted(i, "")})
	}
	if n := strings.Count(coalesced(t, frames...), "|") + 1; n != 3 {
		t.Errorf("1,200 operations came in %d messages", n)
	}
}

func TestSnapshotMakesWhatWasPendingNeedless(t *testing.T) {
	heads := counter{name: "r"}
	c := NewReplayable(heads.online)
	frame := func(f *Frame) []byte { return AppendFrame(nil, heads.online(0), f.From, f.To, 1, f.Payload) }
	snapshot := snapshotFrame(9, 1, 1)
	flood := make([]string, sealOps+1)
	for i := range flood {
		flood[i] = upserted(i, "")
	}
	c.Add(0, 1, frame(deltasFrame(0, 1, flood...))) // a message of its own
	c.Add(1, 2, frame(deltasFrame(1, 2, piece(1, "text", "a"))))
	c.Add(2, 9, frame(snapshot))
	c.Add(9, 10, frame(deltasFrame(9, 10, piece(1, "text", "b"))))
	var got []string
	c.Flush(true, func(from, to uint64, msg []byte) { got = append(got, fmt.Sprintf("%d %d %s", from, to, Payload(msg))) })
	want := []string{fmt.Sprintf("0 9 %s", snapshot.Payload), `9 10 {"kind":"deltas","deltas":[` + piece(1, "text", "b") + `]}`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMessageThatCannotBeReadLeavesAGap(t *testing.T) {
	heads := counter{name: "r"}
	c := NewReplayable(heads.online)
	msg := AppendFrame(nil, heads.online(0), 1, 2, 1, deltasFrame(1, 2).Payload)
	c.Add(1, 2, msg)
	c.Add(2, 3, []byte(`{"method":"novel"}`))
	c.Add(3, 4, msg)
	got := ""
	c.Flush(true, func(from, to uint64, _ []byte) { got += fmt.Sprintf("(%d %d]", from, to) })
	if got != "(1 2](3 4]" {
		t.Errorf("got %s", got)
	}
}

func TestMergeTellsAllThatWasMissedInOneFrame(t *testing.T) {
	add := func(u updates, deltas ...string) updates {
		n := uint64(len(u))
		return append(u, update{n, n + 1, AppendFrame(nil, Head{}, n, n+1, 1, deltasFrame(0, 0, deltas...).Payload)})
	}
	missed := add(add(add(nil, piece(1, "text", "a"), piece(2, "inputText", "x")), piece(2, "inputText", "y"), `{"op":"pluginUi.appToolCall"}`), patched(`"a":1`))
	for d, want := range map[fanout.Delivery]string{
		fanout.Continuous: piece(1, "text", "a") + "," + piece(2, "inputText", "xy") + "," + patched(`"a":1`),
		fanout.Replayable: piece(1, "text", "a") + "," + patched(`"a":1`),
	} {
		payload, ok := Merge(missed, d)
		if got := string(payload); !ok || got != `{"kind":"deltas","deltas":[`+want+`]}` {
			t.Errorf("lane %d: %v, got %s, want %s", d, ok, got, want)
		}
	}
	if _, ok := Merge(append(missed, update{3, 9, AppendFrame(nil, Head{}, 0, 9, 1, snapshotFrame(9, 1, 1).Payload)}), fanout.Continuous); ok {
		t.Error("a snapshot was merged")
	}
	if _, ok := Merge(append(missed, update{3, 9, []byte(`{}`)}), fanout.Continuous); ok {
		t.Error("something unreadable was merged")
	}
}
