// Package hub joins one app-server and many clients. It routes every message,
// keeps the app-server running, and owes each client a defined answer to
// everything it asks.
//
//	            ┌──────────────────────────── hub ───────────────────────────┐
//	app-server  │  inbound ── updated ──> session.Session                    │   clients
//	 (child)    │     │         framed ──> session.Topic (V4)               │
//	            │     │                     Stream ─ continuous lane ──┐     │
//	  stdout ───┼─────┤                        └──── replayable lane ──┤     │
//	            │     ├─ announced ──────>  Ledger ── show ──┐         ▼     │
//	            │     └─ replied ── calls ── done ───────> Outbox ─ writer ──┼──> WebSocket
//	            │                                                            │
//	  stdin <───┼── child queue <── gate <── call <── request <── Handle <───┼─── WebSocket
//	            │                       └── decided <── answer <─┘           │
//	            └────────────────────────────────────────────────────────────┘
//
// # The main path in ten steps
//
//  1. The stdout goroutine reads one line (internal/wire.Reader) and calls
//     [Hub.inbound] on itself: that is what makes order.
//  2. wire.ParseEnvelope checks the line and finds the few members that routing
//     needs; the payload stays the bytes that came (inbound.go).
//  3. An update is appended to its session's fanout.Stream, encoded once for
//     each lane; at the end of a read batch the stream is published and the
//     outboxes of its followers are served. That never waits for a client. A V4
//     frame is put together, folded into its topic's state and appended to the
//     topic's stream in the same way (topic.go).
//  4. A client's writer (fanout.Outbox) takes all that is due, lanes and private
//     messages in order, and writes it at once.
//  5. [Client.Handle] checks a frame: form, rate, rights (methods.go); trusted
//     members are taken out; then comes its scope (scope.go); forward records the
//     call under the hub's own id (outbound.go, calls.go).
//  6. The gate sends it, or holds it while the app-server is not ready (gate.go).
//     The child's stdin has its own queue and goroutine: stdin and stdout never
//     wait for each other.
//  7. A question of the agent is entered in its session's Ledger once for each
//     requestId; a repeated announcement only adds an id (interaction.go).
//  8. The first valid answer is the decision: its result goes once to every
//     announced id; when the agent confirms, all are told who settled it.
//  9. Attaching is atomic: fanout.Stream.Attach registers the subscription and
//     captures what was missed in one step; then what is open is shown again
//     (subscribe.go). A topic's snapshot comes from its folded state, without
//     asking the app-server (topic_client.go).
//  10. Another epoch, an evicted number or a new app-server: an explicit verdict,
//     then a snapshot that belongs to a stated number (residency.go).
//
// # People together
//
// Beside the streams the hub tells those who follow a session (attached, in
// activity.go) what they need of each other: who is here and looks (presence.go,
// attention.go), who did what (activity.go), and who steers, if that is one at a
// time (control.go). Where nobody looks, devices are told of questions by push
// (push.go). None of it touches the way of an update.
//
// # Goroutines
//
//	goroutine            started by     runs                      ends when
//	Run (the caller's)   cmd/hub        keepRunning               its context ends
//	timekeeper           Run            deadlines, one by one     Run is over
//	child: thread        child.Start    the process' OS thread    the process ended
//	child: stdout        child.Start    inbound and all replies   stdout ended
//	child: stdin         child.Start    the stdin queue           the process is ending
//	child: stderr        child.Start    log and tail              stderr ended
//	child: supervise     child.Start    the stop ladder           the other four ended
//	connection           web            Client.Handle             the socket ended
//	ACP request          web/acp        one request of a client   it is answered, and what it began is over
//	push                 cmd/hub        the queue of messages     its context ended, and none is under way
//	push message         push           one try                   it was answered, or took too long
//	window               fanout.Stream  publishes, by a timer     at once
//	sweep                fanout.Stream  serves up to 32 outboxes  they are served
//	writer               fanout.Outbox  writes what is due        nothing is due
//
// A sweep serves clients whose sockets surely take what is due; the others get a
// writer of their own, which is the only goroutine that ever waits for a client.
// Both come and go, and an outbox waits for whoever serves it when it is closed.
// Callbacks of calls run on the stdout goroutine when the app-server answered, on
// any other when it did not.
//
// # Lock order
//
//	topicPlace.opening, leases.telling ─> Hub.mu ─> gate.mu ─> calls.mu, timekeeper.mu, the child's queue
//	Hub.mu ─> leases.mu ─> timekeeper.mu
//	Hub.mu ─> Client.mu ─> Registry.mu ─> Feed.mu ─> Ledger.mu
//	Feed.mu ─> Budget.mu ─> Stream.mu ─> lane.wakeMu
//	all of them ─> Outbox.mu
//
// Activity.mu, notices.mu and turnstile.mu are leaves. Feed.mu is the mutex of a
// session.Session and of a session.Topic. No lock is held across I/O, a channel
// wait or a callback; only topicPlace.opening, which orders the openings of one
// client's place, is held while a snapshot is cut, and leases.telling while a
// notice is queued to its readers.
//
// # What knows the app-server
//
// Method names and shapes stand in tables and small adapters: methods.go here,
// and package session. Where comments say "protocol document" they mean the
// description of the app-server's wire protocol, which is not part of this
// repository; the number is its section. fanout, auth, internal/child and internal/wire know none.
package hub
