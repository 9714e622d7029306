package session

import (
	"bytes"
	"strconv"

	"zcodehub/fanout"
	"zcodehub/internal/wire"
)

// maxMerged bounds the text of one merged message. A burst then still reaches a
// slow reader in pieces of a size that one write and one repaint can take;
// larger pieces would save nothing measurable, their envelope being 1/1000.
const maxMerged = 256 << 10

const replayableKind = `"web-remote-replayable"`

// NewReplayable returns the coalescer of the replayable lane:
//
//   - consecutive text_delta or reasoning_delta events become one: the envelope
//     of the last, the delta of all, up to maxMerged bytes. They merge when all
//     of their members but fromSeq, seq, eventId, timestamp and payload.delta
//     are the same bytes, hence message, part, parent and input ids too.
//   - tool_input_start, tool_input_delta and tool_input_end are left out: a later
//     tool_call or scheduled carries the whole input. So is tool progress: the
//     result carries the whole output. What is left out widens the interval of
//     the next message, or of a carrier (type hub.advanced) at a forced boundary.
//   - deliveryKind says web-remote-replayable.
//
// Payloads are never decoded: a merged delta is the spliced contents of the JSON
// strings that came, so escapes stay as they were and a surrogate pair that was
// split over two events is whole again. A message that is no session/event
// passes untouched. Messages emitted by one Flush share one fresh allocation and
// may be kept.
func NewReplayable() fanout.Coalescer { return &replayable{} }

// replayable is used by one goroutine at a time, which owns all of it.
type replayable struct {
	queue []piece
	end   uint64 // up to where the queue and what was emitted cover the stream
	to    uint64 // number of the last update added

	leftOut   []byte // raw sessionId of the last update left out, for a carrier
	mergeable bool   // the last piece may take one more delta
	likeness  []byte // of the last piece: see look
	scratch   []byte // of the next one
}

// A piece is one message to come.
type piece struct {
	from, to uint64
	view     view   // the last update in it, whose envelope it takes
	merged   bool   // text is the delta
	text     []byte // contents of the deltas' strings, spliced
}

func (c *replayable) Pending() bool { return c.end != c.to || len(c.queue) > 0 }

func (c *replayable) Add(from, to uint64, msg []byte) {
	if from != c.to {
		c.end = from // the first update
	}
	c.to = to
	var v view
	v, c.scratch = look(msg, c.scratch[:0])
	switch v.class {
	case classInput:
		c.mergeable = false // what follows a tool call's input is shown below it
		c.leftOut = v.sessionID
		return
	case classProgress:
		c.leftOut = v.sessionID
		return
	case classDelta:
		if c.mergeable && bytes.Equal(c.scratch, c.likeness) && c.merge(to, v) {
			return
		}
		c.likeness, c.scratch = c.scratch, c.likeness
	}
	c.mergeable = v.class == classDelta
	c.queue = append(c.queue, piece{from: c.end, to: to, view: v})
	c.end = to
}

// merge adds a delta to the last piece if there is room.
func (c *replayable) merge(to uint64, v view) bool {
	last := &c.queue[len(c.queue)-1]
	if max(len(last.text), last.view.delta.len())+v.delta.len() > maxMerged {
		return false
	}
	if !last.merged {
		last.merged = true
		last.text = append(last.text, last.view.deltaText()...)
	}
	last.text = append(last.text, v.deltaText()...)
	last.view = v
	last.to, c.end = to, to
	return true
}

func (c *replayable) Flush(boundary bool, emit func(from, to uint64, msg []byte)) {
	size := 0
	for i := range c.queue {
		size += c.queue[i].size()
	}
	buf := make([]byte, 0, size)
	for i := range c.queue {
		start := len(buf)
		buf = c.queue[i].append(buf)
		emit(c.queue[i].from, c.queue[i].to, buf[start:len(buf):len(buf)])
	}
	clear(c.queue) // lets the messages go
	c.queue = c.queue[:0]
	c.mergeable = false
	if boundary && c.end != c.to {
		emit(c.end, c.to, c.carrier())
		c.end = c.to
	}
}

// carrier is a message for updates of which nothing survives.
func (c *replayable) carrier() []byte {
	b := strconv.AppendUint([]byte(updatePrefix), c.end, 10)
	b = append(b, `,"seq":`...)
	b = strconv.AppendUint(b, c.to, 10)
	if c.leftOut != nil {
		b = append(b, `,"sessionId":`...)
		b = append(b, c.leftOut...)
	}
	return append(b, `,"type":"`+typeAdvanced+`","deliveryKind":`+replayableKind+`}}`...)
}

// size is an upper bound of what append appends.
func (p *piece) size() int {
	const growth = 20 + len(replayableKind) // fromSeq's digits and the kind may get longer
	return len(p.view.msg) + len(p.text) + growth
}

// append appends the piece's message: the last update's, with fromSeq,
// deliveryKind and delta replaced.
func (p *piece) append(dst []byte) []byte {
	v := &p.view
	if v.rest == 0 {
		return append(dst, v.msg...)
	}
	dst = append(dst, updatePrefix...)
	dst = strconv.AppendUint(dst, p.from, 10)
	patches := [2]struct {
		span
		with []byte
	}{{v.kind, []byte(replayableKind)}, {v.delta, p.text}}
	if !p.merged {
		patches[1].span = span{}
	}
	if patches[1].start < patches[0].start {
		patches[0], patches[1] = patches[1], patches[0]
	}
	at := v.rest
	for _, patch := range patches {
		if patch.start == 0 {
			continue // not in this message
		}
		dst = append(dst, v.msg[at:patch.start]...)
		dst = append(dst, patch.with...)
		at = patch.end
	}
	return append(dst, v.msg[at:]...)
}

type class uint8

const (
	classOther    class = iota // passes
	classDelta                 // text or reasoning: may be merged
	classInput                 // streamed tool input: left out
	classProgress              // tool progress: left out
)

// A span is a part of a message; the zero span is none.
type span struct{ start, end int }

func (s span) len() int { return s.end - s.start }

// A view is what the coalescer sees of one message.
type view struct {
	msg       []byte
	class     class
	rest      int    // index behind the digits of fromSeq; 0 if msg is no update
	kind      span   // deliveryKind's value
	payload   span   // payload's value
	delta     span   // contents of payload.delta's string
	sessionID []byte // raw
}

func (v *view) deltaText() []byte { return v.msg[v.delta.start:v.delta.end] }

// look also appends to likeness what two deltas must have in common to be
// merged: all of their bytes but the members that number and date them, and the
// delta. It is of use for a delta only.
func look(msg, likeness []byte) (view, []byte) {
	v := view{msg: msg}
	var ok bool
	if v.rest, ok = splitUpdate(msg); !ok {
		return v, likeness
	}
	var eventType []byte
	params := UpdateParams(msg)
	for m := range wire.Members(params) {
		value := span{len(methodPrefix) + m.End - len(m.Value), len(methodPrefix) + m.End}
		switch string(m.Key) {
		case "type":
			eventType = m.Value
		case "sessionId":
			v.sessionID = m.Value
		case "deliveryKind":
			v.kind = value
		case "payload":
			v.payload = value
			continue
		case "fromSeq", "seq", "eventId", "timestamp":
			continue
		}
		likeness = append(likeness, params[m.Start:m.End]...)
	}
	switch string(eventType) {
	case `"` + typeStreaming + `"`:
		v.lookAtStreaming()
	case `"` + typeTool + `"`:
		kind, _ := wire.Get(msg[v.payload.start:v.payload.end], "kind")
		if string(kind) == `"`+kindProgress+`"` {
			v.class = classProgress
		}
	}
	if v.class == classDelta {
		likeness = append(likeness, msg[v.payload.start:v.delta.start]...)
		likeness = append(likeness, msg[v.delta.end:v.payload.end]...)
	}
	return v, likeness
}

func (v *view) lookAtStreaming() {
	var kind []byte
	deltas := 0
	for m := range wire.Members(v.msg[v.payload.start:v.payload.end]) {
		switch string(m.Key) {
		case "kind":
			kind = m.Value
		case "delta":
			deltas++
			if m.Value[0] == '"' {
				end := v.payload.start + m.End - 1
				v.delta = span{end - (len(m.Value) - 2), end}
			}
		}
	}
	switch string(kind) {
	case `"` + kindInputStart + `"`, `"` + kindInputDelta + `"`, `"` + kindInputEnd + `"`:
		v.class = classInput
	case `"` + kindText + `"`, `"` + kindReasoning + `"`:
		if deltas == 1 && v.delta.start > 0 { // else nothing that could be spliced
			v.class = classDelta
		}
	}
}
