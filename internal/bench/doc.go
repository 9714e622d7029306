// Command bench measures the hub as a whole process over real loopback sockets and prints each figure beside a reference
// taken in the same run, because only such ratios survive a busy machine.
//
//	driver (this process)            server under test              child
//	  swarm: N subscribers  <-ws-->  hub | loop | conn-write  <-->  bench child
//	  control: one client                 reference | accept        (an app-server that only streams)
//
// Three processes take part. The driver holds all subscribers in one epoll loop that looks at frame headers only, so that
// the load costs little beside the server. The server's CPU time and memory are read from /proc. The child writes one line
// per write(2), as Node does, and is the same program for the hub and for every reference.
//
// References, built in (reference.go):
//
//	loop        whatever the pipe has, as prebuilt frames, in one write to each client in turn: the floor
//	conn-write  a goroutine per client and one coder/websocket Conn.Write per event: the obvious hub
//	accept      the library's bare upgrade and an echo: what a connection costs at least
//
// docs/performance.md says what each bar is and holds the last figures.
package main
