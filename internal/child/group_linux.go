package child

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// processAttributes: a process group of its own, and death with this program.
// KILL, because a child that ignores TERM would stay for ever.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// groupAlive reports whether the group has members that still run. A zombie
// does not: it may stay for long under an init that does not reap.
func groupAlive(group int) bool {
	return groupExists(group) && len(groupMembers(group)) > 0
}

// stillRuns reports whether the recorded group has members, and is that group.
// The kernel gives no number away while a group has it, so a leader that
// started at another time means that the recorded group is gone. If the leader
// is gone the other marks must do.
func (r groupRecord) stillRuns() bool {
	if r.Boot != boot() {
		return false
	}
	members := groupMembers(r.Group)
	for _, m := range members {
		if m.session != r.Session || m.start < r.Start || m.pid == r.Group && m.start != r.Start {
			return false
		}
	}
	return len(members) > 0
}

func describeGroup(pid int) (groupRecord, error) {
	leader, err := readProcess(pid)
	return groupRecord{Group: pid, Start: leader.start, Session: leader.session, Boot: boot()}, err
}

// boot names what process ids are relative to.
func boot() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(id)) + " " + namespace
}

// process is one process as /proc describes it.
type process struct {
	pid     int
	zombie  bool
	group   int
	session int
	start   uint64 // clock ticks since boot
}

// groupMembers lists the processes of a group that are not zombies.
func groupMembers(group int) []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var members []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil && p.group == group && !p.zombie {
			members = append(members, p)
		}
	}
	return members
}

// readProcess reads /proc/PID/stat. The second field is the program's name in
// parentheses and may hold anything, so the others are counted from its end.
func readProcess(pid int) (process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	// Of proc(5): state is field 3, pgrp 5, session 6, starttime 22.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return process{}, fmt.Errorf("/proc/%d/stat has only %d fields", pid, len(fields))
	}
	p := process{pid: pid, zombie: fields[0][0] == 'Z' || fields[0][0] == 'X'}
	p.group, _ = strconv.Atoi(string(fields[2]))
	p.session, _ = strconv.Atoi(string(fields[3]))
	p.start, _ = strconv.ParseUint(string(fields[19]), 10, 64)
	return p, nil
}
