package acp

import (
	"strings"
	"unicode/utf8"

	"zcodehub/internal/wire"
)

// spoken is what this connection has been told of one message.
type spoken struct{ text, thought heard }

// heard is a text that was sent in pieces: its length, and a sum to know it by.
type heard struct {
	n   int
	sum uint64
}

// FNV-1a, 64 bits: good enough to tell a text from another one of the same beginning, and made of pieces for nothing.
const (
	sumStart = 14695981039346656037
	sumPrime = 1099511628211
)

func sumOf(sum uint64, text string) uint64 {
	for i := range len(text) {
		sum = (sum ^ uint64(text[i])) * sumPrime
	}
	return sum
}

func (h *heard) add(text string) {
	if h.n == 0 {
		h.sum = sumStart
	}
	h.n += len(text)
	h.sum = sumOf(h.sum, text)
}

// missing is what of the whole text was not heard yet. Where the text differs from what was heard nothing is missing:
// it was streamed, and stored in another form.
func (h *heard) missing(whole string) string {
	if h.n == 0 {
		return whole
	}
	if len(whole) > h.n && sumOf(sumStart, whole[:h.n]) == h.sum {
		return whole[h.n:]
	}
	return ""
}

// message is what was said under an id.
func (t *Translator) message(id string) *spoken {
	m, known := t.said.get(id)
	if !known {
		m = &spoken{}
		t.said.put(id, m)
	}
	return m
}

// markSeen notes a message that needs no more telling, and says whether it was known before.
func (t *Translator) markSeen(id string) bool {
	if id == "" {
		return false
	}
	_, known := t.said.get(id)
	t.message(id)
	return known
}

// half is the first half of a surrogate pair: providers cut their streams anywhere, and strict readers take no halves.
type half struct {
	raw           string // as it came: \ud83d
	kind, message string
}

// streamed is model.streaming: a piece of text or of a thought, or the arguments of a call to come.
func (t *Translator) streamed(e event) []Update {
	var kind, message, parent string
	var delta, call, tool, input []byte
	for m := range wire.Members(e.payload) {
		switch string(m.Key) {
		case "kind":
			kind, _ = wire.StringValue(m.Value)
		case "delta":
			delta = m.Value
		case "assistantMessageId":
			message, _ = wire.StringValue(m.Value)
		case "parentToolUseId":
			parent, _ = wire.StringValue(m.Value)
		case "toolCallId":
			call = m.Value
		case "toolName":
			tool = m.Value
		case "input":
			input = m.Value
		}
	}
	if !t.admits(e) || parent != "" { // what a helper agent says is for the agent that asked it
		return nil
	}
	switch kind {
	case "text_delta":
		return t.spoke(updateAgent, message, e.turn, delta)
	case "reasoning_delta":
		return t.spoke(updateThought, message, e.turn, delta)
	case "tool_call":
		id, _ := wire.StringValue(call)
		name, _ := wire.StringValue(tool)
		t.called(id, name, input)
	}
	return nil
}

// spoke tells a piece of a message; token is the piece as a JSON string.
func (t *Translator) spoke(kind, message, turn string, token []byte) (updates []Update) {
	if len(token) < 2 || token[0] != '"' {
		return nil
	}
	if t.half.raw != "" && t.half.kind == kind && t.half.message == message {
		token = append(append([]byte{'"'}, t.half.raw...), token[1:]...)
		t.half = half{}
	} else {
		updates = t.flushHalf()
	}
	token, rest := splitHalf(token)
	if rest != "" {
		t.half = half{rest, kind, message}
	}
	text, _ := wire.StringValue(token)
	return append(updates, t.say(kind, message, turn, text)...)
}

// splitHalf takes the first half of a surrogate pair off the end of a JSON string.
func splitHalf(token []byte) (whole []byte, half string) {
	const size = len(`\ud83d`)
	at := len(token) - 1 - size
	if at < 1 || token[at] != '\\' || token[at+1] != 'u' || token[at+2]|0x20 != 'd' || !strings.ContainsRune("89abAB", rune(token[at+3])) {
		return token, ""
	}
	slashes := 1
	for token[at-slashes] == '\\' {
		slashes++
	}
	if slashes%2 == 0 {
		return token, "" // the backslash is itself escaped
	}
	return append(append([]byte{}, token[:at]...), '"'), string(token[at : len(token)-1])
}

// flushHalf gives up waiting for a second half.
func (t *Translator) flushHalf() []Update {
	if t.half.raw == "" {
		return nil
	}
	lost := t.half
	t.half = half{}
	return t.say(lost.kind, lost.message, t.turn, string(utf8.RuneError))
}

// say sends text as a chunk of its message. Without an id of its own a message has that of its turn.
func (t *Translator) say(kind, message, turn, text string) []Update {
	m := t.loose
	if message != "" {
		m = t.message(message)
	} else if m == nil {
		m = &spoken{}
		t.loose = m
	}
	h := &m.text
	if kind == updateThought {
		h = &m.thought
	}
	if text == "" {
		return nil
	}
	h.add(text)
	id := first(message, turn, "turn")
	if t.self {
		id = "bg_msg_" + strings.TrimPrefix(id, "msg_")
	}
	return []Update{newChunk(kind, chunkID(kind, id), textBlock(text))}
}

// chunkID is the ACP id of a message: thoughts are messages of their own.
func chunkID(kind, message string) string {
	if kind == updateThought {
		return "thought_" + message
	}
	return message
}
