package session

import (
	"bytes"
	"strconv"

	"zcodehub/internal/wire"
)

// The event types and payload kinds this package has to know. Everything else
// passes through it as it came.
const (
	typeStreaming  = "model.streaming"
	typeTool       = "tool.updated"
	typePermission = "permission.resolved"
	typeUserInput  = "userInput.resolved"
	typeTurnEnd    = "turn.completed"
	typeTurnFailed = "turn.failed"
	typeAdvanced   = "hub.advanced" // the hub's own: nothing happened, but the seq went on

	kindText       = "text_delta"
	kindReasoning  = "reasoning_delta"
	kindInputStart = "tool_input_start"
	kindInputDelta = "tool_input_delta"
	kindInputEnd   = "tool_input_end"
	kindCall       = "tool_call"
	kindScheduled  = "scheduled"
	kindStarted    = "started"
	kindProgress   = "progress"
	kindResult     = "result"
	kindError      = "error"
	kindBatch      = "batch"
)

// Event is a shallow view of the params of one session/event. The payload stays
// the bytes that came.
type Event struct {
	SessionID, TurnID, Type string
	Seq                     uint64
	Payload                 []byte // raw; nil if there is none
}

// ParseEvent reads the envelope of valid params. What is missing or of another
// type than the protocol says is left empty.
func ParseEvent(params []byte) (e Event) {
	for m := range wire.Members(params) {
		switch string(m.Key) {
		case "sessionId":
			e.SessionID, _ = wire.StringValue(m.Value)
		case "turnId":
			e.TurnID, _ = wire.StringValue(m.Value)
		case "type":
			e.Type, _ = wire.StringValue(m.Value)
		case "seq":
			seq, _ := wire.Int64(m.Value)
			e.Seq = uint64(max(seq, 0))
		case "payload":
			e.Payload = m.Value
		}
	}
	return e
}

// Text returns a string member of the payload, empty if it has none.
func (e *Event) Text(key string) string { return textOf(e.Payload, key) }

func textOf(obj []byte, key string) string {
	raw, _ := wire.Get(obj, key)
	s, _ := wire.StringValue(raw)
	return s
}

// Settles reports whether an event of this type can settle an interaction, so
// that all others need not be parsed for [Ledger.Observe].
func Settles(eventType []byte) bool {
	switch string(eventType) {
	case typePermission, typeUserInput, typeTool, typeTurnEnd, typeTurnFailed:
		return true
	}
	return false
}

const (
	methodPrefix = `{"method":"session/event","params":`
	updatePrefix = methodPrefix + `{"fromSeq":`
)

// AppendUpdate appends the message that stands for the update (fromSeq, seq] in
// a stream: a session/event whose params are those that came, with fromSeq put
// before them. params is a valid JSON object that starts with its brace.
func AppendUpdate(dst []byte, fromSeq uint64, params []byte) []byte {
	dst = append(dst, updatePrefix...)
	dst = strconv.AppendUint(dst, fromSeq, 10)
	members := bytes.TrimLeft(params[1:], " \t")
	if members[0] != '}' {
		dst = append(dst, ',')
	}
	dst = append(dst, members...)
	return append(dst, '}')
}

// UpdateParams returns the params of a message made by [AppendUpdate].
func UpdateParams(msg []byte) []byte { return msg[len(methodPrefix) : len(msg)-1] }

// splitUpdate returns the index behind fromSeq's digits in a message made by
// AppendUpdate; ok is false for any other message.
func splitUpdate(msg []byte) (rest int, ok bool) {
	if !bytes.HasPrefix(msg, []byte(updatePrefix)) {
		return 0, false
	}
	rest = len(updatePrefix)
	for rest < len(msg) && '0' <= msg[rest] && msg[rest] <= '9' {
		rest++
	}
	return rest, true
}
