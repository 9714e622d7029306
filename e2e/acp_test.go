//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// served is a running `hub serve` with the simulated app-server at twenty times its pace.
type served struct {
	t         *testing.T
	cmd       *exec.Cmd
	dir       string
	workspace string
	url       string
}

// serveSimulated starts a hub in dir, again if one ran there before.
func serveSimulated(t *testing.T, dir string) *served {
	t.Helper()
	s := &served{t: t, dir: dir, workspace: filepath.Join(dir, "w")}
	ready := filepath.Join(dir, "ready")
	if err := os.MkdirAll(s.workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	agent := fmt.Sprintf("%s simulate --seed 7 --speed 0.05 --state-file %s", program, filepath.Join(dir, "sessions.json"))
	s.cmd = exec.Command(program, "serve", "--app-server", agent, "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"), "--ready-file", ready)
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.cmd.Stderr = log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	var listens struct{ URL string }
	s.wait("the hub to listen", func() bool {
		content, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(content, &listens) == nil
	})
	s.url = listens.URL
	s.wait("the app-server to be ready", func() bool { status, _, _ := s.get("/readyz"); return status == http.StatusOK })
	return s
}

// shortDir is short because a socket path holds 103 bytes.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hub-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (s *served) wait(what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// stop ends the hub as a service manager does; it may be called again.
func (s *served) stop() {
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	limit := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer limit.Stop()
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("hub serve ended with %v", err)
	}
	log, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		s.t.Error(err)
	}
	if found := secrets.Find(log); found != nil {
		s.t.Errorf("the log holds a secret: %.12s…", found)
	}
	if s.t.Failed() {
		s.t.Logf("standard error of the hub:\n%s", log)
	}
}

func (s *served) token(role string) string {
	s.t.Helper()
	out, err := exec.Command(program, "token", "create", "--role", role, "--name", role, "--data-dir", filepath.Join(s.dir, "data")).Output()
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (s *served) get(path string) (int, http.Header, string) {
	return s.send(http.MethodGet, path, nil)
}

func (s *served) send(method, path string, header http.Header) (int, http.Header, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = header
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(body)
}

// node runs the script of the SDK's clients in e2e/acp and shows what it says.
func node(t *testing.T, environ []string, args ...string) {
	t.Helper()
	if _, err := os.Stat("acp/node_modules"); errors.Is(err, fs.ErrNotExist) {
		install := exec.Command("npm", "ci", "--no-audit", "--no-fund")
		install.Dir = "acp"
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("npm ci: %v\n%s", err, out)
		}
	}
	script := exec.Command("node", append([]string{"run.mjs"}, args...)...)
	script.Dir, script.Env = "acp", append(os.Environ(), environ...)
	out, err := script.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("node run.mjs %s: %v", args[0], err)
	}
}

func TestTheCheckerOfFramesSeesWhatBreaksClients(t *testing.T) { node(t, nil, "checker") }

func TestGoldenTranscriptsAreValidForTheSDKAndTheSchema(t *testing.T) {
	node(t, nil, "golden", "../../web/acp/testdata/golden")
}

func TestACPClientsOfTheSDKAndTheRemoteClientOverWebSocket(t *testing.T) {
	s := serveSimulated(t, shortDir(t))
	node(t, []string{"WORKSPACE=" + s.workspace}, "ws", s.url, s.token("operator"), s.token("viewer"))
}

func TestACPClientsOfTheSDKOverStandardInputAndOutput(t *testing.T) {
	s := serveSimulated(t, shortDir(t))
	node(t, []string{"WORKSPACE=" + s.workspace}, "stdio", program, "acp", "--data-dir", filepath.Join(s.dir, "data"))
}

// What the remote client needs of HTTP, from the real program: refusals of the socket that it can read, an instance that
// stays, files by a link, and nothing of the hub's own.
func TestRemoteClientFindsTheInstanceAndItsFiles(t *testing.T) {
	dir := shortDir(t)
	s := serveSimulated(t, dir)
	token := s.token("operator")
	upgrade := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}}
	for query, want := range map[string]int{"?token=bad": 401, "": 401, "?instance=other&token=" + token: 404} {
		if status, header, _ := s.send("GET", "/acp"+query, upgrade.Clone()); status != want || header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("an upgrade with %.20s: %d %v, want %d", query, status, header, want)
		}
	}
	for _, path := range []string{"/api/instances", "/acp", "/anything"} {
		if status, header, _ := s.send("OPTIONS", path, http.Header{"Origin": {"https://app.example.org"}}); status != 204 || header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("OPTIONS %s: %d %v", path, status, header)
		}
	}

	node(t, []string{"WORKSPACE=" + s.workspace, "ONLY=one turn"}, "ws", s.url, token)
	instance := func(s *served) (id, session string) {
		t.Helper()
		var list []struct {
			ID       string
			Sessions []struct{ SessionID string }
		}
		_, _, body := s.get("/api/instances?probe=1&token=" + token)
		if err := json.Unmarshal([]byte(body), &list); err != nil || len(list) != 1 || len(list[0].Sessions) != 1 {
			t.Fatalf("instances: %s", body)
		}
		return list[0].ID, list[0].Sessions[0].SessionID
	}
	id, session := instance(s)
	if err := os.WriteFile(filepath.Join(s.workspace, "note.txt"), []byte("a note"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "data", "devices.db"), filepath.Join(s.workspace, "link")); err != nil {
		t.Fatal(err)
	}
	file := func(path string) string {
		return "/api/instances/" + url.PathEscape(id) + "/fs/file?sessionId=" + session + "&path=" + url.QueryEscape(path) + "&token=" + token
	}
	for path, want := range map[string]int{"note.txt": 200, "none": 404, "link": 403, "../data/devices.db": 403, "/etc/hostname": 403} {
		if status, _, body := s.get(file(path)); status != want || status == 200 && body != "a note" {
			t.Errorf("%s: %d %.100q, want %d", path, status, body, want)
		}
	}

	s.stop()
	again, same := instance(serveSimulated(t, dir))
	if again != id || same != session {
		t.Errorf("after a restart the instance is %s with %s, before %s with %s", again, same, id, session)
	}
}
