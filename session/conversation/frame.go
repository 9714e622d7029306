package conversation

import (
	"bytes"
	"iter"

	"zcodehub/internal/wire"
)

// Delivery kinds of a frame.
const (
	Initial  = "initial"  // first after a subscribe
	Online   = "online"   // as things happen
	Recovery = "recovery" // first after a resync
)

// Kind says what a frame's payload is.
type Kind uint8

// The two kinds of payload.
const (
	Deltas   Kind = iota // steps from one state to the next
	Snapshot             // a whole state
)

// A Frame is one logical frame, whole. Its bytes are views of the message it
// came in, or its own if it came in fragments; a State copies what it keeps.
//
// Members of the logical frame beside these (ttft, ttftRelated) are measurements
// of one subscription, not state, and end here.
type Frame struct {
	Topic          string
	SubscriptionID string
	DeliveryKind   string
	From, To       uint64 // the interval (From, To]; From is 0 for a snapshot
	SentAt         int64  // Unix milliseconds
	Kind           Kind
	Payload        []byte // raw

	body []byte // raw snapshot object or array of deltas
}

// Snapshot is the raw snapshot object; nil if the frame is of deltas.
func (f *Frame) Snapshot() []byte {
	if f.Kind != Snapshot {
		return nil
	}
	return f.body
}

// Deltas yields the raw deltas in order; none if the frame is a snapshot.
func (f *Frame) Deltas() iter.Seq[[]byte] {
	if f.Kind != Deltas {
		return func(func([]byte) bool) {}
	}
	return wire.Elements(f.body)
}

// readLogical fills f from the raw logical frame, valid JSON. It says with which
// fault it failed, or "".
func (f *Frame) readLogical(frame []byte) (code string) {
	if !isObject(frame) {
		return faultInvalidPayload
	}
	var topic, subscription, payload []byte
	var okFrom, okTo, okSent bool
	for m := range wire.Members(frame) {
		switch string(m.Key) {
		case "topic":
			topic, _ = text(m.Value)
		case "subscriptionId":
			subscription, _ = text(m.Value)
		case "fromSeq":
			f.From, okFrom = number(m.Value)
		case "toSeq":
			f.To, okTo = number(m.Value)
		case "sentAt":
			f.SentAt, okSent = wire.Int64(m.Value)
		case "payload":
			payload = m.Value
		}
	}
	switch {
	case string(topic) != f.Topic || string(subscription) != f.SubscriptionID:
		return faultMetadataMismatch
	case !okFrom || !okTo || !okSent || f.To < f.From:
		return faultInvalidPayload
	}
	var ok bool
	f.Payload = payload
	if f.Kind, f.body, ok = readPayload(payload); !ok {
		return faultInvalidPayload
	}
	return ""
}

// readPayload finds the snapshot or the deltas in a payload, valid JSON.
func readPayload(payload []byte) (k Kind, body []byte, ok bool) {
	if !isObject(payload) {
		return 0, nil, false
	}
	var kind, snapshot, deltas []byte
	for m := range wire.Members(payload) {
		switch string(m.Key) {
		case "kind":
			kind = m.Value
		case "snapshot":
			snapshot = m.Value
		case "deltas":
			deltas = m.Value
		}
	}
	switch string(kind) {
	case `"snapshot"`:
		return Snapshot, snapshot, isObject(snapshot)
	case `"deltas"`:
		return Deltas, deltas, len(deltas) > 0 && deltas[0] == '['
	}
	return 0, nil, false
}

// text decodes a JSON string token; without escapes the answer is a view of it.
func text(raw []byte) ([]byte, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], true
	}
	s, ok := wire.StringValue(raw)
	return []byte(s), ok
}

// number reads a sequence number, ordinal or count.
func number(raw []byte) (uint64, bool) {
	n, ok := wire.Int64(raw)
	return uint64(n), ok && n >= 0
}

func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }
