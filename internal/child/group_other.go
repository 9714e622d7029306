//go:build !linux

package child

import "syscall"

// Elsewhere there is no parent-death signal and no /proc: a child outlives a
// killed parent only if it ignores the end of its stdin, and Sweep has no proof
// that a group is still the recorded one, so it leaves it alone.

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func groupAlive(group int) bool { return groupExists(group) }

func (r groupRecord) stillRuns() bool { return false }

func describeGroup(pid int) (groupRecord, error) { return groupRecord{Group: pid}, nil }
