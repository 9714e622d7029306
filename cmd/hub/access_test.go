package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"zcodehub/auth"
)

// handed is what pairing and renewing answer to clients that keep their own secrets.
type handed struct{ Device, Token, Refresh string }

// post sends a body without any credential.
func (p *hubProcess) post(path, body string) (int, handed, error) {
	response, err := http.Post(p.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, handed{}, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer handed
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode == http.StatusOK {
		err = json.Unmarshal(content, &answer)
	}
	return response.StatusCode, answer, err
}

// run is a command that must succeed.
func (p *hubProcess) run(args ...string) string {
	p.t.Helper()
	code, stdout, stderr := p.command(args...)
	if code != exitClean {
		p.t.Fatalf("hub %q: exit code %d, %q", args, code, stderr)
	}
	return stdout
}

// openPairing is hub pair.
func (p *hubProcess) openPairing(args ...string) openedPairing {
	p.t.Helper()
	var opened openedPairing
	if err := json.Unmarshal([]byte(p.run(append([]string{"pair", "--json"}, args...)...)), &opened); err != nil {
		p.t.Fatal(err)
	}
	return opened
}

func (p *hubProcess) renew(refresh string) (int, handed, error) {
	return p.post("/api/token", fmt.Sprintf(`{"refresh":%q}`, refresh))
}

func (p *hubProcess) dial(query string, header http.Header) (*websocket.Conn, int) {
	p.t.Helper()
	ws, response, err := websocket.Dial(p.t.Context(), p.url+"/ws"+query, &websocket.DialOptions{HTTPHeader: header})
	if err != nil && response == nil {
		p.t.Fatal(err)
	}
	if ws != nil {
		p.t.Cleanup(func() { _ = ws.CloseNow() })
	}
	return ws, response.StatusCode
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// closeCode reads until the connection ends.
func closeCode(ctx context.Context, ws *websocket.Conn) websocket.StatusCode {
	for {
		if _, _, err := ws.Read(ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// wantAlive calls the hub on an open connection and reads up to the answer.
func wantAlive(t *testing.T, ws *websocket.Conn) {
	t.Helper()
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(`{"id":"alive","method":"hub/ping"}`)); err != nil {
		t.Errorf("the connection ended: %v", err)
		return
	}
	for {
		_, frame, err := ws.Read(t.Context())
		if err != nil {
			t.Errorf("the connection ended: %v", err)
			return
		}
		if strings.Contains(string(frame), `"id":"alive"`) {
			return
		}
	}
}

func TestDeviceIsPairedSeenAndRevokedFromTheCommandLine(t *testing.T) {
	p := serveSimulated(t, nil)
	picture := filepath.Join(t.TempDir(), "pair")
	opened := p.openPairing("--name", "my phone", "--role", "approver", "--svg", picture+".svg", "--png", picture+".png")
	if opened.Link != p.url+"/#pair="+opened.Code {
		t.Errorf("link %q, want it to lead to %s", opened.Link, p.url)
	}
	for ending, want := range map[string]string{".svg": "<svg", ".png": "\x89PNG"} {
		content, err := os.ReadFile(picture + ending)
		if err != nil || !strings.Contains(string(content), want) {
			t.Errorf("the picture %s: %v, %.20q", ending, err, content)
		}
	}
	if out := p.run("pair", "list"); !strings.Contains(out, opened.ID) || strings.Contains(out, opened.Code) {
		t.Errorf("pair list: %q", out)
	}
	status, phone, err := p.post("/api/pair", fmt.Sprintf(`{"code":%q,"bearer":true}`, opened.Code))
	if err != nil || status != http.StatusOK {
		t.Fatalf("pairing: %d, %v", status, err)
	}
	ws, _ := p.dial("", bearer(phone.Token))
	if ws == nil {
		t.Fatal("the paired device was not let in")
	}
	if out := p.run("devices", "list"); !strings.Contains(out, "my phone") || !strings.Contains(out, "approver") {
		t.Errorf("devices list: %q", out)
	}
	p.run("devices", "rename", "my phone", "50% phone/tablet")
	p.run("devices", "revoke", "50% phone/tablet")
	told, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if code := closeCode(told, ws); code != 4403 {
		t.Errorf("closed with %d, want 4403", code)
	}
	if _, status := p.dial("", bearer(phone.Token)); status != http.StatusUnauthorized {
		t.Errorf("the revoked device connects again: %d", status)
	}
	if status, _, _ := p.renew(phone.Refresh); status != http.StatusUnauthorized {
		t.Errorf("the revoked device renews itself: %d", status)
	}
	if code, _, stderr := p.command("devices", "revoke", "nobody"); code != exitFailure || !strings.Contains(stderr, "no such device") {
		t.Errorf("revoking nobody: %d, %q", code, stderr)
	}

	guest := p.run("share", "--session", "sess_1", "--ttl", "1h", "--json")
	if !strings.Contains(guest, `"viewer"`) || !strings.Contains(guest, "sess_1") {
		t.Errorf("share: %s", guest)
	}
	p.signal(os.Interrupt)
	p.wantExit(exitClean)
	shown := p.run("audit", "show")
	for _, event := range []string{"hub.started", "pairing.opened", "device.paired", "client.attached", "device.renamed", "device.revoked", "credential.failed", "client.detached", "hub.stopped"} {
		if !strings.Contains(shown, event) {
			t.Errorf("the audit lacks %s:\n%s", event, shown)
		}
	}
	if out := p.run("audit", "verify"); !strings.HasPrefix(out, "whole:") {
		t.Errorf("audit verify: %q", out)
	}
	file := filepath.Join(p.dataDir, "audit", "audit.jsonl")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(content), "device.revoked", "device.rewoken", 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := p.command("audit", "verify"); code != exitFailure || !strings.Contains(out, "was changed") {
		t.Errorf("audit verify of a changed file: %d, %q", code, out)
	}
}

func TestConnectionsOfADeviceAreBounded(t *testing.T) {
	p := serveSimulated(t, nil, "--max-connections", "1")
	token := strings.TrimSpace(p.run("token", "create", "--role", "viewer", "--name", "wall"))
	first, _ := p.dial("", bearer(token))
	if _, _, err := first.Read(t.Context()); err != nil { // hub/hello: it has its place
		t.Fatal(err)
	}
	second, _ := p.dial("", bearer(token))
	if code := closeCode(t.Context(), second); code != 1013 {
		t.Errorf("the second connection closed with %d, want 1013", code)
	}
	wantAlive(t, first)
}

func TestAuditNamesTheToolThatWasAskedAbout(t *testing.T) {
	p := serveSimulated(t, nil)
	appServer := p.wantAppServerReady()
	local := newLocalHub(p.dataDir)
	var made struct {
		Session struct{ SessionID string }
	}
	if err := local.ask("session/create", map[string]any{"workspace": map[string]string{"workspacePath": p.dataDir, "workspaceKey": p.dataDir}}, &made); err != nil {
		t.Fatal(err)
	}
	if err := local.ask("session/send", map[string]string{"sessionId": made.Session.SessionID, "content": "ask"}, new(any)); err != nil {
		t.Fatal(err)
	}
	var tool string
	for deadline := time.Now().Add(patience); tool == "" && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if pending := p.status().Pending; len(pending) > 0 {
			tool = pending[0].ToolName
		}
	}
	if err := syscall.Kill(appServer.Pid, syscall.SIGKILL); err != nil { // that settles it
		t.Fatal(err)
	}
	const want = `kind="permission"  outcome="appServerExited"`
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		shown := p.run("audit", "show", "--event", "interaction.settled")
		if strings.Contains(shown, want) && strings.Contains(shown, fmt.Sprintf("tool=%q", tool)) && tool != "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the audit does not say %s and tool %q:\n%s", want, tool, shown)
		}
	}
}

// promises are what a hub answered before it was killed.
type promises struct {
	mu                    sync.Mutex
	codes, spent, revoked []string // pairing codes, refresh secrets, refresh secrets of revoked devices
	current               []string // refresh secrets that should be good
}

// keepBusy pairs, renews and revokes until the hub is gone, and notes each answer.
func (p *hubProcess) keepBusy(codes []string, said *promises) {
	note := func(list *[]string, secret string) {
		said.mu.Lock()
		defer said.mu.Unlock()
		*list = append(*list, secret)
	}
	for i, code := range codes {
		status, device, err := p.post("/api/pair", fmt.Sprintf(`{"code":%q,"bearer":true}`, code))
		if err != nil || status != http.StatusOK {
			return
		}
		note(&said.codes, code)
		for range 3 {
			status, next, err := p.renew(device.Refresh)
			if err != nil || status != http.StatusOK {
				return // in doubt: it may have been spent
			}
			note(&said.spent, device.Refresh)
			device.Refresh = next.Refresh
		}
		if i%2 == 1 {
			note(&said.current, device.Refresh)
			continue
		}
		if err := newLocalHub(p.dataDir).call(http.MethodPost, devicePath(device.Device, "revoke"), nil, nil); err != nil {
			return
		}
		note(&said.revoked, device.Refresh)
	}
}

func TestKilledHubKeepsItsPromises(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills hubs")
	}
	for range 4 {
		dir := shortDir(t)
		serve := func() *hubProcess {
			return startHubIn(t, dir, nil, "serve", "--listen", "127.0.0.1:0", "--app-server", simulated())
		}
		p := serve()
		var codes []string
		for range 4 {
			codes = append(codes, p.openPairing("--ttl", "1h").Code)
		}
		var said promises
		busy := make(chan struct{})
		go func() {
			defer close(busy)
			p.keepBusy(codes, &said)
		}()
		select { // somewhere in the middle, wherever that is
		case <-time.After(time.Duration(rand.IntN(200)) * time.Millisecond):
		case <-busy:
		}
		p.signal(os.Kill)
		<-busy
		_ = p.cmd.Wait()

		p = serve()
		for _, code := range said.codes {
			if status, _, _ := p.post("/api/pair", fmt.Sprintf(`{"code":%q,"bearer":true}`, code)); status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
				t.Errorf("a spent code after the crash: %d", status)
			}
		}
		for _, list := range [][]string{said.current, said.revoked, said.spent} { // a spent one ends its device, so last
			for _, secret := range list {
				status, _, err := p.renew(secret) // on loopback a good one counts even while bad ones have to wait
				if good := slices.Contains(said.current, secret); err != nil || good != (status == http.StatusOK) {
					t.Errorf("a refresh secret after the crash: %d, %v; should it be good: %v", status, err, good)
				}
			}
		}
		p.signal(os.Kill)
		_ = p.cmd.Wait()
	}
}

// looksSecret finds what the hub mints, whoever it was for: tokens and refresh secrets.
var looksSecret = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+|hub-refresh\.[^ "]+`)

func TestOutputHoldsNoSecret(t *testing.T) {
	shared := "a secret of at least thirty-two bytes, not to be seen"
	p := serveSimulated(t, []string{"HUB_JWT_SECRET=" + shared, "HUB_LOG_LEVEL=debug"})
	token := strings.TrimSpace(p.run("token", "create", "--role", "admin", "--name", "desk"))
	opened := p.openPairing()
	status, phone, err := p.post("/api/pair", fmt.Sprintf(`{"code":%q,"bearer":true}`, opened.Code))
	if err != nil || status != http.StatusOK {
		t.Fatalf("pairing: %d, %v", status, err)
	}
	_, next, err := p.renew(phone.Refresh)
	if err != nil {
		t.Fatal(err)
	}
	_, body := p.do(http.MethodPost, "/api/tickets", next.Token)
	var ticket struct{ Ticket string }
	if err := json.Unmarshal([]byte(body), &ticket); err != nil {
		t.Fatal(err)
	}
	if ws, status := p.dial("?ticket="+ticket.Ticket, nil); ws == nil {
		t.Fatalf("the ticket was refused: %d", status)
	}
	p.dial("?token="+token, nil)
	if status, _ := p.get("/api/status?token="+token, ""); status != http.StatusOK {
		t.Fatalf("a token in the address of /api/status: %d", status)
	}
	p.dial("?ticket="+token, nil)
	p.dial("", bearer(token[:len(token)-2]))
	p.do(http.MethodPost, "/api/login", token)
	p.get("/"+token, token)
	p.renew(phone.Refresh) // reused: the device is revoked

	unused := p.openPairing().Code
	secrets := map[string]string{
		"token": token, "code": opened.Code, "open code": unused, "paired token": phone.Token, "refresh": phone.Refresh, "next refresh": next.Refresh,
		"next token": next.Token, "ticket": ticket.Ticket, "shared secret": shared,
	}
	output := map[string]string{
		"hub config": p.run("config"), "hub devices": p.run("devices", "list", "--all", "--json"), "hub status": p.run("status", "--json"),
		"hub pair list": p.run("pair", "list"),
	}
	_, output["metrics"] = p.get("/metrics", "")
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	output["process list"] = string(line)
	p.signal(os.Interrupt)
	p.wantExit(exitClean)
	output["log"] = p.stderr.String()
	output["hub audit"] = p.run("audit", "show", "--json")
	if !strings.Contains(output["hub audit"], auth.ErrReused.Error()) {
		t.Errorf("the audit does not say that a refresh secret was reused:\n%s", output["hub audit"])
	}
	for where, text := range output {
		for what, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds the %s", where, what)
			}
		}
		if found := looksSecret.FindString(text); found != "" && where != "log" || where == "log" && strings.Contains(found, "hub-refresh") {
			t.Errorf("%s holds what looks like a secret: %.20s…", where, found)
		}
	}
}
