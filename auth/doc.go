// Package auth answers two questions for the edge of the hub: who is this, and may the request come from there.
//
// Who: [Keys] mints and verifies the hub's own tokens, an [Issuer] verifies somebody else's, and [Gate] picks the one
// that may judge a token. The outcome is a [Principal], which holds everything the rest of the hub may rely on
// (rights, scope, profiles, expiry). A principal is never built from what a client says about itself. [Tickets] are
// one-use stand-ins for a principal where a header cannot be set.
//
// Taken away: every token belongs to a [Device]. [Devices] is the store of them, of the codes that pair new ones and
// of the secrets by which they renew themselves; a revocation there ends everything that was derived.
//
// From where: [Edge] keeps foreign host names (DNS rebinding) and foreign pages (Origin) out and owns the page's
// cookie. [CheckListen] keeps the hub on the loopback unless somebody decided otherwise. [Limiter] slows down
// addresses whose credentials fail. [Audit] records what happened so that changes to the record show.
//
// Every refusal has two faces: a constant sentence for the outside, equal for every bad token, and a chain for the
// log ([Cause]). Tokens, keys, codes and tickets appear in neither.
//
// All types are safe for concurrent use. The package starts no goroutines and imports no other package of the hub.
package auth
