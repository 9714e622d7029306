package simulator

import "maps"

// row is one line of a conversation as V4 shows it. Guarded by the loop.
type row struct {
	id        int
	kind      string
	turn      string // the user message of the row's turn
	entity    string
	createdAt int64
	seq       uint64 // of the event that made it
	text      escaped
	fields    object // members of the kind, without the one that text is for
	output    object // of a tool call; without its text
	printed   escaped
	actions   object
}

// Kinds of rows that the simulator makes.
const (
	rowTurnHeader    = "turnHeader"
	rowUserInput     = "userInput"
	rowAssistantText = "assistantText"
	rowReasoning     = "reasoning"
	rowToolCall      = "toolCall"
	rowSubagent      = "subagent"
	rowMarker        = "timelineMarker"
)

// textPath is the member that grows by row.delta, or that is long enough to be kept apart.
func (r *row) textPath() string {
	switch r.kind {
	case rowUserInput, rowAssistantText, rowReasoning:
		return "text"
	case rowToolCall:
		return "inputText"
	case rowSubagent:
		return "summaryText"
	}
	return ""
}

const outputPath = "output.text"

func (r *row) wire() object {
	o := object{"rowId": r.id, "turnId": r.turn, "entityId": r.entity, "productTurnId": r.turn, "visibility": "visible",
		"createdAt": r.createdAt, "createdAtSeq": r.seq, "kind": r.kind}
	maps.Copy(o, r.fields)
	if path := r.textPath(); path != "" {
		o[path] = r.text.quoted()
	}
	if r.output != nil {
		output := maps.Clone(r.output)
		output["text"] = r.printed.quoted()
		o["output"] = output
	}
	if r.actions != nil {
		o["actions"] = r.actions
	}
	return o
}

// size is about what the row takes in a snapshot. Tool calls show their input twice.
func (r *row) size() int {
	const members = 1 << 10 // names, ids and times of a row
	return members + 2*len(r.text) + len(r.printed)
}

// cutSize is how much of a tool's output is shown from its start, and from its end (protocol: 32 KiB each).
const cutSize = 32 << 10

// setOutput puts a tool's output into the row, cut in the middle if it is long.
func (r *row) setOutput(callID, text string, display any) {
	r.output = object{}
	if display != nil {
		r.output["display"] = display
	}
	if len(text) > 2*cutSize {
		r.output["truncated"] = object{"totalBytes": len(text), "ref": "tool-output/" + callID}
		tail := len(text) - cutSize
		for tail < len(text) && text[tail]&0xc0 == 0x80 {
			tail++
		}
		text = clip(text, cutSize) + "\n…\n" + text[tail:]
	}
	r.printed = escape(text)
}
