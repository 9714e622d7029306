package acp

import (
	"context"
	"encoding/json"
	"time"

	"zcodehub/fanout"
	"zcodehub/internal/wire"
)

// A place is one session on one connection: what its client has been told of it. It is owned by whoever holds the pen.
type place struct {
	conn       *Conn
	room       *room
	sessionID  string
	translator *Translator
	commands   []Command

	// the turn that runs, as this connection has heard of it
	turn       string // "" if none does
	execution  string // its name to a stop that is meant for it alone
	input      string // id of the message that began it
	stopReason string // why the model's last step ended
	spoke      bool   // something of it was shown
	compacting bool   // no turn, but the session is busy all the same
	cancelled  bool   // somebody cancelled it: what still comes of it is not shown

	prompt   *prompt       // of this connection, sent and not ended; nil if there is none
	echoed   string        // the id of the prompt of another connection that was shown last
	changed  chan struct{} // closed and replaced when the session becomes free
	told     bool          // the client was told that a turn runs
	lastSaid time.Time     // when the client was last told anything of this session

	quiet bool   // a load is under way: what happens now will be in the replay
	holds bool   // a page is under way: what happens now waits for its end, since clients would put it at the top
	held  []byte // that, as ready frames

	asksHeld bool // questions wait until a load is over
}

// maxHeld bounds what is held: a page takes a round trip to the app-server, in which no turn streams a tenth of this.
const maxHeld = 8 << 20

// busy tells that the app-server would not take a prompt now.
func (p *place) busy() bool { return p.turn != "" || p.compacting }

// freed wakes the prompts that wait for the session.
func (p *place) freed() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// say adds a message about the session, unless it will be in the replay.
func (p *place) say(w *output, message []byte) {
	switch {
	case p.quiet:
	case !p.holds:
		p.lastSaid = time.Now()
		w.add(message)
	case len(p.held)+len(message) > maxHeld:
		p.conn.adapter.metrics.held.Inc()
		p.conn.sink.CloseSoon(closeTooSlow, "too much happened during session/load_earlier: load again")
	default:
		p.held = fanout.AppendFrame(p.held, message)
	}
}

// closeTooSlow is the native surface's code for a client that should come again at once.
const closeTooSlow = 4408

// release ends holding.
func (p *place) release(w *output) {
	p.holds = false
	w.addFrames(p.held)
	p.held = nil
}

func (p *place) show(w *output, updates []Update) {
	for _, u := range updates {
		p.say(w, u.Notification(p.sessionID))
	}
}

func (p *place) notify(w *output, method string, params any) {
	p.say(w, appendNotification(nil, method, params))
}

// running tells the client whether a turn runs, if it does not know.
func (p *place) running(w *output, running bool) {
	if p.told == running || p.quiet {
		return
	}
	p.told = running
	p.notify(w, "$/zcode/turnState", map[string]any{"sessionId": p.sessionID, "running": running})
}

// A seat is where a subscription to a session begins, and what the session is there.
type seat struct {
	epoch    string
	floor    uint64   // the oldest event that the hub still has
	events   [][]byte // what came since the cursor
	snapshot []byte
}

func readSeat(result []byte) (s seat) {
	for m := range wire.Members(result) {
		switch string(m.Key) {
		case "epoch":
			s.epoch, _ = wire.StringValue(m.Value)
		case "floorSeq":
			n, _ := wire.Int64(m.Value)
			s.floor = uint64(max(n, 0))
		case "events":
			for event := range wire.Elements(m.Value) {
				s.events = append(s.events, event)
			}
		case "snapshot":
			s.snapshot = m.Value
		}
	}
	return s
}

// A state is a session as a snapshot shows it (protocol document 2.1).
type state struct {
	Settings   json.RawMessage
	Projection struct {
		Status                     string
		ContextUsed, ContextWindow int64
		ActiveToolCalls            []struct{ ToolCallID, Status string }
		BackgroundJobs             []json.RawMessage
	}
	Runtime struct {
		ActiveTurnID, ActiveTurnKind string
		ContextUsage                 *struct{ Used, Size int64 }
	}
	Messages      []json.RawMessage
	Todos         json.RawMessage
	SlashCommands json.RawMessage
}

const turnCompact = "compact"

func readState(snapshot []byte) (s state) {
	_ = json.Unmarshal(snapshot, &s) // what is missing stays empty
	return s
}

func (s *state) usage() (used, size int64) {
	if u := s.Runtime.ContextUsage; u != nil {
		return u.Used, u.Size
	}
	return s.Projection.ContextUsed, s.Projection.ContextWindow
}

// subscribe follows a session, or begins to follow it anew, and calls then with the pen when it is known where: every
// event from there on comes after, and none before. from is nil, or a position whose later events then gets.
func (c *Conn) subscribe(ctx context.Context, sessionID string, from *position, then func(*output, seat)) error {
	params := map[string]any{"sessionId": sessionID, "includeSnapshot": true}
	if from != nil {
		params["epoch"], params["afterSeq"] = from.epoch, from.seq
	}
	var failed error
	late := make(chan struct{})
	waits := false
	err := c.native.Do(ctx, "session/subscribe", params, func(result json.RawMessage, err error) {
		if failed = err; err != nil {
			return
		}
		c.hold(func(w *output) {
			s := readSeat(result)
			if s.snapshot != nil {
				then(w, s)
				return
			}
			waits = true // the app-server is busy: hub/snapshot follows
			c.late[sessionID] = func(w *output, s seat) {
				defer close(late)
				if s.snapshot == nil {
					failed = unknownSession(sessionID)
					return
				}
				then(w, s)
			}
		})
	})
	switch {
	case err != nil:
		return err
	case failed != nil || !waits:
		return failed
	}
	select {
	case <-late:
		return failed
	case <-ctx.Done():
		c.hold(func(*output) { delete(c.late, sessionID) })
		return context.Cause(ctx)
	}
}

// A position is a place in a session's stream.
type position struct {
	epoch string
	seq   uint64
}

// follow makes sure that the client follows a session, without telling it anything of what was.
func (c *Conn) follow(ctx context.Context, sessionID string) (*place, error) {
	var p *place
	c.hold(func(*output) { p = c.places[sessionID] })
	if p != nil {
		return p, nil
	}
	err := c.subscribe(ctx, sessionID, nil, func(_ *output, s seat) {
		at := readState(s.snapshot)
		p = c.settle(sessionID, &at)
		p.sync(&at)
	})
	if err == nil && p == nil {
		err = ErrNativeClosed
	}
	return p, err
}

// settle makes or renews the place of a session, with a translator to which nothing was told. The caller holds the pen.
func (c *Conn) settle(sessionID string, at *state) *place {
	p := c.places[sessionID]
	if p == nil {
		p = &place{conn: c, sessionID: sessionID, changed: make(chan struct{}), room: c.adapter.enter(sessionID, c)}
		c.places[sessionID] = p
	}
	p.translator = NewTranslator(TranslatorOptions{SessionID: sessionID, Terminal: c.traits().terminal, Fresh: len(at.Messages) == 0})
	p.translator.Settings(at.Settings)
	if used, size := at.usage(); size > 0 {
		p.translator.Usage(used, size)
	}
	p.commands = Commands(at.SlashCommands, OwnCommands...)
	return p
}

// unfollow ends the place of a session. The caller holds the pen.
func (c *Conn) unfollow(w *output, p *place) {
	delete(c.places, p.sessionID)
	p.room.leave(c)
	c.dropAsks(w, p)
	c.native.Go("session/unsubscribe", map[string]string{"sessionId": p.sessionID}, nothing)
}

func nothing(json.RawMessage, error) {}
