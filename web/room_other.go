//go:build !linux

package web

import "syscall"

// sendQueue is not asked for outside Linux: there is never room then, and every client has a writer of its own.
func sendQueue(syscall.RawConn) (bytes int, ok bool) { return 0, false }
