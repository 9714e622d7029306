//go:build linux

package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// target is one running server under test.
type target struct {
	addr    string // host:port
	path    string // of the WebSocket endpoint
	headers string // extra request header lines, each with CRLF
	cmd     *exec.Cmd
	logs    *os.File // stderr of the server, shown when it fails
}

// bench is what all workloads need: how to start each system, and how much to measure.
type bench struct {
	dir   string // temporary: ready files, data dir, logs
	exe   string // this program, which is also the child and the references
	hub   string // path of the hub's binary, "" when only references are wanted
	token string
	runs  int
	quick bool
	perf  string // directory for profiles of the hub, "" = none
	count int    // servers started, names their files
}

// startDeadline: a cold hub answers within a second; a loaded machine may need many.
const startDeadline = 30 * time.Second

// start runs one of the systems "hub", "loop", "conn-write" and "accept".
func (b *bench) start(ctx context.Context, system string) (*target, error) {
	b.count++
	ready := filepath.Join(b.dir, fmt.Sprintf("%d-%s.ready", b.count, system))
	args := []string{b.exe, "reference", "--mode", system, "--ready-file", ready}
	if system == "hub" {
		args = []string{b.hub, "serve", "--app-server", b.exe + " child", "--listen", "127.0.0.1:0", "--ready-file", ready, "--data-dir", b.dataDir()}
	}
	t := &target{path: "/", cmd: exec.CommandContext(ctx, args[0], args[1:]...)}
	if system == "hub" {
		t.path, t.headers = "/ws?profile=desktop-continuous", "Authorization: Bearer "+b.token+"\r\n"
	}
	var err error
	if t.logs, err = os.Create(strings.TrimSuffix(ready, ".ready") + ".log"); err != nil {
		return nil, err
	}
	t.cmd.Stderr = t.logs
	t.cmd.Cancel = func() error { return t.cmd.Process.Signal(syscall.SIGTERM) }
	t.cmd.WaitDelay = 5 * time.Second // longer than the hub's ladder for its child
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	info, err := awaitReady(waiting, ready)
	if err != nil {
		err = fmt.Errorf("start %s: %w\n%s", system, err, t.tail())
		t.stop()
		return nil, err
	}
	u, err := url.Parse(info.URL)
	if err != nil {
		t.stop()
		return nil, err
	}
	t.addr = u.Host
	return t, nil
}

func (b *bench) dataDir() string { return filepath.Join(b.dir, "data") }

// stop ends the server and waits for it. Its exit status does not matter.
func (t *target) stop() {
	_ = t.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(5*time.Second, func() { _ = t.cmd.Process.Kill() })
	_ = t.cmd.Wait()
	kill.Stop()
	t.logs.Close()
}

// tail is the end of the server's log.
func (t *target) tail() string {
	text, _ := os.ReadFile(t.logs.Name())
	return string(text[max(0, len(text)-2000):])
}

// cpu is user and system time of the server so far. The grain is a clock tick, 10 ms.
func (t *target) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The command name may hold spaces; what follows its closing bracket does not. utime and stime are fields 14 and 15.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("short /proc stat: %q", text)
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100), nil // USER_HZ is 100 on every Linux Go runs on
}

// rss is the resident memory of the server in bytes.
func (t *target) rss() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no VmRSS in /proc status")
}
