// Package child runs one operating-system process that talks in lines on stdin
// and stdout, and leaves nothing of it behind.
//
// [Start] gives a [Process]. Lines go in by [Process.Send], which never blocks;
// lines come out through [Spec.OnLine]; stderr is drained for ever, logged at a
// bounded rate, and its end kept. [Process.Stop] goes down the ladder: close
// stdin, TERM to the process group, KILL to the process group. The same ladder
// is gone down when the process closes its stdout or its stdin, because nobody
// can talk with it any more. The package knows no method names.
//
// # Goroutines
//
//	thread     starts the process and waits for it, on one locked OS thread
//	stdin      writes the queue; only it waits for a child that does not read
//	stdout     reads lines and calls OnLine and OnBadLine
//	stderr     reads, keeps the tail, logs
//	supervise  the ladder, the rest of the process group, the end; it waits for
//	           the other four and then closes Done
//
// stdin, stdout and stderr never wait for one another.
//
// # Nothing is left behind
//
// The child leads a process group of its own. When it ends, by itself or not,
// what is left of the group gets TERM and then KILL before Done is closed, so
// that a successor never overlaps with it. If this program is killed, the
// kernel kills the child (Linux only: the parent-death signal). That signal
// does not reach grandchildren, so the group is recorded in [Spec.GroupFile],
// and [Sweep] ends it at the next start.
package child
