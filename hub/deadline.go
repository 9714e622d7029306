package hub

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// timekeeper runs functions when they are due: one goroutine and one timer for
// all deadlines of the hub. The functions run one
// after another and must not block.
type timekeeper struct {
	wake chan struct{} // one slot: the earliest deadline changed; never closed

	mu    sync.Mutex // a leaf
	queue deadlines
}

// A deadline is one function and when it is due.
type deadline struct {
	at    time.Time
	f     func()
	index int // in the heap; -1 when no longer in it
}

func newTimekeeper() *timekeeper { return &timekeeper{wake: make(chan struct{}, 1)} }

// after runs f once, d from now, unless cancelled before.
func (t *timekeeper) after(d time.Duration, f func()) *deadline {
	due := &deadline{at: time.Now().Add(d), f: f}
	t.mu.Lock()
	heap.Push(&t.queue, due)
	first := due.index == 0
	t.mu.Unlock()
	if first {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
	return due
}

// cancel takes a deadline back; nil is none.
func (t *timekeeper) cancel(due *deadline) {
	if due == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if due.index >= 0 {
		heap.Remove(&t.queue, due.index)
	}
}

// run keeps the time until ctx ends.
func (t *timekeeper) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(t.runDue(time.Now()))
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case <-timer.C:
		}
	}
}

// runDue runs what is due and returns how long nothing more is.
func (t *timekeeper) runDue(now time.Time) time.Duration {
	for {
		t.mu.Lock()
		if len(t.queue) == 0 {
			t.mu.Unlock()
			return time.Hour // any long time: wake cuts it short
		}
		first := t.queue[0]
		if wait := first.at.Sub(now); wait > 0 {
			t.mu.Unlock()
			return wait
		}
		heap.Pop(&t.queue)
		t.mu.Unlock()
		first.f()
	}
}

// deadlines is a heap, the earliest first.
type deadlines []*deadline

func (q deadlines) Len() int           { return len(q) }
func (q deadlines) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q deadlines) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push adds a deadline.
func (q *deadlines) Push(x any) {
	due := x.(*deadline)
	due.index = len(*q)
	*q = append(*q, due)
}

// Pop takes the last one.
func (q *deadlines) Pop() any {
	last := len(*q) - 1
	due := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	due.index = -1
	return due
}
