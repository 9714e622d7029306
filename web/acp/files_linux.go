package acp

import (
	"os"
	"syscall"
)

// procfs is the type of the file system below /proc (statfs(2): PROC_SUPER_MAGIC).
const procfs = 0x9fa0

// ofProcesses reports whether a file tells of the processes of this machine, such as the hub's own environment and
// memory, which hold its secrets.
func ofProcesses(file *os.File) (yes bool, err error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return false, err
	}
	var at syscall.Statfs_t
	outer := raw.Control(func(fd uintptr) { err = syscall.Fstatfs(int(fd), &at) })
	if outer != nil {
		return false, outer
	}
	return at.Type == procfs, err
}
