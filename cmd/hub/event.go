package main

import "encoding/json"

// event is what the terminal shows of a session/event.
type event struct {
	SessionID string `json:"sessionId"`
	TurnID    string `json:"turnId"`
	Type      string `json:"type"`
	Seq       uint64 `json:"seq"`
	Payload   struct {
		Kind          string          `json:"kind"`
		Delta         string          `json:"delta"`
		MessageID     string          `json:"assistantMessageId"`
		Input         json.RawMessage `json:"input"` // text of a prompt, or the members of a tool's input
		InputID       string          `json:"inputId"`
		ToolCallID    string          `json:"toolCallId"`
		ToolName      string          `json:"toolName"`
		ResultType    string          `json:"resultType"`
		Duration      float64         `json:"duration"` // milliseconds
		DrainedInputs []struct {
			InputID string `json:"inputId"`
			Input   string `json:"input"`
		} `json:"drainedInputs"`
		Result struct {
			Success bool            `json:"success"`
			Content json.RawMessage `json:"content"`
		} `json:"result"`
		Error json.RawMessage `json:"error"` // text, or an object with a message
	} `json:"payload"`
}

func eventOf(m message) (*event, bool) {
	if m.Method != "session/event" {
		return nil, false
	}
	e := &event{}
	return e, json.Unmarshal(m.Params, e) == nil
}

// drained tells whether a queued input was taken up by this event.
func (e *event) drained(commandID string) bool {
	for _, in := range e.Payload.DrainedInputs {
		if in.InputID == commandID {
			return true
		}
	}
	return false
}
