package simulator

import "encoding/json"

// Error codes of the protocol.
const (
	codeParseError     = -32700
	codeInvalidMessage = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeNoStore        = -32003
	codeNoSession      = -32004
	codeRevision       = -32009
	codeBusy           = -32010
	codeNoClient       = -32020
	codeCallTimedOut   = -32022
)

// Ids of the answers to lines whose own id could not be read.
const (
	parseErrorID     = "parse-error"
	invalidMessageID = "invalid-message"
)

// fault is an error answer: the inner object of an error message.
type fault struct {
	Code    int    `json:"code"`
	Data    any    `json:"data,omitempty"`
	Message string `json:"message"`
}

func (f *fault) Error() string { return f.Message }

// thrown is what an uncaught exception in the real app-server turns into.
func thrown(name, message string) *fault {
	return &fault{codeInternal, map[string]any{"name": name, "stack": name + ": " + message}, message}
}

func methodNotFound(method string) *fault {
	return &fault{Code: codeMethodNotFound, Message: "Method not found: " + method}
}

func notActive(sessionID string) *fault {
	return &fault{Code: codeNoSession, Message: "Session is not active: " + sessionID}
}

func notFound(sessionID string) *fault {
	return &fault{Code: codeNoSession, Message: "Session not found: " + sessionID}
}

func busy(message string) *fault { return &fault{Code: codeBusy, Message: message} }

// Outgoing messages. The order of members on the wire carries no meaning.
type (
	responseMessage struct {
		ID     any `json:"id"`
		Result any `json:"result"`
	}
	errorMessage struct {
		Error *fault `json:"error"`
		ID    any    `json:"id"`
	}
	requestMessage struct {
		ID     string `json:"id"`
		Method string `json:"method"`
		Params any    `json:"params"`
	}
	notificationMessage struct {
		Method string `json:"method"`
		Params any    `json:"params"`
	}
)

// object is a JSON object whose shape is said where it is built.
type object = map[string]any

// raw is JSON text that is already encoded.
type raw = json.RawMessage
