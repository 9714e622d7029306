// Package fanout carries one ordered stream of updates to any number of
// subscribers. It knows bytes and numbers only: no method names, no JSON.
//
//	Append ─> Stream ─┬─> continuous lane (log of ready frames) ──┐ published
//	                  └─> Coalescer ─> replayable lane (log) ─────┤ positions
//	                                                              ▼
//	                       Outbox (one per client): cursors into lanes,
//	                       private queue, one writer ─> one write per wake-up
//
// A [Stream] encodes each update once, as a ready server frame (RFC 6455
// section 5.2: unmasked text, one message per frame), into the log of its
// continuous lane. That log is also the replay store: what a subscriber missed
// is read from it, for either lane. The replayable lane exists only while
// somebody follows it; its [Coalescer] turns runs of updates into fewer.
//
// A [Subscription] is a cursor into a lane's log, not a queue, so memory is
// bounded per stream and not per subscriber, and lag is the distance between
// the cursor and the published position.
//
// An [Outbox] is everything that one client is owed: the lanes it follows and
// a small queue of private messages, each of which carries the lane positions
// that must be out before it. Who attaches to a stream has its place in that
// queue from the same step on, so that nothing newer overtakes what is still
// being put into words. Its writer is a goroutine that exists only while there
// is something to write.
//
// # Concurrency
//
// Appending, publishing and attaching take the stream's lock for a few
// instructions and never wait for a subscriber. Writers read the logs without
// a lock: bytes below a published position never change. Lock order:
// Budget.mu, Stream.mu, lane.wakeMu, Outbox.mu; no lock is held across a write.
package fanout
