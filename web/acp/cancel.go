package acp

import (
	"context"
	"crypto/rand"
	"time"

	"zcodehub/auth"
)

// cancelTurn takes session/cancel: prompts of this client are over at once, and the turn that runs is stopped, whoever
// began it. Nothing happens where nothing runs.
func (c *Conn) cancelTurn(sessionID string) {
	if !c.has(auth.Control) {
		return
	}
	if !c.native.Steers(sessionID) { // the turn goes on, so nobody may be told that it ended
		c.stopOwn(sessionID)
		return
	}
	// Here and not later: a prompt right behind the cancel must not be stopped with it.
	stopping := c.stopOwn(sessionID)
	room := c.adapter.room(sessionID)
	if room == nil {
		return
	}
	gone, release := room.stop(c)
	if release == nil {
		return
	}
	if gone != nil && gone.conn != c {
		gone.cancel()
		stopping = append(stopping, gone)
	}
	c.mu.Lock()
	again := c.stops[sessionID]
	c.stops[sessionID] = true
	c.mu.Unlock()
	if again {
		release()
		return // the turn is being stopped, and no other can have begun
	}
	started := c.spawn(func() {
		defer release()
		c.stopTurn(sessionID, room, stopping)
		c.mu.Lock()
		delete(c.stops, sessionID)
		c.mu.Unlock()
	})
	if !started {
		release()
	}
}

// stopOwn cancels the prompts of this client in a session.
func (c *Conn) stopOwn(sessionID string) (cancelled []*prompt) {
	c.mu.Lock()
	for _, r := range c.requests {
		if r.prompt != nil && r.sessionID == sessionID {
			cancelled = append(cancelled, r.prompt)
		}
	}
	c.mu.Unlock()
	for _, p := range cancelled {
		p.cancel()
	}
	return cancelled
}

// stopWait bounds how long a stop waits for prompts that are on their way to the app-server, and then for its answer.
const stopWait = 30 * time.Second

func (c *Conn) stopTurn(sessionID string, room *room, stopping []*prompt) {
	turn, execution, busy := "", "", false
	c.write(func(w *output) {
		p := c.places[sessionID]
		if p == nil {
			return
		}
		turn, execution, busy = p.turn, p.execution, p.busy()
		p.cancel(w)
	})
	if !busy && len(stopping) == 0 {
		return
	}
	for _, other := range room.others(c) {
		other.spawn(func() {
			other.write(func(w *output) {
				if p := other.places[sessionID]; p != nil && p.turn == turn {
					p.cancel(w)
				}
			})
		})
	}
	waiting := time.NewTimer(stopWait)
	defer waiting.Stop()
	for _, p := range stopping {
		select {
		case <-p.left: // before that it could still begin a turn
		case <-waiting.C:
			waiting.Reset(0) // and for none of the others
		case <-c.ctx.Done():
			return
		}
	}
	ctx, cancel := context.WithTimeout(c.ctx, stopWait) // of its own: the wait must not cost the stop
	defer cancel()
	// The older way alone is ignored by some versions of the app-server, the newer one does not know all turns.
	_, err := c.native.Call(ctx, "session/stop", map[string]string{"sessionId": sessionID})
	if err != nil {
		c.adapter.log.Warn("a turn could not be stopped", "session", sessionID, "error", err)
	}
	if execution == "" {
		return
	}
	_, _ = c.native.Call(ctx, "v4/command", map[string]any{
		"commandId": rand.Text(), "sessionId": sessionID, "type": "stop",
		"payload": map[string]string{"expectedForegroundExecutionId": execution}, "issuedAt": time.Now().UnixMilli(),
	})
}

// cancel shows the client that the turn is over, whatever still comes of it. The caller holds the pen.
func (p *place) cancel(w *output) {
	if p.turn == "" || p.cancelled {
		return
	}
	p.cancelled = true
	p.conn.withdrawAll(w, p)
	if !p.quiet {
		p.show(w, p.translator.Cancel())
	}
	p.running(w, false)
}

// room is the room of a session if anybody is in it.
func (a *Adapter) room(sessionID string) *room {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rooms[sessionID]
}
