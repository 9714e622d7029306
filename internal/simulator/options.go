package simulator

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Options configures one simulated app-server. The zero value of each field is a working default.
type Options struct {
	In  io.Reader // stdin; closed by Run, if it is an io.Closer, when Run has to stop before the end of the input
	Out io.Writer // stdout: protocol lines only; one Write per line, except that a burst is written in chunks of whole lines
	Err io.Writer // stderr; nil discards

	Seed  uint64  // makes ids and contents repeatable; 0 picks a seed at random
	Speed float64 // factor on the delays of model and tools: 0 instant, 1 real pace, 2 twice as slow

	StateFile    string        // sessions survive the process in this file; "" keeps them in memory
	IdleEviction time.Duration // an idle session leaves memory after this long; 0 means 10 minutes, as the real one

	Migrations     int    // storage migrations to report at start, so that a client can show the state "migrating"
	StorageFailure string // end the start with this errorCode (e.g. "corrupt") instead of "ready"
}

// ExitError says that the simulated process ended on its own with this code (the prompt "crash", a storage failure).
type ExitError struct {
	Code   int
	Reason string
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("app-server exited with code %d: %s", e.Code, e.Reason)
}

// ExitCode is the process exit code for what Run returned. Codes for signals (128 + number) are up to the command,
// which alone knows the signal.
func ExitCode(err error) int {
	var exit *ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.Code
	default:
		return 1
	}
}
