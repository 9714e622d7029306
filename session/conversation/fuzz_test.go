package conversation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"zcodehub/fanout"
	"zcodehub/internal/wire"
)

// FuzzAssembler feeds what a broken or hostile peer may send. Whatever comes, it
// must not panic nor lose count, and a recovery must get through.
func FuzzAssembler(f *testing.F) {
	cut := pieces(2, 3, logical(2, testTopic, "x"))
	for _, m := range append(cut, complete(1, Initial, logical(1, testTopic, "")), with(cut[0], "checksum", 1), with(cut[1], "fragmentCount", 2)) {
		b, _ := json.Marshal(m)
		f.Add(b, b)
	}
	f.Add([]byte(`{`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		var a Assembler
		for i, params := range [][]byte{one, two, one} {
			frame, fault := a.Add(params, testNow.Add(time.Duration(i)*20*time.Second))
			if frame != nil && (fault != nil || frame.To < frame.From || !isObject(frame.Payload) || frame.Topic == "") {
				t.Errorf("frame %+v, fault %v", frame, fault)
			}
			wantConsistent(t, &a)
		}
		a.Expire(testNow.Add(time.Hour))
		if a.assemblies != 0 || a.staged != 0 {
			t.Errorf("an hour later %d assemblies hold %d bytes", a.assemblies, a.staged)
		}
	})
}

// FuzzProjection applies payloads to a state. Whatever comes, it must not panic,
// and the snapshot stays JSON, at the state before if the frame was refused.
func FuzzProjection(f *testing.F) {
	f.Add(deltasFrame(0, 0, appended(5), piece(5, "text", "x"), patched(`"a":1`), upserted(5, ""), `{"op":"row.removed","fromRowId":3}`).Payload, []byte(`{"kind":"deltas","deltas":[]}`))
	f.Add(snapshotFrame(1, 3, 9).Payload, deltasFrame(0, 0, piece(9, "text", `\ud83d`)).Payload)
	f.Add([]byte(`{"kind":"snapshot","snapshot":{"logEpoch":"e","sessions":[],"config":{},"rows":{"window":[{"rowId":1,"kind":"toolCall","output":{}}]}}}`), deltasFrame(0, 0, piece(1, "output.text", "x"), piece(1, "inputText", `"`)).Payload)
	f.Fuzz(func(t *testing.T, one, two []byte) {
		if !wire.Valid(one) || !wire.Valid(two) {
			t.Skip("the assembler lets only JSON through")
		}
		var index IndexProjection
		must(t, index.Apply(indexFrame(1, session("a", "1"))))
		var config ConfigProjection
		must(t, config.Apply(frameOf(0, 1, `{"kind":"snapshot","snapshot":{"logEpoch":"e"}}`)))
		for _, state := range []State{loaded(t, 1, 3), &index, &config} {
			for _, payload := range [][]byte{one, two, two} {
				frame := frameOf(state.Seq(), state.Seq()+1, string(wire.OneLine(payload)))
				if frame.body == nil {
					continue
				}
				before, seq := string(state.Snapshot()), state.Seq()
				err := state.Apply(frame)
				after := state.Snapshot()
				if !wire.Valid(after) || err == nil && state.Seq() != frame.To {
					t.Errorf("after %s: at %d: %s", payload, state.Seq(), after)
				}
				if err != nil && (string(after) != before || state.Seq() != seq) {
					t.Errorf("%s was refused (%v) and changed the state\n%s to\n%s", payload, err, before, after)
				}
			}
		}
	})
}

// FuzzCoalescer wants valid messages out of whatever was valid going in.
func FuzzCoalescer(f *testing.F) {
	f.Add(deltasFrame(0, 0, piece(1, "text", "x"), patched(`"a":1`)).Payload, deltasFrame(0, 0, upserted(1, "x")).Payload)
	f.Add(deltasFrame(0, 0, patched(`"a":1`)).Payload, deltasFrame(0, 0, patched(`"a":{}`), `{"op":"novel"}`, `1`).Payload)
	f.Fuzz(func(t *testing.T, one, two []byte) {
		heads := counter{name: "r"}
		c := NewReplayable(heads.online)
		var u updates
		for i, payload := range [][]byte{one, two, one} {
			if !wire.Valid(payload) {
				t.Skip("the assembler lets only JSON through")
			}
			n := uint64(i)
			u = append(u, update{n, n + 1, AppendFrame(nil, heads.online(n), n, n+1, 1, payload)})
			c.Add(n, n+1, u[i].msg)
		}
		last := uint64(0)
		c.Flush(true, func(_, to uint64, msg []byte) {
			last = to
			if !wire.Valid(msg) {
				t.Errorf("of %s, %s came %s", one, two, msg)
			}
		})
		if last != 3 {
			t.Errorf("of %s, %s: covered up to %d", one, two, last)
		}
		if merged, ok := Merge(u, fanout.Continuous); ok && !wire.Valid(merged) {
			t.Errorf("of %s, %s came %s", one, two, merged)
		}
	})
}

// TestBrokenTransportNeverMakesAWrongState shuffles, repeats, drops and damages
// the messages of a conversation. Every fault and gap is answered by a recovery,
// and at the end the state is right.
func TestBrokenTransportNeverMakesAWrongState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a Assembler
		var p Projection
		heads := counter{name: "up"}
		text, seq, faults := "", uint64(1), 0
		want := func() string {
			return fmt.Sprintf(`{"logEpoch":"e","seq":%d,"rows":{"window":[{"rowId":1,"kind":"assistantText","text":"%s"}],"totalCount":1,"firstRowId":1}}`, seq, text)
		}
		take := func(msg []byte) bool {
			frame, fault := a.Add(params(msg), testNow)
			if fault != nil {
				faults++
				return false
			}
			return frame == nil || p.Apply(frame) == nil
		}
		recoverNow := func() {
			a.Forget(testTopic, "up")
			messages, err := Messages(heads.head(Recovery), 0, seq, 1, SnapshotPayload([]byte(want())), 700)
			must(t, err)
			for _, msg := range messages {
				if !take(msg) {
					t.Fatal("a recovery did not get through")
				}
			}
			if !Equal(p.Snapshot(), []byte(want())) {
				t.Fatalf("after a recovery\ngot  %s\nwant %s", p.Snapshot(), want())
			}
		}
		recoverNow()
		for range rapid.IntRange(1, 30).Draw(t, "frames") {
			more := strings.Repeat("x", rapid.SampledFrom([]int{1, 300, 900}).Draw(t, "size"))
			messages, err := Messages(heads.online(0), seq, seq+1, 1, deltasFrame(0, 0, piece(1, "text", more)).Payload, 700)
			must(t, err)
			text, seq = text+more, seq+1
			messages = damage(t, messages)
			ok := true
			for _, msg := range messages {
				ok = take(msg) && ok
			}
			if !ok || rapid.IntRange(0, 9).Draw(t, "resync") == 0 {
				recoverNow()
			}
			if p.Seq() == seq && !Equal(p.Snapshot(), []byte(want())) {
				t.Fatalf("after %d faults\ngot  %s\nwant %s", faults, p.Snapshot(), want())
			}
		}
		recoverNow()
	})
}

// damage does to the messages of one frame what a transport must not do.
func damage(t *rapid.T, messages [][]byte) [][]byte {
	order := make([]int, len(messages))
	for i := range order {
		order[i] = i
	}
	shuffled := make([][]byte, len(messages))
	for to, from := range rapid.Permutation(order).Draw(t, "order") {
		shuffled[to] = messages[from]
	}
	messages = shuffled
	i := rapid.IntRange(0, len(messages)-1).Draw(t, "which")
	replace := func(old, new string) {
		messages[i] = []byte(strings.Replace(string(messages[i]), old, new, 1))
	}
	switch rapid.IntRange(0, 9).Draw(t, "damage") {
	case 0:
		return append(messages, messages[i])
	case 1:
		return append(messages[:i:i], messages[i+1:]...)
	case 2:
		replace(`"value":"`, `"value":"0`)
	case 3:
		replace(`"dataBase64":"`, `"dataBase64":"AAAA`)
	case 4:
		replace(`"fragmentCount":`, `"fragmentCount":1`)
	case 5:
		replace(`"logicalFrameOrdinal":`, `"logicalFrameOrdinal":1`)
	case 6:
		replace(`"logicalFrameId":"`, `"logicalFrameId":"x`)
	}
	return messages
}
