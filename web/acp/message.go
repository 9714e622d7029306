package acp

import (
	"encoding/json"

	"zcodehub/internal/wire"
)

// incoming is one message of a client. Its parts are views of the frame.
type incoming struct {
	id     []byte // raw: a string or a number as the client wrote it; nil in a notification
	method string // "" in a response
	params []byte
	result []byte
	failed []byte // the error object of a response
}

// parseIncoming reads one frame. The fault is the answer to what is no message: it goes out with the id null, since an
// id that stands in such a frame belongs to nobody.
func parseIncoming(frame []byte) (in incoming, fault *Error) {
	if !wire.Valid(frame) {
		return in, &Error{Code: codeParse, Message: "Parse error: the frame is not JSON"}
	}
	notMessage := func(why string) (incoming, *Error) {
		return incoming{}, &Error{Code: codeRequest, Message: "Invalid request: " + why}
	}
	named, isObject := false, true
	for m, err := range wire.Members(frame) {
		if err != nil {
			isObject = false
			break
		}
		switch string(m.Key) {
		case "id":
			in.id = m.Value
		case "method":
			in.method, named = wire.StringValue(m.Value)
		case "params":
			in.params = m.Value
		case "result":
			in.result = m.Value
		case "error":
			in.failed = m.Value
		}
	}
	answer := in.result != nil || in.failed != nil
	switch {
	case !isObject:
		return notMessage("one object is expected in each frame")
	case in.id != nil && !isID(in.id) && !answer:
		return notMessage("an id is a string or a number")
	case answer && in.id == nil:
		return notMessage("a response needs an id")
	case !answer && (!named || in.method == ""):
		return notMessage("there is no method")
	case len(in.id) > maxID:
		return notMessage("the id is too long")
	}
	if answer {
		in.method = ""
	}
	return in, nil
}

// maxID bounds an id, which is kept while a request is worked on: longer than any counter or uuid.
const maxID = 256

// isID tells whether a raw value may be the id of a request: JSON-RPC allows strings and numbers.
func isID(raw []byte) bool {
	c := raw[0]
	return c == '"' || c == '-' || '0' <= c && c <= '9'
}

// The append functions build one message each. Ids and params go in as the bytes they are.

func appendNotification(dst []byte, method string, params any) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	dst = wire.AppendString(dst, method)
	dst = append(dst, `,"params":`...)
	return append(append(dst, jsonOf(params)...), '}')
}

func appendRequest(dst, id []byte, method string, params any) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	dst = append(dst, `,"method":`...)
	dst = wire.AppendString(dst, method)
	dst = append(dst, `,"params":`...)
	return append(append(dst, jsonOf(params)...), '}')
}

func appendResult(dst, id []byte, result any) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	dst = append(dst, `,"result":`...)
	return append(append(dst, jsonOf(result)...), '}')
}

// appendError answers with an error; without an id it is null.
func appendError(dst, id []byte, e *Error) []byte {
	if id == nil {
		id = []byte("null")
	}
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	dst = append(dst, `,"error":`...)
	return append(append(dst, jsonOf(e)...), '}')
}

// jsonOf marshals what always can be: values of this package's own, and JSON that was checked when it came.
func jsonOf(v any) json.RawMessage {
	if raw, ok := v.(json.RawMessage); ok {
		return raw
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}
