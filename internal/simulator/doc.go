// Package simulator is an app-server without a model: it speaks the stdio protocol of the real one, line for line,
// and answers prompts from scripts. The demo runs on it, and tests use it to call up every kind of event.
//
// # Shape
//
// The real app-server is one JavaScript thread. The simulator keeps that property with one lock, server.mu, called
// the loop: whoever holds it is "running", and the order in which code holds it is the order of lines on stdout.
// Code gives the loop up only at visible points (server.yield: sleeping, awaiting an answer, writing the state file,
// waiting for room in the output queue) and never holds it across I/O. A session therefore needs no lock of its own.
//
//	stdin ── reader ──┬─ answer ─────────────> reverse call (at once)
//	                  ├─ session/stop ───────> bypass worker
//	                  └─ any other request ──> serial worker ── handler ──> response, then what the handler put after it
//	                                                │
//	                              turn goroutine ───┤ script → step → tool → interaction
//	                                                └─> session.emit ─> batcher ─> log, seq ─> output queue ── writer ── stdout
//
// session.emitted is the one door through which all events of a session pass, already numbered as the runtime counts
// them; whatever else wants to follow a session (a second stream in another form) listens there.
//
// Goroutines: reader, serial worker, bypass worker, writer, residency sweeper; one per running turn, compaction and
// background task. Run starts them all and waits for them.
//
// # Time
//
// Options.Speed scales how long the simulated model and its tools take. Timers of the protocol (re-announcement of
// interactions, answer timeouts, auto-resolution, eviction, the exit deadline) always run at real pace. At speed 0
// event timestamps come from a logical clock that the scripts' pauses advance, so that with a seed a transcript is
// repeatable byte for byte.
//
// # Where it differs from the real one
//
// Telemetry is sparse (one stream.chunk per message and channel), because nobody needs a thousand lines a turn here.
// The prompt "burst" switches the delta batching off for its turn, since it exists to make many lines. Replayed
// events (afterSeq) are byte-equal to the live ones, which the protocol permits but does not promise.
package simulator
