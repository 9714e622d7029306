package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

	"zcodehub/internal/wire"
)

// Fold is the state in which a run of events ends. Both lanes of a session fold
// to the same one, byte for byte. Streamed tool input does not count, since the
// tool_call or scheduled event that follows has the whole of it, and neither
// does tool progress; if a turn ends before the input was whole, the part that
// was streamed is gone in both lanes. The zero Fold is empty and ready.
type Fold struct {
	end       End
	messages  map[string]*Message
	tools     map[string]*Tool
	turns     map[string]*Turn
	questions map[string]*Question
	digest    hash.Hash
}

// End is the end state. Raw members are the bytes that came, spliced where they
// came in pieces.
type End struct {
	Title       string      `json:"title"`
	TitleSource string      `json:"titleSource"`
	Turns       []*Turn     `json:"turns"`
	Messages    []*Message  `json:"messages"`
	Tools       []*Tool     `json:"tools"`
	Questions   []*Question `json:"questions"`
	// Events counts the events that no lane merges or leaves out, and Digest is
	// taken over all of them in order (without fromSeq and deliveryKind): what the
	// rest of the state does not show would show here if it were lost, changed or
	// out of order.
	Events int    `json:"events"`
	Digest string `json:"digest"`
}

// Turn is one turn of the session.
type Turn struct {
	ID         string          `json:"id"`
	Status     string          `json:"status"` // running, completed or failed
	ResultType string          `json:"resultType,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Response   json.RawMessage `json:"response,omitempty"`
	Error      json.RawMessage `json:"error,omitempty"`
}

// Message is one assistant message as it was streamed.
type Message struct {
	ID    string  `json:"id"`
	Parts []*Part `json:"parts"`
}

// Part is one text or reasoning of a message.
type Part struct {
	Kind            string  `json:"kind"` // that of its deltas
	ID              string  `json:"id,omitempty"`
	ParentToolUseID string  `json:"parentToolUseId,omitempty"`
	InputID         string  `json:"inputId,omitempty"`
	Text            Spliced `json:"text"`
}

// Spliced is the contents of JSON strings, joined without decoding: a surrogate
// pair that was split over two of them is whole again.
type Spliced []byte

// MarshalJSON makes one string of it.
func (s Spliced) MarshalJSON() ([]byte, error) {
	return append(append([]byte{'"'}, s...), '"'), nil
}

// String is the decoded text.
func (s Spliced) String() string {
	quoted, _ := s.MarshalJSON()
	text, _ := wire.StringValue(quoted)
	return text
}

// Tool is one tool call.
type Tool struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Status string          `json:"status"` // called, scheduled, running, completed, failed or denied
	Input  json.RawMessage `json:"input,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// Question is an interaction as the events tell of it.
type Question struct {
	RequestID  string `json:"requestId"`
	ToolCallID string `json:"toolCallId"`
	Status     string `json:"status"` // requested or resolved
	Decision   string `json:"decision,omitempty"`
}

// Add folds the params of one session/event in.
func (f *Fold) Add(params []byte) {
	e := ParseEvent(params)
	kind := e.Text("kind")
	switch e.Type {
	case typeAdvanced:
		return
	case typeStreaming:
		switch kind {
		case kindInputStart, kindInputDelta, kindInputEnd:
			return
		case kindText, kindReasoning:
			f.addDelta(kind, e.Payload)
			return
		case kindCall:
			f.addCall(e)
		}
	case typeTool:
		if kind == kindProgress {
			return
		}
		f.addTool(kind, e)
	case "session.titleUpdated":
		f.end.Title, f.end.TitleSource = e.Text("title"), e.Text("source")
	case "turn.started", typeTurnEnd, typeTurnFailed:
		f.addTurn(e)
	case "permission.requested", typePermission, "userInput.requested", typeUserInput:
		f.addQuestion(e)
	}
	f.addDigest(params)
}

// entry returns the entry of a key, made and put into the list when it is new.
func entry[T any](index *map[string]*T, list *[]*T, key string) *T {
	if *index == nil {
		*index = map[string]*T{}
	}
	v := (*index)[key]
	if v == nil {
		v = new(T)
		(*index)[key] = v
		*list = append(*list, v)
	}
	return v
}

func (f *Fold) addDelta(kind string, payload []byte) {
	delta, _ := wire.Get(payload, "delta")
	if !isKind(delta, '"') {
		return
	}
	p := Part{
		Kind:            kind,
		ID:              textOf(payload, "partId"),
		ParentToolUseID: textOf(payload, "parentToolUseId"),
		InputID:         textOf(payload, "inputId"),
	}
	id := textOf(payload, "assistantMessageId")
	m := entry(&f.messages, &f.end.Messages, id)
	m.ID = id
	part := m.part(p)
	part.Text = append(part.Text, delta[1:len(delta)-1]...)
}

// part finds the part that is like p, or makes it one.
func (m *Message) part(p Part) *Part {
	for _, q := range m.Parts {
		if q.Kind == p.Kind && q.ID == p.ID && q.ParentToolUseID == p.ParentToolUseID && q.InputID == p.InputID {
			return q
		}
	}
	m.Parts = append(m.Parts, &p)
	return &p
}

func (f *Fold) tool(id string) *Tool {
	t := entry(&f.tools, &f.end.Tools, id)
	t.ID = id
	return t
}

func (f *Fold) addCall(e Event) {
	t := f.tool(e.Text("toolCallId"))
	t.Status = "called"
	t.name(e)
	t.Input = rawOf(e.Payload, "input")
}

func (t *Tool) name(e Event) {
	if name := e.Text("toolName"); name != "" {
		t.Name = name
	}
}

func (f *Fold) addTool(kind string, e Event) {
	if kind == kindBatch {
		f.addBatch(e)
		return
	}
	t := f.tool(e.Text("toolCallId"))
	t.name(e)
	switch kind {
	case kindScheduled:
		t.Status = kind
		input := rawOf(e.Payload, "input")
		if _, omitted := wire.Get(input, "inputOmitted"); input != nil && !omitted {
			t.Input = input // else tool_call had it
		}
	case kindStarted:
		t.Status = "running"
	case kindResult:
		t.Status = "completed"
		t.Result = rawOf(e.Payload, "result")
		if success, _ := wire.Get(t.Result, "success"); string(success) == "false" {
			t.Status = "failed"
		}
	case kindError:
		t.Status = "failed"
		t.Error = rawOf(e.Payload, "error")
	}
}

// addBatch ends what was scheduled together. A denied call has no event of its
// own but this.
func (f *Fold) addBatch(e Event) {
	ids, _ := wire.Get(e.Payload, "toolCallIds")
	for raw := range wire.Elements(ids) {
		id, _ := wire.StringValue(raw)
		if t := f.tools[id]; t != nil && (t.Status == "called" || t.Status == kindScheduled) {
			t.Status = "denied"
		}
	}
}

func (f *Fold) addTurn(e Event) {
	t := entry(&f.turns, &f.end.Turns, e.TurnID)
	t.ID = e.TurnID
	switch e.Type {
	case typeTurnEnd:
		t.Status = "completed"
		t.ResultType = e.Text("resultType")
		t.Response = rawOf(e.Payload, "response")
	case typeTurnFailed:
		t.Status = "failed"
		t.Error = rawOf(e.Payload, "error")
	default:
		t.Status = "running"
		t.Input = rawOf(e.Payload, "input")
	}
}

func (f *Fold) addQuestion(e Event) {
	requestID, toolCallID := e.Text("requestId"), e.Text("toolCallId")
	q := entry(&f.questions, &f.end.Questions, requestID+"\n"+toolCallID)
	q.RequestID, q.ToolCallID = requestID, toolCallID
	q.Status = "requested"
	if e.Type == typePermission || e.Type == typeUserInput {
		q.Status = "resolved"
		q.Decision = e.Text("decision")
	}
}

func (f *Fold) addDigest(params []byte) {
	if f.digest == nil {
		f.digest = sha256.New()
	}
	f.end.Events++
	for m := range wire.Members(params) {
		if key := string(m.Key); key != "fromSeq" && key != "deliveryKind" {
			f.digest.Write(params[m.Start:m.End])
			f.digest.Write([]byte{','})
		}
	}
	f.digest.Write([]byte{'\n'})
}

func rawOf(obj []byte, key string) json.RawMessage {
	raw, _ := wire.Get(obj, key)
	return bytes.Clone(raw)
}

// End returns the state so far. It shares memory with the Fold.
func (f *Fold) End() End {
	if f.digest != nil {
		f.end.Digest = hex.EncodeToString(f.digest.Sum(nil))
	}
	return f.end
}

// JSON returns the state so far as one line of JSON: equal states, equal bytes.
func (f *Fold) JSON() []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // keeps the bytes that came
	if err := encoder.Encode(f.End()); err != nil {
		panic("session: a fold of valid events is valid JSON: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
