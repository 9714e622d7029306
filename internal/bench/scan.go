//go:build linux

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"text/tabwriter"

	"zcodehub/internal/wire"
)

// scanResult is the time to find what routing needs in one line.
type scanResult struct {
	Bytes      int     `json:"bytes"`
	Wire       float64 `json:"wireNs"`
	WireAllocs int64   `json:"wireAllocs"`
	Decode     float64 `json:"jsonUnmarshalNs"`
	Valid      float64 `json:"jsonValidNs"` // what checking alone costs: wire gives the same verdict
}

// measureScan compares wire with encoding/json, line size by line size.
func measureScan(quick bool) ([]scanResult, error) {
	testing.Init() // only to set how long a benchmark lasts
	if err := flag.Set("test.benchtime", "100ms"); err != nil {
		return nil, err
	}
	rounds := 5
	if quick {
		rounds = 1
	}
	var results []scanResult
	for _, size := range []int{200, 4 << 10, 64 << 10, 4 << 20} {
		line := updateLine(size)
		var e wire.Envelope
		if err := wire.ParseEnvelope(line, &e); err != nil || !e.HasSeq {
			return nil, fmt.Errorf("scan of %d bytes: %v, seq found: %v", size, err, e.HasSeq)
		}
		scan := func(b *testing.B) {
			for b.Loop() {
				_ = wire.ParseEnvelope(line, &e)
			}
		}
		var decoded struct {
			ID     json.RawMessage
			Method string
			Params struct {
				SessionID string
				Seq       uint64
				Type      string
				Payload   json.RawMessage
			}
		}
		decode := func(b *testing.B) {
			for b.Loop() {
				_ = json.Unmarshal(line, &decoded)
			}
		}
		valid := func(b *testing.B) {
			for b.Loop() {
				_ = json.Valid(line)
			}
		}
		r := scanResult{size, math.Inf(1), testing.Benchmark(scan).AllocsPerOp(), math.Inf(1), math.Inf(1)}
		for range rounds { // in turns, and the best of each: pure computing is only ever slowed down by others
			r.Wire = min(r.Wire, nanos(scan))
			r.Decode = min(r.Decode, nanos(decode))
			r.Valid = min(r.Valid, nanos(valid))
		}
		results = append(results, r)
	}
	return results, nil
}

func nanos(f func(*testing.B)) float64 {
	r := testing.Benchmark(f)
	return float64(r.T.Nanoseconds()) / float64(r.N)
}

// updateLine is a text delta, payload in the middle as the app-server prints it, of about size bytes.
func updateLine(size int) []byte {
	const head = `{"method":"session/event","params":{"eventId":"e-1","payload":{"delta":"`
	const tail = `","kind":"text_delta"},"seq":5,"sessionId":"sess_bench","timestamp":1791032434500,"type":"model.streaming"}}`
	const prose = `The quick brown fox jumps over the lazy dog, \"twice\".\n`
	n := max(0, size-len(head)-len(tail))
	return []byte(head + strings.Repeat(prose, n/len(prose)) + strings.Repeat("x", n%len(prose)) + tail)
}

func printScan(w io.Writer, results []scanResult) {
	if len(results) == 0 {
		return
	}
	fmt.Fprintf(w, "\nEnvelope of one line, ns (best of several)\n")
	tw := tabwriter.NewWriter(w, 8, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "bytes\twire\tallocs\tjson.Unmarshal\tjson.Valid\tUnmarshal/wire\tValid/wire\t")
	for _, r := range results {
		fmt.Fprintf(tw, "%d\t%.0f\t%d\t%.0f\t%.0f\t%.1f\t%.1f\t\n", r.Bytes, r.Wire, r.WireAllocs, r.Decode, r.Valid, r.Decode/r.Wire, r.Valid/r.Wire)
	}
	tw.Flush()
}
