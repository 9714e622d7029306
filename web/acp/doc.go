// Package acp speaks the Agent Client Protocol for the hub: clients and editors that know ACP, and nothing of the
// app-server, use its sessions beside everybody else.
//
// To the hub each ACP connection is one client of the native surface, a [Native]. Rights, scope, replay, the ledger of
// questions and their routing are the hub's and are kept nowhere else.
package acp
