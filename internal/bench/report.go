//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// key names a figure; its values are one per run.
type key struct {
	what, system string
	clients      int
}

type report struct {
	runs     int
	values   map[key][]float64
	lines    []scanResult
	failures []string
}

func (r *report) note(k key, run int, value float64) {
	if r.values[k] == nil {
		r.values[k] = slices.Repeat([]float64{math.NaN()}, r.runs)
	}
	r.values[k][run] = value
}

// value is the median over the runs, NaN when there is none.
func (r *report) value(k key) float64 { return median(r.values[k]) }

// ratio is the median of the ratios of each run.
func (r *report) ratio(over, under key) float64 {
	a, b := r.values[over], r.values[under]
	ratios := make([]float64, min(len(a), len(b)))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}
	return median(ratios)
}

func median(values []float64) float64 {
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	mid := len(values) / 2
	if len(values)%2 == 1 {
		return values[mid]
	}
	return (values[mid-1] + values[mid]) / 2
}

// bar is a promise about one figure or one ratio.
type bar struct {
	text  string
	got   float64
	limit float64
	least bool // limit is a lower bound
}

func (b bar) verdict() string {
	switch {
	case math.IsNaN(b.got):
		return "not measured"
	case b.least && b.got >= b.limit, !b.least && b.got <= b.limit:
		return "met"
	default:
		return "missed"
	}
}

func (r *report) bars() []bar {
	at := func(what, system string, n int) key { return key{what, system, n} }
	burst := at(burstCPU, "hub", 100)
	bars := []bar{
		{"burst to 100: hub CPU ≤ 0.3 µs per event", r.value(burst), 0.3, false},
		{"burst to 100: stretch ≤ 0.15 µs per event", r.value(burst), 0.15, false},
		{"burst to 100: conn-write ≥ 15 times the hub", r.ratio(at(burstCPU, "conn-write", 100), burst), 15, true},
		{"40/s to 1,000: hub ≤ 1.3 times the loop", r.ratio(at(rateCPU, "hub", 1000), at(rateCPU, "loop", 1000)), 1.3, false},
	}
	for _, n := range []int{1000, 5000} {
		kib := r.value(at(idleKiB, "hub", n))
		bars = append(bars,
			bar{fmt.Sprintf("%d idle: ≤ 35 KiB per client", n), kib, 35, false},
			bar{fmt.Sprintf("%d idle: stretch ≤ 25 KiB per client", n), kib, 25, false})
	}
	return append(bars,
		bar{"1,000 connects: hub ≤ 2 times the bare accept", r.ratio(at(connectSec, "hub", 1000), at(connectSec, "accept", 1000)), 2, false},
		bar{"5 of 100 stalled: the others at ≥ 0.95 of their rate", r.value(at(stalledPct, "hub", 100)), 0.95, true})
}

// table is one block of the printed report: a row per number of clients, a column per system, then ratios.
type table struct {
	title   string
	what    string
	systems []string
	ratios  [][2]string
	grain   string
}

var tables = []table{
	{"CPU of the server per delivered event, burst (20,000 events, 120 B payload), µs", burstCPU, []string{"hub", "loop", "conn-write"},
		[][2]string{{"hub", "loop"}, {"conn-write", "hub"}}, "%.3f"},
	{"Delivered in that burst, thousand events per second (the load side is part of it)", burstRate, []string{"hub", "loop", "conn-write"},
		[][2]string{{"hub", "loop"}}, "%.0f"},
	{"CPU of the server per delivered event, 40 events/s, µs", rateCPU, []string{"hub", "loop", "conn-write"},
		[][2]string{{"hub", "loop"}, {"hub", "conn-write"}}, "%.1f"},
	{"Delay from the child's line to the client's socket at 40 events/s, p50 ms", delayP50, []string{"hub", "loop", "conn-write"},
		[][2]string{{"hub", "loop"}, {"hub", "conn-write"}}, "%.2f"},
	{"The same, p99 ms", delayP99, []string{"hub", "loop", "conn-write"},
		[][2]string{{"hub", "loop"}, {"hub", "conn-write"}}, "%.2f"},
	{"Resident memory per idle client, KiB (hub: authenticated and subscribed)", idleKiB, []string{"hub", "accept"},
		[][2]string{{"hub", "accept"}}, "%.1f"},
	{"Time until all clients are connected, authenticated and subscribed (accept: connected and echoed), s", connectSec, []string{"hub", "accept"},
		[][2]string{{"hub", "accept"}}, "%.3f"},
	{"CPU of the server per connect, µs", connectCPU, []string{"hub", "accept"},
		[][2]string{{"hub", "accept"}}, "%.0f"},
	{"5 of 100 clients stalled: burst rate of the other 95, as a part of the rate with nobody stalled", stalledPct, []string{"hub"}, nil, "%.2f"},
}

func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "Figures are medians of %d run(s); ratios are medians of the ratios of each run.\n", r.runs)
	printScan(w, r.lines)
	for _, t := range tables {
		r.printTable(w, t)
	}
	fmt.Fprintln(w, "\nBars")
	tw := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	for _, b := range r.bars() {
		fmt.Fprintf(tw, "  %s\t%s\t%s\n", b.text, number("%.3g", b.got), b.verdict())
	}
	tw.Flush()
	for _, f := range r.failures {
		fmt.Fprintln(w, "FAILED:", f)
	}
}

func (r *report) printTable(w io.Writer, t table) {
	var counts []int
	for k := range r.values {
		if k.what == t.what && !slices.Contains(counts, k.clients) {
			counts = append(counts, k.clients)
		}
	}
	if len(counts) == 0 {
		return
	}
	slices.Sort(counts)
	fmt.Fprintf(w, "\n%s\n", t.title)
	tw := tabwriter.NewWriter(w, 8, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "clients\t%s\t", strings.Join(t.systems, "\t"))
	for _, q := range t.ratios {
		fmt.Fprintf(tw, "%s/%s\t", q[0], q[1])
	}
	fmt.Fprintln(tw)
	for _, n := range counts {
		fmt.Fprintf(tw, "%d\t", n)
		for _, system := range t.systems {
			fmt.Fprintf(tw, "%s\t", number(t.grain, r.value(key{t.what, system, n})))
		}
		for _, q := range t.ratios {
			fmt.Fprintf(tw, "%s\t", number("%.2f", r.ratio(key{t.what, q[0], n}, key{t.what, q[1], n})))
		}
		fmt.Fprintln(tw)
	}
	tw.Flush()
}

func number(format string, v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// writeJSON writes every value of every run, and the bars.
func (r *report) writeJSON(w io.Writer) error {
	type figure struct {
		What    string     `json:"what"`
		System  string     `json:"system"`
		Clients int        `json:"clients"`
		Runs    []*float64 `json:"runs"` // null: that run failed
		Median  *float64   `json:"median"`
	}
	type verdict struct {
		Bar     string   `json:"bar"`
		Got     *float64 `json:"got"`
		Limit   float64  `json:"limit"`
		Verdict string   `json:"verdict"`
	}
	out := struct {
		Scan     []scanResult `json:"scan,omitempty"`
		Figures  []figure     `json:"figures"`
		Bars     []verdict    `json:"bars"`
		Failures []string     `json:"failures,omitempty"`
	}{Scan: r.lines, Failures: r.failures}
	keys := slices.SortedFunc(maps.Keys(r.values), func(a, b key) int {
		return strings.Compare(fmt.Sprintf("%s %6d %s", a.what, a.clients, a.system), fmt.Sprintf("%s %6d %s", b.what, b.clients, b.system))
	})
	for _, k := range keys {
		f := figure{What: k.what, System: k.system, Clients: k.clients, Median: jsonNumber(r.value(k))}
		for _, v := range r.values[k] {
			f.Runs = append(f.Runs, jsonNumber(v))
		}
		out.Figures = append(out.Figures, f)
	}
	for _, b := range r.bars() {
		out.Bars = append(out.Bars, verdict{b.text, jsonNumber(b.got), b.limit, b.verdict()})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func jsonNumber(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}
