package simulator

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// message is one inbound line that passed the message schema.
type message struct {
	method string // "" for answers
	params raw    // nil when absent
	id     any    // string or integer (as int64); nil for notifications

	answer bool // a response or an error to one of our requests
	result raw
	failed *peerError
}

// peerError is the error object of an answer.
type peerError struct {
	Code    int
	Message string
}

var (
	messageID = eitherOf(anyString, integer(-maxSafeInteger, maxSafeInteger))
	trace     = strict(opt("traceparent", anyString), opt("traceId", anyString), opt("parentId", anyString), opt("spanId", anyString))

	// messageSchema lists the four classes in the order in which the real app-server tries them.
	messageSchema = eitherOf(
		strict(req("id", messageID), req("method", trimmed), opt("params", anything), opt("trace", trace)),
		strict(req("method", trimmed), opt("params", anything), opt("trace", trace)),
		strict(req("id", messageID), req("result", present)),
		strict(req("id", messageID), req("error", strict(
			req("code", integer(-maxSafeInteger, maxSafeInteger)), req("message", nonEmpty), opt("data", anything)))),
	)
)

// trimmed is a string with at least one character that is not a space.
func trimmed(v any, path []any) []issue {
	if s, ok := v.(string); ok {
		return nonEmpty(strings.TrimSpace(s), path)
	}
	return anyString(v, path)
}

// decodeMessage reads one line. The id of the error answer is fixed, since a line that fails has no id to trust.
func decodeMessage(line []byte) (message, *errorMessage) {
	if !json.Valid(line) {
		return message{}, &errorMessage{&fault{Code: codeParseError, Message: "Parse error"}, parseErrorID}
	}
	v, members := shallow(line)
	if issues := messageSchema(v, nil); len(issues) > 0 {
		return message{}, &errorMessage{
			&fault{codeInvalidMessage, object{"issues": issues}, "Invalid ZCode Protocol message"}, invalidMessageID}
	}
	m := message{id: decodeID(members["id"]), params: members["params"], result: members["result"]}
	envelope := v.(map[string]any)
	if method, ok := envelope["method"].(string); ok {
		m.method = strings.TrimSpace(method)
		return m, nil
	}
	m.answer = true
	if failed, ok := envelope["error"].(map[string]any); ok {
		m.failed = &peerError{Code: int(failed["code"].(float64)), Message: failed["message"].(string)}
	}
	return m, nil
}

// shallow decodes the envelope and leaves the members that may be large as they are.
func shallow(line []byte) (any, map[string]raw) {
	var members map[string]raw
	if bytes.TrimLeft(line, " \t\r\n")[0] != '{' || json.Unmarshal(line, &members) != nil {
		return decodeAny(line), nil
	}
	view := make(map[string]any, len(members))
	for key, text := range members {
		if key == "params" || key == "result" {
			view[key] = text
			continue
		}
		view[key] = decodeAny(text)
	}
	return view, members
}

// decodeID keeps the type of the id; numbers are normalised as JavaScript would print them (1e2 becomes 100).
func decodeID(text raw) any {
	if text == nil {
		return nil
	}
	v := decodeAny(text)
	if n, ok := v.(float64); ok {
		return int64(n)
	}
	return v
}

// idText is the form in which answers are matched to requests.
func idText(id any) string {
	switch id := id.(type) {
	case string:
		return id
	case int64:
		return strconv.FormatInt(id, 10)
	}
	return ""
}

// decodeAny decodes valid JSON the way JSON.parse does: a number too large for a double becomes infinite.
func decodeAny(text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic("simulator: checked JSON does not decode: " + err.Error())
	}
	return toNumbers(v)
}

func toNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		n, _ := strconv.ParseFloat(string(v), 64) // out of range yields ±Inf, as wanted
		return n
	case []any:
		for i := range v {
			v[i] = toNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = toNumbers(v[key])
		}
	}
	return v
}
