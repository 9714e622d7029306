//go:build linux

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run plays the role its first argument names; without one it is the driver.
func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "child":
			return runChild(os.Stdin, os.Stdout)
		case "reference":
			return runReference(args[1:])
		}
	}
	return drive(args)
}

// drive builds the hub, measures, and prints.
func drive(args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "one run, fewer sizes: about a minute, for a look")
	only := flags.String("only", "", "comma-separated part of: scan, burst, rate, idle, stalled")
	runs := flags.Int("runs", 0, "how often everything is measured (default 3, with --quick 1)")
	jsonFile := flags.String("json", "", "write every value of every run to this file as well")
	hub := flags.String("hub", "", "the hub's binary (default: built from ./cmd/hub)")
	skip := flags.String("without", "", "comma-separated systems to leave out: hub, loop, conn-write, accept")
	perf := flags.String("perf", "", "write a perf(1) profile of the hub for each measurement into this directory")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *runs > 0:
	case *quick:
		*runs = 1
	default:
		*runs = 3
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "hub-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, runs: *runs, quick: *quick, hub: *hub, perf: *perf}
	if b.exe, err = os.Executable(); err != nil {
		return err
	}
	if err := raiseFileLimit(); err != nil {
		return err
	}
	without := strings.Split(*skip, ",")
	if !slices.Contains(without, "hub") && *only != "scan" {
		if err := b.prepareHub(ctx); err != nil {
			return err
		}
	}
	rep, err := b.measure(ctx, *only, without)
	if err != nil {
		return err
	}
	fmt.Println(machine())
	rep.print(os.Stdout)
	if *jsonFile == "" {
		return nil
	}
	var text bytes.Buffer
	if err := rep.writeJSON(&text); err != nil {
		return err
	}
	return os.WriteFile(*jsonFile, text.Bytes(), 0o644)
}

// prepareHub builds the hub and makes the one token that all clients share.
func (b *bench) prepareHub(ctx context.Context) error {
	if b.hub == "" {
		b.hub = filepath.Join(b.dir, "hub")
		build := exec.CommandContext(ctx, "go", "build", "-o", b.hub, "./cmd/hub")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build ./cmd/hub: %w (run from the top of the repository, or give --hub)", err)
		}
	}
	var stderr bytes.Buffer
	create := exec.CommandContext(ctx, b.hub, "token", "create", "--role", "operator", "--name", "bench", "--data-dir", b.dataDir())
	create.Stderr = &stderr
	token, err := create.Output()
	if err != nil {
		return fmt.Errorf("hub token create: %w\n%s", err, stderr.Bytes())
	}
	b.token = strings.TrimSpace(string(token))
	return nil
}

// measure goes through everything once per run, the systems of one size next to one another, so that whatever else the
// machine does falls on all of them.
func (b *bench) measure(ctx context.Context, only string, without []string) (*report, error) {
	rep := &report{runs: b.runs, values: make(map[key][]float64)}
	wanted := func(name string) bool { return only == "" || slices.Contains(strings.Split(only, ","), name) }
	if wanted("scan") {
		var err error
		if rep.lines, err = measureScan(b.quick); err != nil {
			return nil, err
		}
	}
	for run := range b.runs {
		for _, w := range b.workloads() {
			if !wanted(w.name) {
				continue
			}
			for _, n := range w.clients {
				for _, system := range w.systems {
					if slices.Contains(without, system) {
						continue
					}
					fmt.Fprintf(os.Stderr, "run %d of %d: %s, %d clients, %s\n", run+1, b.runs, w.name, n, system)
					err := b.cell(ctx, system, func(ctx context.Context, c *cell) error {
						return w.measure(ctx, c, n, func(what string, v float64) { rep.note(key{what, system, n}, run, v) })
					})
					if ctx.Err() != nil {
						return nil, context.Cause(ctx)
					}
					if err != nil {
						rep.failures = append(rep.failures, fmt.Sprintf("run %d, %s, %d clients: %v", run+1, w.name, n, err))
						fmt.Fprintln(os.Stderr, err)
					}
				}
			}
		}
	}
	return rep, nil
}

// machine says where the figures come from.
func machine() string {
	memory := "?"
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kib int
		if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kib); err == nil {
			memory = fmt.Sprintf("%.0f GiB", float64(kib)/(1<<20))
		}
	}
	return fmt.Sprintf("%d cores, %s, %s/%s, %s", runtime.NumCPU(), memory, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
