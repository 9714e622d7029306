package auth

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxAuditLine bounds what a line may cost a reader: all fields of an event at their bound, escaped.
const maxAuditLine = 1 << 20

// maxFaults is how many faults a report lists; the first is the one that matters.
const maxFaults = 20

// AuditFault is a place where the chain does not hold.
type AuditFault struct {
	File string `json:"file"`
	Line int    `json:"line"` // 0 = the file as a whole
	What string `json:"what"`
}

func (f AuditFault) String() string { return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.What) }

// AuditReport is the outcome of a verification.
type AuditReport struct {
	Files   int          `json:"files"`
	Entries int          `json:"entries"`
	Last    AuditEntry   `json:"last"`
	Faults  []AuditFault `json:"faults,omitempty"` // none = the audit is whole
}

// VerifyAudit reads the whole audit of a data dir and finds lines that were changed, removed, added or cut off. It
// may run beside the hub.
func VerifyAudit(dataDir string) (AuditReport, error) {
	dir := filepath.Join(dataDir, auditDir)
	const tries = 3 // each is spoiled only by a rotation in its middle
	for try := 1; ; try++ {
		before, err := auditFiles(dir)
		if err != nil {
			return AuditReport{}, fmt.Errorf("verify audit: %w", err)
		}
		report, err := verifyFiles(dir, before)
		after, _ := auditFiles(dir)
		if try == tries || slices.Equal(before, after) {
			return report, err
		}
	}
}

func verifyFiles(dir string, files []string) (AuditReport, error) {
	ends, err := readEnds(dir) // before the files: they may only have grown since
	if err != nil {
		return AuditReport{}, fmt.Errorf("verify audit: %w", err)
	}
	c := chain{ends: ends, next: ends.FirstSeq, prev: ends.FirstPrev}
	for _, file := range files {
		if err := readLines(file, func(n int, line []byte) bool { c.check(filepath.Base(file), n, line); return true }); err != nil {
			return AuditReport{}, fmt.Errorf("verify audit: %w", err)
		}
		c.report.Files++
	}
	c.checkEnd()
	return c.report, nil
}

// ReadAudit gives the entries oldest first until visit returns false. What does not read as an entry is passed over:
// VerifyAudit tells about it.
func ReadAudit(dataDir string, visit func(AuditEntry) bool) error {
	files, err := auditFiles(filepath.Join(dataDir, auditDir))
	if err != nil {
		return fmt.Errorf("read audit: %w", err)
	}
	more := true
	for _, file := range files {
		err := readLines(file, func(_ int, line []byte) bool {
			var e AuditEntry
			if json.Unmarshal(line, &e) == nil {
				more = visit(e)
			}
			return more
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// chain follows the hashes from entry to entry.
type chain struct {
	ends     auditEnds
	next     uint64
	prev     string
	lastHash string // of the entry that the head says was the last
	report   AuditReport
}

func (c *chain) check(file string, n int, line []byte) {
	body, hash, ok := splitHash(line)
	var e AuditEntry
	if !ok || json.Unmarshal(line, &e) != nil {
		c.fault(file, n, "not an entry")
		return
	}
	whole := hashOf(body) == hash
	if whole && e.Seq < c.ends.FirstSeq {
		return // dropped already, the file just could not be removed
	}
	switch {
	case !whole:
		c.fault(file, n, fmt.Sprintf("entry %d was changed", c.next))
		e.Seq = c.next // what it says of itself does not count
	case e.Seq > c.next:
		c.fault(file, n, fmt.Sprintf("entries %d to %d are missing before it", c.next, e.Seq-1))
	case e.Seq < c.next:
		c.fault(file, n, fmt.Sprintf("entry %d is out of place", e.Seq))
	case e.Prev != c.prev:
		c.fault(file, n, fmt.Sprintf("entry %d does not follow the one before", e.Seq))
	}
	c.report.Entries++
	c.report.Last = e
	if e.Seq == c.ends.LastSeq {
		c.lastHash = hash
	}
	c.next, c.prev = max(c.next, e.Seq+1), hash
}

// checkEnd compares with what the head says was written; entries after that came just before a crash.
func (c *chain) checkEnd() {
	switch last := c.next - 1; {
	case last < c.ends.LastSeq:
		c.fault(auditCurrent, 0, fmt.Sprintf("cut off: it ends with entry %d, entry %d was written", last, c.ends.LastSeq))
	case c.ends.LastSeq >= c.ends.FirstSeq && c.lastHash != c.ends.LastHash:
		c.fault(auditCurrent, 0, fmt.Sprintf("entry %d is not the one that was written", c.ends.LastSeq))
	}
}

func (c *chain) fault(file string, line int, what string) {
	if len(c.report.Faults) < maxFaults {
		c.report.Faults = append(c.report.Faults, AuditFault{File: file, Line: line, What: what})
	}
}

// splitHash takes a line apart into what is hashed and the hash.
func splitHash(line []byte) (body []byte, hash string, ok bool) {
	const hashHex = 64
	tail := len(emptyHash) + hashHex
	if len(line) <= tail {
		return nil, "", false
	}
	body, end := line[:len(line)-tail], string(line[len(line)-tail:])
	hash = strings.TrimSuffix(strings.TrimPrefix(end, `,"hash":"`), `"}`)
	return body, hash, len(hash) == hashHex
}

// rotateLocked closes the full file under the number of its last entry and drops the oldest full ones.
func (a *Audit) rotateLocked() error {
	full := filepath.Join(a.dir, fmt.Sprintf("audit-%020d.jsonl", a.ends.LastSeq))
	a.broken = true // until the new file is open
	if err := errors.Join(a.file.Sync(), os.Rename(filepath.Join(a.dir, auditCurrent), full)); err != nil {
		return err
	}
	if err := a.openCurrent(); err != nil {
		return err
	}
	files, err := auditFiles(a.dir)
	if err != nil {
		return err
	}
	for closed := files[:len(files)-1]; len(closed) > a.maxFiles; closed = closed[1:] {
		if err := a.dropLocked(closed[0]); err != nil {
			return err
		}
	}
	return nil
}

// dropLocked moves the beginning of the chain behind a file before the file goes: a crash in between leaves entries
// that are not asked for any more, never a gap that looks like a theft.
func (a *Audit) dropLocked(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if last, ok := lastEntry(data); ok && last.Seq >= a.ends.FirstSeq {
		a.ends.FirstSeq, a.ends.FirstPrev = last.Seq+1, last.Hash
	}
	if err := writeEnds(a.dir, a.ends); err != nil {
		return err
	}
	return os.Remove(file)
}

// auditFiles lists the files of the audit, oldest first, the current one last.
func auditFiles(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "audit-*.jsonl"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	current := filepath.Join(dir, auditCurrent)
	if _, err := os.Stat(current); err == nil {
		files = append(files, current)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return files, nil
}

func readLines(file string, visit func(n int, line []byte) bool) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 64<<10)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(line) > maxAuditLine {
			return fmt.Errorf("%s:%d: line too long", file, n)
		}
		if err == io.EOF {
			return nil // a line without its end was never acknowledged
		}
		if err != nil {
			return err
		}
		if !visit(n, line[:len(line)-1]) {
			return nil
		}
	}
}

func lastLineEnd(data []byte) int { return bytes.LastIndexByte(data, '\n') + 1 }

func lastEntry(data []byte) (e AuditEntry, ok bool) {
	data = bytes.TrimSuffix(data, []byte("\n"))
	line := data[lastLineEnd(data):]
	_, _, ok = splitHash(line)
	return e, ok && json.Unmarshal(line, &e) == nil
}
