package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"zcodehub/session"
)

// A terminalHub is a hub with one session, and what people do with it in terminals.
type terminalHub struct {
	*hubProcess
	sessionID string
}

func startTerminalHub(t *testing.T) *terminalHub {
	t.Helper()
	p := startHub(t, nil, "serve", "--app-server", simulated(), "--listen", "127.0.0.1:0")
	h := &terminalHub{hubProcess: p}
	client := h.dial()
	defer client.close()
	var made struct{ Session struct{ SessionID string } }
	h.must(client.call(t.Context(), "session/create", map[string]any{"workspace": map[string]string{"workspacePath": "/tmp/x", "workspaceKey": "x"}}, &made))
	h.sessionID = made.Session.SessionID
	return h
}

func (h *terminalHub) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *terminalHub) dial() *native {
	h.t.Helper()
	client, err := (&reach{}).dialNative(h.t.Context(), &config{DataDir: h.dataDir})
	h.must(err)
	return client
}

// run is command that must succeed.
func (h *terminalHub) run(args ...string) string {
	h.t.Helper()
	code, stdout, stderr := h.command(args...)
	if code != exitClean {
		h.t.Fatalf("hub %q: exit code %d, %q, %q", args, code, stdout, stderr)
	}
	return stdout
}

// pending waits until so many questions are open.
func (h *terminalHub) pending(n int) []question {
	h.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var open []question
		h.must(json.Unmarshal([]byte(h.run("pending", "--json")), &open))
		if len(open) == n {
			return open
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("%d questions are open, want %d", len(open), n)
		}
	}
}

// said is all text of the session's messages.
func (h *terminalHub) said() string {
	h.t.Helper()
	client := h.dial()
	defer client.close()
	var messages json.RawMessage
	h.must(client.call(h.t.Context(), "session/messages", map[string]any{"sessionId": h.sessionID}, &messages))
	return string(messages)
}

// wantSaid waits for a text in the session's messages.
func (h *terminalHub) wantSaid(text string) {
	h.t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(h.said(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("%q never came into the session:\n%s", text, h.said())
		}
	}
}

func TestDenialInTheTerminalReachesTheAgentWithItsReason(t *testing.T) {
	h := startTerminalHub(t)
	h.run("send", h.sessionID, "ask")
	q := h.pending(1)[0]
	if list := h.run("pending"); !strings.Contains(list, q.shortID()) || !strings.Contains(list, "echo hi") {
		t.Errorf("pending shows %q", list)
	}
	h.run("deny", q.shortID(), "--why", "use the staging database")
	h.wantSaid("use the staging database")
	if code, _, stderr := h.command("deny", q.shortID()); code != exitFailure || !strings.Contains(stderr, "no open question") {
		t.Errorf("a question that is settled: exit code %d, %q", code, stderr)
	}
}

func TestAllowTakesTheOptionThatWasNamed(t *testing.T) {
	h := startTerminalHub(t)
	h.run("send", h.sessionID, "ask")
	q := h.pending(1)[0]
	if code, _, stderr := h.command("allow", q.shortID(), "--option", "for_ever"); code != exitFailure || !strings.Contains(stderr, "allow_project") {
		t.Errorf("an option that is not offered: exit code %d, %q", code, stderr)
	}
	h.run("allow", q.RequestID, "--option", "allow_project")
	client := h.dial()
	defer client.close()
	h.wantOutcome(client, session.OutcomeAllowAlways)
}

// wantOutcome waits for the settlement of the session's only question.
func (h *terminalHub) wantOutcome(client *native, outcome string) {
	h.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var list struct{ Settled []session.Settlement }
		h.must(client.call(h.t.Context(), "hub/pendingInteractions", map[string]any{"sessionId": h.sessionID}, &list))
		if len(list.Settled) == 1 {
			if got := list.Settled[0]; got.Outcome != outcome || got.By.Name != "local" {
				h.t.Errorf("settled as %s by %s, want %s by local", got.Outcome, got.By.Name, outcome)
			}
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatal("the question was never settled")
		}
	}
}

func TestWhoeverIsLateInTheTerminalIsToldWhoWasFaster(t *testing.T) {
	h := startTerminalHub(t)
	h.run("send", h.sessionID, "ask")
	q := h.pending(1)[0]
	yes, err := q.approval("", nil)
	h.must(err)
	const rivals = 4
	fates := make(chan error, rivals) // one send for each, never closed
	for range rivals {
		client := h.dial()
		defer client.close()
		go func() {
			f, err := client.answer(t.Context(), &q, yes)
			if err == nil {
				err = f.err(time.Now())
			}
			fates <- err
		}()
	}
	taken := 0
	for range rivals {
		if err := <-fates; err == nil {
			taken++
		} else if !strings.Contains(err.Error(), "local was faster") {
			t.Errorf("a late answer got %v", err)
		}
	}
	if taken != 1 {
		t.Errorf("%d answers were taken, want 1", taken)
	}
}

func TestQuestionsAndPlansAreAnsweredInWords(t *testing.T) {
	h := startTerminalHub(t)
	h.run("send", h.sessionID, "question")
	q := h.pending(1)[0]
	if code, _, stderr := h.command("allow", q.shortID()); code != exitFailure || !strings.Contains(stderr, "--answer") {
		t.Errorf("no answer to a question: exit code %d, %q", code, stderr)
	}
	h.run("allow", q.shortID(), "--answer", "Blue", "--answer", "Tests")
	h.wantSaid("Blue")
	h.run("send", h.sessionID, "plan")
	h.run("deny", h.pending(1)[0].shortID(), "--why", "smaller steps please")
	h.wantSaid("smaller steps please")
}

func TestSendWaitEndsWithItsOwnTurn(t *testing.T) {
	h := startTerminalHub(t)
	h.run("send", h.sessionID, "ask") // a turn that waits: what is sent now is queued behind it
	q := h.pending(1)[0]
	watcher := h.dial()
	defer watcher.close()
	h.must(watcher.call(t.Context(), "session/subscribe", map[string]any{"sessionId": h.sessionID}, nil))
	done := make(chan string, 1) // one send, never closed
	go func() {
		code, shown, stderr := h.command("send", h.sessionID, "Reply with exactly: second", "--wait")
		done <- fmt.Sprintf("%s%s(exit code %d)", shown, stderr, code)
	}()
	for queued := false; !queued; {
		m, ok := <-watcher.incoming
		if !ok {
			t.Fatal(watcher.err)
		}
		e, isEvent := eventOf(m)
		queued = isEvent && e.Type == "turn.steerQueued"
	}
	h.run("allow", q.shortID())
	if shown := <-done; !strings.Contains(shown, "> Reply with exactly: second") || !strings.Contains(shown, "second\n- done") || !strings.HasSuffix(shown, "(exit code 0)") {
		t.Errorf("send --wait showed %q", shown)
	}
	if code, shown, stderr := h.command("send", h.sessionID, "fail", "--wait"); code != exitFailure || !strings.Contains(shown, "failed") {
		t.Errorf("a turn that failed: exit code %d, %q, %q", code, shown, stderr)
	}
}

func TestStopInTheTerminalEndsTheTurn(t *testing.T) {
	h := startTerminalHub(t)
	h.run("send", h.sessionID, "ask")
	h.pending(1)
	h.run("stop", "last")
	h.pending(0)
}

// lockedBuffer is written by one goroutine and read by another.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// watching is a `hub watch` inside the test's process.
type watching struct {
	h     *terminalHub
	out   *lockedBuffer
	keys  chan rune
	dials chan *native // every connection that it makes
	ended chan error
}

func (h *terminalHub) watch() *watching {
	w := &watching{h: h, out: &lockedBuffer{}, keys: make(chan rune), dials: make(chan *native, 16), ended: make(chan error, 1)}
	dial := func(ctx context.Context) (*native, error) {
		client, err := (&reach{}).dialNative(ctx, &config{DataDir: h.dataDir})
		if err == nil {
			w.dials <- client
		}
		return client, err
	}
	go func() {
		w.ended <- (&watch{view: newView(w.out, false), dial: dial}).run(h.t.Context(), h.sessionID, w.keys)
	}()
	return w
}

func (w *watching) want(text string) {
	w.h.t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(w.out.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.h.t.Fatalf("%q was never shown:\n%s", text, w.out.String())
		}
	}
}

func TestWatchRingsAndAKeyAnswers(t *testing.T) {
	h := startTerminalHub(t)
	w := h.watch()
	w.want("following " + h.sessionID)
	h.run("send", h.sessionID, "ask")
	w.want("\a? ask-1 Bash wants to run")
	w.want("[y] allow once")
	for deadline := time.Now().Add(patience); !strings.Contains(w.out.String(), "= allow by local"); time.Sleep(10 * time.Millisecond) {
		select { // again and again: a key counts only when the question has been there for a moment
		case w.keys <- 'y':
		case <-time.After(time.Second):
		}
		if time.Now().After(deadline) {
			t.Fatalf("the key answered nothing:\n%s", w.out.String())
		}
	}
	w.want("- done")
	w.keys <- 'q'
	if err := <-w.ended; err != nil {
		t.Errorf("the key that quits ended with %v", err)
	}
}

func TestKeyThatWasMeantForSomethingElseAnswersNothing(t *testing.T) {
	w := &watch{open: []asking{{question: question{ID: "ask-1-x"}, shown: time.Now().Add(patience), keys: []key{{char: 'y'}}}}}
	if err := w.press(t.Context(), 'y'); err != nil { // without a connection: an answer would panic
		t.Error(err)
	}
}

func TestWatchGoesOnWhereItsConnectionWasLost(t *testing.T) {
	h := startTerminalHub(t)
	w := h.watch()
	w.want("following")
	h.run("send", h.sessionID, "Reply with exactly: first", "--wait")
	w.want("first\n- done")
	_ = (<-w.dials).ws.CloseNow()
	h.run("send", h.sessionID, "Reply with exactly: second", "--wait")
	h.run("send", h.sessionID, "Reply with exactly: third", "--wait")
	w.want("third\n- done")
	shown := w.out.String()
	for _, once := range []string{"> Reply with exactly: first", "> Reply with exactly: second", "> Reply with exactly: third", "connected again"} {
		if strings.Count(shown, once) != 1 {
			t.Errorf("%q was shown %d times, want once:\n%s", once, strings.Count(shown, once), shown)
		}
	}
	w.keys <- 'q'
	<-w.ended
}

func TestWatchAsJSONPrintsNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var shown bytes.Buffer
		tries := 0
		w := &watch{view: newView(&shown, true), sessionID: "sess_1", dial: func(context.Context) (*native, error) {
			if tries++; tries == 5 {
				cancel()
			}
			return nil, errNotRunning
		}}
		if err := w.run(ctx, "sess_1", nil); err != nil || tries != 5 || shown.Len() > 0 {
			t.Errorf("after %d tries: %v, %q", tries, err, shown.String())
		}
	})
}

func TestWatchOfARevokedDeviceEnds(t *testing.T) {
	h := startTerminalHub(t)
	token := strings.TrimSpace(h.run("token", "create", "--role", "viewer", "--name", "wall"))
	ended := make(chan string, 1) // one send, never closed
	var shown lockedBuffer
	cmd := hubCommand("watch", h.sessionID, "--url", h.url, "--token", "@"+writeFile(t, "token", token, 0o600), "--data-dir", h.dataDir)
	cmd.Stdout = &shown
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	h.must(cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	go func() { _ = cmd.Wait(); ended <- stderr.String() }()
	for deadline := time.Now().Add(patience); !strings.Contains(shown.String(), "following"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the viewer never got in")
		}
	}
	h.run("devices", "revoke", "wall")
	if said := <-ended; !strings.Contains(said, "4403") {
		t.Errorf("it ended with %q", said)
	}
}

func TestSessionsAreFoundByAPieceOfTheirID(t *testing.T) {
	sessions := []sessionInfo{{SessionID: "sess_1a", UpdatedAt: 1}, {SessionID: "sess_1b", UpdatedAt: 3}, {SessionID: "sess_1", UpdatedAt: 2}}
	for typed, want := range map[string]string{"sess_1": "sess_1", "sess_1a": "sess_1a", "last": "sess_1b", "sess_9": "sess_9", "": ""} {
		if got, err := pickSession(sessions, typed); got != want || err != nil {
			t.Errorf("%q: got %q, %v; want %q", typed, got, err, want)
		}
	}
	if got, err := pickSession(sessions[:2], "sess_"); err == nil {
		t.Errorf("a piece that fits two: got %q", got)
	}
	if _, err := pickSession(nil, "last"); err == nil {
		t.Error("the last of no sessions was found")
	}
}

func TestNothingOfTheAgentMovesTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[31mred\x1b[0m":                          "red",
		"\x1b]0;title\x07x":                           "x",
		"\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\": "link",
		"\u009b2Jx":                                   "x",
		"a\rb":                                        "ab",
		"a\bb\x00":                                    "a\ufffdb\ufffd",
		"abc\u202edef":                                "abc\ufffddef",
		"tab\tand\nline":                              "tab\tand\nline",
		"\xffbroken":                                  "\ufffdbroken",
		"\x1bPdevice\x1b\\":                           "\ufffdPdevice\ufffd\\",
	} {
		if got := plain(text); got != want {
			t.Errorf("plain(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzNothingOfTheAgentMovesTheTerminal(f *testing.F) {
	f.Add("\x1b[31mred\u202e\u009b")
	f.Fuzz(func(t *testing.T, s string) {
		got := plain(s)
		for _, r := range got {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Fatalf("plain(%q) = %q has %U", s, got, r)
			}
		}
		if !utf8.ValidString(got) {
			t.Fatalf("plain(%q) = %q is no UTF-8", s, got)
		}
	})
}

func TestRawTerminalEndsLinesInFull(t *testing.T) {
	var out bytes.Buffer
	if n, err := (crlf{&out}).Write([]byte("a\nb\n\nc")); n != 6 || err != nil || out.String() != "a\r\nb\r\n\r\nc" {
		t.Errorf("got %q, %d, %v", out.String(), n, err)
	}
}

// attached is a `hub attach --stdio` as the program that started it sees it.
type attached struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan string // closed at the end of its output
	exit  chan error
	err   *bytes.Buffer
}

func (h *terminalHub) attach() *attached {
	h.t.Helper()
	cmd := hubCommand("attach", "--stdio", "--data-dir", h.dataDir)
	in, err := cmd.StdinPipe()
	h.must(err)
	out, err := cmd.StdoutPipe()
	h.must(err)
	a := &attached{t: h.t, in: in, lines: make(chan string, 4096), exit: make(chan error, 1), err: &bytes.Buffer{}}
	cmd.Stderr = a.err
	h.must(cmd.Start())
	h.t.Cleanup(func() { _ = cmd.Process.Kill() })
	go func() {
		defer close(a.lines)
		for d := json.NewDecoder(out); ; {
			var line json.RawMessage
			if d.Decode(&line) != nil {
				a.exit <- cmd.Wait()
				return
			}
			a.lines <- string(line)
		}
	}()
	return a
}

func (a *attached) say(line string) {
	a.t.Helper()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.t.Fatal(err)
	}
}

// until reads lines up to one with this text.
func (a *attached) until(text string) (read []string) {
	a.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line, ok := <-a.lines:
			if !ok {
				a.t.Fatalf("the output ended before %q came: %q", text, a.err.String())
			}
			read = append(read, line)
			if strings.Contains(line, text) {
				return read
			}
		case <-timeout:
			a.t.Fatalf("%q never came; last: %.500q", text, read[max(0, len(read)-3):])
		}
	}
}

func TestAttachedProgramSeesAnAppServerAndNoHub(t *testing.T) {
	h := startTerminalHub(t)
	a := h.attach()
	lines := a.until(`"ready"`)
	a.say(fmt.Sprintf(`{"id":"s","method":"session/subscribe","params":{"sessionId":%q,"deliveryKind":"desktop-continuous"}}`, h.sessionID))
	lines = append(lines, a.until(`"id":"s"`)...)
	a.say(fmt.Sprintf(`{"id":7,"method":"session/send","params":{"sessionId":%q,"content":"ask"}}`, h.sessionID))
	lines = append(lines, a.until(`interaction/requestPermission`)...)
	var asked message
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &asked); err != nil {
		t.Fatal(err)
	}
	a.say(fmt.Sprintf(`{"id":%s,"result":{"decision":"allow","reason":"Approved once"}}`, asked.ID))
	lines = append(lines, a.until(`turn.completed`)...)
	for _, line := range lines {
		for _, hubOnly := range []string{`"hub/`, `"fromSeq"`, `"floorSeq"`, `"resumed"`, `"jsonrpc"`} {
			if strings.Contains(line, hubOnly) {
				t.Errorf("the program was shown %s: %.300s", hubOnly, line)
			}
		}
	}
	a.say(`{"id":8,"method":"session/list","params":{}}`)
	_ = a.in.Close() // the reply still comes
	a.until(`"id":8`)
	if err := <-a.exit; err != nil {
		t.Errorf("after its input ended: %v, %q", err, a.err.String())
	}
}

func TestAttachEndsAsTheAppServerDoes(t *testing.T) {
	h := startTerminalHub(t)
	a := h.attach()
	a.until(`"ready"`)
	client := h.dial()
	defer client.close()
	h.must(client.call(t.Context(), "hub/restartAppServer", map[string]any{}, nil))
	err := <-a.exit
	if err == nil || !strings.Contains(a.err.String(), "the app-server ended") {
		t.Errorf("ended with %v, %q", err, a.err.String())
	}
}

func TestTerminalCommandsSayWhyTheyCannot(t *testing.T) {
	dataDir := shortDir(t)
	for _, c := range []struct {
		args []string
		say  string
	}{
		{[]string{"pending"}, "no hub runs"},
		{[]string{"allow", "ask-1"}, "no hub runs"},
		{[]string{"watch"}, "no hub runs"},
		{[]string{"send", "last", "x"}, "no hub runs"},
		{[]string{"attach", "--stdio"}, "no hub runs"},
		{[]string{"pending", "--token", "x"}, "--url"},
		{[]string{"pending", "--url", "hub.example.org"}, "http"},
		{[]string{"pending", "--url", "http://127.0.0.1:1", "--token", "@/nowhere"}, "/nowhere"},
	} {
		if code, _, stderr := runHub(t, "", nil, append(c.args, "--data-dir", dataDir)...); code != exitFailure || !strings.Contains(stderr, c.say) {
			t.Errorf("hub %q: exit code %d, %q, want %q", c.args, code, stderr, c.say)
		}
	}
	if code, _, stderr := runHub(t, "", nil, "attach", "--data-dir", dataDir); code != exitUsage || !strings.Contains(stderr, "--stdio") {
		t.Errorf("attach without --stdio: %d, %q", code, stderr)
	}
	h := startTerminalHub(t)
	if code, _, stderr := h.command("pending", "--url", h.url, "--token", "wrong"); code != exitFailure || !strings.Contains(stderr, "refused") || strings.Contains(stderr, "wrong") {
		t.Errorf("a bad token: %d, %q", code, stderr)
	}
}

func TestOnlyAClosedDoorEndsTheWatching(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{{errors.New("reset"), true}, {fmt.Errorf("x: %w", errNotRunning), true}, {fmt.Errorf("%w: no", errRefused), false}} {
		if got := comeAgain(c.err); got != c.want {
			t.Errorf("%v: come again is %v", c.err, got)
		}
	}
}
