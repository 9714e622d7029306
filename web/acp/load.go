package acp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"zcodehub/internal/wire"
)

// A loading is one session/load under way.
type loading struct {
	*request
	limit int
	all   bool // no limit: the whole history

	newest  string // id of the newest message that the store has
	before  string // of the newest one in the snapshot before this one
	tries   int
	unready bool      // the history is still being read: look again
	again   *position // the running turn has to be fetched from here
}

const (
	// settleEvery and settleWithin bound the wait for a history that the app-server is still reading: just after it
	// took a session out of its store, the list may be a growing beginning of it.
	settleEvery  = 200 * time.Millisecond
	settleWithin = 30 * time.Second
)

// loadSession takes session/load: replays the history, the end of it or all, answers, and goes on live. The snapshot and
// the place in the stream where live events begin come from the hub in one step, so nothing is missing and nothing comes
// twice. What the running turn has streamed so far is replayed from its events.
func (c *Conn) loadSession(r *request) (any, error) {
	meta, _ := wire.Get(r.params, "_meta")
	l := &loading{request: r}
	l.limit, l.all = ReadLimit(meta)
	c.hold(func(*output) { c.beginLoad(r.sessionID) })
	err := c.load(l)
	c.write(func(w *output) {
		p := c.places[r.sessionID]
		if p == nil {
			return
		}
		if err != nil {
			p.quiet = false
		}
		c.reshow(p)
	})
	return nil, err
}

// beginLoad is what a load does at once: the client has forgotten its dialogs, and updates of the session would fall
// among the replayed ones. The caller holds the pen.
func (c *Conn) beginLoad(sessionID string) {
	c.voidAsks(sessionID)
	if p := c.places[sessionID]; p != nil {
		p.quiet, p.asksHeld = true, true
	}
}

func (c *Conn) load(l *loading) error {
	if err := c.bringBack(l.request); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(l.ctx, settleWithin, errUnsettled)
	defer cancel()
	for {
		c.native.Go("session/messages", map[string]any{"sessionId": l.sessionID, "limit": 1}, func(result json.RawMessage, _ error) {
			list, _ := wire.Get(result, "messages")
			l.newest = newestID(list)
		})
		l.tries++
		l.unready, l.again = false, nil
		err := c.subscribe(l.ctx, l.sessionID, nil, func(w *output, s seat) { c.replay(w, l, s) })
		if err == nil && l.again != nil {
			err = c.subscribe(l.ctx, l.sessionID, l.again, func(w *output, s seat) { c.replay(w, l, s) })
		}
		if err != nil || !l.unready {
			return err
		}
		select {
		case <-time.After(settleEvery):
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errUnsettled) {
				return internalError("The history of this session is still being read: load it again in a moment.")
			}
			return context.Cause(ctx)
		}
	}
}

var errUnsettled = errors.New("the history does not settle")

// settled tells whether the snapshot holds the whole history: its newest message is the store's, or it is the same as a
// moment ago.
func (l *loading) settled(s *state) bool {
	newest := ""
	if n := len(s.Messages); n > 0 {
		newest = readMessage(s.Messages[n-1]).id
	}
	same := newest == l.newest || l.tries > 1 && newest == l.before
	l.before = newest
	return same
}

func newestID(list []byte) (id string) {
	for raw := range wire.Elements(list) {
		id = readMessage(raw).id
	}
	return id
}

// replayBatch is how many messages are translated at a time: a history of any length passes without being held twice.
const replayBatch = 50

// replay writes the replay and the answer, in the order that clients rely on. It runs where the subscription begins.
func (c *Conn) replay(w *output, l *loading, s seat) {
	at := readState(s.snapshot)
	active := at.Runtime.ActiveTurnID
	if at.Runtime.ActiveTurnKind == turnCompact {
		active = ""
	}
	if active == "" && !l.settled(&at) {
		l.unready = true
		return
	}
	if active != "" && l.again == nil && (l.all || l.limit > 0) {
		l.again = &position{epoch: s.epoch, seq: s.floor}
		return
	}
	p := c.settle(l.sessionID, &at)
	p.quiet, p.asksHeld = false, true
	p.turn, p.input, p.execution = "", "", ""
	p.told = true // that a turn runs is told after the answer
	turn := turnEvents(s.events, active)
	messages := at.Messages
	if len(turn) > 0 {
		messages = upTo(messages, stringIn(turn[0], "payload", "messageId"))
	}
	log := ReadLog(messages)
	page := log.All()
	if !l.all {
		page = log.Tail(l.limit)
	}
	if len(turn) == 0 {
		p.translator.Running(active)
	}
	for batch := range slices.Chunk(page.Messages, replayBatch) {
		p.show(w, p.translator.History(batch))
	}
	if len(turn) > 0 {
		if sent := p.room.sent(stringIn(turn[0], "payload", "inputId")); sent != nil {
			p.echoed = sent.id // it is in the history
		}
	}
	for _, event := range turn {
		p.event(w, event)
	}
	p.show(w, p.translator.Tasks(at.Projection.BackgroundJobs))
	p.show(w, p.translator.Plan(at.Todos))
	if used, size := at.usage(); size > 0 {
		p.show(w, p.translator.Usage(used, size))
	}
	page.Meta.TurnActive = at.Runtime.ActiveTurnID != ""
	c.answer(w, l.request, appendResult(nil, l.id, map[string]any{
		"modes": p.translator.Modes(), "configOptions": p.translator.ConfigOptions(),
		"replayMeta": page.Meta, "_meta": map[string]any{"zcode": map[string]any{"replay": page.Meta}},
	}))
	p.show(w, []Update{CommandsUpdate(p.commands)})
	p.told = false
	p.sync(&at)
	p.running(w, p.busy())
	c.adapter.directory.Use(l.sessionID)
}

// turnEvents are the events of the turn that runs, from its start on; none if that is not among them.
func turnEvents(events [][]byte, active string) [][]byte {
	if active == "" {
		return nil
	}
	for i := len(events) - 1; i >= 0; i-- {
		if stringIn(events[i], "type") == "turn.started" && stringIn(events[i], "turnId") == active {
			return events[i:]
		}
	}
	return nil
}

// upTo is the history up to the input of the turn that runs; all of it if that is not there.
func upTo(messages []json.RawMessage, input string) []json.RawMessage {
	for i := len(messages) - 1; i >= 0 && input != ""; i-- {
		if readMessage(messages[i]).id == input {
			return messages[:i+1]
		}
	}
	return messages
}

// loadEarlier takes session/load_earlier: a page of older messages. Nothing else of the session comes between the request
// and its answer, since clients put all of it at the top.
func (c *Conn) loadEarlier(r *request) (any, error) {
	var params struct {
		Before string
		Limit  json.RawMessage
	}
	if err := decode(r, &params); err != nil {
		return nil, err
	}
	var p *place
	c.hold(func(*output) {
		if p = c.places[r.sessionID]; p != nil {
			p.holds = true
		}
	})
	if p == nil {
		return nil, badParams("this session is not loaded on this connection: load it first")
	}
	var failed error
	err := c.native.Do(r.ctx, "session/read", map[string]string{"sessionId": r.sessionID}, func(result json.RawMessage, err error) {
		if failed = err; err != nil {
			return
		}
		c.hold(func(w *output) { failed = c.page(w, r, p, result, params.Before, ReadEarlierLimit(params.Limit)) })
	})
	if err == nil {
		err = failed
	}
	c.finish(r, nil, err)
	c.write(func(w *output) {
		p.release(w)
		c.showAsks(w)
	})
	return nil, nil
}

// page writes a page and the answer, past what is held back.
func (c *Conn) page(w *output, r *request, p *place, snapshot []byte, before string, limit int) error {
	at := readState(snapshot)
	page, err := ReadLog(at.Messages).Before(before, limit)
	if err != nil {
		return &Error{Code: codeParams, Message: err.Error()}
	}
	for _, u := range p.translator.Earlier(page.Messages) {
		w.add(u.Notification(p.sessionID))
	}
	c.answer(w, r, appendResult(nil, r.id, map[string]any{"replayMeta": page.Meta, "_meta": map[string]any{"zcode": map[string]any{"replay": page.Meta}}}))
	return nil
}
