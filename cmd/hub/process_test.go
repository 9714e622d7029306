package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"zcodehub/hub"
)

// These tests run the real program: the test binary, started again with runAsHub set, is the hub.
const runAsHub = "TEST_BINARY_IS_HUB"

func TestMain(m *testing.M) {
	if os.Getenv(runAsHub) != "" {
		main()
	}
	os.Exit(m.Run())
}

// patience is how long a test waits for a process before it gives up; nothing takes that long.
const patience = 60 * time.Second

// hubProcess is a hub that runs as a process of its own.
type hubProcess struct {
	t       *testing.T
	cmd     *exec.Cmd
	dataDir string
	url     string
	notify  *net.UnixConn // what systemd would hear
	stderr  bytes.Buffer  // complete after wait
	stdout  *bufio.Reader
}

func hubCommand(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), runAsHub+"=1")
	return cmd
}

// simulated is an --app-server that is this program too.
func simulated() string { return fmt.Sprintf("'%s' simulate --speed 0 --seed 1", os.Args[0]) }

// shortDir is shorter than t.TempDir(): a socket path holds 103 bytes.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hub-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startHub starts a hub and returns when it says READY.
func startHub(t *testing.T, environ []string, args ...string) *hubProcess {
	t.Helper()
	return startHubIn(t, shortDir(t), environ, args...)
}

// startHubIn is startHub in a folder in which one may have run before.
func startHubIn(t *testing.T, dir string, environ []string, args ...string) *hubProcess {
	t.Helper()
	_ = os.Remove(filepath.Join(dir, "notify"))
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = notify.Close() })
	p := &hubProcess{t: t, dataDir: filepath.Join(dir, "data"), notify: notify}
	ready := filepath.Join(dir, "ready")
	p.cmd = hubCommand(append(args, "--data-dir", p.dataDir, "--ready-file", ready)...)
	p.cmd.Env = append(append(p.cmd.Env, "HOME="+dir, "NOTIFY_SOCKET="+filepath.Join(dir, "notify")), environ...)
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(stdout)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	limit := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	t.Cleanup(func() { limit.Stop() })
	p.wantNotified("READY=1")
	p.readReadyFile(ready)
	return p
}

func (p *hubProcess) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // for the second time in most tests
	if p.t.Failed() {
		p.t.Logf("standard error of the hub:\n%s", p.stderr.String())
	}
}

func (p *hubProcess) readReadyFile(path string) {
	p.t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatalf("READY was said before the ready file was there: %v", err)
	}
	var ready struct {
		URL string
		Pid int
	}
	if err := json.Unmarshal(content, &ready); err != nil || ready.Pid != p.cmd.Process.Pid {
		p.t.Fatalf("ready file: got %s, %v; want pid %d", content, err, p.cmd.Process.Pid)
	}
	p.url = ready.URL
}

// wantNotified reads what systemd would hear up to this state.
func (p *hubProcess) wantNotified(state string) {
	p.t.Helper()
	_ = p.notify.SetReadDeadline(time.Now().Add(patience))
	buf := make([]byte, 512)
	for {
		n, err := p.notify.Read(buf)
		if err != nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
			p.t.Fatalf("waiting for %s: %v\n%s", state, err, p.stderr.String())
		}
		if string(buf[:n]) == state {
			return
		}
	}
}

func (p *hubProcess) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wantExit waits for the end.
func (p *hubProcess) wantExit(code int) {
	p.t.Helper()
	_, _ = io.Copy(io.Discard, p.stdout)
	err := p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code: got %d (%v), want %d\n%s", got, err, code, p.stderr.String())
	}
}

// command runs another hub command on the same data dir.
func (p *hubProcess) command(args ...string) (code int, stdout, stderr string) {
	p.t.Helper()
	cmd := hubCommand(append(args, "--data-dir", p.dataDir)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func (p *hubProcess) status() hub.Status {
	p.t.Helper()
	code, stdout, stderr := p.command("status", "--json")
	var s hub.Status
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || code != exitClean {
		p.t.Fatalf("hub status --json: exit code %d, %v, %q, %q", code, err, stdout, stderr)
	}
	return s
}

// wantAppServerReady polls: the hub pushes this state to clients, and none is attached here.
func (p *hubProcess) wantAppServerReady() hub.AppServerStatus {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		s := p.status().AppServer
		if s.State == "ready" {
			return s
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("app-server is not ready: %+v\n%s", s, p.stderr.String())
		}
	}
}

func (p *hubProcess) get(path, token string) (status int, body string) {
	p.t.Helper()
	return p.do(http.MethodGet, path, token)
}

func (p *hubProcess) do(method, path, token string) (status int, body string) {
	p.t.Helper()
	request, err := http.NewRequest(method, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

func serveSimulated(t *testing.T, environ []string, args ...string) *hubProcess {
	t.Helper()
	return startHub(t, environ, append([]string{"serve", "--listen", "127.0.0.1:0", "--app-server", simulated()}, args...)...)
}

func running(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestHubServesFromReadyToDrained(t *testing.T) {
	p := serveSimulated(t, nil)
	appServer := p.wantAppServerReady()
	if !running(appServer.Pid) {
		t.Fatalf("status names process %d, which does not run", appServer.Pid)
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/": 200, "/api/status": 401, "/nothing": 404} {
		if got, _ := p.get(path, ""); got != want {
			t.Errorf("GET %s: got %d, want %d", path, got, want)
		}
	}
	if code, _, stderr := p.command("status", "--probe"); code != exitClean {
		t.Errorf("status --probe: exit code %d, %q", code, stderr)
	}
	if code, out, _ := p.command("status"); code != exitClean || !strings.Contains(out, "app-server") || !strings.Contains(out, "ready") {
		t.Errorf("status: exit code %d, %q", code, out)
	}

	p.signal(syscall.SIGTERM)
	p.wantNotified("STOPPING=1")
	p.wantExit(exitClean)
	if running(appServer.Pid) {
		t.Errorf("the app-server, process %d, outlived the hub", appServer.Pid)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(p.dataDir), "ready")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if code, _, stderr := p.command("status", "--probe"); code != exitFailure || !strings.Contains(stderr, "no hub runs") {
		t.Errorf("status --probe afterwards: exit code %d, %q", code, stderr)
	}
}

func TestSecondHubOnADataDirEndsWithAClearSentence(t *testing.T) {
	p := serveSimulated(t, nil)
	code, _, stderr := p.command("serve", "--listen", "127.0.0.1:0", "--app-server", simulated())
	if code != exitFailure || !strings.Contains(stderr, "another hub runs") || !strings.Contains(stderr, fmt.Sprint(p.cmd.Process.Pid)) {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

func TestInstanceStaysTheSameAcrossRestarts(t *testing.T) {
	p := serveSimulated(t, nil)
	first := p.status().Instance.ID
	p.signal(syscall.SIGINT)
	p.wantExit(exitClean)

	again := hubCommand("serve", "--listen", "127.0.0.1:0", "--app-server", simulated(), "--data-dir", p.dataDir)
	var log bytes.Buffer
	again.Stderr = &log
	stdout, err := again.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = again.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, stdout)
		_ = again.Wait()
	}()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if code, _, _ := p.command("status", "--probe"); code == exitClean {
			break
		}
	}
	if second := p.status().Instance.ID; first == "" || second != first {
		t.Errorf("instance id: first %q, then %q", first, second)
	}
}

func TestMissingAppServerEndsServeWithAClearSentence(t *testing.T) {
	for _, command := range []string{"/nowhere/zcode app-server", os.DevNull} {
		cmd := hubCommand("serve", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--app-server", command)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), strings.Fields(command)[0]) {
			t.Errorf("%s: %v, %q", command, err, out)
		}
	}
}

func TestTakenPortEndsServeBeforeTheAppServerStarts(t *testing.T) {
	p := serveSimulated(t, nil)
	cmd := hubCommand("serve", "--listen", strings.TrimPrefix(p.url, "http://"), "--data-dir", t.TempDir(), "--app-server", simulated())
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitFailure || !strings.Contains(string(out), "--listen") {
		t.Errorf("%v, %q", err, out)
	}
}

// serveStubborn starts a hub whose app-server does not end, and waits until that is so: a hub that has started none yet is
// drained at once.
func serveStubborn(t *testing.T, drainTimeout string) *hubProcess {
	t.Helper()
	dir := t.TempDir()
	deaf := filepath.Join(dir, "deaf")
	script := writeScript(t, filepath.Join(dir, "stubborn"), "#!/bin/sh\ntrap '' TERM INT\n: >"+deaf+"\nwhile :; do sleep 1; done\n")
	p := startHub(t, nil, "serve", "--listen", "127.0.0.1:0", "--app-server", script, "--drain-timeout", drainTimeout)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(deaf); err == nil {
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("the app-server was not started:\n%s", p.stderr.String())
		}
	}
}

func TestSecondSignalForcesTheEnd(t *testing.T) {
	p := serveStubborn(t, "50s")
	p.signal(syscall.SIGTERM)
	p.wantNotified("STOPPING=1")
	p.signal(syscall.SIGTERM)
	p.wantExit(exitFailure)
	if !strings.Contains(p.stderr.String(), "second signal") {
		t.Errorf("standard error does not say why:\n%s", p.stderr.String())
	}
}

func TestDrainEndsAfterItsTimeout(t *testing.T) {
	p := serveStubborn(t, "50ms")
	p.signal(syscall.SIGTERM)
	p.wantExit(exitFailure)
	if !strings.Contains(p.stderr.String(), "--drain-timeout") {
		t.Errorf("standard error does not say why:\n%s", p.stderr.String())
	}
}

func TestTokenOfARunningHubIsGoodAtOnce(t *testing.T) {
	p := serveSimulated(t, nil)
	for role, want := range map[string]int{"viewer": http.StatusForbidden, "admin": http.StatusOK} {
		code, token, stderr := p.command("token", "create", "--role", role, "--name", "test")
		if code != exitClean || stderr != "" {
			t.Fatalf("token create: exit code %d, %q", code, stderr)
		}
		if got, body := p.get("/api/status", strings.TrimSpace(token)); got != want {
			t.Errorf("/api/status as %s: got %d %s, want %d", role, got, body, want)
		}
	}
	if code, _, stderr := p.command("token", "create", "--role", "viewer", "--name", ""); code == exitClean || stderr == "" {
		t.Errorf("a token for nobody: exit code %d, %q", code, stderr)
	}
}

func TestWatchdogIsFed(t *testing.T) {
	p := serveSimulated(t, []string{"WATCHDOG_USEC=300000"})
	p.wantNotified("WATCHDOG=1")
	p.wantNotified("WATCHDOG=1")
}

func TestMetricsListenerAnswersWithMetrics(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	p := serveSimulated(t, nil, "--metrics-listen", address)
	p.url = "http://" + address
	if status, body := p.get("/metrics", ""); status != http.StatusOK || !strings.Contains(body, "go_goroutines") {
		t.Errorf("got %d, %.200q", status, body)
	}
}

var demoLink = regexp.MustCompile(`link +(http://127\.0\.0\.1:\d+)/#pair=(\S+)`)

func TestDemoPrintsALinkThatSignsIn(t *testing.T) {
	p := startHub(t, []string{"HUB_APP_SERVER=/nowhere/else"}, "demo", "--listen", "127.0.0.1:0")
	var link []string
	for link == nil {
		line, err := p.stdout.ReadString('\n')
		if err != nil {
			t.Fatalf("no link was printed: %v", err)
		}
		link = demoLink.FindStringSubmatch(line)
	}
	if link[1] != p.url {
		t.Errorf("link to %s, want %s", link[1], p.url)
	}
	for _, want := range []int{http.StatusOK, http.StatusUnauthorized} { // once
		body := fmt.Sprintf(`{"code":%q,"name":"test","bearer":true}`, link[2])
		response, err := http.Post(p.url+"/api/pair", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("pairing by the link's code: got %d, want %d", response.StatusCode, want)
		}
	}
	p.signal(syscall.SIGINT)
	p.wantExit(exitClean)
}
