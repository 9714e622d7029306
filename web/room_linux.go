package web

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// sendQueue is how many bytes the kernel still holds for the peer (tcp(7), SIOCOUTQ).
func sendQueue(raw syscall.RawConn) (bytes int, ok bool) {
	err := raw.Control(func(fd uintptr) {
		var ioctl error
		bytes, ioctl = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
		ok = ioctl == nil
	})
	return bytes, ok && err == nil
}
