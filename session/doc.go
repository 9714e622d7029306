// Package session knows what one session of the app-server is made of: the
// events of its stream, the questions that its agent asks humans, and whether
// the app-server holds it at present. It is the place for the app-server's
// shapes; it does no I/O and starts no goroutine. A [Registry] holds the
// [Session]s, each with its stream and its ledger.
//
// # Events
//
// An update in a stream is a session/event with the member fromSeq before its
// own ([AppendUpdate], [UpdateParams]): it stands for the interval (fromSeq,
// seq]. [NewReplayable] makes the replayable lane out of the continuous one by
// merging and leaving out; [Fold] is the state in which both end, byte for byte.
// [ParseEvent] reads an envelope and leaves the payload alone.
//
// # Interactions
//
// A [Ledger] is the record of a session's [Interaction]s. A question is entered
// once, however often the agent announces it; the first answer that the
// app-server would accept, and that the client's rights cover, is the decision;
// every announced id gets its result once; every interaction ends in exactly one
// [Settlement]:
//
//	          Announce              Answer, Reserve             Written
//	nothing ───────────> waiting ───────────────────> reserved ─────────> written
//	                     ^  │  └───────── Release ──────┘ │                 │
//	             Announce│  └────────────> settled <──────┴─────────────────┘
//	    without a result └───────────────────┘    Observe, Confirm, Expire, SettleAll
//
// A Ledger may be used from any goroutine and has no clock but the times it is
// given. Its mutex is a leaf and is held for short computations only: answers
// are judged outside it, so the reader of the app-server's lines never waits for
// a client. An Interaction is immutable.
// A coalescer and a Fold belong to one goroutine at a time.
package session
