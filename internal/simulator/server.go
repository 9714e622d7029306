package simulator

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// server is one simulated app-server process.
type server struct {
	// Fixed after construction.
	opts Options
	seed uint64
	out  *output
	ctx  context.Context // ends when the process has to stop; its cause says why
	stop context.CancelCauseFunc
	wg   sync.WaitGroup // every goroutine but the reader and the writer

	// mu is the loop, see the package documentation. Taken before output.mu. Everything below is guarded by it.
	mu sync.Mutex

	clock      clock
	ids        ids
	serial     requestQueue
	bypass     requestQueue
	busy       int           // requests and turns under way
	quiet      chan struct{} // if not nil: closed when busy reaches 0
	hung       bool          // the prompt "hang": input is no longer read
	gone       bool          // the client is disconnected: reverse calls fail at once
	calls      map[string]*call
	lastCall   int // N of the latest server-N
	sessions   map[string]*session
	order      []*session // resident sessions, oldest first
	store      *store
	workspaces map[string]*workspace
	generating map[string]*generation
	topics     map[string]*publisher // V4 topics that somebody has subscribed to
	saturated  map[string]bool       // V4 connections that take nothing at present
	indexes    map[string]*index     // by workspace id
	configs    []*workspaceConfig
	keys       map[string]string  // workspace ids by workspace key, of those whose settings were changed
	epochs     int                // log epochs given out
	inboxes    map[string]*inbox  // V4 commands by session; "" is for those that make one
	uploads    map[string]*upload // attachments under way and done, by connection and id
}

func newServer(ctx context.Context, o Options) (*server, error) {
	seed := o.Seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	st, err := openStore(o.StateFile)
	if err != nil {
		return nil, err
	}
	s := &server{
		opts: o, seed: seed, out: newOutput(o.Out),
		clock: newClock(o), ids: newIDs(seed, "process"),
		serial: newRequestQueue(), bypass: newRequestQueue(),
		calls: map[string]*call{}, sessions: map[string]*session{}, store: st,
		workspaces: map[string]*workspace{}, generating: map[string]*generation{},
		indexes: map[string]*index{}, keys: map[string]string{},
		topics: map[string]*publisher{}, saturated: map[string]bool{}, inboxes: map[string]*inbox{}, uploads: map[string]*upload{},
	}
	s.ctx, s.stop = context.WithCancelCause(ctx)
	return s, nil
}

// spawn runs f on a goroutine of its own, with the loop held.
func (s *server) spawn(f func()) {
	s.wg.Go(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		f()
	})
}

// yield gives the loop up while wait runs. What was true before need not be true after.
func (s *server) yield(wait func()) {
	s.mu.Unlock()
	defer s.mu.Lock()
	wait()
}

// work lets the simulated model or tool take d, scaled by the speed, and reports whether ctx is still alive.
func (s *server) work(ctx context.Context, d time.Duration) bool {
	s.clock.advance(d)
	scaled := time.Duration(float64(d) * s.opts.Speed)
	s.yield(func() {
		if s.out.full() {
			s.out.waitRoom()
		}
		sleep(ctx, scaled)
	})
	return ctx.Err() == nil
}

// wait lets d pass on the real clock and reports whether ctx is still alive.
func (s *server) wait(ctx context.Context, d time.Duration) bool {
	s.yield(func() { sleep(ctx, d) })
	return ctx.Err() == nil
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// write puts one message on stdout.
func (s *server) write(v any) { s.out.push(encode(v), false) }

func (s *server) notify(method string, params any) { s.write(notificationMessage{method, params}) }

// ending reports whether the process is going down: then nothing more is said about turns.
func (s *server) ending() bool { return s.gone || s.ctx.Err() != nil }

// begin and end bracket what the process should not exit in the middle of, if it can be quick.
func (s *server) begin() { s.busy++ }

func (s *server) end() {
	s.busy--
	if s.busy == 0 && s.quiet != nil {
		close(s.quiet)
		s.quiet = nil
	}
}
