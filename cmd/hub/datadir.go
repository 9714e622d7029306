package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"zcodehub/auth"
)

// dataDir is the directory that one running hub has for itself: keys, local socket, provider file.
type dataDir struct {
	path string
	lock *os.File // open and locked as long as the hub runs
}

var errDataDirTaken = errors.New("another hub runs on this data directory")

// openDataDir makes the directory when needed and takes its lock, or says who has it.
func openDataDir(path string) (*dataDir, error) {
	if err := auth.PrivateDir(path); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "hub.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer func() { _ = lock.Close() }()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("data directory: lock %s: %w", lock.Name(), err)
		}
		return nil, fmt.Errorf("%w: %s%s; stop it first, or use --data-dir for a second hub", errDataDirTaken, path, holder(lock))
	}
	d := &dataDir{path: path, lock: lock}
	if err := d.writeHolder(); err != nil {
		d.close()
		return nil, fmt.Errorf("data directory: %w", err)
	}
	return d, nil
}

// dataDirHeld tells whether a hub has the directory, be it still starting.
func dataDirHeld(path string) bool {
	lock, err := os.Open(filepath.Join(path, "hub.lock"))
	if err != nil {
		return false
	}
	defer func() { _ = lock.Close() }()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

// holder reads who wrote itself into the lock file, for the sentence to the second hub.
func holder(lock *os.File) string {
	var buf [20]byte // a process id
	n, _ := lock.ReadAt(buf[:], 0)
	if pid := strings.TrimSpace(string(buf[:n])); pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}

func (d *dataDir) writeHolder() error {
	if err := d.lock.Truncate(0); err != nil {
		return err
	}
	_, err := d.lock.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

// close gives the lock back. The file stays: removing it would let two hubs lock two files of one name.
func (d *dataDir) close() {
	_ = d.lock.Truncate(0)
	_ = d.lock.Close()
}

// writeFileAtomic makes a file readable by this user only; readers see the old content or the new, never a part.
func writeFileAtomic(path string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}
