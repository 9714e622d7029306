package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLoose is wrapped by every refusal of a file or folder that others could read or change.
var ErrLoose = errors.New("open to other users")

const (
	privateDirMode  fs.FileMode = 0o700
	privateFileMode fs.FileMode = 0o600
	othersMask      fs.FileMode = 0o077
)

// PrivateDir makes path a folder that only this user can enter. A missing one is made, an empty one of ours is
// tightened (nothing in it can have leaked), anything looser is refused: what lay open must be looked at by a person.
func PrivateDir(path string) error {
	if err := os.MkdirAll(path, privateDirMode); err != nil {
		return fmt.Errorf("make private folder: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("check private folder: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", path)
	}
	if err := checkOwner(path, info); err != nil {
		return err
	}
	if info.Mode().Perm()&othersMask == 0 {
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("check private folder: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("folder %s has mode %04o: %w; look at what is in it, then: chmod 700 %[1]s", path, info.Mode().Perm(), ErrLoose)
	}
	if err := os.Chmod(path, privateDirMode); err != nil {
		return fmt.Errorf("make folder private: %w", err)
	}
	return nil
}

// CheckDataDir changes nothing and reports everything in a data dir that other users could enter, read or change, all
// together.
func CheckDataDir(dataDir string) error {
	var faults []error
	err := filepath.WalkDir(dataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a running hub removed it just now
		}
		if err != nil {
			return err
		}
		faults = append(faults, checkOwner(path, info))
		if entry.Type()&fs.ModeSymlink == 0 && info.Mode().Perm()&othersMask != 0 {
			faults = append(faults, fmt.Errorf("%s has mode %04o: %w", path, info.Mode().Perm(), ErrLoose))
		}
		return nil
	})
	return errors.Join(append(faults, err)...)
}

// CheckPrivateFile refuses a file of the hub's own that others could read or change, and anything but a plain file.
func CheckPrivateFile(path string) error {
	info, err := os.Lstat(path) // a link would move the question to another place
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a plain file", path)
	}
	if err := checkOwner(path, info); err != nil {
		return err
	}
	if info.Mode().Perm()&othersMask != 0 {
		return fmt.Errorf("file %s has mode %04o: %w; replace the secret in it, or if you are sure: chmod 600 %[1]s", path, info.Mode().Perm(), ErrLoose)
	}
	return nil
}

func checkOwner(path string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, the hub runs as %d: %w", path, st.Uid, os.Geteuid(), ErrLoose)
	}
	return nil
}

// readPrivate reads a file of the hub's own after checking that it was private.
func readPrivate(path string) ([]byte, error) {
	if err := CheckPrivateFile(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// writePrivate puts data at path so that a reader, or a hub started after a crash, finds the old content or the new
// one, whole. With replace false an existing file wins and the error wraps fs.ErrExist.
func writePrivate(path string, data []byte, replace bool) error {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, ".new-*") // made 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails after a rename, as it should
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	if replace {
		err = os.Rename(tmp.Name(), path)
	} else {
		err = os.Link(tmp.Name(), path)
	}
	if err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
