// Command hub puts one ZCode app-server in front of many clients.
//
// This package is the only one that reads flags, environment and configuration file, and the only one that ends the
// process. settings.go holds the table from which flags, HUB_… variables, file keys, `hub config` and
// docs/configuration.md are made; serve.go wires the parts in the order in which they start and stop.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Exit codes, a contract with whoever runs the hub (systemd's RestartPreventExitStatus relies on 2).
const (
	exitClean   = 0
	exitFailure = 1 // something failed while running
	exitUsage   = 2 // wrong flags, wrong configuration: trying again does not help
)

func main() {
	os.Exit(run(&app{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ()}, os.Args[1:]))
}

// app is the process as the commands see it; tests make their own.
type app struct {
	in      io.Reader
	out     io.Writer
	err     io.Writer
	environ []string

	started bool // a command's body ran: an error from before that is bad usage
}

// run executes one command line and says how the process should end.
func run(a *app, args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	asked, err := root.ExecuteC()
	if err == nil {
		return exitClean
	}
	var silent exitCode
	if errors.As(err, &silent) {
		return int(silent)
	}
	_, _ = fmt.Fprintf(a.err, "hub: %v\n", err)
	if !a.started {
		_, _ = fmt.Fprintf(a.err, "Run '%s --help' for usage.\n", asked.CommandPath())
		return exitUsage
	}
	if errors.Is(err, errConfig) {
		return exitUsage
	}
	return exitFailure
}

// errConfig marks what only a change of flags, environment or file can mend.
var errConfig = errors.New("configuration")

// configFault is an error with a text of its own that is errConfig.
type configFault struct{ text string }

func (f *configFault) Error() string { return f.text }
func (f *configFault) Unwrap() error { return errConfig }

func faultf(format string, args ...any) error {
	return &configFault{text: fmt.Sprintf(format, args...)}
}
