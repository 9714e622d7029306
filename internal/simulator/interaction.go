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
	call       *call
	auto       *autoResolution // nil if it never applied
}

// autoResolution is how far a question is on its way to answer itself.
type autoResolution struct {
	state     string
	startedAt int64
	snoozedAt int64
}

// States of auto-resolution.
const (
	autoHidden  = "hiddenGrace"
	autoVisible = "visibleCountdown"
	autoSnoozed = "snoozed"
)

func (a *autoResolution) wire() object {
	o := object{"state": a.state, "startedAt": a.startedAt}
	if a.state == autoSnoozed {
		o["snoozedAt"] = a.snoozedAt
		return o
	}
	o["visibleAt"], o["deadlineAt"] = a.startedAt+autoVisibleAfter.Milliseconds(), a.startedAt+autoResolveAfter.Milliseconds()
	return o
}

// snooze calls auto-resolution off for good and reports whether it was still on.
func (t *turn) snooze() bool {
	i := t.open
	if i == nil || i.snoozed == nil {
		return false
	}
	close(i.snoozed)
	i.snoozed = nil
	i.auto.state, i.auto.snoozedAt = autoSnoozed, t.x.s.clock.peek()
	t.x.inner("interaction.autoResolution", nil)
	return true
}

// autoVisibleAfter is when the countdown to it becomes visible.
const autoVisibleAfter = 60 * time.Second

// autoAnswer is the answer a question gets on its own.
type autoAnswer struct{ result raw }

// interact puts a question until somebody answers it, the turn is stopped, or it answers itself.
func (t *turn) interact(method, requestID string, params object, auto *autoAnswer) answer {
	s := t.x.s
	open := &interaction{requestID: requestID, openedAt: s.clock.now()}
	if method == "interaction/requestPermission" {
		open.permission = params
	}
	open.call = newCall(method, params)
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	t.open = open
	defer func() { t.open = nil }()
	if auto != nil {
		open.snoozed = make(chan struct{})
		open.auto = &autoResolution{state: autoHidden, startedAt: s.clock.peek()}
		s.spawn(func() { t.countDown(ctx, open) })
	}
	t.x.conversation().put(open)
	return s.announce(t.ctx, open.call, auto, open.snoozed)
}

// countDown makes the countdown of a question visible after its grace.
func (t *turn) countDown(ctx context.Context, open *interaction) {
	if t.x.s.wait(ctx, autoVisibleAfter) && open.auto.state == autoHidden {
		open.auto.state = autoVisible
		t.x.inner("interaction.autoResolution", nil)
	}
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
