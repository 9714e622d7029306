package acp

import (
	"encoding/json"
	"strings"
	"time"

	"zcodehub/internal/wire"
)

// told takes a notification of the hub, on the goroutine that writes to the native client.
func (c *Conn) told(method string, params []byte) {
	sessionID := stringIn(params, "sessionId")
	c.hold(func(w *output) {
		if method == "hub/appServer" {
			c.appServerTold(w, params)
			return
		}
		if method == "hub/snapshot" {
			if then := c.late[sessionID]; then != nil {
				delete(c.late, sessionID)
				then(w, seatOf(params))
				return
			}
		}
		if method == "hub/answer" {
			c.answerTaken(params)
			return
		}
		p := c.places[sessionID]
		if p == nil {
			return
		}
		switch method {
		case "session/event":
			p.event(w, params)
		case "state.updated":
			p.stateUpdated(w, params)
		case "hub/snapshot":
			p.reseated(w, seatOf(params))
		case "hub/interactionSettled":
			c.askSettled(w, params)
		}
	})
}

func seatOf(params []byte) seat {
	raw, _ := wire.Get(params, "snapshot")
	if string(raw) == "null" {
		raw = nil
	}
	return seat{epoch: stringIn(params, "epoch"), snapshot: raw}
}

// event takes one session/event.
func (p *place) event(w *output, params []byte) {
	e := readEvent(params)
	switch e.kind {
	case "turn.started":
		p.turnStarted(w, e, params)
	case "turn.completed", "turn.failed":
		p.turnEnded(w, e, params)
	case "turn.steerQueued":
		p.steered(e)
	default:
		p.note(w, e)
		updates := p.translate(params)
		p.spoke = p.spoke || len(updates) > 0 && e.turn != "" && e.turn == p.turn && e.kind != "session.updated"
		p.show(w, updates)
	}
}

// translate gives an event to the translator, except where a replay will begin with a new one.
func (p *place) translate(params []byte) []Update {
	if p.quiet {
		return nil
	}
	return p.translator.Event(params)
}

// note keeps what an event says of the turn itself.
func (p *place) note(w *output, e event) {
	if e.kind != "session.updated" {
		return
	}
	switch kind := stringIn(e.payload, "type"); {
	case kind == "compaction_started" && p.turn == "":
		p.compacts(w, true)
	case kind == "compaction_completed":
		p.compacts(w, false)
	}
	if reason := stringIn(e.payload, "stopReason"); reason != "" && stringIn(e.payload, "querySource") == "main_turn" {
		p.stopReason = reason
	}
}

// stateUpdated takes one state.updated.
func (p *place) stateUpdated(w *output, params []byte) {
	if !p.quiet {
		p.show(w, p.translator.StateUpdated(params))
	}
	switch reason := stringIn(params, "reason"); {
	case reason == "compact_started":
		p.compacts(w, true)
	case strings.HasPrefix(reason, "session_compacted"):
		p.compacts(w, false)
	}
}

// compacts notes that a compaction begins or ends. Inside a turn it is a part of that.
func (p *place) compacts(w *output, begins bool) {
	if p.turn != "" || p.compacting == begins {
		return
	}
	p.compacting = begins
	if begins {
		p.running(w, true)
		return
	}
	p.freed()
	p.conclude(nil)
}

func (p *place) turnStarted(w *output, e event, params []byte) {
	p.turn, p.execution, p.input = e.turn, stringIn(e.payload, "foregroundExecutionId"), stringIn(e.payload, "messageId")
	p.stopReason, p.spoke, p.cancelled, p.compacting = "", false, false, false
	inputID := stringIn(e.payload, "inputId")
	mine := p.prompt != nil && p.prompt.turn == "" && p.prompt.began(inputID, stringIn(e.payload, "input"))
	if mine {
		p.prompt.turn = e.turn
	} else if other := p.room.sent(inputID); other != nil && other.conn != p.conn {
		p.echo(w, other)
	}
	p.running(w, true)
	p.show(w, p.translate(params))
	if mine && p.prompt.isCancelled() {
		p.cancel(w)
	}
}

// echo shows the client what another one sent, block by block; the event has only the text of it.
func (p *place) echo(w *output, other *prompt) {
	if p.quiet {
		return
	}
	p.translator.Shown(other.inputID())
	if p.echoed == other.id {
		return // it is sent again
	}
	p.echoed = other.id
	for _, content := range other.in.shown {
		p.show(w, []Update{newUpdate(updateUser, map[string]any{"sessionUpdate": updateUser, "content": content, "messageId": "uprompt_" + other.id})})
	}
}

// steered notes that an older app-server took a prompt as part of the turn that runs: it ends with that.
func (p *place) steered(e event) {
	if p.prompt != nil && p.prompt.turn == "" && p.prompt.began(stringIn(e.payload, "inputId"), stringIn(e.payload, "input")) {
		p.prompt.turn = stringIn(e.payload, "targetTurnId")
	}
}

// turnEnded tells how a turn ended, when what was stored of it has been compared with what was shown.
func (p *place) turnEnded(w *output, e event, params []byte) {
	updates := p.translate(params)
	if e.turn != p.turn && !(p.prompt != nil && p.prompt.turn == e.turn) {
		p.show(w, updates) // of an older turn
		return
	}
	end := readEnd(e, p.stopReason)
	prompt := p.prompt
	if prompt != nil && prompt.turn != e.turn {
		prompt = nil
	}
	wasCancelled, spoke := p.cancelled, p.spoke
	p.turn, p.execution, p.cancelled = "", "", false
	p.freed()
	if prompt != nil && end.transient && !spoke && prompt.again() {
		p.prompt = nil
		return // the client still sees its prompt run
	}
	p.show(w, updates)
	if wasCancelled {
		p.prompt = nil
		p.conclude(nil)
		return
	}
	p.reconcile(func(*output) {
		p.conclude(func(w *output) {
			if prompt != nil {
				prompt.end(w, end)
			}
		})
	})
	if p.prompt == prompt {
		p.prompt = nil
	}
}

// reconcileLimit bounds the messages that are compared at the end of a turn: one for each step of the longest turns.
const reconcileLimit = 500

// reconcile shows what the app-server stored of the last turn and never streamed, and calls then with the pen.
func (p *place) reconcile(then func(*output)) {
	c, t := p.conn, p.translator
	params := map[string]any{"sessionId": p.sessionID, "limit": reconcileLimit}
	if p.input != "" {
		params["afterMessageId"] = p.input
	}
	c.native.Go("session/messages", params, func(result json.RawMessage, err error) {
		c.hold(func(w *output) {
			if err == nil && t == p.translator && !p.quiet {
				list, _ := wire.Get(result, "messages")
				var messages []json.RawMessage
				for m := range wire.Elements(list) {
					messages = append(messages, json.RawMessage(m))
				}
				p.show(w, t.Reconcile(messages))
			}
			then(w)
		})
	})
}

// conclude brings the client up to date with the session after a turn: plan, usage and settings may have changed without
// a word. Then it says that nothing runs, unless something does, and calls then.
func (p *place) conclude(then func(*output)) {
	c := p.conn
	c.native.Go("session/read", map[string]any{"sessionId": p.sessionID, "messageLimit": 1}, func(result json.RawMessage, err error) {
		c.hold(func(w *output) {
			if err == nil {
				s := readState(result)
				p.refresh(w, &s)
			}
			if !p.busy() {
				p.running(w, false)
			}
			if then != nil {
				then(w)
			}
		})
	})
}

// refresh shows what of a session's state has changed.
func (p *place) refresh(w *output, s *state) {
	if p.quiet {
		return
	}
	p.show(w, p.translator.settingsChanged(func(now *settings) { now.merge(s.Settings) }))
	p.show(w, p.translator.planChanged(s.Todos))
	if used, size := s.usage(); size > 0 {
		p.show(w, p.translator.Usage(used, size))
	}
	p.commands = Commands(s.SlashCommands, OwnCommands...)
}

// sync takes over from a snapshot which turn runs.
func (p *place) sync(s *state) {
	active := s.Runtime.ActiveTurnID
	p.compacting = active != "" && s.Runtime.ActiveTurnKind == turnCompact
	if p.compacting {
		active = ""
	}
	if active != p.turn {
		p.turn, p.execution, p.input, p.cancelled = active, "", "", false
	}
	p.translator.Running(active)
	if !p.busy() {
		p.freed()
	}
}

// reseated takes a snapshot that the hub sent in place of events: some are missing.
func (p *place) reseated(w *output, s seat) {
	if s.snapshot == nil {
		p.gone(w)
		return
	}
	at := readState(s.snapshot)
	prompt, was := p.prompt, p.turn
	if !p.quiet {
		p.show(w, p.translator.Reconcile(at.Messages))
		p.refresh(w, &at)
	}
	p.sync(&at)
	p.running(w, p.busy())
	if prompt != nil && prompt.sent && prompt.turn == "" { // its begin was among what is missing
		prompt.turn = p.turn
		if p.turn == "" {
			p.lastSaid = time.Time{} // and maybe its end: that is looked into soon, not after a silence
		}
		return
	}
	if prompt != nil && prompt.turn != "" && prompt.turn == was && p.turn != was {
		p.prompt = nil
		prompt.end(w, turnEnd{stopReason: "end_turn"}) // its end was among what is missing
	}
}

// gone tells that the session does not exist any more.
func (p *place) gone(w *output) {
	p.show(w, p.translator.CloseOpen())
	p.running(w, false)
	p.notify(w, "$/zcode/session_closed", map[string]string{"sessionId": p.sessionID})
	if p.prompt != nil {
		p.prompt.fail(w, unknownSession(p.sessionID))
		p.prompt = nil
	}
	p.conn.unfollow(w, p)
}

// appServerTold takes hub/appServer: what the app-server was at, it will not go on with.
func (c *Conn) appServerTold(w *output, params []byte) {
	if state := stringIn(params, "state"); state == "ready" || state == "migrating" {
		return
	}
	for _, p := range c.places {
		p.show(w, p.translator.CloseOpen()) // background work as well
		if !p.busy() && p.prompt == nil {
			continue
		}
		p.turn, p.execution, p.compacting, p.cancelled = "", "", false, false
		p.running(w, false)
		p.freed()
		if p.prompt != nil && p.prompt.sent {
			p.prompt.fail(w, internalError("ZCode ended in the middle of this turn and is being started again. What was done so far is kept: send the prompt again to go on."))
			p.prompt = nil
		}
	}
}

// A turnEnd is how a turn ended.
type turnEnd struct {
	stopReason string // "" if it failed
	usage      json.RawMessage
	failure    *Error
	transient  bool
}

// readEnd reads turn.completed or turn.failed; last is why the last step of the model ended.
func readEnd(e event, last string) turnEnd {
	if e.kind == "turn.failed" {
		failed, _ := wire.Get(e.payload, "error")
		return failedTurn(failed)
	}
	end := turnEnd{usage: usageOf(e.payload)}
	switch result := stringIn(e.payload, "resultType"); result {
	case "cancelled":
		end.stopReason = "cancelled"
	case "error_max_turns", "error_max_tool_calls", "error_max_budget":
		end.stopReason = "max_turn_requests"
	case "error_during_execution":
		return failedTurn(memberOf(e.payload, "error"))
	default:
		end.stopReason = stopReasonOf(last)
	}
	return end
}

// stopReasonOf says in ACP why a model stopped.
func stopReasonOf(last string) string {
	switch strings.ReplaceAll(last, "-", "_") {
	case "length", "max_tokens", "context_length_exceeded", "model_context_window_exceeded":
		return "max_tokens"
	case "content_filter", "refusal", "safety", "sensitive":
		return "refusal"
	}
	return "end_turn"
}

func failedTurn(failed []byte) turnEnd {
	var f struct {
		Message, Code, Reason, ProviderCode, Type string
		StatusCode                                int
		Retryable                                 *bool
		RetryAfterMs                              int64
	}
	_ = json.Unmarshal(failed, &f)
	data := map[string]any{"type": "zcode_turn_failed"}
	for key, value := range map[string]string{"code": f.Code, "reason": f.Reason, "providerCode": f.ProviderCode} {
		if value != "" {
			data[key] = value
		}
	}
	if f.StatusCode != 0 {
		data["statusCode"] = f.StatusCode
	}
	if f.Retryable != nil {
		data["retryable"] = *f.Retryable
	}
	if f.RetryAfterMs > 0 {
		data["retryAfterMs"] = f.RetryAfterMs
	}
	text := f.Message
	if text == "" {
		text = "it gave no reason"
	}
	return turnEnd{failure: &Error{Code: codeInternal, Message: "ZCode turn failed: " + text, Data: jsonOf(data)},
		transient: f.Retryable != nil && *f.Retryable}
}

// usageOf says in ACP what a turn used: tokens that came from a cache are not input there.
func usageOf(payload []byte) json.RawMessage {
	raw, ok := wire.Get(payload, "usage")
	if !ok {
		return nil
	}
	var u struct{ InputTokens, OutputTokens, TotalTokens, CacheReadTokens, CacheWriteTokens, ReasoningTokens int64 }
	if json.Unmarshal(raw, &u) != nil {
		return nil
	}
	usage := map[string]int64{
		"inputTokens":  max(u.InputTokens-u.CacheReadTokens-u.CacheWriteTokens, 0),
		"outputTokens": u.OutputTokens, "totalTokens": u.TotalTokens,
	}
	for key, n := range map[string]int64{"cachedReadTokens": u.CacheReadTokens, "cachedWriteTokens": u.CacheWriteTokens, "thoughtTokens": u.ReasoningTokens} {
		if n > 0 {
			usage[key] = n
		}
	}
	return jsonOf(usage)
}
