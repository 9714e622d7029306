package child

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"zcodehub/internal/wire"
)

// output collects what a child prints.
type output struct {
	mu    sync.Mutex
	lines []string
	bad   []error
	news  chan struct{} // one slot: something was added
}

func (o *output) add(line []byte, _ bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, string(line))
	o.tell()
}

func (o *output) addBad(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bad = append(o.bad, err)
	o.tell()
}

func (o *output) tell() {
	select {
	case o.news <- struct{}{}:
	default:
	}
}

func (o *output) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.lines)
}

// wait returns the lines once there are n.
func (o *output) wait(t *testing.T, n int) []string {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		if lines := o.all(); len(lines) >= n {
			return lines
		}
		select {
		case <-o.news:
		case <-limit:
			t.Fatalf("the child printed %d lines, want %d", len(o.all()), n)
		}
	}
}

// spec runs a role. The graces are long: who is to be reached by a signal is
// started in haste.
func spec(role string) (Spec, *output) {
	out := &output{news: make(chan struct{}, 1)}
	return Spec{
		Command:    []string{os.Args[0]},
		Env:        roleEnv(role),
		CloseGrace: 20 * time.Second,
		TermGrace:  20 * time.Second,
		OnLine:     out.add,
		OnBadLine:  out.addBad,
	}, out
}

func inHaste(s Spec) Spec {
	s.CloseGrace, s.TermGrace = 50*time.Millisecond, 50*time.Millisecond
	return s
}

func start(t *testing.T, s Spec) *Process {
	t.Helper()
	p, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// run lets a role come to its own end.
func run(t *testing.T, role string) (Exit, *output) {
	t.Helper()
	s, out := spec(role)
	return wait(t, start(t, s)), out
}

func wait(t *testing.T, p *Process) Exit {
	t.Helper()
	select {
	case <-p.Done():
		return p.Exit()
	case <-time.After(time.Minute):
		t.Fatal("Done is not closed after a minute")
		panic("unreachable")
	}
}

func TestLinesGoBothWays(t *testing.T) {
	s, out := spec("echo")
	p := start(t, s)
	written := make(chan error, 3)
	for _, line := range []string{`{"id":1}`, "\u2028", "c"} {
		if err := p.Send([]byte(line), func(err error) { written <- err }); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if err := <-written; err != nil {
			t.Errorf("written(%v)", err)
		}
	}
	if got, want := out.wait(t, 3), []string{`{"id":1}`, "\u2028", "c"}; !slices.Equal(got, want) {
		t.Errorf("the child echoed %q, want %q", got, want)
	}
	if err := p.Send([]byte("two\nlines"), nil); err != ErrNotLine {
		t.Errorf("Send of two lines: %v, want ErrNotLine", err)
	}
	p.Stop()
	if exit := p.Exit(); exit.Code != 0 || exit.Signal != 0 || exit.Err != nil {
		t.Errorf("after Stop: %+v, want a clean exit at the end of stdin", exit)
	}
	if err := p.Send([]byte("x"), nil); err != ErrClosed {
		t.Errorf("Send after Stop: %v, want ErrClosed", err)
	}
}

func TestStopWritesWhatIsQueued(t *testing.T) {
	s, out := spec("echo")
	p := start(t, s)
	const lines = 10000
	for i := range lines {
		if err := p.Send(fmt.Appendf(nil, "%d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	p.Stop()
	got := out.all()
	if len(got) != lines || got[lines-1] != fmt.Sprint(lines-1) || p.Queued() != 0 {
		t.Errorf("the child read %d lines of %d, %d bytes are still queued", len(got), lines, p.Queued())
	}
}

func TestTwentyMegabyteLinesBothWays(t *testing.T) {
	s, out := spec("echo")
	p := start(t, s)
	long := strings.Repeat("0123456789abcdef", 20<<20/16)
	for _, line := range []string{"a", long, "b", long, "c"} {
		if err := p.Send([]byte(line), nil); err != nil {
			t.Fatal(err)
		}
	}
	got := out.wait(t, 5)
	if !slices.Equal(got, []string{"a", long, "b", long, "c"}) {
		t.Errorf("five lines came back changed, with %d, %d, %d, %d, %d bytes", len(got[0]), len(got[1]), len(got[2]), len(got[3]), len(got[4]))
	}
}

func TestLineOverTheCapIsSkippedAndToldOf(t *testing.T) {
	s, out := spec("longAndShort 100000")
	s.MaxLine = 1000
	wait(t, start(t, s))
	var long *wire.LineTooLongError
	if len(out.bad) != 1 || !errors.As(out.bad[0], &long) || long.Bytes != 100000 || !slices.Equal(out.lines, []string{"short"}) {
		t.Errorf("bad lines %v, lines %q; want one of 100000 bytes, then short", out.bad, out.lines)
	}
}

func TestUnterminatedLastLineIsDelivered(t *testing.T) {
	if exit, out := run(t, "print last words"); !slices.Equal(out.lines, []string{"last words"}) || exit.Code != 0 {
		t.Errorf("lines %q, exit %+v", out.lines, exit)
	}
}

func TestExitStatus(t *testing.T) {
	for role, want := range map[string]string{"exit 0": "exit status 0", "exit 7": "exit status 7", "die": "ended by signal: killed"} {
		if exit, _ := run(t, role); exit.String() != want {
			t.Errorf("role %s: %v, want %s", role, exit, want)
		}
	}
}

func TestFloodOnBothStreamsLosesNoLine(t *testing.T) {
	const lines = 200000
	log := &countingLog{}
	s, out := spec(fmt.Sprintf("flood %d", lines))
	s.Log = log.logger()
	exit := wait(t, start(t, s))
	if len(out.lines) != lines {
		t.Fatalf("%d lines came, want %d", len(out.lines), lines)
	}
	for i, line := range out.lines {
		if want := fmt.Sprintf("line %d of a flood that nobody asked for", i); line != want {
			t.Fatalf("line %d is %q", i, line)
		}
	}
	if end := fmt.Sprintf("line %d of a flood that nobody asked for\n", lines-1); len(exit.StderrTail) != tailSize || !strings.HasSuffix(exit.StderrTail, end) {
		t.Errorf("the tail has %d bytes and ends in %q", len(exit.StderrTail), exit.StderrTail[max(0, len(exit.StderrTail)-50):])
	}
	if n := log.records.Load(); n < notesBurst || n > lines/10 {
		t.Errorf("%d lines of stderr were logged", n)
	}
	if n := log.records.Load() + log.leftOut.Load(); n < lines {
		t.Errorf("%d lines of stderr are accounted for, want %d", n, lines)
	}
}

func TestStderrLineWithoutEndKeepsDraining(t *testing.T) {
	log := &countingLog{}
	s, out := spec(fmt.Sprintf("hugeNote %d", 10<<20))
	s.Log = log.logger()
	p := start(t, s)
	out.wait(t, 1) // it could write all of it
	p.Stop()
	if tail := p.Exit().StderrTail; tail != strings.Repeat("n", tailSize) {
		t.Errorf("the tail has %d bytes", len(tail))
	}
	if log.records.Load() != 1 || log.longest.Load() > noteSize {
		t.Errorf("%d records, the longest of %d bytes", log.records.Load(), log.longest.Load())
	}
}

func TestChildThatDoesNotReadDisturbsNobody(t *testing.T) {
	s, out := spec("deaf")
	s.StdinBytes, s.StdinReserve = 1<<20, 1<<18
	s.CloseGrace = 50 * time.Millisecond
	p := start(t, s)
	var calls, failed atomic.Int64
	written := func(err error) {
		calls.Add(1)
		if err != nil {
			failed.Add(1)
		}
	}
	fill := func(send func([]byte, func(error)) error) (sent int64) {
		for {
			if err := send(make([]byte, 9999), written); err == ErrFull {
				return sent
			} else if err != nil {
				t.Fatal(err)
			}
			sent++
		}
	}
	sent := fill(p.Send)
	if q := p.Queued(); q > 1<<20 || q < 1<<20-2*writeSize {
		t.Errorf("Queued = %d at the bound of %d", q, 1<<20)
	}
	reserved := fill(p.SendReserved)
	if reserved < 10 || p.Queued() > 1<<20+1<<18 {
		t.Errorf("%d lines went into the reserve, Queued = %d", reserved, p.Queued())
	}
	if p.Refused() != 2 {
		t.Errorf("Refused = %d, want 2", p.Refused())
	}
	out.wait(t, len(out.all())+50) // stdout goes on
	p.Stop()
	if exit := p.Exit(); exit.Signal != syscall.SIGTERM {
		t.Errorf("exit %+v, want by TERM", exit)
	}
	if calls.Load() != sent+reserved || failed.Load() == 0 || p.Queued() != 0 {
		t.Errorf("%d lines were queued, %d callbacks came, %d with an error; %d bytes left", sent+reserved, calls.Load(), failed.Load(), p.Queued())
	}
}

func TestStreamThatTheChildClosesEndsIt(t *testing.T) {
	s, _ := spec("closeStdout")
	s.CloseGrace = 50 * time.Millisecond
	if exit := wait(t, start(t, s)); exit.Signal != syscall.SIGTERM {
		t.Errorf("stdout closed: exit %+v, want by TERM", exit)
	}
	s, out := spec("closeStdin")
	s.CloseGrace = 50 * time.Millisecond
	p := start(t, s)
	out.wait(t, 1)
	failed := make(chan error, 1)
	if err := p.Send([]byte("x"), func(err error) { failed <- err }); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, ErrClosed) || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("written(%v), want ErrClosed because of EPIPE", err)
	}
	if exit := wait(t, p); exit.Signal != syscall.SIGTERM {
		t.Errorf("stdin closed: exit %+v, want by TERM", exit)
	}
}

func TestStopIsIdempotentAndConcurrent(t *testing.T) {
	s, out := spec("stubborn")
	p := start(t, inHaste(s))
	out.wait(t, 1)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			p.Stop()
			if exit := p.Exit(); exit.Signal != syscall.SIGKILL {
				t.Errorf("exit %+v, want by KILL", exit)
			}
		})
	}
	all.Wait()
	p.Stop()
}

func TestLastOutputMovesWithPiecesOfALine(t *testing.T) {
	s, _ := spec("print piece")
	p := start(t, s)
	first := p.started
	wait(t, p)
	if last := p.LastOutput(); !last.After(first) || last.After(time.Now()) {
		t.Errorf("LastOutput = %v, started %v", last, first)
	}
}

// The parent-death signal fires when the thread that started the child ends.
func TestChildOutlivesTheThreadThatCalledStart(t *testing.T) {
	s, out := spec("echo")
	started := make(chan *Process)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		p, err := Start(s)
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	p := <-started
	t.Cleanup(p.Stop)
	for i := range 100 { // time for a signal to arrive
		if err := p.Send([]byte("still here"), nil); err != nil {
			t.Fatal(err)
		}
		out.wait(t, i+1)
	}
}

func TestChildInheritsNothingOfOurConfiguration(t *testing.T) {
	t.Setenv("HUB_SECRET", "x")
	t.Setenv("CHILD_KEPT", "y")
	t.Setenv(roleVariable, "environment")
	s, out := spec("")
	s.Env, s.Dir = nil, t.TempDir()
	wait(t, start(t, s))
	if slices.ContainsFunc(out.lines, func(l string) bool { return strings.HasPrefix(l, "HUB_") }) ||
		!slices.Contains(out.lines, "CHILD_KEPT=y") || !slices.Contains(out.lines, "PWD="+s.Dir) {
		t.Errorf("the child's environment: %q", out.lines)
	}
}

func TestCommandThatCannotRunIsExplained(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		command []string
		dir     string
		want    error
	}{
		{nil, "", ErrNotFound},
		{[]string{""}, "", ErrNotFound},
		{[]string{"no-such-program-anywhere"}, "", ErrNotFound},
		{[]string{filepath.Join(dir, "missing")}, "", ErrNotFound},
		{[]string{dir}, "", ErrNotExecutable},
		{[]string{file("plain", "x", 0o600)}, "", ErrNotExecutable},
		{[]string{file("garbage", "\x00\x01\x02", 0o700)}, "", ErrNotExecutable},
		{[]string{file("script", "#!/no/such/interpreter\n", 0o700)}, "", ErrNotExecutable},
		{[]string{os.Args[0]}, filepath.Join(dir, "missing"), ErrNoDirectory},
		{[]string{os.Args[0]}, filepath.Join(dir, "plain"), ErrNoDirectory},
	} {
		_, err := Start(Spec{Command: tt.command, Dir: tt.dir})
		if !errors.Is(err, tt.want) {
			t.Errorf("Start(%q in %q): %v, want %v", tt.command, tt.dir, err, tt.want)
		}
	}
}
