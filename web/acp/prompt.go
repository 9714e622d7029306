package acp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"zcodehub/auth"
)

// A prompt is one session/prompt:
//
//	queued ──> first in its room, session free ──> sent ──> a turn runs ──> answered
//	   │                                            │  └─ busy, or a passing failure: again
//	   └──────────────── cancelled: answered at once ┘
//
// It goes out as its own connection's call, under that connection's rights. Its answer is written by whoever learns of
// its end, with the pen, behind everything that belongs to it.
type prompt struct {
	// fixed once it is queued
	conn    *Conn
	request *request
	id      string // of all its tries
	in      promptInput
	content string // what the app-server gets as text

	ended   chan struct{}      // closed when it is answered
	stopped chan struct{}      // closed when it is cancelled
	left    chan struct{}      // closed when no call of it can begin a turn any more
	failing chan time.Duration // a turn failed in passing: how long to wait before the next try; holds one

	endOnce, stopOnce sync.Once
	tries             atomic.Int32

	// owned by whoever holds the connection's pen
	turn     string // its turn, once that has begun
	sent     bool   // the app-server took it
	failures int    // turns of it that failed in passing
}

func newPrompt(c *Conn, r *request) *prompt {
	return &prompt{conn: c, request: r, id: rand.Text(), ended: make(chan struct{}), stopped: make(chan struct{}),
		left: make(chan struct{}), failing: make(chan time.Duration, 1)}
}

// inputID names the newest try to the app-server, which puts it into the events of the turn.
func (p *prompt) inputID() string { return "acp-" + p.id + "-" + strconv.Itoa(int(p.tries.Load())) }

// began tells whether a turn with this input is the prompt's. Older app-servers do not tell the id.
func (p *prompt) began(inputID, text string) bool {
	if inputID != "" {
		return inputID == p.inputID()
	}
	return text == p.content
}

func (p *prompt) cancel() { p.stopOnce.Do(func() { close(p.stopped) }) }

func (p *prompt) isCancelled() bool {
	select {
	case <-p.stopped:
		return true
	default:
		return false
	}
}

// end answers with how the turn ended. The caller holds the pen.
func (p *prompt) end(w *output, end turnEnd) {
	if end.failure != nil {
		p.fail(w, end.failure)
		return
	}
	result := map[string]any{"stopReason": end.stopReason}
	if end.usage != nil {
		result["usage"] = end.usage
	}
	p.conn.answer(w, p.request, appendResult(nil, p.request.id, result))
	p.over()
}

// fail answers with an error. The caller holds the pen.
func (p *prompt) fail(w *output, e *Error) {
	p.conn.answer(w, p.request, appendError(nil, p.request.id, e))
	p.over()
}

func (p *prompt) over() { p.endOnce.Do(func() { close(p.ended) }) }

// pauses are how long a prompt waits before it is sent again after a failure that may pass.
var pauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second, 4 * time.Second}

// again tells whether the prompt is sent again after a turn that failed in passing, and has it sent. The caller holds the
// pen.
func (p *prompt) again() bool {
	if p.failures >= len(pauses) || p.isCancelled() {
		return false
	}
	select {
	case p.failing <- pauses[p.failures]:
		p.failures++
		return true
	default:
		return false
	}
}

// prompt takes session/prompt.
func (c *Conn) prompt(r *request) (any, error) {
	p := r.prompt
	defer close(p.left)
	var params struct{ Prompt json.RawMessage }
	if err := decode(r, &params); err != nil {
		return nil, err
	}
	in, fault := readBlocks(params.Prompt)
	if fault != nil {
		return nil, fault
	}
	at, err := c.follow(r.ctx, r.sessionID)
	if err != nil {
		return nil, err
	}
	if !c.has(auth.Control) { // now, and not when its turn comes: the one before may wait for an answer
		return nil, &Error{Code: codeAuth, Message: "Your access does not cover prompts."}
	}
	var commands []Command
	c.write(func(w *output) {
		commands = at.commands
		at.running(w, at.busy()) // where the session was not loaded the client does not know
	})
	p.in, p.content = in, ModelText(in.text, commands)
	if fault := at.room.queue(p); fault != nil {
		return nil, fault
	}
	defer p.done(at.room)
	defer p.leave(at)
	r.next()
	c.adapter.directory.Use(r.sessionID)
	run := p.run
	if name, args, ok := ReadCommand(in.text, commands); ok && len(in.files) == 0 {
		if own := ownCommands[name]; own != nil {
			run = func(at *place) error { return own(p, at, args) }
		}
	}
	err = run(at)
	if errors.Is(err, errCancelled) {
		p.answerCancelled(at)
		return nil, nil
	}
	return nil, err
}

// memory is how long other connections may take to hear of a turn and still show all of its prompt; later they show the
// text, which is in the event.
const memory = 30 * time.Second

// done takes the prompt out of its room, and for good after a while: it may hold megabytes.
func (p *prompt) done(r *room) {
	r.done(p)
	c, id := p.conn, p.id // and not p: the next one takes its place, and this one's megabytes go
	remembered := c.spawn(func() {
		timer := time.NewTimer(memory)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.ctx.Done():
		}
		r.forget(id)
	})
	if !remembered {
		r.forget(id)
	}
}

// leave gives the place back, if the prompt ended without a turn of its own.
func (p *prompt) leave(at *place) {
	p.conn.write(func(w *output) {
		if at.prompt == p {
			at.prompt = nil
		}
		if !at.busy() {
			at.running(w, false)
		}
	})
}

// run sends the prompt and sees it through. It returns errCancelled if it was cancelled.
func (p *prompt) run(at *place) error {
	for {
		if err := p.claim(at); err != nil {
			return err
		}
		err := p.send(at)
		if isBusy(err) {
			p.conn.adapter.metrics.retries.WithLabelValues("busy").Inc()
			if err := p.wait(at, at.whenFree(), busyPause); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		pause, err := p.watch(at)
		if pause == 0 {
			return err
		}
		p.conn.adapter.metrics.retries.WithLabelValues("failure").Inc()
		if err := p.wait(at, nil, pause); err != nil {
			return err
		}
	}
}

// busyPause is how soon a prompt is tried again that met a turn of which this connection has not heard the end: most
// often it is on its way.
const busyPause = time.Second

func isBusy(err error) bool {
	var native *CallError
	return errors.As(err, &native) && native.Code == nativeBusy
}

// claim waits until it is the prompt's turn and the session is free, and makes it the place's.
func (p *prompt) claim(at *place) error {
	for {
		mine, moved := at.room.mayGo(p)
		var freed <-chan struct{}
		claimed, compacting, busy := false, false, false
		p.conn.hold(func(*output) {
			compacting, busy, freed = at.compacting, at.busy(), at.changed
			if mine && !busy && !p.isCancelled() && at.room.claim(p) {
				claimed = true
				at.prompt, p.turn, p.sent = p, "", false
				at.translator.Shown(p.inputID())
			}
		})
		switch {
		case claimed:
			return nil
		case compacting:
			return internalError("The conversation is being compacted: send the prompt again when that has ended.")
		case mine && busy:
			moved = freed
		}
		if err := p.wait(at, moved, 0); err != nil {
			return err
		}
	}
}

// wait waits for a channel, or for a time if that is not 0; not longer than the prompt and its connection live.
func (p *prompt) wait(at *place, moved <-chan struct{}, d time.Duration) error {
	var due <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		due = timer.C
	}
	life := time.NewTicker(p.conn.adapter.silence / 4)
	defer life.Stop()
	for {
		select {
		case <-moved:
			return nil
		case <-due:
			return nil
		case <-p.stopped:
			return errCancelled
		case <-p.request.ctx.Done():
			return context.Cause(p.request.ctx)
		case <-life.C:
			at.lookAlive()
		}
	}
}

// send brings the prompt to the app-server. A cancelled one is answered at once, while the call is still under way.
func (p *prompt) send(at *place) error {
	params := map[string]any{"sessionId": at.sessionID, "content": p.content, "inputId": p.inputID()}
	if len(p.in.files) > 0 {
		params["attachments"] = p.in.files
	}
	replied := make(chan error, 1)
	take := func(result json.RawMessage, err error) {
		if text := stringOf(result); text != "" {
			err = internalError("%s", text) // some refusals come as a text in place of a result
		}
		p.conn.hold(func(*output) {
			p.sent = err == nil
			if err != nil && at.prompt == p {
				at.prompt = nil
			}
		})
		replied <- err
	}
	p.conn.native.Go("session/send", params, take)
	select {
	case err := <-replied:
		return err
	case <-p.stopped:
		p.answerCancelled(at)
		<-replied //nolint:errcheck // it was cancelled: whatever turn it may begin is stopped then
		return errCancelled
	}
}

// watch waits for the end of the turn. After a pause, if there is one, the prompt has to be sent once more.
func (p *prompt) watch(at *place) (pause time.Duration, err error) {
	life := time.NewTicker(p.conn.adapter.silence / 4)
	defer life.Stop()
	for {
		select {
		case <-p.ended:
			return 0, nil
		case pause := <-p.failing:
			return pause, nil
		case <-p.stopped:
			return 0, errCancelled
		case <-p.request.ctx.Done():
			return 0, context.Cause(p.request.ctx)
		case <-life.C:
			at.lookAlive()
		}
	}
}

// answerCancelled answers a prompt that was cancelled: what is open of its turn is closed first.
func (p *prompt) answerCancelled(at *place) {
	p.conn.write(func(w *output) {
		if at.prompt == p && p.turn != "" && p.turn == at.turn {
			at.cancel(w)
		}
		if !at.busy() {
			at.running(w, false) // it waited to be sent again
		}
		p.end(w, turnEnd{stopReason: "cancelled"})
	})
}

// maxSilence is how long a client is left without a word while a turn runs. It is looked at four times as often, so
// that the word is out within a minute.
const maxSilence = 45 * time.Second

// lookAlive says something if the client has not heard anything for long while a turn runs: that it runs. If it does not,
// its end got lost, and is made up for. Silence alone never ends a turn.
func (p *place) lookAlive() {
	c, look := p.conn, false
	c.hold(func(*output) {
		look = (p.busy() || p.prompt != nil) && time.Since(p.lastSaid) >= c.adapter.silence
		if look {
			p.lastSaid = time.Now()
		}
	})
	if !look {
		return
	}
	c.native.Go("session/read", map[string]any{"sessionId": p.sessionID, "messageLimit": 1}, func(result json.RawMessage, err error) {
		if err != nil {
			return // it is told elsewhere what that means
		}
		at := readState(result)
		c.write(func(w *output) {
			if at.Runtime.ActiveTurnID == "" {
				p.lostEnd(w, &at)
				return
			}
			p.signOfLife(w, &at)
		})
	})
}

// signOfLife repeats what the client knows already.
func (p *place) signOfLife(w *output, at *state) {
	for _, call := range at.Projection.ActiveToolCalls {
		if call.Status == "running" {
			p.show(w, []Update{newUpdate(updateToolMore, toolUpdate{SessionUpdate: updateToolMore, ToolCallID: call.ToolCallID, Status: statusRunning})})
			return
		}
	}
	used, size := at.usage()
	p.show(w, p.translator.Usage(used, size))
}

// lostEnd ends a turn whose end was never told.
func (p *place) lostEnd(w *output, at *state) {
	prompt := p.prompt
	if prompt == nil && !p.busy() || prompt != nil && !prompt.sent {
		return // it ended meanwhile, or has yet to begin
	}
	p.prompt = nil
	p.reconcile(func(w *output) {
		p.sync(at)
		p.running(w, p.busy())
		if prompt != nil {
			prompt.end(w, turnEnd{stopReason: stopReasonOf(p.stopReason)})
		}
	})
}

// whenFree is closed when the session becomes free.
func (p *place) whenFree() (freed <-chan struct{}) {
	p.conn.hold(func(*output) { freed = p.changed })
	return freed
}

// ownCommands are the slash commands that are no text for the model.
var ownCommands = map[string]func(*prompt, *place, string) error{
	"compact": (*prompt).compact,
	"goal":    (*prompt).goal,
	"mode":    func(p *prompt, at *place, args string) error { return p.choose(at, optionMode, args) },
	"model":   func(p *prompt, at *place, args string) error { return p.choose(at, optionModel, args) },
	"thought": func(p *prompt, at *place, args string) error { return p.choose(at, optionThought, args) },
}

// compact runs the command /compact, which is over when the compaction is.
func (p *prompt) compact(at *place, args string) error {
	if err := p.claim(at); err != nil {
		return err
	}
	params := map[string]any{"sessionId": at.sessionID, "inputId": p.inputID()}
	if args != "" {
		params["instructions"] = args
	}
	var failed error
	err := p.conn.native.Do(p.request.ctx, "session/compact", params, func(_ json.RawMessage, err error) {
		failed = err
		p.conn.write(func(w *output) {
			at.prompt = nil
			if err == nil {
				at.compacts(w, true)
			}
		})
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	for {
		var freed <-chan struct{}
		compacting := false
		p.conn.hold(func(*output) { freed, compacting = at.changed, at.compacting })
		if !compacting {
			return p.reply(at, "")
		}
		if err := p.wait(at, freed, 0); err != nil {
			return err
		}
	}
}

// goal runs the command /goal.
func (p *prompt) goal(at *place, args string) error {
	params := map[string]any{"sessionId": at.sessionID}
	switch args {
	case "":
		params["action"] = "show"
	case "show", "pause", "resume", "clear":
		params["action"] = args
	default:
		params["action"], params["objective"] = "set", args
	}
	result, err := p.conn.native.Call(p.request.ctx, "session/goal", params)
	if err != nil {
		return err
	}
	text := stringIn(result, "response")
	if text == "" {
		text = "Goal: " + params["action"].(string)
	}
	return p.reply(at, text)
}

// choose runs the commands that change a setting; without a value they show it.
func (p *prompt) choose(at *place, option, value string) error {
	choice := ""
	var options []configOption
	p.conn.hold(func(*output) {
		_ = json.Unmarshal(at.translator.ConfigOptions(), &options)
	})
	for _, o := range options {
		if o.ID != option {
			continue
		}
		for _, c := range o.Options {
			if strings.EqualFold(c.Value, value) || strings.EqualFold(c.Name, value) {
				choice = c.Value
			}
		}
		if choice == "" {
			return p.reply(at, describeOption(o, value))
		}
	}
	if err := p.conn.change(p.request.ctx, at, option, choice); err != nil {
		return err
	}
	return p.reply(at, "Changed to "+choice+".")
}

// describeOption says what an option is and may be.
func describeOption(o configOption, wanted string) string {
	var b strings.Builder
	if wanted != "" {
		b.WriteString("There is no " + wanted + ". ")
	}
	b.WriteString(o.Name + " is " + o.CurrentValue + ". Choose from:\n")
	for _, c := range o.Options {
		b.WriteString("- " + c.Name + "\n")
	}
	return b.String()
}

// reply answers a command with a text, as if the agent had said it.
func (p *prompt) reply(at *place, text string) error {
	p.conn.write(func(w *output) {
		if text != "" {
			at.show(w, []Update{newChunk(updateAgent, "command_"+p.id, textBlock(text))})
		}
		p.end(w, turnEnd{stopReason: "end_turn"})
	})
	return nil
}
