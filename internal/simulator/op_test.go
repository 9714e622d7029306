package simulator

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// TestCoalescing covers the four rules: what merges, what an upsert makes needless, and what nothing crosses.
func TestCoalescing(t *testing.T) {
	text := func(row int, s string) op { return op{kind: opDelta, rowID: row, path: "text", text: escaped(s)} }
	whole := func(kind string, row int, s string) op { return op{kind: kind, rowID: row, row: raw(s)} }
	patch := func(key, value string) op { return op{kind: opState, patch: map[string]raw{key: raw(value)}} }
	removed := op{kind: opRemoved, rowID: 9}
	for name, test := range map[string]struct {
		ops  []op
		want string
	}{
		"deltas of a row join":                {[]op{text(1, "a"), text(1, "b"), text(1, "c")}, "1+abc"},
		"but not over another row":            {[]op{text(1, "a"), text(2, "b"), text(1, "c")}, "1+a 2+b 1+c"},
		"nor over another path":               {[]op{text(1, "a"), {kind: opDelta, rowID: 1, path: "inputText", text: escaped("b")}}, "1+a 1+b"},
		"patches merge, the later key wins":   {[]op{patch("a", "1"), patch("b", "2"), patch("a", "3")}, "{a:3,b:2}"},
		"an upsert removes the row's deltas":  {[]op{text(1, "a"), text(2, "b"), text(1, "c"), whole(opUpserted, 1, "X")}, "2+b 1=X"},
		"back to its appearance":              {[]op{text(1, "a"), whole(opAppended, 1, "N"), text(1, "b"), whole(opUpserted, 1, "X")}, "1+a 1:N 1=X"},
		"back to its previous upsert":         {[]op{text(1, "a"), whole(opUpserted, 1, "X"), patch("a", "1"), text(1, "b"), whole(opUpserted, 1, "Y")}, "1=X {a:1} 1=Y"},
		"of adjacent upserts the last counts": {[]op{whole(opUpserted, 1, "X"), whole(opUpserted, 1, "Y")}, "1=Y"},
		"an append stays as it is":            {[]op{whole(opAppended, 1, "N"), whole(opUpserted, 1, "X")}, "1:N 1=X"},
		"nothing crosses a removal":           {[]op{text(1, "a"), removed, text(1, "b"), whole(opUpserted, 1, "X")}, "1+a -9 1=X"},
	} {
		var b opBuffer
		for _, o := range test.ops {
			b.add(o)
		}
		var got []string
		size := 0
		for _, o := range b.ops {
			size += o.size()
			switch o.kind {
			case opDelta:
				got = append(got, fmt.Sprintf("%d+%s", o.rowID, o.text))
			case opAppended:
				got = append(got, fmt.Sprintf("%d:%s", o.rowID, o.row))
			case opUpserted:
				got = append(got, fmt.Sprintf("%d=%s", o.rowID, o.row))
			case opRemoved:
				got = append(got, fmt.Sprintf("-%d", o.rowID))
			case opState:
				var keys []string
				for _, key := range sortedKeys(o.patch) {
					keys = append(keys, key+":"+string(o.patch[key]))
				}
				got = append(got, "{"+strings.Join(keys, ",")+"}")
			}
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%s: %s, want %s", name, s, test.want)
		}
		if b.size < size {
			t.Errorf("%s: counted %d bytes, there are %d", name, b.size, size)
		}
		if first := test.ops[0]; first.kind == opDelta && string(first.text) != "a" {
			t.Errorf("%s: the operation that others share was changed to %s", name, first.text)
		}
	}
}

func TestPhysicalFrames(t *testing.T) {
	head := frameHead{DeliveryKind: "online", FrameID: "sub-x-1-lf-1", Ordinal: 1, Topic: "conversation/x", Subscription: "sub-x-1"}
	for _, test := range []struct{ size, pieces int }{
		{100, 1}, {785_000, 1}, {786_000, 2}, {2 << 20, 4}, {maxLogical, 32}, {maxLogical + 1, 0},
	} {
		frame := bytes.Repeat([]byte("7"), test.size)
		pieces := physical(head, frame)
		if len(pieces) != test.pieces {
			t.Errorf("%d bytes: %d pieces, want %d", test.size, len(pieces), test.pieces)
		}
		joined := 0
		for _, piece := range pieces {
			if n := base64.StdEncoding.EncodedLen(len(encode(piece))); n > maxPhysical {
				t.Errorf("%d bytes: a piece takes %d bytes in the relay's envelope", test.size, n)
			}
			if f, ok := piece.(fragmentFrame); ok {
				data, err := base64.StdEncoding.DecodeString(f.Data)
				if err != nil {
					t.Fatal(err)
				}
				joined += len(data)
			}
		}
		if len(pieces) > 1 && joined != test.size {
			t.Errorf("%d bytes came as %d", test.size, joined)
		}
	}
}
