package acp

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"zcodehub/internal/wire"
)

// An ask is a question of the agent as one client is asked it. The ledger, and whose answer counts, are the hub's.
//
//	       asked                    slot free                 result
//	──────────────────> waiting ──────────────────> shown ──────────────> answered
//	                       ▲                          │ a load, a failure,     │ not taken
//	                       └──────── load, resume ── parked <─────────────────┘
//
// Whatever its state, it is over when the hub says that it is settled.
type ask struct {
	*Ask
	id     string // the hub's
	place  *place
	state  askState
	dialog *Dialog // nil before it was first shown
	kind   string  // of the dialog's request: a client has one slot of each
	number int64   // id of the request under which it was shown last; 0: there is none to withdraw
}

type askState uint8

const (
	askWaiting  askState = iota // for a free slot
	askShown                    // in its slot
	askParked                   // the client lost it, or cannot answer it: until the session is loaded or resumed again
	askAnswered                 // the hub has the answer
)

// reshowDelay is how long after a load its questions are shown: a client clears its dialogs while it takes in the load.
const reshowDelay = 300 * time.Millisecond

// asked takes a question from the hub, on the goroutine that writes to the native client. It is the same one under the
// same id however often it comes.
func (c *Conn) asked(id, method string, params []byte) {
	about, ok := ReadAsk(method, params)
	if !ok {
		return
	}
	c.hold(func(w *output) {
		p := c.places[about.SessionID]
		if p == nil || slices.ContainsFunc(c.asks, func(a *ask) bool { return a.id == id }) {
			return
		}
		c.asks = append(c.asks, &ask{Ask: about, id: id, place: p})
		c.showAsks(w)
	})
}

// showAsks fills the free slots, one for permissions and one for forms, with what waits longest. The caller holds the pen.
func (c *Conn) showAsks(w *output) {
	for _, a := range c.asks {
		if a.state != askWaiting || a.place.quiet || a.place.holds || a.place.asksHeld {
			continue
		}
		if a.dialog == nil {
			a.dialog = NewDialog(a.Ask, c.traits().kind())
		}
		kind := a.dialog.Kind()
		if slices.ContainsFunc(c.asks, func(other *ask) bool { return other.state == askShown && other.kind == kind }) {
			continue
		}
		c.withdraw(w, a) // a client that did not lose it would have two dialogs
		c.put(w, a, a.dialog.Request())
	}
}

// put puts a request of a dialog to the client. The caller holds the pen.
func (c *Conn) put(w *output, a *ask, r Request) {
	a.state, a.kind = askShown, a.dialog.Kind()
	c.lastID++
	a.number = c.lastID
	c.mu.Lock()
	c.open[a.number] = a
	c.mu.Unlock()
	c.adapter.metrics.asks.WithLabelValues(a.kind).Inc()
	a.place.show(w, a.place.translator.Introduce(a.Ask))
	a.place.show(w, r.Before)
	w.add(appendRequest(nil, strconv.AppendInt(nil, a.number, 10), r.Method, json.RawMessage(r.Params)))
}

// answered takes a response of the client. What nobody waits for any more is ignored.
func (c *Conn) answered(in incoming) {
	number, ok := wire.Int64(in.id)
	if !ok {
		return
	}
	c.mu.Lock()
	a := c.open[number]
	delete(c.open, number)
	c.mu.Unlock()
	if a != nil {
		c.spawn(func() { c.write(func(w *output) { c.takeAnswer(w, a, number, in) }) })
	}
}

func (c *Conn) takeAnswer(w *output, a *ask, number int64, in incoming) {
	if a.number != number || a.state == askAnswered || !slices.Contains(c.asks, a) {
		return
	}
	a.number = 0
	defer c.showAsks(w)
	out := askParked
	if a.place.asksHeld {
		out = askWaiting // the client loads the session: the question comes again
	}
	if in.result == nil {
		c.adapter.log.Info("an ACP client could not show a question", "connection", c.ID(), "requestId", a.RequestID, "error", string(in.failed[:min(len(in.failed), 200)]))
		a.state = out
		return
	}
	outcome, err := a.dialog.Answer(in.result)
	if err != nil {
		a.state = out // that was nobody's decision
		return
	}
	a.place.show(w, outcome.After)
	if outcome.Next != nil {
		c.put(w, a, *outcome.Next)
		return
	}
	a.state = askAnswered
	c.native.Answer(a.id, outcome.Reply)
}

// answerTaken takes hub/answer: what became of an answer. One that was not accepted leaves the question open.
func (c *Conn) answerTaken(params []byte) {
	if status := stringIn(params, "status"); status != "invalid" && status != "unknown" {
		return
	}
	id := stringIn(params, "id")
	for _, a := range c.asks {
		if a.id == id && a.state == askAnswered {
			a.state = askParked
			c.adapter.log.Info("an answer of an ACP client was not taken", "connection", c.ID(), "requestId", a.RequestID, "reason", stringIn(params, "reason"))
		}
	}
}

// askSettled takes hub/interactionSettled: the question is over, for everybody.
func (c *Conn) askSettled(w *output, params []byte) {
	sessionID, requestID := stringIn(params, "sessionId"), stringIn(params, "requestId")
	i := slices.IndexFunc(c.asks, func(a *ask) bool { return a.RequestID == requestID && a.SessionID == sessionID })
	if i < 0 {
		return
	}
	a := c.asks[i]
	c.asks = slices.Delete(c.asks, i, i+1)
	c.withdraw(w, a)
	kind := "permission"
	if a.dialog != nil {
		a.place.show(w, a.dialog.Close())
		kind = a.dialog.Kind()
	}
	settled := map[string]string{"sessionId": sessionID, "kind": kind}
	if a.ToolCallID != "" {
		settled["toolCallId"] = a.ToolCallID
	}
	a.place.notify(w, "$/zcode/ask_settled", settled)
	if a.Kind == AskPlan {
		c.later(planDelay, func() { c.look(sessionID) })
	}
	c.showAsks(w)
}

// planDelay is how long after a plan was decided its session is looked at: approval changes the mode, and some versions
// of the app-server say nothing of it.
const planDelay = time.Second

// later calls f after a while, unless the connection ends before.
func (c *Conn) later(d time.Duration, f func()) {
	c.spawn(func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			f()
		case <-c.ctx.Done():
		}
	})
}

// withdraw takes back the request under which a question is shown. The specification knows its id as requestId, the
// remote client as id.
func (c *Conn) withdraw(w *output, a *ask) {
	if a.number == 0 {
		return
	}
	c.mu.Lock()
	delete(c.open, a.number)
	c.mu.Unlock()
	w.notify("$/cancel_request", map[string]int64{"requestId": a.number, "id": a.number})
	a.number = 0
}

// withdrawAll takes back the questions of a session whose turn was cancelled. The caller holds the pen.
func (c *Conn) withdrawAll(w *output, p *place) {
	for _, a := range c.asks {
		if a.place == p && a.state != askAnswered {
			c.withdraw(w, a)
			a.state = askParked
		}
	}
	c.showAsks(w)
}

// voidAsks notes that the client has begun a load: it forgets the dialogs that it shows, of all sessions, without a
// word. Those of the session that it loads come again. A client that did not forget may still answer. The caller holds
// the pen.
func (c *Conn) voidAsks(sessionID string) {
	for _, a := range c.asks {
		switch {
		case a.state == askShown:
			a.state = askParked
			fallthrough
		case a.state == askParked && a.SessionID == sessionID:
			if a.SessionID == sessionID {
				a.state = askWaiting
			}
		}
	}
}

// reshow shows the questions of a session again, soon after a load or resume was answered.
func (c *Conn) reshow(p *place) {
	c.later(reshowDelay, func() {
		c.write(func(w *output) {
			p.asksHeld = false
			c.showAsks(w)
		})
	})
}

// dropAsks forgets the questions of a session that the client does not follow any more. The caller holds the pen.
func (c *Conn) dropAsks(w *output, p *place) {
	c.asks = slices.DeleteFunc(c.asks, func(a *ask) bool {
		if a.place == p {
			c.withdraw(w, a)
		}
		return a.place == p
	})
	c.showAsks(w)
}
