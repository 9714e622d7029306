package child

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Spec says what to run and how. Command is required.
type Spec struct {
	Command []string // program and arguments; no shell
	Dir     string   // working directory; "" is that of this program
	Env     []string // nil: the environment of this program less HUB_*, which is configuration of this program and may hold secrets

	MaxLine      int // longest line on stdout; 0: wire.DefaultMaxLine
	StdinBytes   int // bound of what is queued for stdin, in bytes; 0: 64 MiB
	StdinReserve int // room beyond StdinBytes that only SendReserved may use; 0: 16 MiB

	GroupFile string // where the process group is recorded for Sweep; "": nowhere

	CloseGrace time.Duration // from closing stdin to TERM; 0: 1.8 s
	TermGrace  time.Duration // from TERM to KILL; 0: 2 s

	Log *slog.Logger // nil: no log

	// OnLine gets each line of stdout, on the stdout goroutine. The line is valid
	// only during the call. more says that the next line is already here, so this
	// is not the end of what was read together. It must not call Stop.
	OnLine func(line []byte, more bool)
	// OnBadLine hears of each line that was over MaxLine and skipped, also on the
	// stdout goroutine. May be nil.
	OnBadLine func(err error)
}

const (
	// Twice the largest message a client may send, for a child that is slow to
	// read, without letting one that has stopped reading take all memory.
	defaultStdinBytes = 64 << 20
	// Answers to the child's own questions are small; this is room for thousands.
	defaultStdinReserve = 16 << 20
	// The child gives itself 1.5 s after the end of stdin.
	defaultCloseGrace = 1800 * time.Millisecond
	defaultTermGrace  = 2 * time.Second
)

func (s Spec) withDefaults() Spec {
	if s.Env == nil {
		s.Env = inheritedEnv(s.Dir)
	}
	if s.StdinBytes <= 0 {
		s.StdinBytes = defaultStdinBytes
	}
	if s.StdinReserve <= 0 {
		s.StdinReserve = defaultStdinReserve
	}
	if s.CloseGrace <= 0 {
		s.CloseGrace = defaultCloseGrace
	}
	if s.TermGrace <= 0 {
		s.TermGrace = defaultTermGrace
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.OnLine == nil {
		s.OnLine = func([]byte, bool) {}
	}
	if s.OnBadLine == nil {
		s.OnBadLine = func(error) {}
	}
	return s
}

func inheritedEnv(dir string) []string {
	env := []string{} // not nil: to os/exec nil would mean everything
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "HUB_") {
			env = append(env, entry)
		}
	}
	if abs, err := filepath.Abs(dir); dir != "" && err == nil {
		env = append(env, "PWD="+abs) // the last one counts
	}
	return env
}

// Why a command cannot be started. The errors that wrap these are sentences
// for the person who typed the command.
var (
	ErrNotFound      = errors.New("command not found")
	ErrNotExecutable = errors.New("command cannot be executed")
	ErrNoDirectory   = errors.New("no such working directory")
)

// Check finds the program of command, as Start would, and says what is wrong if
// it cannot be run in dir. A relative path counts from the directory of this
// program, not from dir.
func Check(command []string, dir string) (path string, err error) {
	if len(command) == 0 || command[0] == "" {
		return "", fmt.Errorf("%w: the command is empty", ErrNotFound)
	}
	if path, err = find(command[0]); err != nil {
		return "", err
	}
	if dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return "", fmt.Errorf("%w: %s", ErrNoDirectory, dir)
		}
	}
	return path, nil
}

func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return filepath.Abs(path)
	case !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%w: %s is a directory, lacks the permission, or lies in the current directory without ./", ErrNotExecutable, name)
	case strings.ContainsRune(name, filepath.Separator):
		return "", fmt.Errorf("%w: there is no file %s", ErrNotFound, name)
	}
	return "", fmt.Errorf("%w: there is no %s on PATH", ErrNotFound, name)
}
