package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// editor is a program that started `hub acp`.
type editor struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startEditor(t *testing.T, home, dataDir string) *editor {
	t.Helper()
	cmd := hubCommand("acp", "--data-dir", dataDir)
	cmd.Env = append(cmd.Env, "HOME="+home, "HUB_APP_SERVER="+simulated(), "HUB_LISTEN=127.0.0.1:0")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { limit.Stop(); _ = cmd.Process.Kill() })
	return &editor{t, cmd, in, bufio.NewReader(out)}
}

// call makes a request and returns its result; what else comes is passed over.
func (e *editor) call(id, method, params string) json.RawMessage {
	e.t.Helper()
	if _, err := io.WriteString(e.in, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+"}\n"); err != nil {
		e.t.Fatal(err)
	}
	for {
		line, err := e.out.ReadBytes('\n')
		if err != nil {
			e.t.Fatalf("the agent ended before it answered %s: %v", method, err)
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			e.t.Fatalf("%v: %s", err, line)
		}
		if string(m.ID) == id && m.Method == "" {
			if m.Error != nil {
				e.t.Fatalf("%s: %v", method, m.Error)
			}
			return m.Result
		}
	}
}

func (e *editor) wantCleanEnd() {
	e.t.Helper()
	_ = e.in.Close()
	_, _ = io.Copy(io.Discard, e.out)
	if err := e.cmd.Wait(); err != nil {
		e.t.Errorf("after its input ended: %v", err)
	}
}

// Two editors that start at the same time, with no hub there, share the one that
// is started for them, and it outlives both.
func TestEditorsShareTheHubThatOneOfThemStarted(t *testing.T) {
	home := shortDir(t)
	dataDir := filepath.Join(home, "data")
	first, second := startEditor(t, home, dataDir), startEditor(t, home, dataDir)
	t.Cleanup(func() { stopHubOf(t, dataDir) })
	for _, e := range []*editor{first, second} {
		if hello := string(e.call("0", "initialize", `{"protocolVersion":1,"clientCapabilities":{},"clientInfo":{"name":"editor","version":"1"}}`)); !strings.Contains(hello, `"protocolVersion":1`) {
			t.Errorf("initialize: %s", hello)
		}
	}
	var made struct{ SessionID string }
	if err := json.Unmarshal(first.call("1", "session/new", `{"cwd":"/tmp/x","mcpServers":[]}`), &made); err != nil || made.SessionID == "" {
		t.Fatalf("session/new: %v, %q", err, made.SessionID)
	}
	if end := string(first.call("2", "session/prompt", `{"sessionId":"`+made.SessionID+`","prompt":[{"type":"text","text":"help"}]}`)); !strings.Contains(end, `"end_turn"`) {
		t.Errorf("session/prompt: %s", end)
	}
	if list := string(second.call("1", "session/list", `{}`)); !strings.Contains(list, made.SessionID) {
		t.Errorf("the other editor does not see the session: %s", list)
	}
	first.wantCleanEnd()
	second.wantCleanEnd()
	if code, out, stderr := runHub(t, "", nil, "status", "--data-dir", dataDir); code != exitClean {
		t.Errorf("the hub went with its editors: %q %q", out, stderr)
	}
}

// stopHubOf ends the hub that holds a data dir, and waits for it.
func stopHubOf(t *testing.T, dataDir string) {
	lock, err := os.Open(filepath.Join(dataDir, "hub.lock"))
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = lock.Close() }()
	process := strings.Trim(strings.TrimPrefix(strings.TrimSpace(holder(lock)), "(process"), " )")
	if out, err := exec.Command("kill", process).CombinedOutput(); err != nil {
		t.Errorf("kill %s: %v, %s", process, err, out)
	}
	for deadline := time.Now().Add(patience); dataDirHeld(dataDir); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("the hub does not end")
			return
		}
	}
}

func TestACPSaysWhyNoHubCouldBeStarted(t *testing.T) {
	emptyPath(t)
	dataDir := filepath.Join(shortDir(t), "data")
	cmd := hubCommand("acp", "--data-dir", dataDir)
	cmd.Env = append(cmd.Env, "HOME="+filepath.Dir(dataDir), "HUB_APP_SERVER=/nowhere/app-server")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "hub.log") {
		t.Errorf("got %v, %s", err, out)
	}
	if log, err := os.ReadFile(filepath.Join(dataDir, "hub.log")); err != nil || !strings.Contains(string(log), "/nowhere/app-server") {
		t.Errorf("the log says %q, %v", log, err)
	}
}

func TestHubThatACPStartsPutsALargeLogAside(t *testing.T) {
	emptyPath(t)
	dataDir := filepath.Join(shortDir(t), "data")
	logFile := filepath.Join(dataDir, "hub.log")
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(logFile, make([]byte, maxOldLog+1), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := hubCommand("acp", "--data-dir", dataDir)
	cmd.Env = append(cmd.Env, "HOME="+filepath.Dir(dataDir), "HUB_APP_SERVER=/nowhere/app-server")
	_ = cmd.Run() // it fails, as the test above says
	if old, err := os.Stat(logFile + ".old"); err != nil || old.Size() != maxOldLog+1 {
		t.Errorf("the old log: %v, %v", old, err)
	}
	if log, err := os.Stat(logFile); err != nil || log.Size() > maxOldLog {
		t.Errorf("the new log: %v, %v", log, err)
	}
}
