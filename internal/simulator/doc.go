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
//	                                                └─> session.emitted ─┬─> batcher ─> log, seq ──────────────┐
//	                                                                     └─> conversation ─> publisher ─> frame ├─> output queue ── writer ── stdout
//
// session.emitted is the one door through which all events of a session pass. Behind it they go two ways: to the stream
// of session events, merged and numbered as the protocol's edge does it, and to V4. session.inner adds what only V4
// counts: events of the runtime that the stream of session events never shows.
//
// # V4
//
// A conversation is what V4 shows of a session: rows and a state, changed by nothing but the operations that reduce
// (reduce*.go) makes of each event, in the order of the protocol document. The snapshot is therefore the fold of all
// operations. A publisher numbers the events of a topic and remembers the latest; a subscription filters and coalesces
// (op.go) what its profile wants, and sends it when its window has passed (frame.go). Sessions lists and workspace
// settings are topics of the same kind with a state of their own (index.go).
//
// v4/command (command*.go) checks a command, carries it out through what the session methods use as well, and
// remembers the outcome in an inbox. Inputs that meet a running turn wait in its queue: guides join before the next
// model request, others follow in the same execution (queue.go).
//
// Goroutines: reader, serial worker, bypass worker, writer, residency sweeper; one per running turn, compaction,
// background task, countdown of a question and flush that is due. Run starts them all and waits for them.
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
// events (afterSeq) are byte-equal to the live ones, which the protocol permits but does not promise. Where the document
// leaves V4 open: legacy and V4 inputs alike find a busy session busy, an input goes into the queue where a start is
// asked for and impossible, rows of a session that was loaded are as of seq 0.
package simulator
