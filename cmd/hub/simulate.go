package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"zcodehub/internal/simulator"
)

func newSimulateCommand(a *app) *cobra.Command {
	options := simulator.Options{In: a.in, Out: a.out, Err: a.err}
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Be a simulated app-server on standard input and output",
		Long: `Be a simulated app-server on standard input and output: what hub demo starts as its child.
Prompts call up each kind of event; the prompt "help" lists them.`,
		Args: cobra.NoArgs,
		RunE: a.body(func(cmd *cobra.Command, _ []string) error { return simulate(cmd.Context(), options) }),
	}
	f := cmd.Flags()
	f.Uint64Var(&options.Seed, "seed", 0, "make ids and contents repeatable; 0 is random")
	f.Float64Var(&options.Speed, "speed", 1, "factor on the delays of model and tools; 0 is instant")
	f.StringVar(&options.StateFile, "state-file", "", "keep sessions in this file")
	f.DurationVar(&options.IdleEviction, "idle-eviction", 10*time.Minute, "forget an idle session after this long")
	f.IntVar(&options.Migrations, "migrations", 0, "storage migrations to report at the start")
	f.StringVar(&options.StorageFailure, "storage-failure", "", "fail the start with this errorCode, such as corrupt")
	// Flags of the real app-server, so that a command line can be changed from one to the other.
	f.Bool("stdio", true, "accepted for likeness; there is nothing else")
	f.String("cwd", "", "accepted for likeness")
	f.String("surface", "terminal", "accepted for likeness")
	for _, likeness := range []string{"stdio", "cwd", "surface"} {
		_ = f.MarkHidden(likeness) // fails only for a flag that does not exist
	}
	return cmd
}

// exitCode ends the process with this code and no word.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// simulate ends as the real app-server does: 0 at the end of its input, 128 + the signal's number after a signal.
func simulate(ctx context.Context, options simulator.Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	listening.Go(func() {
		select {
		case s := <-signals:
			number, _ := s.(syscall.Signal) // the only kind there is on Unix
			cancel(exitCode(128 + int(number)))
		case <-ctx.Done():
		}
	})
	err := simulator.Run(ctx, options)
	var bySignal exitCode
	if errors.As(context.Cause(ctx), &bySignal) {
		return bySignal
	}
	if code := simulator.ExitCode(err); code != 0 {
		fmt.Fprintln(options.Err, err)
		return exitCode(code)
	}
	return nil
}
