//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"zcodehub/internal/wire"
)

// The test binary plays child and reference as the program does, so that the servers under test are real processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "child" || os.Args[1] == "reference") {
		main()
		return
	}
	os.Exit(m.Run())
}

func testBench(t *testing.T) *bench {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &bench{dir: t.TempDir(), exe: exe, runs: 1, quick: true}
}

// warmUp checks the order of every subscriber; stream checks that each has exactly the turn.
func TestReferencesDeliverEverythingInOrder(t *testing.T) {
	for _, system := range []string{"loop", "conn-write"} {
		t.Run(system, func(t *testing.T) {
			err := testBench(t).cell(t.Context(), system, func(ctx context.Context, c *cell) error {
				if err := c.swarm.connect(ctx, 40); err != nil {
					return err
				}
				if err := c.warmUp(ctx); err != nil {
					return err
				}
				c.swarm.inspect = checkOrder
				_, err := c.stream(ctx, "rate 1000 10 120", 0, 10)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestAcceptAnswersEveryClient(t *testing.T) {
	err := testBench(t).cell(t.Context(), "accept", func(ctx context.Context, c *cell) error {
		return testBench(t).idle(ctx, c, 50, func(what string, v float64) {
			if what == connectSec && v <= 0 {
				t.Errorf("%s = %v, want more than nothing", what, v)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestChildSpeaksTheProtocol(t *testing.T) {
	var out bytes.Buffer
	in := strings.Join([]string{
		`{"id":1,"method":"runtime/capabilities","params":{}}`,
		`{"id":2,"method":"session/create","params":{}}`,
		`{"id":"s","method":"session/subscribe","params":{"sessionId":"sess_bench"}}`,
		`{"id":3,"method":"session/send","params":{"content":"burst 3 120"}}`,
		`{"id":4,"method":"no/such"}`,
	}, "\n")
	if err := runChild(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	var seq uint64
	for line := range strings.Lines(out.String()) {
		var e wire.Envelope
		if err := wire.ParseEnvelope([]byte(strings.TrimSuffix(line, "\n")), &e); err != nil {
			t.Fatalf("ParseEnvelope(%s): %v", line, err)
		}
		if string(e.Method) != "session/event" {
			continue
		}
		if seq++; e.Seq != seq {
			t.Errorf("seq %d, want %d, in %s", e.Seq, seq, line)
		}
		if string(e.Type) != "model.streaming" {
			continue
		}
		if len(e.Payload) != payloadBytes {
			t.Errorf("payload of %d bytes, want %d: %s", len(e.Payload), payloadBytes, e.Payload)
		}
		if len(line) < 280 || len(line) > 320 {
			t.Errorf("line of %d bytes, want about 300: %s", len(line), line)
		}
		if _, ok := stampOf([]byte(line)); !ok {
			t.Errorf("no time stamp in %s", line)
		}
	}
	if want := uint64(3 + turnFrame); seq != want {
		t.Errorf("%d events, want %d", seq, want)
	}
}

func TestFramesAreFoundWhereverAReadEnds(t *testing.T) {
	var stream []byte
	sizes := []int{0, 1, 125, 126, 300, 0xffff, 0x10000}
	for _, n := range sizes {
		stream = append(appendFrameHeader(stream, n), bytes.Repeat([]byte{'x'}, n)...)
	}
	for _, step := range []int{1, 2, 3, 7, 100, 4096, len(stream)} {
		var got []int
		var rest []byte
		for from := 0; from < len(stream); from += step {
			rest = append(rest, stream[from:min(from+step, len(stream))]...)
			for {
				opcode, payload, size := parseFrame(rest)
				if size == 0 {
					break
				}
				if opcode != 1 {
					t.Fatalf("opcode %d in steps of %d", opcode, step)
				}
				got = append(got, len(payload))
				rest = rest[size:]
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(sizes) || len(rest) != 0 {
			t.Errorf("in steps of %d: frames of %v bytes and a rest of %d, want %v", step, got, len(rest), sizes)
		}
	}
}

func TestDisorderIsNoticed(t *testing.T) {
	for _, tt := range []struct {
		seqs string
		ok   bool
	}{{"1 2 3", true}, {"5 6", true}, {"1 3", false}, {"2 2", false}, {"2 1", false}} {
		c := new(subscription)
		var err error
		for seq := range strings.FieldsSeq(tt.seqs) {
			if e := checkOrder(c, []byte(`{"method":"session/event","params":{"fromSeq":0,"seq":`+seq+`}}`), 0); e != nil {
				err = e
			}
		}
		if (err == nil) != tt.ok {
			t.Errorf("checkOrder(%s) = %v, want ok %v", tt.seqs, err, tt.ok)
		}
	}
}

func TestRatiosAreTakenWithinARun(t *testing.T) {
	r := &report{runs: 3, values: make(map[key][]float64)}
	hub, loop := key{"x", "hub", 1}, key{"x", "loop", 1}
	for run, pair := range [][2]float64{{2, 1}, {30, 10}, {4, 1}} { // one slow run: both ten times as high
		r.note(hub, run, pair[0])
		r.note(loop, run, pair[1])
	}
	if got := r.ratio(hub, loop); got != 3 {
		t.Errorf("ratio = %v, want 3", got)
	}
	if got := r.value(loop); got != 1 {
		t.Errorf("value = %v, want 1", got)
	}
	if got := r.ratio(hub, key{"x", "nobody", 1}); !math.IsNaN(got) {
		t.Errorf("ratio to what was not measured = %v, want NaN", got)
	}
}

func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		bar  bar
		want string
	}{
		{bar{"", 0.3, 0.3, false}, "met"},
		{bar{"", 0.31, 0.3, false}, "missed"},
		{bar{"", 15, 15, true}, "met"},
		{bar{"", 14.9, 15, true}, "missed"},
		{bar{"", math.NaN(), 15, true}, "not measured"},
	} {
		if got := tt.bar.verdict(); got != tt.want {
			t.Errorf("verdict of %+v = %s, want %s", tt.bar, got, tt.want)
		}
	}
}
