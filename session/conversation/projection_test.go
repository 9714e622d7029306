package conversation

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// snapshotFrame is a frame of a conversation of which the rows from..to of
// total are loaded.
func snapshotFrame(seq uint64, from, to int) *Frame {
	var rows []string
	for id := from; id <= to; id++ {
		rows = append(rows, fmt.Sprintf(`{"rowId":%d,"kind":"assistantText","text":"%d"}`, id, id))
	}
	first := "1"
	if to == 0 {
		first = "null"
	}
	return frameOf(0, seq, fmt.Sprintf(`{"kind":"snapshot","snapshot":{"protocolVersion":1,"sessionId":"s","logEpoch":"e","seq":%d,"revision":3,"control":{"phase":"draft"},"rows":{"window":[%s],"totalCount":%d,"firstRowId":%s}}}`,
		seq, strings.Join(rows, ","), to, first))
}

func frameOf(from, to uint64, payload string) *Frame {
	f := &Frame{Topic: testTopic, From: from, To: to, Payload: []byte(payload)}
	f.Kind, f.body, _ = readPayload(f.Payload)
	return f
}

func deltasFrame(from, to uint64, deltas ...string) *Frame {
	return frameOf(from, to, `{"kind":"deltas","deltas":[`+strings.Join(deltas, ",")+`]}`)
}

// loaded is a projection of rows from..to.
func loaded(t testing.TB, from, to int) *Projection {
	t.Helper()
	p := new(Projection)
	must(t, p.Apply(snapshotFrame(1, from, to)))
	return p
}

func wantSnapshot(t testing.TB, s State, want string) {
	t.Helper()
	if d := Difference(s.Snapshot(), []byte(want)); d != "" {
		t.Errorf("differs at %s\ngot\n%s\nwant\n%s", d, s.Snapshot(), want)
	}
}

func TestProjectionAppliesTheFiveOperations(t *testing.T) {
	const head = `{"protocolVersion":1,"sessionId":"s","logEpoch":"e","seq":2,`
	const zone = `"revision":3,"control":{"phase":"draft"},`
	for _, c := range []struct {
		name, delta, want string
	}{
		{"append", `{"op":"row.appended","row":{"rowId":9,"novel":1}}`,
			zone + `"rows":{"window":[{"rowId":1,"kind":"assistantText","text":"1"},{"rowId":9,"novel":1}],"totalCount":2,"firstRowId":1}`},
		{"upsert", `{"op":"row.upserted","row":{"rowId":1,"kind":"reasoning"}}`,
			zone + `"rows":{"window":[{"rowId":1,"kind":"reasoning"}],"totalCount":1,"firstRowId":1}`},
		{"upsert of a row that is not loaded", `{"op":"row.upserted","row":{"rowId":7,"kind":"reasoning"}}`,
			zone + `"rows":{"window":[{"rowId":1,"kind":"assistantText","text":"1"}],"totalCount":1,"firstRowId":1}`},
		{"remove all", `{"op":"row.removed","fromRowId":1}`, zone + `"rows":{"window":[],"totalCount":0,"firstRowId":null}`},
		{"remove none", `{"op":"row.removed","fromRowId":2}`,
			zone + `"rows":{"window":[{"rowId":1,"kind":"assistantText","text":"1"}],"totalCount":1,"firstRowId":1}`},
		{"grow", `{"op":"row.delta","rowId":1,"path":"text","append":"\"é\ud83d"}`,
			zone + `"rows":{"window":[{"rowId":1,"kind":"assistantText","text":"1\"é\ud83d"}],"totalCount":1,"firstRowId":1}`},
		{"grow by a path of another kind", `{"op":"row.delta","rowId":1,"path":"inputText","append":"x"}`,
			zone + `"rows":{"window":[{"rowId":1,"kind":"assistantText","text":"1"}],"totalCount":1,"firstRowId":1}`},
		{"patch", `{"op":"state.updated","patch":{"control":{"novel":[]},"plan":null,"seq":99,"logEpoch":"z"}}`,
			`"revision":3,"control":{"novel":[]},"plan":null,"rows":{"window":[{"rowId":1,"kind":"assistantText","text":"1"}],"totalCount":1,"firstRowId":1}`},
		{"live only", `{"op":"pluginUi.instanceClosed"}`,
			zone + `"rows":{"window":[{"rowId":1,"kind":"assistantText","text":"1"}],"totalCount":1,"firstRowId":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := loaded(t, 1, 1)
			must(t, p.Apply(deltasFrame(1, 2, c.delta)))
			wantSnapshot(t, p, head+c.want+`}`)
		})
	}
}

func TestProjectionGrowsStringsOfTools(t *testing.T) {
	p := loaded(t, 1, 0)
	must(t, p.Apply(deltasFrame(1, 2,
		`{"op":"row.appended","row":{"rowId":1,"output":{ },"kind":"toolCall","inputText":"a"}}`,
		`{"op":"row.appended","row":{"rowId":2,"kind":"toolCall"}}`,
		`{"op":"row.appended","row":{"rowId":3,"kind":"toolCall","output":null,"inputText":null}}`,
		`{"op":"row.appended","row":{"rowId":4,"kind":"subagent"}}`,
		`{"op":"row.delta","rowId":1,"path":"inputText","append":"b"}`,
		`{"op":"row.delta","rowId":1,"path":"output.text","append":"o"}`,
		`{"op":"row.delta","rowId":1,"path":"inputText","append":"c"}`,
		`{"op":"row.delta","rowId":1,"path":"output.text","append":"p"}`,
		`{"op":"row.delta","rowId":2,"path":"output.text","append":"no output to append to"}`,
		`{"op":"row.delta","rowId":2,"path":"inputText","append":"i"}`,
		`{"op":"row.delta","rowId":3,"path":"output.text","append":"x"}`,
		`{"op":"row.delta","rowId":3,"path":"inputText","append":"not a string"}`,
		`{"op":"row.delta","rowId":4,"path":"summaryText","append":"s"}`,
	)))
	wantSnapshot(t, p, `{"protocolVersion":1,"sessionId":"s","logEpoch":"e","seq":2,"revision":3,"control":{"phase":"draft"},"rows":{"window":[`+
		`{"rowId":1,"output":{"text":"op"},"kind":"toolCall","inputText":"abc"},{"rowId":2,"kind":"toolCall","inputText":"i"},`+
		`{"rowId":3,"kind":"toolCall","output":null,"inputText":null},{"rowId":4,"kind":"subagent","summaryText":"s"}],"totalCount":4,"firstRowId":1}}`)
}

func TestFrameIsAppliedWholeOrNotAtAll(t *testing.T) {
	good := `{"op":"row.delta","rowId":1,"path":"text","append":"x"}`
	for _, c := range []struct {
		frame *Frame
		want  error
	}{
		{deltasFrame(2, 3, good), ErrGap},
		{deltasFrame(0, 1, good), ErrGap},
		{deltasFrame(1, 2, good, `{"op":"workflowRun.updated"}`), ErrUnknownOp},
		{deltasFrame(1, 2, good, `{"op":7}`), ErrUnknownOp},
		{deltasFrame(1, 2, good, `{}`), ErrUnknownOp},
		{deltasFrame(1, 2, good, `7`), ErrMalformed},
		{deltasFrame(1, 2, good, `{"op":"row.appended"}`), ErrMalformed},
		{deltasFrame(1, 2, good, `{"op":"row.appended","row":{"rowId":"1"}}`), ErrMalformed},
		{deltasFrame(1, 2, good, `{"op":"row.upserted","row":[]}`), ErrMalformed},
		{deltasFrame(1, 2, good, `{"op":"row.removed","fromRowId":1.5}`), ErrMalformed},
		{deltasFrame(1, 2, good, `{"op":"row.delta","rowId":1,"path":"text","append":null}`), ErrMalformed},
		{deltasFrame(1, 2, good, `{"op":"row.delta","path":"text","append":""}`), ErrMalformed},
		{deltasFrame(1, 2, good, `{"op":"state.updated","patch":[]}`), ErrMalformed},
		{deltasFrame(1, 2, good, `{"op":"state.updated","patch":{"rows":{}}}`), ErrMalformed},
		{frameOf(0, 5, `{"kind":"snapshot","snapshot":{"rows":{"window":[]}}}`), ErrMalformed},
		{frameOf(0, 5, `{"kind":"snapshot","snapshot":{"logEpoch":"e"}}`), ErrMalformed},
		{frameOf(0, 5, `{"kind":"snapshot","snapshot":{"logEpoch":"e","rows":{"window":[{}]}}}`), ErrMalformed},
		{frameOf(0, 5, `{"kind":"snapshot","snapshot":{"logEpoch":"e","rows":{"window":[],"totalCount":"1"}}}`), ErrMalformed},
	} {
		p := loaded(t, 1, 1)
		before := string(p.Snapshot())
		if err := p.Apply(c.frame); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.frame.Payload, err, c.want)
		}
		p.cached = nil
		if after := string(p.Snapshot()); after != before || p.Seq() != 1 {
			t.Errorf("%s: the state went from\n%s to\n%s", c.frame.Payload, before, after)
		}
	}
	if err := new(Projection).Apply(deltasFrame(0, 1)); !errors.Is(err, ErrGap) {
		t.Errorf("before the first snapshot: %v", err)
	}
	if got := new(Projection).Snapshot(); got != nil {
		t.Errorf("before the first snapshot: %s", got)
	}
}

func TestSnapshotIsSharedUntilTheNextChange(t *testing.T) {
	p := loaded(t, 1, 2)
	a, b := p.Snapshot(), p.Snapshot()
	if &a[0] != &b[0] {
		t.Error("made twice")
	}
	before := string(a)
	must(t, p.Apply(deltasFrame(1, 2, `{"op":"row.delta","rowId":2,"path":"text","append":"x"}`, `{"op":"state.updated","patch":{"control":1}}`)))
	if string(a) != before {
		t.Error("a snapshot handed out has changed")
	}
	if string(p.Snapshot()) == before {
		t.Error("the snapshot is stale")
	}
}

func TestFrameMayBeOverwrittenAfterApply(t *testing.T) {
	p := new(Projection)
	frames := []*Frame{snapshotFrame(1, 1, 3), deltasFrame(1, 2,
		`{"op":"row.appended","row":{"rowId":4,"kind":"assistantText","text":"four"}}`, `{"op":"row.upserted","row":{"rowId":2,"kind":"two"}}`,
		`{"op":"row.delta","rowId":4,"path":"text","append":"x"}`, `{"op":"state.updated","patch":{"control":{"a":1}}}`)}
	want := new(Projection)
	for _, f := range frames {
		must(t, want.Apply(f))
	}
	for _, f := range frames {
		must(t, p.Apply(f))
		for i := range f.Payload {
			f.Payload[i] = '#'
		}
	}
	wantSnapshot(t, p, string(want.Snapshot()))
}

func TestSnapshotServesTheNewestSixtyRows(t *testing.T) {
	p := loaded(t, 1, 0)
	var deltas []string
	for id := 1; id <= 10_000; id++ {
		deltas = append(deltas, fmt.Sprintf(`{"op":"row.appended","row":{"rowId":%d,"kind":"assistantText","text":"%d"}}`, id, id))
	}
	must(t, p.Apply(deltasFrame(1, 10_001, deltas...)))
	want := loaded(t, 9_941, 10_000)
	want.seq, want.cached = 10_001, nil
	wantSnapshot(t, p, string(want.Snapshot()))
	if len(p.rows) != keptRows {
		t.Errorf("%d rows kept, want %d", len(p.rows), keptRows)
	}
}

func TestRowsKeptBeyondThoseServedAreBoundedInBytes(t *testing.T) {
	p := loaded(t, 1, 0)
	for id := uint64(1); id <= 70; id++ {
		must(t, p.Apply(deltasFrame(id, id+1, fmt.Sprintf(`{"op":"row.appended","row":{"rowId":%d,"kind":"reasoning","text":"%s"}}`, id, strings.Repeat("x", 300_000)))))
	}
	if len(p.rows) != servedRows {
		t.Errorf("%d rows of 300 KB are kept", len(p.rows))
	}
	size := 0
	for _, r := range p.rows {
		size += r.size()
	}
	if size != p.bytes {
		t.Errorf("counts %d bytes, there are %d", p.bytes, size)
	}
	h := Head{SubscriptionID: "s", LogicalFrameID: "l", Ordinal: 1, DeliveryKind: Initial, Topic: testTopic}
	if _, err := Messages(h, 0, p.Seq(), 1, SnapshotPayload(p.Snapshot()), 0); err != nil {
		t.Errorf("a snapshot of large rows cannot be told: %v", err)
	}
	if n := bytes.Count(p.Snapshot(), []byte(`"rowId":`)); n != servedBytes/300_045 {
		t.Errorf("%d rows of 300 KB are served", n)
	}
}

func TestRewindBeyondWhatIsKnownIsDoubtful(t *testing.T) {
	remove := func(from int) string { return fmt.Sprintf(`{"op":"row.removed","fromRowId":%d}`, from) }
	appended := func(from, to int) (list []string) {
		for id := from; id <= to; id++ {
			list = append(list, fmt.Sprintf(`{"op":"row.appended","row":{"rowId":%d}}`, id))
		}
		return list
	}
	all := loaded(t, 1, 150) // every row there is
	must(t, all.Apply(deltasFrame(1, 2, remove(3))))
	if all.Doubtful() {
		t.Error("nobody has less than all rows, but the count is in doubt")
	}

	window := loaded(t, 91, 150)
	must(t, window.Apply(deltasFrame(1, 2, remove(150))))
	if !window.Doubtful() {
		t.Error("59 of 149 rows are left to serve, and there is no doubt")
	}
	must(t, window.Apply(snapshotFrame(2, 90, 149)))
	if window.Doubtful() {
		t.Error("in doubt after a snapshot")
	}
	must(t, window.Apply(deltasFrame(2, 3, remove(1))))
	if window.Doubtful() {
		t.Error("all rows are gone, and there is doubt")
	}

	joined := loaded(t, 91, 150)
	must(t, joined.Apply(deltasFrame(1, 2, appended(151, 250)...)))
	joined.Snapshot() // begins at 191
	must(t, joined.Apply(deltasFrame(2, 3, remove(195))))
	if joined.Doubtful() {
		t.Error("everybody has row 194, but the count is in doubt")
	}
	joined.Snapshot() // begins at 135, but some have still only 191 and later
	must(t, joined.Apply(deltasFrame(3, 4, remove(180))))
	if !joined.Doubtful() {
		t.Error("whoever joined at row 191 cannot know how many rows went")
	}
}

func TestProjectionKnowsWhatIsAsked(t *testing.T) {
	p := loaded(t, 1, 1)
	ids := func(list string) *Frame {
		return deltasFrame(p.Seq(), p.Seq()+1, `{"op":"state.updated","patch":{"pendingInteractions":`+list+`}}`)
	}
	must(t, p.Apply(ids(`[{"interactionId":"a"},{"kind":"odd"},7,{"interactionId":"\u0062"}]`)))
	if got := p.PendingInteractions(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
	if got := string(p.Member("control")); got != `{"phase":"draft"}` {
		t.Errorf("control is %s", got)
	}
	must(t, p.Apply(ids(`[]`)))
	if got := p.PendingInteractions(); len(got) != 0 {
		t.Errorf("got %q", got)
	}
	if p.Epoch() != "e" || p.Seq() != 3 {
		t.Errorf("at %s, %d", p.Epoch(), p.Seq())
	}
}

func TestWhatIsUnknownInASnapshotIsCarried(t *testing.T) {
	p := new(Projection)
	s := `{"novel":{"rows":1},"logEpoch":"e","rows":{"novel":[1],"firstRowId":7,"window":[{"rowId":7,"x":{}}],"totalCount":70},"seq":4}`
	must(t, p.Apply(frameOf(0, 4, `{"kind":"snapshot","snapshot":`+s+`}`)))
	wantSnapshot(t, p, s)
}
