package simulator

import (
	"maps"
	"slices"
)

// servedRows is how many rows a snapshot shows; older ones are fetched (protocol: 60).
const servedRows = 60

// conversation is a session as V4 shows it: a projection that every event of the session changes by delta operations,
// and nothing else. Guarded by the loop.
type conversation struct {
	x        *session
	p        *publisher // nil before the first subscription
	seq      uint64     // of the latest event
	revision int

	control   control
	title     object // meta
	followup  string // what an input does while a turn runs: queue, guide
	queue     queue
	pending   []*pendingInteraction
	plan      any
	usage     object
	manifest  int             // changes of the list of helper agents
	shown     map[string]raw  // the state as patched so far: what a snapshot shows
	rows      []*row          // all of them
	lastRow   int             // the highest row id given out
	turnOf    turnRows        // rows of the running turn
	retry     *row            // the answer that can be asked for again
	model     modelRef        // of the latest turn
	tasks     map[string]*row // tool calls that run in the background, by task
	heldInput *row            // a file-writing call whose input is shown once it is complete
	held      escaped
	ops       []op // of the event that is being taken in
	bumps     bool // it changes something that clients see
}

// turnRows are the rows of a running turn that events still change.
type turnRows struct {
	key    string // user message
	header *row
	open   map[string]*row // kind -> the row that is streaming
	tools  map[string]*row
	answer *row // the last assistantText
}

// stateKeys are the members of a snapshot that patches replace, and whether a change counts as a new revision.
var stateKeys = map[string]bool{
	"control": true, "availability": true, "inputRouting": true, "meta": true, "config": true, "modelTransition": false,
	"usage": false, "queue": true, "pendingInteractions": true, "pendingCommands": false, "backgroundWorks": true,
	"subagents": true, "goal": true, "plan": true, "workspaceHookAdmission": false,
}

// conversation gives the session's V4 side, made when it is first needed from what the session remembers.
func (x *session) conversation() *conversation {
	if x.chat == nil {
		x.chat = newConversation(x)
		x.chat.rejoin()
	}
	return x.chat
}

func newConversation(x *session) *conversation {
	c := &conversation{x: x, followup: "queue", shown: map[string]raw{}, tasks: map[string]*row{},
		control: control{phase: phaseDraft}, title: object{"title": x.Title, "titleSource": titleSource(x.TitleSource)},
		queue: queue{autoDrain: true}, usage: freshUsage(x)}
	c.hydrate()
	for key := range stateKeys {
		c.shown[key] = encode(c.member(key))
	}
	return c
}

// inner records an event that the stream of session events does not show; V4 counts it like any other.
func (x *session) inner(kind string, payload object) {
	src := source{kind: kind, payload: payload, at: x.s.clock.peek()}
	if x.turn != nil {
		src.turnID = x.turn.id
	}
	x.conversation().ingest(src)
}

// ingest takes one event in: it is one step of seq, whatever it changes.
func (c *conversation) ingest(src source) {
	c.seq++
	c.ops, c.bumps = nil, false
	c.reduce(src)
	c.updateManifest()
	c.updateActions()
	c.carryRevision()
	if c.p != nil {
		c.p.publish(c.ops)
	}
	c.ops = nil
	if src.delta == nil {
		c.x.s.relist(c.x)
	}
}

// carryRevision puts the new revision into the event's last patch, or behind it in a patch of its own.
func (c *conversation) carryRevision() {
	if !c.bumps {
		return
	}
	c.revision++
	if !c.followed() {
		return
	}
	if n := len(c.ops); n == 0 || c.ops[n-1].kind != opState {
		c.ops = append(c.ops, op{kind: opState, patch: map[string]raw{}})
	}
	c.ops[len(c.ops)-1].patch["revision"] = encode(c.revision)
}

// followed reports whether anybody may ever read the ops.
func (c *conversation) followed() bool { return c.p != nil }

// appendRow adds a row of the running turn, or of the latest one.
func (c *conversation) appendRow(r *row) *row {
	c.lastRow++
	r.id, r.seq = c.lastRow, c.seq
	c.rows = append(c.rows, r)
	c.changed(opAppended, r)
	return r
}

// upsert tells that r is not what it was.
func (c *conversation) upsert(r *row) { c.changed(opUpserted, r) }

func (c *conversation) changed(kind string, r *row) {
	c.bumps = true
	if c.followed() {
		c.ops = append(c.ops, op{kind: kind, rowID: r.id, row: encode(r.wire())})
	}
}

// grow adds text to a member of a row.
func (c *conversation) grow(r *row, path string, text escaped) {
	if path == outputPath {
		r.printed = append(r.printed, text...)
	} else {
		r.text = append(r.text, text...)
	}
	if c.followed() {
		c.ops = append(c.ops, op{kind: opDelta, rowID: r.id, path: path, text: slices.Clone(text)})
	}
}

// removeFrom drops the row and all after it.
func (c *conversation) removeFrom(rowID int) {
	c.bumps = true
	c.rows = slices.DeleteFunc(c.rows, func(r *row) bool { return r.id >= rowID })
	if c.followed() {
		c.ops = append(c.ops, op{kind: opRemoved, rowID: rowID})
	}
}

// patch tells the named members of the state anew, in one operation.
func (c *conversation) patch(keys ...string) {
	patch := map[string]raw{}
	for _, key := range keys {
		patch[key] = encode(c.member(key))
		c.bumps = c.bumps || stateKeys[key]
	}
	maps.Copy(c.shown, patch)
	if c.followed() {
		c.ops = append(c.ops, op{kind: opState, patch: patch})
	}
}

// patchChanged is patch for members that may be what they were.
func (c *conversation) patchChanged(keys ...string) {
	keys = slices.DeleteFunc(keys, func(key string) bool { return string(encode(c.member(key))) == string(c.shown[key]) })
	if len(keys) > 0 {
		c.patch(keys...)
	}
}

// snapshot is the state as a subscriber gets it.
func (c *conversation) snapshot() object {
	o := object{"protocolVersion": 1, "sessionId": c.x.ID, "logEpoch": c.p.epoch, "seq": c.seq, "revision": c.revision}
	for key, value := range c.shown {
		o[key] = value
	}
	window := []object{}
	for _, r := range c.window() {
		window = append(window, r.wire())
	}
	rows := object{"window": window, "totalCount": len(c.rows), "firstRowId": nil}
	if len(c.rows) > 0 {
		rows["firstRowId"] = c.rows[0].id
	}
	o["rows"] = rows
	return o
}

func (c *conversation) window() []*row { return c.rows[max(0, len(c.rows)-servedRows):] }

// snapshotBound is about the size of the snapshot.
func (c *conversation) snapshotBound() int {
	n := 0
	for _, value := range c.shown {
		n += len(value)
	}
	for _, r := range c.window() {
		n += r.size()
	}
	return n
}

// findRow gives the row that a command names, nil if it is not there or something else by now.
func (c *conversation) findRow(rowID int, entity string) *row {
	i, ok := slices.BinarySearchFunc(c.rows, rowID, func(r *row, id int) int { return r.id - id })
	if !ok || c.rows[i].entity != entity {
		return nil
	}
	return c.rows[i]
}
