package child

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"zcodehub/internal/wire"
)

// drainGrace is how long stdout and stderr may stay open after the process and
// its group are gone. Only somebody who left the group can hold them then; what
// the process itself had written is read in a fraction of this.
const drainGrace = time.Second

// Process is one running child. All methods may be called from any goroutine.
type Process struct {
	// Fixed after construction.
	spec    Spec
	cmd     *exec.Cmd
	stdin   *stdin
	stdout  *os.File
	stderr  *os.File
	started time.Time

	workers  sync.WaitGroup // thread, stdin, stdout, stderr
	exited   chan struct{}  // closed by thread: the process is reaped
	stopOnce sync.Once
	stopping chan struct{} // closed by requestStop: go down the ladder
	done     chan struct{} // closed by supervise, last

	lastOutput atomic.Int64 // nanoseconds from started to the last read of stdout

	// Each owned by the goroutine named, then by whoever has seen done closed.
	waitErr error // thread
	readErr error // stdout
	notes   notes // stderr
}

// Exit says how a process ended.
type Exit struct {
	Code       int            // exit status; -1 if a signal ended it
	Signal     syscall.Signal // what ended it; 0 if it exited
	Err        error          // it could not be waited for, or stdout could not be read to its end
	StderrTail string         // the last 8 KiB of stderr
}

func (e Exit) String() string {
	if e.Signal != 0 {
		return "ended by signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Start runs the command. Everything it starts has ended when Done is closed.
func Start(spec Spec) (*Process, error) {
	path, err := Check(spec.Command, spec.Dir)
	if err != nil {
		return nil, err
	}
	spec = spec.withDefaults()
	p := &Process{
		spec:     spec,
		cmd:      &exec.Cmd{Path: path, Args: spec.Command, Dir: spec.Dir, Env: spec.Env, SysProcAttr: processAttributes()},
		started:  time.Now(),
		exited:   make(chan struct{}),
		stopping: make(chan struct{}),
		done:     make(chan struct{}),
		notes:    newNotes(spec.Log),
	}
	theirs, err := p.openPipes()
	defer closeAll(theirs...)
	if err != nil {
		return nil, fmt.Errorf("pipes for the child: %w", err)
	}
	begun := make(chan error)
	p.workers.Go(func() { p.thread(begun) })
	if err := <-begun; err != nil {
		closeAll(p.stdin.pipe, p.stdout, p.stderr)
		p.workers.Wait()
		return nil, startError(path, err)
	}
	p.workers.Go(func() { p.stdin.run(); p.requestStop() })
	p.workers.Go(func() { p.readStdout(); p.requestStop() })
	p.workers.Go(func() { p.notes.readAll(p.stderr) })
	go p.supervise()
	return p, nil
}

// openPipes makes the three pipes, keeps this side's ends and returns the
// child's. They are os.Pipe and not cmd.StdoutPipe because Wait closes the
// latter and may lose the last lines (golang/go#60309).
func (p *Process) openPipes() (theirs []*os.File, err error) {
	stdinRead, stdinWrite, err1 := os.Pipe()
	stdoutRead, stdoutWrite, err2 := os.Pipe()
	stderrRead, stderrWrite, err3 := os.Pipe()
	theirs = []*os.File{stdinRead, stdoutWrite, stderrWrite}
	if err := errors.Join(err1, err2, err3); err != nil {
		closeAll(stdinWrite, stdoutRead, stderrRead)
		return theirs, err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdinRead, stdoutWrite, stderrWrite
	p.stdin = newStdin(stdinWrite, p.spec.StdinBytes, p.spec.StdinReserve)
	p.stdout, p.stderr = stdoutRead, stderrRead
	return theirs, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// thread starts the process and waits for it. The parent-death signal fires
// when the thread that started the child ends, so the thread stays here for as
// long as the child lives.
func (p *Process) thread(begun chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	if err == nil {
		// Before Wait, so that it can be described even if it has ended already.
		if err := recordGroup(p.spec.GroupFile, p.Pid()); err != nil {
			p.spec.Log.Warn("the process group could not be recorded", "error", err)
		}
	}
	begun <- err
	if err != nil {
		return
	}
	err = p.cmd.Wait()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		p.waitErr = err
	}
	close(p.exited)
}

// startError makes a sentence of what exec said about a program that Check had
// found.
func startError(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOENT):
		return fmt.Errorf("%w: %s: the interpreter in its first line is missing", ErrNotExecutable, path)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w: %s is neither a program for this machine nor a script with #! in its first line", ErrNotExecutable, path)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%w: %s: permission denied", ErrNotExecutable, path)
	}
	return fmt.Errorf("start %s: %w", path, err)
}

func (p *Process) readStdout() {
	r := wire.NewReader(stamped{p}, p.spec.MaxLine)
	for {
		line, err := r.Next()
		var long *wire.LineTooLongError
		switch {
		case err == nil:
			p.spec.OnLine(line, r.More())
		case errors.As(err, &long):
			p.spec.OnBadLine(err)
		case err == io.EOF:
			return
		default:
			p.readErr = fmt.Errorf("stdout not read to its end: %w", err)
			return
		}
	}
}

// stamped is stdout that notes when something came, be it a piece of a line.
type stamped struct{ p *Process }

func (s stamped) Read(buf []byte) (int, error) {
	n, err := s.p.stdout.Read(buf)
	if n > 0 {
		s.p.lastOutput.Store(int64(time.Since(s.p.started)))
	}
	return n, err
}

// Pid is the process id, which is also the id of the process group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// LastOutput is when something last came on stdout, at first when the process
// was started.
func (p *Process) LastOutput() time.Time {
	return p.started.Add(time.Duration(p.lastOutput.Load()))
}

// Done is closed when the process is reaped, its process group is gone, stdout
// has been read to its end (for a bounded time: somebody who left the group may
// hold it open) and no goroutine of p runs any more.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how the process ended. It waits for Done.
func (p *Process) Exit() Exit {
	<-p.done
	exit := Exit{Code: -1, Err: errors.Join(p.waitErr, p.readErr), StderrTail: p.notes.tailText()}
	if state := p.cmd.ProcessState; state != nil {
		exit.Code = state.ExitCode()
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			exit.Signal = status.Signal()
		}
	}
	return exit
}

// Stop goes down the ladder and returns when Done is closed. What is queued for
// stdin is still written while the child reads; stdin is closed behind it.
func (p *Process) Stop() {
	p.requestStop()
	<-p.done
}

func (p *Process) requestStop() { p.stopOnce.Do(func() { close(p.stopping) }) }

// supervise sees the process to its end.
func (p *Process) supervise() {
	defer close(p.done)
	select {
	case <-p.exited:
	case <-p.stopping:
		p.descend()
	}
	p.stdin.abort()
	if endGroup(p.Pid(), p.spec.TermGrace) {
		forgetGroup(p.spec.GroupFile)
	} else { // the next Sweep may have more luck
		p.spec.Log.Error("something of the child's process group cannot be ended", "group", p.Pid())
	}
	deadline := time.Now().Add(drainGrace)
	p.stdout.SetReadDeadline(deadline)
	p.stderr.SetReadDeadline(deadline)
	p.workers.Wait()
	closeAll(p.stdout, p.stderr)
}

// descend is the ladder; it returns when the process is reaped. Only a process
// in an uninterruptible system call can make it wait longer than the graces.
func (p *Process) descend() {
	p.stdin.finish()
	if p.exitsWithin(p.spec.CloseGrace) {
		return
	}
	p.spec.Log.Info("the child still runs after its stdin was closed: TERM", "pid", p.Pid())
	signalGroup(p.Pid(), syscall.SIGTERM)
	if p.exitsWithin(p.spec.TermGrace) {
		return
	}
	p.spec.Log.Warn("the child ignores TERM: KILL", "pid", p.Pid())
	signalGroup(p.Pid(), syscall.SIGKILL)
	<-p.exited
}

func (p *Process) exitsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}
