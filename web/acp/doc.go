// Package acp speaks the Agent Client Protocol for the hub: clients and editors that know ACP, and nothing of the
// app-server, use its sessions beside everybody else.
//
// To the hub each ACP connection is one client of the native surface, a [Native]. Rights, scope, replay, the ledger of
// questions and their routing are the hub's and are kept nowhere else.
//
//	                  ┌────────────────────── Adapter ──────────────────────┐
//	ACP client ─────> │ Conn ── requests: sessions, load, prompt, settings ─┼─> Native ──> hub.Client
//	                  │   │                                                 │      │
//	                  │   └─ place, one for each session <── events ────────┼──────┘
//	ACP client <───── │ output <── Translator, Dialog                       │
//	                  └────── room: what connections share of a session ────┘
//
// A [Conn] has requests of the client, each on a goroutine of its own (conn.go), and the sessions that it follows, each
// in a place (place.go, turn.go). Whoever holds the connection's pen writes, and owns what decides about it; that is
// mostly the goroutine on which the hub writes to the native client, so what is written follows the hub's order, and a
// client that does not read is met by the hub's own ladder. A load (load.go) takes a snapshot and its place in the stream
// in one step. Prompts of one session queue in its room (room.go, prompt.go, cancel.go). A question of the agent waits
// for the client's one slot of its kind (asks.go).
//
// What events, stored messages, questions and settings are in ACP is said by pure functions and by values without
// goroutines: [Translator], [Log], [Dialog].
//
// Beside the socket stand routes for lists and files ([HTTP]), with the [Directory] of what lists show.
package acp
