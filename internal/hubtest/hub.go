package hubtest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"zcodehub/hub"
)

// An AppServer is one of this package's: a Simulator, a Script or a Mortal.
type AppServer interface{ environ() []string }

// Hub is a running hub and its clients. It ends with the test.
type Hub struct {
	*hub.Hub
	Log *Log
	t   *testing.T

	mu      sync.Mutex
	clients []*Client
	stop    func()
}

// Start runs a hub with the given app-server. In options only what differs from
// the default has to be set.
func Start(t *testing.T, server AppServer, options ...func(*hub.Options)) *Hub {
	t.Helper()
	h := &Hub{t: t, Log: &Log{}}
	o := hub.Options{
		AppServer: []string{os.Args[0]}, Env: server.environ(),
		InstanceID: "hub-test", InstanceName: "test", Version: "0.0.0-test",
		RateLimit: 1e6, RateBurst: 1e6, // tests are faster than people
		Log: slog.New(slog.NewTextHandler(h.Log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, set := range options {
		set(&o)
	}
	var err error
	if h.Hub, err = hub.New(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run ended with %v", err)
			}
		case <-time.After(Patience):
			t.Error("Run does not end")
		}
		for _, c := range h.Clients() {
			c.Leave()
		}
	})
	t.Cleanup(func() {
		h.stop()
		if t.Failed() {
			t.Logf("the hub's log:\n%s", h.Log.Tail())
		}
	})
	return h
}

// Stop ends the hub and returns when Run has, and all clients have left.
func (h *Hub) Stop() { h.stop() }

// Clients returns all that ever attached.
func (h *Hub) Clients() []*Client {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clients[:len(h.clients):len(h.clients)]
}

// WantReady waits until the app-server answers.
func (h *Hub) WantReady() {
	h.t.Helper()
	h.WantState("ready", 0)
}

// WantState waits until the app-server is in a state, of at least a generation.
func (h *Hub) WantState(state string, generation int) hub.AppServerStatus {
	h.t.Helper()
	var st hub.AppServerStatus
	Want(h.t, fmt.Sprintf("state %s of generation %d", state, generation), func() bool {
		st = h.Status().AppServer
		return st.State == state && st.Generation >= generation
	})
	return st
}

// Kill ends the app-server with a signal that it cannot catch.
func (h *Hub) Kill() {
	h.t.Helper()
	pid := h.Status().AppServer.Pid
	if pid == 0 {
		h.t.Fatal("there is no app-server to kill")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
}

// Want waits until a condition holds that nothing announces.
func Want(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// Log keeps what the hub logged.
type Log struct {
	mu   sync.Mutex
	text []byte
}

// Write adds to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

// Contains tells whether the log says something.
func (l *Log) Contains(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.text, []byte(text))
}

// Tail is the end of the log.
func (l *Log) Tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text[max(0, len(l.text)-6000):])
}
