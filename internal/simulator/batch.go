package simulator

import "unicode/utf16"

// Limits of batching, as the protocol states them. Characters are UTF-16 units, times are those of the events.
const (
	textBatchChars  = 2048
	textBatchMillis = 250
	toolBatchChars  = 4096
	toolBatchMillis = 750
)

// source is one event of the runtime before it meets the protocol edge.
type source struct {
	id, turnID string
	at         int64
	kind       string
	payload    object
	delta      *delta // set for stream deltas, which then have no payload of their own
	burst      bool   // keep as a line of its own, may share a write (the prompt "burst")
}

// delta is a piece of streamed text.
type delta struct {
	streamKey
	text string
	raw  raw // JSON text in place of text: lets a script send what a Go string cannot hold
}

// streamKey tells streams apart whose deltas must not be merged.
type streamKey struct{ kind, messageID, toolCallID string }

func (src source) encoded() raw {
	if src.delta == nil {
		return encode(src.payload)
	}
	payload := object{"assistantMessageId": src.delta.messageID, "delta": src.delta.text, "done": false, "kind": src.delta.kind}
	if src.delta.raw != nil {
		payload["delta"] = src.delta.raw
	}
	if src.delta.toolCallID != "" {
		payload["toolCallId"] = src.delta.toolCallID
	}
	return encode(payload)
}

// batcher merges stream deltas at the protocol edge: the first delta of a stream goes out at once, later ones when
// enough has come together; any other event flushes what is pending. It needs no timer.
type batcher struct {
	pending *source // merged deltas of one stream
	chars   int
	flushed map[streamKey]int64 // when each stream last went out
}

// add takes the next event and returns what goes out now, in order.
func (b *batcher) add(src source) []source {
	if src.delta == nil || src.burst || src.delta.raw != nil {
		return append(b.flush(), src)
	}
	key := src.delta.streamKey
	last, known := b.flushed[key]
	if !known {
		out := append(b.flush(), src)
		b.mark(key, src.at)
		return out
	}
	var out []source
	if b.pending != nil && b.pending.delta.streamKey != key {
		out = b.flush()
	}
	b.merge(src)
	maxChars, maxMillis := textBatchChars, int64(textBatchMillis)
	if key.toolCallID != "" {
		maxChars, maxMillis = toolBatchChars, toolBatchMillis
	}
	if b.chars >= maxChars || src.at-last >= maxMillis {
		out = append(out, b.flush()...)
	}
	return out
}

// merge adds src to what is pending; the merged event carries id and time of its latest part.
func (b *batcher) merge(src source) {
	merged := *src.delta
	if b.pending != nil {
		merged.text = b.pending.delta.text + merged.text
	}
	b.chars += len(utf16.Encode([]rune(src.delta.text)))
	src.delta = &merged
	b.pending = &src
}

func (b *batcher) flush() []source {
	if b.pending == nil {
		return nil
	}
	src := *b.pending
	b.pending, b.chars = nil, 0
	b.mark(src.delta.streamKey, src.at)
	return []source{src}
}

func (b *batcher) mark(key streamKey, at int64) {
	if b.flushed == nil {
		b.flushed = map[streamKey]int64{}
	}
	b.flushed[key] = at
}

// reset forgets the streams of earlier turns.
func (b *batcher) reset() { b.flushed = nil }
