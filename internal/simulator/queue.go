package simulator

import (
	"slices"
	"strconv"
)

// queue holds inputs that wait for the running turn. Guarded by the loop.
type queue struct {
	items       []*queued
	autoDrain   bool   // what waits runs when the turn before it has ended
	pauseReason string // why it does not
	admitted    int    // inputs so far
}

// Reasons for a queue that is held.
const (
	pauseStopped = "stopped"
	pauseManual  = "manual"
	pauseError   = "error"
)

// queued is one input in the queue.
type queued struct {
	input     turnInput
	kind      string // sendText, sendGoalCommand, compact
	requested string // the delivery its sender asked for
	delivery  string // the one it got: queue, guide
	fellBack  bool   // a guide that the turn did not live to take
	seq       int
	at        int64
}

func (q *queued) id() string { return "queue_" + q.input.command }

// fallBack makes an input that was to steer the turn wait for the next one.
func (q *queued) fallBack() {
	if q.delivery == routeGuide {
		q.delivery, q.fellBack = deliverQueue, true
	}
}

func (q *queued) wire(position int) object {
	delivery := object{"requested": q.requested, "admitted": q.delivery}
	steer := object{"state": "notRequested"}
	switch {
	case q.fellBack:
		steer["state"], steer["reasonCode"] = "fellBack", "turnEnded"
	case q.delivery == routeGuide:
		steer["state"] = "steering"
	}
	return object{"sourceCommandId": q.input.command, "queueItemId": q.id(), "clientId": q.input.client, "kind": q.kind,
		"text": q.input.text, "attachments": listOrEmpty(q.input.uploads), "delivery": delivery, "steer": steer,
		"order": object{"admissionSeq": q.seq, "queuePosition": position}, "dispatch": object{"state": "queued"}, "admittedAt": q.at}
}

func (q *queue) wire() object {
	items := []object{}
	for i, item := range q.items {
		items = append(items, item.wire(i))
	}
	o := object{"items": items, "autoDrain": q.autoDrain}
	if q.pauseReason != "" {
		o["pauseReason"] = q.pauseReason
	}
	return o
}

func (q *queue) find(id string) int {
	return slices.IndexFunc(q.items, func(item *queued) bool { return item.id() == id })
}

func (q *queue) remove(i int) *queued {
	item := q.items[i]
	q.items = slices.Delete(q.items, i, i+1)
	return item
}

func (q *queue) resume() { q.autoDrain, q.pauseReason = true, "" }

const (
	deliverStartNow = "startNow"
	deliverQueue    = "queue"
)

// enqueue puts an input behind the running turn.
func (x *session) enqueue(item *queued) {
	c := x.conversation()
	c.queue.admitted++
	item.seq, item.at = c.queue.admitted, x.s.clock.now()
	c.queue.items = append(c.queue.items, item)
	target := ""
	if x.turn != nil {
		target = x.turn.id
	}
	x.emit("turn.steerQueued", object{"pendingInputId": "pending_" + target + "_" + strconv.Itoa(item.seq), "input": item.input.text,
		"inputPreview": clip(item.input.text, 200), "inputSize": len(item.input.text), "targetTurnId": target,
		"queueLength": len(c.queue.items), "inputId": item.input.inputID, "delivery": item.delivery, "commandKind": item.kind})
}

// guides are the inputs that wait for the turn's next model request.
func (x *session) guides() []*queued {
	c := x.conversation()
	var list []*queued
	for i := 0; i < len(c.queue.items); {
		if c.queue.items[i].delivery == routeGuide {
			list = append(list, c.queue.remove(i))
			continue
		}
		i++
	}
	return list
}

// takeGuides lets the inputs that are meant for the running turn join it.
func (t *turn) takeGuides() bool {
	if t.kind != turnRegular || t.stopped() {
		return false
	}
	list := t.x.guides()
	for _, item := range list {
		m := t.x.addInput(item.input)
		m.Guided = true
		t.parent = m.ID
		t.reportDrained(item, m)
	}
	return len(list) > 0
}

// playQueued goes on with what has queued up meanwhile, as part of the same execution, and reports whether there was
// anything.
func (t *turn) playQueued() bool {
	x := t.x
	if t.stopped() || t.failure != nil || x.evicting {
		return false
	}
	if t.takeGuides() {
		t.step(func(m *step) { m.say("I take your remark into account.") })
		return true
	}
	q := &x.conversation().queue
	if !q.autoDrain || len(q.items) == 0 || q.items[0].kind != "sendText" {
		return false
	}
	item := q.remove(0)
	play, rest := findScript(item.input.text)
	item.input.denied = t.input.denied
	t.user.Outcome = phaseSuccess
	t.input, t.prompt = item.input, rest
	t.input.queryID = "query_" + x.ids.uuid()
	t.user = x.addInput(t.input)
	t.parent = t.user.ID
	t.reportDrained(item, t.user)
	play(t)
	return true
}

func (t *turn) reportDrained(item *queued, m *storedMsg) {
	t.x.emit("turn.steerDrained", object{"pendingInputIds": []string{"pending_" + t.id + "_" + strconv.Itoa(item.seq)},
		"targetTurnId": t.id, "injectedMessageIds": []string{m.ID}, "historyRoundCount": t.x.Turns,
		"drainedInputs": []object{{"inputId": item.input.command, "input": item.input.text, "delivery": item.delivery,
			"messageId": m.ID, "clientId": item.input.client, "attachments": listOrEmpty(item.input.uploads)}}})
}

// addInput puts what a user wrote into the conversation.
func (x *session) addInput(in turnInput) *storedMsg {
	m := x.newMessage("user", "")
	m.Hidden, m.Source, m.Command, m.Client, m.Uploads = in.hidden, in.source, in.command, in.client, in.uploads
	x.newPart(m, "text").Text = in.text
	for _, a := range in.attachments {
		x.newPart(m, "file").File = a
	}
	return m
}

// advance starts what waits at the head of the queue, if the session is free.
func (x *session) advance() {
	if x.chat == nil || x.turn != nil || x.closed || x.s.ending() {
		return
	}
	q := &x.chat.queue
	if !q.autoDrain || len(q.items) == 0 {
		return
	}
	item := q.remove(0)
	item.fallBack()
	x.inner("queue.changed", nil)
	x.s.spawn(x.begin(item.kind, item.input))
}

// begin makes the session busy with an input and gives what has to run next.
func (x *session) begin(kind string, in turnInput) func() {
	switch kind {
	case "compact":
		t := x.newTurn(in, turnCompact, nil, "")
		x.stateUpdated("compact_started", object{"status": "running"})
		return t.compact
	case "sendGoalCommand":
		return x.beginGoal(in)
	}
	play, rest := findScript(in.text)
	t := x.newTurn(in, turnRegular, play, rest)
	x.stateUpdated("prompt_started", object{"status": "running"})
	return t.run
}
