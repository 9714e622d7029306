package auth

import (
	"errors"

	"github.com/golang-jwt/jwt/v5"
)

var (
	// ErrBadToken is wrapped by every refusal of a credential. Its text is all the outside learns.
	ErrBadToken = errors.New("the credential was not accepted")
	// ErrExpired is wrapped as well when nothing but the age of a token is wrong.
	ErrExpired = errors.New("the credential has expired")
)

// maxCause bounds what a hostile token can put into one line of the log.
const maxCause = 200

// tokenError prints the constant sentence wherever it ends up; only Cause shows what it is about.
type tokenError struct {
	cause   error
	expired bool
}

func badToken(cause error) error { return &tokenError{cause: cause, expired: onlyExpired(cause)} }

func (e *tokenError) Error() string { return ErrBadToken.Error() }

func (e *tokenError) Is(target error) bool {
	return target == ErrBadToken || target == ErrExpired && e.expired
}

// Unwrap lets the edge tell reasons apart that call for different acts, such as ErrRevoked.
func (e *tokenError) Unwrap() error { return e.cause }

// Cause is the reason of a refusal, for the log only: bounded, and without the credential itself.
func Cause(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if e, ok := errors.AsType[*tokenError](err); ok {
		text = e.cause.Error()
	}
	if len(text) > maxCause {
		text = text[:maxCause] + "…"
	}
	return text
}

// onlyExpired is true when the signature held and the parser found no other fault than age.
func onlyExpired(err error) bool {
	if !errors.Is(err, jwt.ErrTokenExpired) {
		return false
	}
	for _, other := range []error{
		jwt.ErrTokenInvalidAudience, jwt.ErrTokenInvalidIssuer, jwt.ErrTokenNotValidYet, jwt.ErrTokenUsedBeforeIssued,
		jwt.ErrTokenRequiredClaimMissing, errClaims,
	} {
		if errors.Is(err, other) {
			return false
		}
	}
	return true
}
