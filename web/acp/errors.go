package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Error codes of JSON-RPC and of ACP.
const (
	codeParse     = -32700
	codeRequest   = -32600 // not a request, or not at this time
	codeNoMethod  = -32601
	codeParams    = -32602
	codeInternal  = -32603
	codeAuth      = -32000 // the token does not cover it
	codeNotFound  = -32002
	codeCancelled = -32800
)

// Codes of the native surface that mean something else to an ACP client (docs/protocol.md).
const (
	nativeUnavailableSession = -32004 // not found, or not active
	nativeBusy               = -32010
	nativeForbidden          = -32040
	nativeHeld               = -32041
	nativeTooMany            = -32042
	nativeUnavailable        = -32043
	nativeTimedOut           = -32044
	nativeClosing            = -32046
)

// Error is the error of an answer. Its message is shown to people.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

func badParams(format string, args ...any) *Error {
	return &Error{Code: codeParams, Message: "Invalid params: " + fmt.Sprintf(format, args...)}
}

func internalError(format string, args ...any) *Error {
	return &Error{Code: codeInternal, Message: fmt.Sprintf(format, args...)}
}

// unknownSession is the answer for what does not exist and for what the token does not cover: one must not be told from
// the other.
func unknownSession(sessionID string) *Error {
	return &Error{Code: codeNotFound, Message: "There is no session " + sessionID + " here: it may have been deleted. Pick another one from the list.",
		Data: jsonOf(map[string]string{"sessionId": sessionID})}
}

// answerTo is the error that a client gets for whatever went wrong in a request about a session, or about none.
func answerTo(err error, sessionID string) *Error {
	var own *Error
	var native *CallError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &native):
		return forClient(native, sessionID)
	case errors.Is(err, errCancelled):
		return &Error{Code: codeCancelled, Message: "The request was cancelled."}
	case errors.Is(err, ErrNativeClosed), errors.Is(err, context.Canceled):
		return internalError("The hub closes this connection: connect again.")
	}
	return internalError("The hub could not do that; its log says why.")
}

// forClient says in ACP what an error of the hub or the app-server is.
func forClient(e *CallError, sessionID string) *Error {
	switch e.Code {
	case nativeForbidden:
		return &Error{Code: codeAuth, Message: "Your access does not cover this: " + e.Message + "."}
	case nativeHeld:
		return internalError("Somebody else controls this session: %s.", strings.TrimSuffix(e.Message, "."))
	case nativeUnavailableSession:
		if sessionID != "" && strings.HasPrefix(e.Message, "Session not found") {
			return unknownSession(sessionID)
		}
		return internalError("The session could not be opened: %s.", strings.TrimSuffix(e.Message, "."))
	case nativeUnavailable:
		return internalError("ZCode is not available at the moment (%s). Try again in a few seconds.", e.Message)
	case nativeTimedOut:
		return internalError("ZCode did not answer in time. Try again.")
	case nativeClosing:
		return internalError("The hub is restarting: connect again in a few seconds.")
	case nativeTooMany:
		return internalError("Too much at once: %s. Try again in a moment.", e.Message)
	case nativeBusy:
		return internalError("The session is busy: wait until the running turn has ended, or cancel it.")
	case codeParams:
		return &Error{Code: codeParams, Message: e.Message}
	case codeNoMethod:
		return internalError("This version of ZCode cannot do that.")
	}
	return &Error{Code: codeInternal, Message: e.Message}
}

// isUnknown tells that the app-server does not have a session.
func isUnknown(err error) bool {
	var native *CallError
	return errors.As(err, &native) && native.Code == nativeUnavailableSession && strings.HasPrefix(native.Message, "Session not found")
}

// isNotActive tells that the app-server does not hold a session in memory.
func isNotActive(err error) bool {
	var native *CallError
	return errors.As(err, &native) && native.Code == nativeUnavailableSession && strings.HasPrefix(native.Message, "Session is not active")
}

// errCancelled is why a request ends that its client took back.
var errCancelled = errors.New("cancelled by the client")
