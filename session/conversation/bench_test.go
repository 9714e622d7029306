package conversation

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkGrowLargeRow applies one piece of 40 bytes to a row that holds 1 MiB.
// The floor is a row that holds nothing yet.
func BenchmarkGrowLargeRow(b *testing.B) {
	for _, size := range []int{0, 1 << 20} {
		b.Run(fmt.Sprintf("row=%dKiB", size>>10), func(b *testing.B) {
			p := loaded(b, 1, 0)
			row := func() string {
				return fmt.Sprintf(`{"rowId":1,"kind":"assistantText","text":"%s"}`, strings.Repeat("x", size))
			}
			must(b, p.Apply(deltasFrame(1, 2, `{"op":"row.appended","row":`+row()+`}`)))
			f := deltasFrame(0, 0, piece(1, "text", strings.Repeat("y", 40)))
			b.ReportAllocs()
			for b.Loop() {
				f.From, f.To = p.seq, p.seq+1
				must(b, p.Apply(f))
				if p.bytes > 2<<20 { // a turn ends some time
					must(b, p.Apply(deltasFrame(p.seq, p.seq+1, `{"op":"row.upserted","row":`+row()+`}`)))
				}
			}
		})
	}
}

// BenchmarkSnapshot makes the snapshot of a conversation of many rows with 2 KiB
// of text each.
func BenchmarkSnapshot(b *testing.B) {
	for _, count := range []int{60, 10_000} {
		b.Run(fmt.Sprintf("rows=%d", count), func(b *testing.B) {
			p := loaded(b, 1, 0)
			for id := 1; id <= count; id++ {
				must(b, p.Apply(deltasFrame(p.seq, p.seq+1, fmt.Sprintf(`{"op":"row.appended","row":{"rowId":%d,"kind":"reasoning","text":"%s"}}`, id, strings.Repeat("x", 2048)))))
			}
			b.SetBytes(int64(len(p.Snapshot())))
			b.ReportAllocs()
			for b.Loop() {
				p.cached = nil
				p.Snapshot()
			}
		})
	}
}

// BenchmarkFrame is what one ordinary frame of a running turn costs, step by
// step.
func BenchmarkFrame(b *testing.B) {
	heads := counter{name: "sub-musegv3e-mrqoweve-1"}
	deltas := []string{piece(60, "text", "some words more"), piece(59, "inputText", "and"), patched(`"revision":7`)}
	msg := AppendFrame(nil, heads.online(0), 0, 1, 1791032434060, deltasFrame(0, 1, deltas...).Payload)
	in := params(msg)

	b.Run("assemble", func(b *testing.B) {
		var a Assembler
		b.SetBytes(int64(len(in)))
		b.ReportAllocs()
		for b.Loop() {
			a.Add(in, testNow)
			a.subscriptions[subscriptionKey{testTopic, heads.name}].ordinal = 0 // so that it is new again
		}
	})
	b.Run("apply", func(b *testing.B) {
		p := loaded(b, 1, 60)
		f := deltasFrame(0, 0, deltas...)
		b.ReportAllocs()
		for b.Loop() {
			f.From, f.To = p.seq, p.seq+1
			must(b, p.Apply(f))
			if p.bytes > 1<<20 {
				seq := p.seq
				p = loaded(b, 1, 60)
				p.seq = seq
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		payload := Payload(msg)
		h := heads.online(0)
		dst := make([]byte, 0, 4096)
		b.ReportAllocs()
		for b.Loop() {
			dst = AppendFrame(dst[:0], h, 0, 1, 1791032434060, payload)
		}
	})
	b.Run("coalesce", func(b *testing.B) {
		h := heads.online(0)
		c := NewReplayable(func(uint64) Head { return h })
		b.ReportAllocs()
		for n := uint64(0); b.Loop(); n++ {
			c.Add(n, n+1, msg)
			if n%5 == 4 { // 150 ms are five frames of 30 ms
				c.Flush(false, func(_, _ uint64, _ []byte) {})
			}
		}
	})
}
