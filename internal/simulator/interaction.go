package simulator

import (
	"context"
	"time"
)

// announceDelays is how long an unanswered interaction stays quiet before it is put again, each time under a new id
// (protocol: 1, 2, 4, 8, 10, 10, … s).
var announceDelays = []time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second}

// autoResolveAfter is when a question that nobody answers counts as answered with nothing, if the user's preferences
// say so (protocol: 60 s hidden, then visibly counted down until 300 s).
const autoResolveAfter = 300 * time.Second

// interaction is an open question to a human. Guarded by the loop.
type interaction struct {
	requestID  string
	openedAt   int64
	permission object        // params of a permission request; nil for other kinds
	snoozed    chan struct{} // closed when auto-resolution is called off; nil if it never applied
}

// snooze calls auto-resolution off for good and reports whether it was still on.
func (i *interaction) snooze() bool {
	if i.snoozed == nil {
		return false
	}
	close(i.snoozed)
	i.snoozed = nil
	return true
}

// autoAnswer is the answer a question gets on its own.
type autoAnswer struct{ result raw }

// interact puts a question until somebody answers it, the turn is stopped, or it answers itself.
func (t *turn) interact(method, requestID string, params object, auto *autoAnswer) answer {
	s := t.x.s
	open := &interaction{requestID: requestID, openedAt: s.clock.now()}
	if method == "interaction/requestPermission" {
		open.permission = params
	}
	c := newCall(method, params)
	if auto != nil {
		open.snoozed = make(chan struct{})
	}
	t.open = open
	defer func() { t.open = nil }()
	return s.announce(t.ctx, c, auto, open.snoozed)
}

// announce puts c again and again, under ever longer delays, until it is answered.
func (s *server) announce(ctx context.Context, c *call, auto *autoAnswer, snoozed <-chan struct{}) answer {
	defer s.drop(c)
	var selfAnswer <-chan time.Time
	if auto != nil {
		timer := time.NewTimer(autoResolveAfter)
		defer timer.Stop()
		selfAnswer = timer.C
	}
	for n := 0; ; n++ {
		if s.gone {
			return answer{fault: disconnected()}
		}
		s.put(c)
		again := time.NewTimer(announceDelays[min(n, len(announceDelays)-1)])
		var a answer
		done := true
		s.yield(func() {
			defer again.Stop()
			for {
				select {
				case a = <-c.answered:
				case <-again.C:
					done = false
				case <-selfAnswer:
					a.result = auto.result
				case <-snoozed:
					selfAnswer, snoozed = nil, nil
					continue
				case <-ctx.Done():
					a.fault = disconnected()
				}
				return
			}
		})
		if done {
			return a
		}
	}
}
