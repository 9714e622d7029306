package web

import (
	"net"
	"syscall"
)

const (
	// roomyBytes is the most that may lie in a socket's send queue for it to count as roomy: a twentieth of the buffer,
	// what a healthy peer acknowledges within a round trip.
	roomyBytes = 16 << 10
	// creditBytes and creditWrites are what may be written after one look at the queue before the next: together with
	// roomyBytes well below the send buffer, also when each write is small and the kernel counts its overhead.
	creditBytes  = 48 << 10
	creditWrites = 64
)

// room tells whether the socket takes a small write without waiting. It is used by one goroutine at a time.
type room struct {
	raw           syscall.RawConn // nil where nobody can tell: then there is never room
	bytes, writes int             // credit left
}

func newRoom(conn net.Conn) (r room) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		r.raw, _ = tcp.SyscallConn() // nil on an error, which is told elsewhere
	}
	return r
}

// Room tells that a write of so many bytes will not have to wait.
func (c *conn) Room(bytes int) bool { return c.room.take(bytes) }

// take tells that a write of n bytes will not have to wait, and counts it.
func (r *room) take(n int) bool {
	if r.raw == nil {
		return false
	}
	if r.bytes < n || r.writes == 0 {
		queued, ok := sendQueue(r.raw)
		if !ok || queued > roomyBytes {
			r.bytes, r.writes = 0, 0
			return false
		}
		r.bytes, r.writes = creditBytes, creditWrites
	}
	r.bytes -= n
	r.writes--
	return true
}
