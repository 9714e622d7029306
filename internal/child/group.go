package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"syscall"
	"time"
)

// killGrace is how long a killed group may take to vanish. KILL works at once
// except on a process in an uninterruptible system call, which nothing helps.
const killGrace = 2 * time.Second

// groupRecord is the content of a group file: a process group and what tells it
// from a later one with the same number.
type groupRecord struct {
	Group   int    `json:"group"`
	Start   uint64 `json:"start"`   // of the leader, in clock ticks since boot
	Session int    `json:"session"` // of all its members
	Boot    string `json:"boot"`    // this boot of the machine, and the pid namespace
}

// recordGroup writes down the group of a process that has just started.
func recordGroup(file string, pid int) error {
	if file == "" {
		return nil
	}
	record, err := describeGroup(pid)
	if err != nil {
		return err
	}
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	// By rename, so that a crash leaves the old record or the new one.
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func forgetGroup(file string) {
	if file != "" {
		os.Remove(file)
	}
}

// Sweep ends the process group recorded in groupFile, if it is still the one
// that was recorded, and removes the file. Call it before Start, in a program
// that has made sure to be the only one to use the file. The error says that
// something is left.
func Sweep(groupFile string, log *slog.Logger) error {
	text, err := os.ReadFile(groupFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the group file: %w", err)
	}
	var record groupRecord
	if err := json.Unmarshal(text, &record); err != nil || record.Group <= 1 {
		// 0 and 1 would make kill(2) signal this program's own group or everybody.
		log.Warn("the group file is damaged, nothing is swept", "file", groupFile)
		return os.Remove(groupFile)
	}
	if record.stillRuns() {
		log.Warn("ending the process group that an earlier run left behind", "group", record.Group)
		if !endGroup(record.Group, defaultTermGrace) {
			return fmt.Errorf("process group %d of an earlier run cannot be ended", record.Group)
		}
	}
	return os.Remove(groupFile)
}

// endGroup ends what is left of a process group whose leader has been reaped:
// TERM, then KILL after grace. It reports whether nothing is left.
//
// The number cannot have been given to somebody else while the group has
// members; groupAlive is asked before each signal, so a mistake would take all
// process ids being used up within one pause.
func endGroup(group int, grace time.Duration) bool {
	defer reapAdopted(group)
	if !groupAlive(group) {
		return true
	}
	signalGroup(group, syscall.SIGTERM)
	if groupGoneWithin(group, grace) {
		return true
	}
	signalGroup(group, syscall.SIGKILL)
	return groupGoneWithin(group, killGrace)
}

// groupGoneWithin polls, since nobody is told of the end of a process that is
// not a child. The pauses grow: most groups are gone in a few milliseconds.
func groupGoneWithin(group int, d time.Duration) bool {
	deadline := time.Now().Add(d)
	for pause := 2 * time.Millisecond; groupAlive(group); pause = min(2*pause, 100*time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// reapAdopted takes the zombies of a group whose members became children of this
// program because it is process 1 of a container.
func reapAdopted(group int) {
	for {
		if pid, err := syscall.Wait4(-group, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}

func signalGroup(group int, signal syscall.Signal) { _ = syscall.Kill(-group, signal) }

// groupExists reports whether the group has members, zombies included.
func groupExists(group int) bool {
	return !errors.Is(syscall.Kill(-group, 0), syscall.ESRCH)
}
