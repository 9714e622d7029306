// Package web is the hub's edge: HTTP, WebSocket and the embedded page.
//
// [Server] serves one router on every listener it is given: TCP for people and machines, and the local socket
// ([ListenLocal]) whose peers are the same user on the same machine. Who a client is comes from its credential alone
// (credential.go); everything that a request says about itself (addresses, names, forwarding headers) is for the log.
//
// A WebSocket connection is a conn. Its parts, and who writes what:
//
//	           read loop (one goroutine per conn, the only one while the conn is idle)
//	peer ───▶ raw net.Conn ─▶ coder/websocket ─▶ frames ─▶ Client.Handle
//	peer ◀─── raw net.Conn ◀─ outlet ◀─┬─ WriteFrames: data, prebuilt by the hub, one writev
//	                                   ├─ pong and ping
//	                                   └─ the close frame, last
//
// The library does the handshake, parses frames and checks the protocol. It never writes to the connection: it is lent
// a net.Conn (lent.go) whose writes end in the outlet, so that control frames and the hub's data never interleave and
// nothing follows a close frame. Timers (ping, expiry) use time.AfterFunc and cost no goroutine while they wait.
//
// Closing has one way in, conn.CloseSoon, and one way out, the end of the read loop. Nothing that runs for a connection
// outlives the end of its read loop, and [Server.Serve] returns after the last of them.
package web
