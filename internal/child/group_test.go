//go:build linux

package child

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func runs(pid int) bool {
	p, err := readProcess(pid)
	return err == nil && !p.zombie
}

// waitGone polls, since nobody is told of the end of somebody else's child.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); runs(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

func twoNumbers(t *testing.T, line string) (a, b int) {
	t.Helper()
	if _, err := fmt.Sscan(line, &a, &b); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return a, b
}

func TestStopLeavesNoGrandchildThatIgnoresTERM(t *testing.T) {
	s, out := spec("stubborn fork")
	p := start(t, inHaste(s))
	pid, grandchild := twoNumbers(t, out.wait(t, 1)[0])
	if pid != p.Pid() || !runs(grandchild) {
		t.Fatalf("child %d (Pid says %d), grandchild %d runs: %v", pid, p.Pid(), grandchild, runs(grandchild))
	}
	p.Stop()
	if runs(pid) || runs(grandchild) {
		t.Errorf("after Stop: child runs %v, grandchild runs %v", runs(pid), runs(grandchild))
	}
}

func TestChildThatEndsByItselfLeavesNoGrandchild(t *testing.T) {
	s, out := spec("orphan 3")
	exit := wait(t, start(t, inHaste(s)))
	if exit.Code != 3 || exit.Err != nil || len(out.lines) != 1 {
		t.Fatalf("exit %+v, lines %q", exit, out.lines)
	}
	if grandchild := number(out.lines[0]); runs(grandchild) {
		t.Errorf("after Done the grandchild %d runs", grandchild)
	}
}

func TestStdoutHeldByADaemonDoesNotHoldDone(t *testing.T) {
	s, out := spec("daemon")
	exit := wait(t, start(t, s))
	if exit.Code != 0 || exit.Err == nil || len(out.lines) != 1 {
		t.Fatalf("exit %+v, lines %q; want an error that says that stdout did not end", exit, out.lines)
	}
	daemon := number(out.lines[0])
	if !runs(daemon) {
		t.Error("the daemon was to hold stdout and is gone")
	}
	syscall.Kill(daemon, syscall.SIGKILL)
}

func TestKilledHubLeavesNothingAfterTheNextStart(t *testing.T) {
	groupFile := filepath.Join(t.TempDir(), "group")
	hub := exec.Command(os.Args[0])
	hub.Env = roleEnv("hub " + groupFile)
	stdout, err := hub.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, grandchild := twoNumbers(t, line)
	hub.Process.Kill()
	hub.Wait()
	waitGone(t, child)
	if !runs(grandchild) {
		t.Fatal("the grandchild is gone before Sweep; then this test shows nothing")
	}
	if err := Sweep(groupFile, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if runs(grandchild) {
		t.Error("after Sweep the grandchild runs")
	}
	if _, err := os.Stat(groupFile); !os.IsNotExist(err) {
		t.Errorf("after Sweep the group file is there: %v", err)
	}
}

func TestGroupFileIsThereWhileTheChildRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "group")
	s, _ := spec("echo")
	s.GroupFile = file
	p := start(t, s)
	var record groupRecord
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &record) != nil || record.Group != p.Pid() || !record.stillRuns() {
		t.Errorf("group file %s, %v; want group %d, running", text, err, p.Pid())
	}
	p.Stop()
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("after Stop the group file is there: %v", err)
	}
}

func TestSweepSparesWhoOnlyHasTheNumber(t *testing.T) {
	s, _ := spec("echo")
	p := start(t, s)
	right, err := describeGroup(p.Pid())
	if err != nil {
		t.Fatal(err)
	}
	if !right.stillRuns() {
		t.Fatalf("%+v does not run", right)
	}
	otherStart, otherBoot, otherSession, allOfUs := right, right, right, right
	otherStart.Start--
	otherBoot.Boot = "another " + right.Boot
	otherSession.Session++
	allOfUs.Group = 1
	texts := []string{"", "{", `{"group":0}`, `{"group":-1}`}
	for _, r := range []groupRecord{otherStart, otherBoot, otherSession, allOfUs} {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for _, text := range texts {
		file := filepath.Join(t.TempDir(), "group")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Sweep(file, slog.New(slog.DiscardHandler)); err != nil {
			t.Errorf("Sweep of %q: %v", text, err)
		}
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("Sweep of %q left the file", text)
		}
		select {
		case <-p.Done():
			t.Fatalf("Sweep of %q ended somebody else: %+v", text, p.Exit())
		default:
		}
	}
	if err := Sweep(filepath.Join(t.TempDir(), "none"), slog.New(slog.DiscardHandler)); err != nil {
		t.Errorf("Sweep without a file: %v", err)
	}
}

func TestProcessNameDoesNotConfuseTheReader(t *testing.T) {
	name := "a) R (b"
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(os.Args[0], path); err != nil {
		t.Fatal(err)
	}
	s, _ := spec("sleep")
	s.Command = []string{path}
	p := start(t, inHaste(s))
	got, err := readProcess(p.Pid())
	if err != nil || got.group != p.Pid() || got.start == 0 || got.zombie {
		t.Errorf("readProcess = %+v, %v", got, err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid()))
	if err != nil || !strings.Contains(string(stat), name) {
		t.Errorf("the name did not reach /proc: %s, %v", stat, err)
	}
}
