package simulator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
)

// turn is one execution in a session: it plays a script. Guarded by the loop.
type turn struct {
	// Fixed once it runs.
	x      *session
	id     string
	number int    // from 0
	kind   string // activeTurnKind: regular, compact
	input  turnInput
	script script
	prompt string // the arguments after the script's name
	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the session is free again

	startedAt int64
	user      *storedMsg
	parent    string       // message the next assistant message answers
	steps     int          // model requests so far
	active    []*toolCall  // tool calls that are not finished
	open      *interaction // what the turn waits for a human to decide
	calls     int
	usage     usage
	response  string
	failure   object // set by a script that wants turn.failed
	phase     string // turnPhase of that failure
}

// turnInput is what starts a turn.
type turnInput struct {
	text        string
	inputID     string
	queryID     string
	attachments []object
	source      string // "" for a user's input; background_task, goal
	hidden      bool   // only for the model: nobody typed it
	targetID    string // the goal it works on
	background  object // what finished in the background
	silent      bool   // no state.updated: it is not a prompt of a client
	completed   string // state.updated reason at the end; "" means prompt_completed
	failed      string // the same after a failure; "" means prompt_failed
	denied      []string
	command     string   // the V4 command that brought it
	client      string   // and its sender
	uploads     []object // its attachments as V4 shows them
	edited      bool     // it takes the place of an earlier input
}

// Kinds of turns.
const (
	turnRegular = "regular"
	turnCompact = "compact"
)

// script is what the simulated model does with an input.
type script func(*turn)

// errStopped is why a turn ends before its script does.
var errStopped = errors.New("stopped by the client")

// newTurn makes x busy; run has to follow.
func (x *session) newTurn(in turnInput, kind string, play script, prompt string) *turn {
	if in.queryID == "" {
		in.queryID = "query_" + x.ids.uuid()
	}
	t := &turn{x: x, id: "turn_" + x.ids.uuid(), number: x.Turns, kind: kind, input: in, script: play, prompt: prompt, done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(x.s.ctx)
	x.turn = t
	x.s.begin()
	return t
}

// run plays the turn from its first event to its last. The loop is held.
func (t *turn) run() {
	x := t.x
	defer x.s.end()
	t.startedAt = x.s.clock.now()
	t.begin()
	x.save()
	t.script(t)
	for t.playQueued() {
	}
	t.finish()
}

func (t *turn) begin() {
	x := t.x
	x.LastError = nil
	x.UpdatedAt = t.startedAt
	x.events.forgetStream(lastTurn(x.Messages))
	if len(x.Messages) == 0 {
		x.inner("session.created", nil)
	}
	x.batch.reset()
	if x.Title == "" && !t.input.hidden {
		title := firstInputTitle(t.input.text)
		before := x.Title
		x.Title, x.TitleSource = title, "first_input"
		x.emit("session.titleUpdated", object{"previousTitle": before, "source": "first_input", "title": title})
	}
	t.user = x.addInput(t.input)
	t.parent = t.user.ID
	started := object{"turnNumber": t.number, "input": t.input.text, "messageId": t.user.ID,
		"foregroundExecutionId": t.execution(), "queryId": t.input.queryID}
	if t.input.inputID != "" {
		started["inputId"] = t.input.inputID
	}
	if t.input.source != "" {
		started["inputSource"] = t.input.source
	}
	if t.input.hidden {
		started["inputVisibility"] = "model-only"
	}
	if t.input.targetID != "" {
		started["targetId"] = t.input.targetID
	}
	if t.input.background != nil {
		started["backgroundSource"] = t.input.background
	}
	if len(t.input.attachments) > 0 {
		started["attachments"] = t.input.attachments
	}
	x.emit("turn.started", started)
	x.Turns++
}

// execution names the turn to a stop that is meant for it alone.
func (t *turn) execution() string { return fmt.Sprintf("runtime_command_%d", t.number+1) }

// finish writes the end of the turn: its event, then the state. Nothing is written when the process is going down.
func (t *turn) finish() {
	x := t.x
	stopped := t.stopped()
	x.Usage.add(t.usage)
	x.UpdatedAt = x.s.clock.now()
	t.closeOpenParts()
	t.user.Outcome = phaseSuccess
	switch {
	case stopped:
		t.user.Outcome = phaseInterrupted
	case t.failure != nil:
		x.LastError, t.user.Outcome = t.failure, phaseError
	}
	if !x.s.ending() {
		x.save()
		t.report(stopped)
	}
	t.release()
	if x.evicting && !x.closed {
		x.s.evict(x)
		return
	}
	x.advance()
}

// release makes the session free for the next turn.
func (t *turn) release() {
	t.x.turn = nil
	t.cancel(nil)
	close(t.done)
	t.x.touch()
}

func (t *turn) report(stopped bool) {
	x := t.x
	duration := x.s.clock.now() - t.startedAt
	reason := cmp.Or(t.input.completed, "prompt_completed")
	if t.failure != nil && !stopped {
		failed := object{"error": t.failure, "turnPhase": t.phase}
		if t.input.inputID != "" {
			failed["inputId"] = t.input.inputID
		}
		x.emit("turn.failed", failed)
		reason = cmp.Or(t.input.failed, "prompt_failed")
	} else {
		x.emit("turn.completed", t.completed(stopped, duration))
	}
	x.turn = nil // the state that clients see next is that of a free session
	if !t.input.silent {
		x.stateUpdated(reason, x.settings())
	}
}

func (t *turn) completed(stopped bool, duration int64) object {
	c := object{"response": t.response, "tokenCount": t.usage.total(), "toolCallCount": t.calls,
		"duration": duration, "resultType": "success", "historyRoundCount": t.x.Turns}
	if t.input.inputID != "" {
		c["inputId"] = t.input.inputID
	}
	if t.steps > 0 {
		u := t.usage
		c["usage"] = object{"source": "provider", "modelRequestCount": u.Requests, "inputTokens": u.Input, "outputTokens": u.Output,
			"totalTokens": u.total(), "cacheReadTokens": u.CacheRead, "cacheWriteTokens": u.CacheWrite,
			"reasoningTokens": u.Reasoning, "webFetchRequests": 0, "webSearchRequests": 0}
		c["cacheStats"] = object{"totalMessages": len(t.x.Messages) + systemMessages, "cachedMessages": len(t.x.Messages) + systemMessages - 1,
			"lastCacheHit": true, "cacheReadTokens": u.CacheRead}
	}
	if stopped {
		c["resultType"] = "cancelled"
	}
	return c
}

// stopped reports whether the turn was stopped; everything a script calls does nothing from then on.
func (t *turn) stopped() bool { return t.ctx.Err() != nil }

// pause is simulated work, see server.work.
func (t *turn) pause(d time.Duration) bool { return t.x.s.work(t.ctx, d) }

// fail makes the turn end with turn.failed.
func (t *turn) fail(phase string, failure object) { t.phase, t.failure = phase, failure }

// closeOpenParts ends what a stop left open in the conversation.
func (t *turn) closeOpenParts() {
	t.active = nil
	now := t.x.s.clock.now()
	for _, m := range t.x.Messages {
		if m.TurnID != t.id {
			continue
		}
		if m.Completed == 0 {
			m.Completed = now
		}
		for _, p := range m.Parts {
			if p.End == 0 {
				p.End = now
			}
			if p.Call != nil && (p.Call.Status == "pending" || p.Call.Status == "running") {
				p.Call.Status, p.Call.Error = "error", "Tool execution was interrupted"
			}
		}
	}
}

// abortTurns stops all turns because the process ends.
func (s *server) abortTurns() {
	for _, x := range s.order {
		if x.turn != nil {
			x.turn.cancel(context.Canceled)
		}
	}
}

func lastTurn(messages []*storedMsg) string {
	if len(messages) == 0 {
		return ""
	}
	return messages[len(messages)-1].TurnID
}

// maxTitle is the longest title taken from a first input; longer ones end in dots (recorded: 57 + "...").
const maxTitle = 60

func firstInputTitle(text string) string {
	title := strings.Join(strings.Fields(text), " ")
	units := utf16.Encode([]rune(title))
	if len(units) <= maxTitle {
		return title
	}
	return string(utf16.Decode(units[:maxTitle-3])) + "..."
}
