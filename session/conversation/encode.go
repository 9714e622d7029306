package conversation

import (
	"bytes"
	"strconv"

	"zcodehub/internal/wire"
)

// A Head is what a frame says about the subscription it belongs to.
type Head struct {
	SubscriptionID string
	LogicalFrameID string
	Ordinal        uint64
	DeliveryKind   string
	Topic          string
}

// The marks below find the parts of a message made by AppendFrame. Each starts
// with a comma and a bare quote, which cannot stand inside a JSON string, and
// the first of each in the message is the one meant: only strings and numbers
// stand before it.
const (
	sentAtMark  = `,"sentAt":`
	payloadMark = `,"payload":`
	frameEnd    = `}}}`
)

// AppendFrame appends a whole message of one complete frame. payload is spliced
// in as it is.
func AppendFrame(dst []byte, h Head, from, to uint64, sentAt int64, payload []byte) []byte {
	dst = appendFrameStart(dst, h, from, to, sentAt)
	dst = append(dst, payload...)
	return append(dst, frameEnd...)
}

func appendFrameStart(dst []byte, h Head, from, to uint64, sentAt int64) []byte {
	dst = appendPhysical(dst, "complete", h)
	dst = append(dst, `,"frame":`...)
	return appendLogicalStart(dst, h, from, to, sentAt)
}

func appendPhysical(dst []byte, kind string, h Head) []byte {
	dst = append(dst, `{"method":"v4/conversation/frame","params":{"wireVersion":`+wireVersion+`,"kind":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","deliveryKind":"`...)
	dst = append(dst, h.DeliveryKind...)
	dst = append(dst, `","logicalFrameId":`...)
	dst = wire.AppendString(dst, h.LogicalFrameID)
	dst = append(dst, `,"logicalFrameOrdinal":`...)
	dst = strconv.AppendUint(dst, h.Ordinal, 10)
	return appendNames(append(dst, ','), h)
}

func appendNames(dst []byte, h Head) []byte {
	dst = append(dst, `"topic":`...)
	dst = wire.AppendString(dst, h.Topic)
	dst = append(dst, `,"subscriptionId":`...)
	return wire.AppendString(dst, h.SubscriptionID)
}

func appendLogicalStart(dst []byte, h Head, from, to uint64, sentAt int64) []byte {
	dst = appendNames(append(dst, '{'), h)
	dst = append(dst, sentAtMark...)
	dst = strconv.AppendInt(dst, sentAt, 10)
	dst = append(dst, `,"fromSeq":`...)
	dst = strconv.AppendUint(dst, from, 10)
	dst = append(dst, `,"toSeq":`...)
	dst = strconv.AppendUint(dst, to, 10)
	return append(dst, payloadMark...)
}

// headSize is at least what the message holds beside the payload.
func headSize(h Head) int {
	const fixed = 400 // measured 250 for the keys, and 20 digits for each of five numbers
	return fixed + 6*(len(h.LogicalFrameID)+2*len(h.Topic)+2*len(h.SubscriptionID))
}

// Payload is the payload of a message made by [AppendFrame]; nil if it is
// something else.
func Payload(msg []byte) []byte {
	i := bytes.Index(msg, []byte(payloadMark))
	if i < 0 || !bytes.HasSuffix(msg, []byte(frameEnd)) {
		return nil
	}
	i += len(payloadMark)
	end := len(msg) - len(frameEnd)
	if i >= end {
		return nil
	}
	return msg[i:end:end]
}

// sentAtOf is when a message made by AppendFrame says it was sent; 0 if it does not.
func sentAtOf(msg []byte) (t int64) {
	i := bytes.Index(msg, []byte(sentAtMark))
	if i < 0 {
		return 0
	}
	digits := msg[i+len(sentAtMark):]
	end := bytes.IndexByte(digits, ',')
	if end < 0 {
		return 0
	}
	t, _ = wire.Int64(digits[:end])
	return t
}

// SnapshotPayload makes the payload that carries a snapshot.
func SnapshotPayload(snapshot []byte) []byte {
	const start = `{"kind":"snapshot","snapshot":`
	p := make([]byte, 0, len(start)+len(snapshot)+1)
	p = append(p, start...)
	p = append(p, snapshot...)
	return append(p, '}')
}
