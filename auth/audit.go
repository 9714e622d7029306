package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	// DefaultAuditBytes is when a file of the audit is full: what an editor still opens.
	DefaultAuditBytes = 10 << 20
	// DefaultAuditFiles is how many full files are kept: 100 MiB are years of one person's hub.
	DefaultAuditFiles = 10

	auditDir     = "audit"
	auditCurrent = "audit.jsonl"
	auditHead    = "head.json"
	auditLock    = "lock"
	maxAuditText = 1 << 10 // of one field; longer ones are cut, for a client must not fill the disk with one event
	maxDetails   = 32      // the same, for their number
)

// AuditEvent is one thing that happened. It never holds a secret or the text of a prompt; see [Digest].
type AuditEvent struct {
	Event     string            `json:"event"` // such as device.paired, credential.failed, interaction.settled
	Name      string            `json:"name,omitempty"`
	Device    string            `json:"device,omitempty"`
	Addr      string            `json:"addr,omitempty"`
	SessionID string            `json:"sessionId,omitempty"`
	Detail    map[string]string `json:"detail,omitempty"`
}

// AuditEntry is an event as it stands in the audit.
type AuditEntry struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	AuditEvent
	Prev string `json:"prev"` // hash of the entry before
	Hash string `json:"hash"` // over the line up to here
}

// Audit is an append-only record in <data-dir>/audit: JSON lines, each with a hash over itself and the one before. A
// second small file holds both ends of the chain, so that lines cut off are missed too. It shows any change that was
// not made by somebody who rewrites all of it; against that, copy the head elsewhere.
//
// Append writes to the file on the caller's goroutine; a crash of the hub loses nothing, one of the machine perhaps
// the last lines, which Verify then reports as missing.
type Audit struct {
	// fixed after construction
	dir      string
	maxBytes int64
	maxFiles int
	lock     *os.File

	// mu orders the entries, so it is held over the write; only those who record an event wait for it.
	mu   sync.Mutex
	file *os.File
	size int64
	ends auditEnds
	// broken holds after a write failed half way: the chain goes on only after the file was looked at again.
	broken bool
}

// auditEnds is where the chain begins and ends.
type auditEnds struct {
	FirstSeq  uint64 `json:"firstSeq"`  // of the oldest entry kept
	FirstPrev string `json:"firstPrev"` // the hash before it
	LastSeq   uint64 `json:"lastSeq"`
	LastHash  string `json:"lastHash"`
}

// OpenAudit opens the audit of a data dir and makes it when missing. Zero limits mean the defaults. While another
// process has it open the error wraps [ErrInUse]. An audit that does not verify is opened nevertheless: what happens
// next must be recorded, on top of what is left.
func OpenAudit(dataDir string, maxBytes int64, maxFiles int) (*Audit, error) {
	if maxBytes <= 0 {
		maxBytes = DefaultAuditBytes
	}
	if maxFiles <= 0 {
		maxFiles = DefaultAuditFiles
	}
	dir := filepath.Join(dataDir, auditDir)
	for _, d := range []string{dataDir, dir} {
		if err := PrivateDir(d); err != nil {
			return nil, fmt.Errorf("open audit: %w", err)
		}
	}
	a := &Audit{dir: dir, maxBytes: maxBytes, maxFiles: maxFiles}
	if err := errors.Join(a.takeLock(), a.openCurrent()); err != nil {
		return nil, errors.Join(fmt.Errorf("open audit: %w", err), a.Close())
	}
	return a, nil
}

func (a *Audit) takeLock() (err error) {
	if a.lock, err = os.OpenFile(filepath.Join(a.dir, auditLock), os.O_CREATE|os.O_RDWR, privateFileMode); err != nil {
		return err
	}
	if err := syscall.Flock(int(a.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("%s is %w", a.dir, ErrInUse)
	}
	return nil
}

// openCurrent finds the end of the chain. A last line without its end was being written when the hub died; it was
// never acknowledged and is cut off. The file knows better than the head, which is written after it.
func (a *Audit) openCurrent() error {
	path := filepath.Join(a.dir, auditCurrent)
	if err := CheckPrivateFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ends, err := readEnds(a.dir)
	if err != nil {
		return err
	}
	files, err := auditFiles(a.dir)
	if err != nil {
		return err
	}
	size := 0
	for _, file := range files[max(0, len(files)-2):] { // the current one is empty just after a rotation
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		whole := lastLineEnd(data)
		if last, ok := lastEntry(data[:whole]); ok && last.Seq > ends.LastSeq {
			ends.LastSeq, ends.LastHash = last.Seq, last.Hash
		}
		if file == path {
			size = whole
		}
	}
	if a.file != nil {
		a.file.Close()
	}
	if a.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, privateFileMode); err != nil {
		return err
	}
	a.ends, a.size, a.broken = ends, int64(size), false
	return a.file.Truncate(a.size)
}

// Append records an event. Without error, and mostly also with one, it is in the file when this returns.
func (a *Audit) Append(e AuditEvent, now time.Time) error {
	if err := a.AppendMore(e, now); err != nil {
		return err
	}
	return a.Seal()
}

// AppendMore is Append for one of several events: the head, whose replacement costs ten times the line itself, is
// written by the Seal that follows the last of them. Until then the file knows more than the head, as after a crash.
func (a *Audit) AppendMore(e AuditEvent, now time.Time) error {
	e = e.bounded()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return errors.New("audit: closed")
	}
	if a.broken {
		if err := a.openCurrent(); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
	}
	entry := AuditEntry{Seq: a.ends.LastSeq + 1, Time: now.UTC(), AuditEvent: e, Prev: a.ends.LastHash}
	line, hash, err := encodeEntry(entry)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	var rotated error
	if a.size > 0 && a.size+int64(len(line)) > a.maxBytes {
		if rotated = a.rotateLocked(); a.broken {
			return fmt.Errorf("audit: %w", rotated)
		}
	}
	if _, err := a.file.Write(line); err != nil {
		a.broken = true
		return fmt.Errorf("audit: %w", err)
	}
	a.size += int64(len(line))
	a.ends.LastSeq, a.ends.LastHash = entry.Seq, hash
	if rotated != nil {
		return fmt.Errorf("audit: %w", rotated)
	}
	return nil
}

// Seal writes the head, which knows where the chain ends.
func (a *Audit) Seal() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return errors.New("audit: closed")
	}
	if err := writeEnds(a.dir, a.ends); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// Close lets go of the audit.
func (a *Audit) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	for _, f := range []*os.File{a.file, a.lock} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	a.file, a.lock = nil, nil
	return err
}

// Digest stands for a text whose content is nobody's business: its length and the start of its hash.
func Digest(text []byte) map[string]string {
	sum := sha256.Sum256(text)
	return map[string]string{"bytes": fmt.Sprint(len(text)), "sha256": hex.EncodeToString(sum[:8])}
}

func (e AuditEvent) bounded() AuditEvent {
	cut := func(s string) string {
		if len(s) > maxAuditText {
			return s[:maxAuditText] + "…"
		}
		return s
	}
	e.Event, e.Name, e.Device, e.Addr, e.SessionID = cut(e.Event), cut(e.Name), cut(e.Device), cut(e.Addr), cut(e.SessionID)
	if e.Detail != nil {
		detail := make(map[string]string, min(len(e.Detail), maxDetails))
		for _, k := range slices.Sorted(maps.Keys(e.Detail)) {
			if len(detail) < maxDetails {
				detail[cut(k)] = cut(e.Detail[k])
			}
		}
		e.Detail = detail
	}
	return e
}

// encodeEntry makes the line: the entry without its hash, then the hash over exactly those bytes.
func encodeEntry(e AuditEntry) (line []byte, hash string, err error) {
	e.Hash = ""
	body, err := json.Marshal(e)
	if err != nil {
		return nil, "", err
	}
	body = body[:len(body)-len(emptyHash)]
	hash = hashOf(body)
	return append(body, `,"hash":"`+hash+"\"}\n"...), hash, nil
}

// emptyHash is how an entry without hash ends; hash is its last member.
const emptyHash = `,"hash":""}`

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func readEnds(dir string) (ends auditEnds, err error) {
	data, err := readPrivate(filepath.Join(dir, auditHead))
	if errors.Is(err, fs.ErrNotExist) {
		return auditEnds{FirstSeq: 1}, nil
	}
	if err != nil {
		return ends, err
	}
	if err := json.Unmarshal(data, &ends); err != nil {
		return ends, fmt.Errorf("%s: %w", filepath.Join(dir, auditHead), err)
	}
	return ends, nil
}

// writeEnds replaces the head whole but does not force it to the disk: the file it speaks of is not forced either.
func writeEnds(dir string, ends auditEnds) error {
	data, err := json.Marshal(ends)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, auditHead)
	if err := os.WriteFile(path+".new", append(data, '\n'), privateFileMode); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
