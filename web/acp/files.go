package acp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

var (
	// errOutside is the answer to what does not lie in the workspace, or is none of a reader's business.
	errOutside = errors.New("this path is outside the workspace")
	// errKind: neither a regular file nor a folder. Reading a FIFO or a device could block, or set something going.
	errKind = errors.New("only regular files and folders can be read")
)

// A folder is a session's workspace, opened for reading. All that is opened in it goes through an os.Root, so that
// neither .. nor a symbolic link leads out, whoever moves things about meanwhile.
type folder struct {
	path    string
	root    *os.Root
	private []string // files and folders that are served to nobody, see [secrets]
}

// openFolder opens the workspace that the app-server recorded. The whole machine is no workspace.
func openFolder(path string, private []string) (*folder, error) {
	if !filepath.IsAbs(path) {
		return nil, errOutside
	}
	f, err := openAnyFolder(path, private)
	if err != nil {
		return nil, err
	}
	here, err := f.root.Stat(".")
	if err == nil {
		var all fs.FileInfo
		if all, err = os.Stat("/"); err == nil && os.SameFile(here, all) {
			err = errOutside // also by another name, such as a link to it
		}
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// openAnyFolder opens a folder, and nothing else: with the dot behind it a FIFO is an error instead of a long wait.
func openAnyFolder(path string, private []string) (*folder, error) {
	root, err := os.OpenRoot(path + "/.")
	if err != nil {
		return nil, judged(err)
	}
	return &folder{path, root, private}, nil
}

// close lets go of the root; what was opened in it stays open.
func (f *folder) close() { _ = f.root.Close() }

// name makes a path of a client relative to the root. Tool calls name files by absolute paths, so those below the root
// are taken too. Anything else is left to the Root to judge.
func (f *folder) name(path string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", fs.ErrInvalid
	}
	if filepath.IsAbs(path) {
		relative, err := filepath.Rel(f.path, path)
		if err != nil {
			return "", errOutside
		}
		path = relative
	}
	if path == "" {
		return ".", nil
	}
	return path, nil
}

// open opens a regular file or a folder and never waits: not for the writer of a FIFO, not for a device.
func (f *folder) open(path string) (*os.File, fs.FileInfo, error) {
	name, err := f.name(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.root.Stat(name) // opening a device may already set something going
	if err != nil {
		return nil, nil, judged(err)
	}
	if !readable(info) {
		return nil, nil, errKind
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, judged(err)
	}
	info, err = file.Stat() // of what was opened: it may have been swapped since
	if err == nil && !readable(info) {
		err = errKind
	}
	if err == nil {
		err = f.mayRead(file, info)
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// mayRead keeps the hub's secrets from readers: in files, and in what the kernel tells of its process.
func (f *folder) mayRead(file *os.File, info fs.FileInfo) error {
	processes, err := ofProcesses(file)
	if err == nil && (processes || secret(info, f.private)) {
		err = errOutside
	}
	return err
}

func readable(info fs.FileInfo) bool { return info.Mode().IsRegular() || info.IsDir() }

// judged tells what leads out of the root from what the system refused: os does not export the error.
func judged(err error) error {
	var number syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return fs.ErrNotExist
	case errors.Is(err, syscall.ENXIO): // a socket
		return errKind
	case errors.As(err, &number):
		return err
	default:
		return fmt.Errorf("%w: %w", errOutside, err)
	}
}

// secret reports whether a file is one of those that no client reads although its workspace may hold them: the hub's
// own keys make an admin of whoever has them, and a workspace may be a home folder. Files are compared, not paths, so
// that no link helps.
func secret(info fs.FileInfo, private []string) bool {
	for _, path := range private {
		found := false
		_ = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // what cannot be looked at is not what was opened
			}
			if other, err := entry.Info(); err == nil && os.SameFile(info, other) {
				found = true
				return fs.SkipAll
			}
			return nil
		})
		if found {
			return true
		}
	}
	return false
}

// Kinds of entries, as the contract names them.
const (
	kindFile    = "file"
	kindDir     = "dir"
	kindSymlink = "symlink"
)

// An entry is a line of a listing.
type entry struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime"` // ms
}

// kindOf is "" for what is not listed: FIFOs, devices and sockets, which cannot be opened either.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return kindFile
	case mode.IsDir():
		return kindDir
	case mode&fs.ModeSymlink != 0:
		return kindSymlink
	}
	return ""
}

const (
	// maxEntries is the contract's.
	maxEntries = 2000
	// maxScanned bounds the work for one folder: what a cache of a million files holds is nothing to browse.
	maxScanned = 100_000
	// scanBatch is how many names are read at once.
	scanBatch = 1000
)

// list reads a folder: folders first, then in the order of bytes. More is true if not all are in it.
func (f *folder) list(ctx context.Context, path string, wanted func(kind string) bool) (entries []entry, more bool, err error) {
	dir, info, err := f.open(path)
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	if !info.IsDir() {
		return nil, false, syscall.ENOTDIR
	}
	entries, more, err = firstEntries(ctx, dir, wanted)
	if err != nil {
		return nil, false, err
	}
	name, err := f.name(path)
	if err != nil {
		return nil, false, err
	}
	return f.measure(name, entries), more, nil
}

// firstEntries reads names and kinds, and keeps no more of them than twice what is answered.
func firstEntries(ctx context.Context, dir *os.File, wanted func(kind string) bool) (entries []entry, more bool, err error) {
	keep := func() {
		slices.SortFunc(entries, before)
		if len(entries) > maxEntries {
			entries, more = entries[:maxEntries], true
		}
	}
	for scanned := 0; ; {
		batch, err := dir.ReadDir(scanBatch)
		for _, e := range batch {
			if kind := kindOf(e.Type()); kind != "" && wanted(kind) {
				entries = append(entries, entry{Name: e.Name(), Kind: kind})
			}
		}
		keep()
		scanned += len(batch)
		switch {
		case errors.Is(err, io.EOF):
			return entries, more, nil
		case err != nil:
			return nil, false, err
		case ctx.Err() != nil:
			return nil, false, ctx.Err()
		case scanned >= maxScanned:
			return entries, true, nil
		}
	}
}

func before(a, b entry) int {
	if (a.Kind == kindDir) != (b.Kind == kindDir) {
		if a.Kind == kindDir {
			return -1
		}
		return 1
	}
	return strings.Compare(a.Name, b.Name)
}

// measure adds sizes and times. What went away since its name was read is left out.
func (f *folder) measure(dir string, entries []entry) []entry {
	measured := make([]entry, 0, len(entries))
	for _, e := range entries {
		info, err := f.root.Lstat(dir + "/" + e.Name)
		if err != nil {
			continue
		}
		if kind := kindOf(info.Mode()); kind != e.Kind {
			continue
		}
		e.MTime = info.ModTime().UnixMilli()
		if e.Kind == kindFile {
			e.Size = info.Size()
		}
		measured = append(measured, e)
	}
	return measured
}

// lineBuffer is what is read at once while looking for lines.
const lineBuffer = 64 << 10

// skipLines reads up to the start of a line, counted from 1. It returns the number of the line at which reading goes
// on, which is the one behind the last if there are not so many, and what it has read beyond that start.
func skipLines(ctx context.Context, r io.Reader, line int64) (first int64, rest []byte, err error) {
	first = 1
	if line <= 1 {
		return first, nil, nil
	}
	buffer := make([]byte, lineBuffer)
	open := false // the last line read has no end yet
	for ctx.Err() == nil {
		n, err := r.Read(buffer)
		part := buffer[:n]
		for len(part) > 0 {
			end := bytes.IndexByte(part, '\n')
			if end < 0 {
				open = true
				break
			}
			part, open = part[end+1:], false
			if first++; first == line {
				return first, part, nil
			}
		}
		if err == io.EOF {
			if open {
				first++ // a last line without an end counts as well
			}
			return first, nil, nil
		}
		if err != nil {
			return 0, nil, err
		}
	}
	return 0, nil, ctx.Err()
}

// copyLines writes the next lines as they are, however long they be, and ends the last one if the file does not.
func copyLines(w io.Writer, r io.Reader, lines int64) error {
	buffer := make([]byte, lineBuffer)
	open := false
	for lines > 0 {
		n, err := r.Read(buffer)
		part := buffer[:n]
		if n > 0 {
			end := 0
			for lines > 0 && end < n {
				next := bytes.IndexByte(part[end:], '\n')
				if next < 0 {
					end = n
					break
				}
				end += next + 1
				lines--
			}
			open = part[end-1] != '\n'
			if _, err := w.Write(part[:end]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if open {
		_, err := io.WriteString(w, "\n")
		return err
	}
	return nil
}
