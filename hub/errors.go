package hub

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"zcodehub/internal/wire"
)

// ErrClosing is returned by Attach once the hub has begun to close.
var ErrClosing = errors.New("hub is closing")

// ErrTooManyConnections is returned by Attach when the device has all the
// connections that it may have.
var ErrTooManyConnections = errors.New("this device has too many connections")

// The hub's own error codes, beside those of the app-server (protocol document
// 1.4). Each carries data {reason, retryable, retryAfterMs?}.
const (
	codeForbidden   = -32040 // the token does not cover it
	codeControlHeld = -32041 // somebody else holds control
	codeTooMany     = -32042 // too many requests
	codeUnavailable = -32043 // the app-server is not available
	codeTimedOut    = -32044 // the app-server did not answer in time
	codeTooLarge    = -32045 // larger than somebody takes
	codeClosing     = -32046 // the hub is closing
)

// Codes of JSON-RPC and of the app-server that the hub itself uses, with the
// app-server's own texts where clients may know them.
const (
	codeParse       = -32700
	codeNotMessage  = -32600
	codeNoMethod    = -32601
	codeParams      = -32602
	codeInternal    = -32603
	codeUnavailSess = -32004 // session not active, or not found
)

// fault makes an error object of the hub's own.
func fault(code int, message, reason string, retryable bool, retryAfter time.Duration) wire.ErrorObject {
	data := struct {
		Reason       string `json:"reason"`
		Retryable    bool   `json:"retryable"`
		RetryAfterMs int64  `json:"retryAfterMs,omitempty"`
	}{reason, retryable, retryAfter.Milliseconds()}
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err) // strings, a bool and a number always marshal
	}
	return wire.ErrorObject{Code: code, Message: message, Data: raw}
}

func forbidden(message string) wire.ErrorObject {
	return fault(codeForbidden, message, "forbidden", false, 0)
}

func badParams(message string) wire.ErrorObject {
	return wire.ErrorObject{Code: codeParams, Message: "Invalid params — " + message}
}

// notFound is the answer for what does not exist and, letter for letter, for
// what is outside a token's scope.
func notFound(sessionID string) wire.ErrorObject {
	return wire.ErrorObject{Code: codeUnavailSess, Message: "Session not found: " + sessionID}
}

func unavailable(state string, retryable bool) wire.ErrorObject {
	return fault(codeUnavailable, "the app-server is not available ("+state+")", "appServer."+state, retryable, unavailableRetry)
}

// unavailableRetry is the hint that goes with -32043: a restart takes a second
// or two.
const unavailableRetry = 2 * time.Second

func timedOut(method string, retryable bool) wire.ErrorObject {
	return fault(codeTimedOut, "the app-server did not answer "+method+" in time", "timeout", retryable, 0)
}

func busy() wire.ErrorObject {
	return fault(codeTooMany, "the app-server does not keep up: try again later", "stdinFull", true, time.Second)
}

func closingError() wire.ErrorObject {
	return fault(codeClosing, "the hub is closing", "closing", true, unavailableRetry)
}

// rawError is an error object as it stands in a message.
func rawError(e wire.ErrorObject) []byte {
	full := wire.AppendError(nil, []byte("0"), e)
	raw, _ := wire.Get(full, "error")
	return raw
}

// isGone tells that the app-server does not have a session.
func isGone(rawErr []byte) bool {
	code, _ := wire.Get(rawErr, "code")
	n, ok := wire.Int64(code)
	return ok && n == codeUnavailSess
}

// isNotActive tells that the app-server refused because the session is not
// resident: it was evicted, or is known from its store only.
func isNotActive(rawErr []byte) bool {
	message, _ := member(rawErr, "message")
	return isGone(rawErr) && strings.HasPrefix(message, "Session is not active")
}
