package hubtest

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zcodehub/internal/wire"
)

// Script is an app-server whose every line comes from the test.
type Script struct {
	t        *testing.T
	role     role
	listener *net.UnixListener

	mu      sync.Mutex
	answers map[string]func(Line) string // by method, see Answer
}

// NewScript prepares one. Each generation that the hub starts appears at Next.
func NewScript(t *testing.T) *Script {
	t.Helper()
	dir, err := os.MkdirTemp("", "hubtest-") // shorter than t.TempDir(): a socket path holds 103 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &Script{t: t, role: role{Socket: path}, listener: l, answers: map[string]func(Line) string{}}
	s.Answer("runtime/capabilities", func(Line) string { return `{"independentPlanState":true}` })
	s.Answer("session/subscribe", func(l Line) string {
		return fmt.Sprintf(`{"sessionId":%q,"eventSeq":0,"events":[]}`, l.SessionID)
	})
	return s
}

func (s *Script) environ() []string { return s.role.environ() }

// Answer has every request of a method answered at once with the result that f
// makes; a nil f leaves them to the test.
func (s *Script) Answer(method string, f func(Line) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[method] = f
}

func (s *Script) answerTo(l Line) (f func(Line) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[l.Method]
}

// Next waits for the next generation.
func (s *Script) Next() *Process {
	s.t.Helper()
	_ = s.listener.SetDeadline(time.Now().Add(Patience))
	conn, err := s.listener.Accept()
	if err != nil {
		s.t.Fatalf("no app-server was started: %v", err)
	}
	p := &Process{script: s, conn: conn, changed: make(chan struct{}), ended: make(chan struct{})}
	go p.read()
	s.t.Cleanup(func() { conn.Close(); p.Resume(); <-p.ended })
	return p
}

// Process is one scripted app-server. Its methods are for the test's goroutine.
type Process struct {
	script *Script
	conn   net.Conn
	ended  chan struct{} // the hub closed its stdin, or it is gone

	writing sync.Mutex // one order at a time

	mu      sync.Mutex
	lines   []Line
	changed chan struct{} // closed and replaced with every line
	deaf    chan struct{} // when set, no line is read until it is closed
}

// Line is one line that the hub wrote.
type Line struct {
	Text      string
	Kind      wire.Kind
	ID        string // raw
	Method    string
	SessionID string
	Params    string
	Result    string
	Error     string
}

func (p *Process) read() {
	defer close(p.ended)
	r := wire.NewReader(p.conn, wire.DefaultMaxLine)
	for {
		p.waitUntilListening()
		text, err := r.Next()
		if err != nil {
			return
		}
		l := parseLine(text)
		p.mu.Lock()
		p.lines = append(p.lines, l)
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
		if f := p.script.answerTo(l); f != nil && l.Kind == wire.Request {
			p.Reply(l, f(l))
		}
	}
}

func parseLine(text []byte) Line {
	var e wire.Envelope
	l := Line{Text: string(text)}
	if wire.ParseEnvelope([]byte(l.Text), &e) != nil {
		return l
	}
	l.Kind, l.ID, l.Method, l.SessionID = e.Kind, string(e.ID), string(e.Method), string(e.SessionID)
	l.Params, l.Result, l.Error = string(e.Params), string(e.Result), string(e.Error)
	return l
}

func (p *Process) waitUntilListening() {
	p.mu.Lock()
	deaf := p.deaf
	p.mu.Unlock()
	if deaf != nil {
		<-deaf
	}
}

// Deafen stops reading what the hub writes: after some hundred kilobytes in
// pipes and sockets nothing more goes in. One line more may still be read.
func (p *Process) Deafen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deaf == nil {
		p.deaf = make(chan struct{})
	}
}

// Resume reads again.
func (p *Process) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deaf != nil {
		close(p.deaf)
		p.deaf = nil
	}
}

// Print writes lines to stdout, all in one write.
func (p *Process) Print(lines ...string) {
	p.order(orderStdout, strings.Join(lines, "\n")+"\n")
}

// Stderr writes to stderr.
func (p *Process) Stderr(text string) { p.order(orderStderr, text) }

// Exit ends the process with a code.
func (p *Process) Exit(code byte) { p.order(orderExit, string([]byte{code})) }

// order sends one order. That the process is gone is for the test to notice.
func (p *Process) order(what byte, text string) {
	p.writing.Lock()
	defer p.writing.Unlock()
	head := binary.BigEndian.AppendUint32([]byte{what}, uint32(len(text)))
	if _, err := p.conn.Write(head); err == nil {
		_, _ = p.conn.Write([]byte(text))
	}
}

// Reply answers a request of the hub's.
func (p *Process) Reply(to Line, result string) {
	p.Print(`{"id":` + to.ID + `,"result":` + result + `}`)
}

// ReplyError answers a request of the hub's with an error object.
func (p *Process) ReplyError(to Line, err string) {
	p.Print(`{"id":` + to.ID + `,"error":` + err + `}`)
}

// Lines returns what the hub wrote so far.
func (p *Process) Lines() []Line {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines[:len(p.lines):len(p.lines)]
}

// Count tells how many requests of a method the hub wrote so far.
func (p *Process) Count(method string) (n int) {
	for _, l := range p.Lines() {
		if l.Method == method {
			n++
		}
	}
	return n
}

// Want waits for the first line that fits.
func (p *Process) Want(what string, fits func(Line) bool) Line {
	p.script.t.Helper()
	timeout := time.NewTimer(Patience)
	defer timeout.Stop()
	for seen := 0; ; {
		p.mu.Lock()
		fresh, changed := p.lines[seen:], p.changed
		p.mu.Unlock()
		for _, l := range fresh {
			if fits(l) {
				return l
			}
		}
		seen += len(fresh)
		select {
		case <-changed:
		case <-timeout.C:
			p.script.t.Fatalf("the app-server did not get %s; it got %d lines, the last: %.300q", what, seen, lastOf(p.Lines()))
		}
	}
}

func lastOf(lines []Line) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1].Text
}

// WantRequest waits for the nth request of a method, counted from 1.
func (p *Process) WantRequest(method string, nth int) Line {
	p.script.t.Helper()
	return p.Want(fmt.Sprintf("request %d of %s", nth, method), func(l Line) bool {
		if l.Method == method {
			nth--
		}
		return l.Method == method && nth == 0
	})
}

// WantAnswer waits for the answer to a request that the test printed under this
// raw id.
func (p *Process) WantAnswer(id string) Line {
	p.script.t.Helper()
	return p.Want("an answer to "+id, func(l Line) bool { return l.Method == "" && l.ID == id })
}

// Answers returns all that the hub has answered to this raw id so far.
func (p *Process) Answers(id string) (all []Line) {
	for _, l := range p.Lines() {
		if l.Method == "" && l.ID == id {
			all = append(all, l)
		}
	}
	return all
}

// WantGone waits until the process ended or the hub closed its stdin.
func (p *Process) WantGone() {
	p.script.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(Patience):
		p.script.t.Fatal("the app-server was not ended")
	}
}
