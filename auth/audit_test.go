package auth

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func openAudit(t *testing.T, dir string, maxBytes int64, maxFiles int) *Audit {
	t.Helper()
	a, err := OpenAudit(dir, maxBytes, maxFiles)
	if err != nil {
		t.Fatalf("OpenAudit: %v", err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func appendEvents(t *testing.T, a *Audit, from, to int) {
	t.Helper()
	for i := from; i <= to; i++ {
		if err := a.Append(AuditEvent{Event: "test", Name: fmt.Sprint(i), Detail: map[string]string{"k": "v"}}, noon.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatalf("Append %d: %v", i, err)
		}
	}
}

func verify(t *testing.T, dir string) AuditReport {
	t.Helper()
	report, err := VerifyAudit(dir)
	if err != nil {
		t.Fatalf("VerifyAudit: %v", err)
	}
	return report
}

func TestChainHoldsAcrossRestartsAndRotation(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	n := 0
	for range 5 {
		a := openAudit(t, dir, 1000, 100)
		appendEvents(t, a, n+1, n+7)
		n += 7
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	report := verify(t, dir)
	if len(report.Faults) > 0 || report.Entries != n || report.Last.Name != fmt.Sprint(n) || report.Files < 3 {
		t.Errorf("report: got %+v, want %d entries in several files without fault", report, n)
	}
	var got []string
	if err := ReadAudit(dir, func(e AuditEntry) bool { got = append(got, e.Name); return len(got) < 3 }); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got, " ") != "1 2 3" {
		t.Errorf("ReadAudit: got %v, want the first three", got)
	}
	files, _ := auditFiles(filepath.Join(dir, auditDir))
	for _, f := range files {
		if info, _ := os.Stat(f); info.Mode().Perm() != 0o600 || info.Size() > 1000 {
			t.Errorf("%s: mode %v, %d bytes", f, info.Mode().Perm(), info.Size())
		}
	}
}

func TestOldFilesGoAndTheRestStillVerifies(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	a := openAudit(t, dir, 1000, 2)
	appendEvents(t, a, 1, 60)
	report := verify(t, dir)
	if len(report.Faults) > 0 || report.Files != 3 || report.Last.Seq != 60 {
		t.Errorf("report: got %+v, want 3 files up to entry 60", report)
	}
}

// tampered is what happened to the lines of an audit of twelve entries, and what Verify says to it.
func TestVerifyFindsTampering(t *testing.T) {
	rehash := func(line []byte, change func([]byte) []byte) []byte {
		body, _, _ := splitHash(bytes.TrimSuffix(line, []byte("\n")))
		body = change(slices.Clone(body))
		return fmt.Appendf(nil, "%s,\"hash\":\"%s\"}\n", body, hashOf(body))
	}
	replace := func(line []byte) []byte { return bytes.Replace(line, []byte(`"name":"`), []byte(`"name":"9`), 1) }
	tests := map[string]struct {
		change func(lines [][]byte) [][]byte
		want   string
	}{
		"nothing":           {func(l [][]byte) [][]byte { return l }, ""},
		"changed":           {func(l [][]byte) [][]byte { l[4] = replace(l[4]); return l }, "audit.jsonl:5: entry 5 was changed"},
		"changed, new hash": {func(l [][]byte) [][]byte { l[4] = rehash(l[4], replace); return l }, "audit.jsonl:6: entry 6 does not follow the one before"},
		"last, new hash":    {func(l [][]byte) [][]byte { l[11] = rehash(l[11], replace); return l }, "audit.jsonl:0: entry 12 is not the one that was written"},
		"first changed":     {func(l [][]byte) [][]byte { l[0] = replace(l[0]); return l }, "audit.jsonl:1: entry 1 was changed"},
		"removed":           {func(l [][]byte) [][]byte { return slices.Delete(l, 4, 6) }, "audit.jsonl:5: entries 5 to 6 are missing before it"},
		"first removed":     {func(l [][]byte) [][]byte { return l[1:] }, "audit.jsonl:1: entries 1 to 1 are missing before it"},
		"cut off":           {func(l [][]byte) [][]byte { return l[:10] }, "audit.jsonl:0: cut off: it ends with entry 10, entry 12 was written"},
		"last line torn":    {func(l [][]byte) [][]byte { l[11] = l[11][:20]; return l }, "audit.jsonl:0: cut off: it ends with entry 11, entry 12 was written"},
		"emptied":           {func(l [][]byte) [][]byte { return nil }, "audit.jsonl:0: cut off: it ends with entry 0, entry 12 was written"},
		"swapped":           {func(l [][]byte) [][]byte { l[4], l[5] = l[5], l[4]; return l }, "audit.jsonl:5: entries 5 to 5 are missing before it; audit.jsonl:6: entry 5 is out of place; audit.jsonl:7: entry 7 does not follow the one before"},
		"doubled":           {func(l [][]byte) [][]byte { return slices.Insert(l, 4, l[3]) }, "audit.jsonl:5: entry 4 is out of place"},
		"garbage added":     {func(l [][]byte) [][]byte { return slices.Insert(l, 4, []byte("{}\n")) }, "audit.jsonl:5: not an entry"},
		"blank added":       {func(l [][]byte) [][]byte { return slices.Insert(l, 4, []byte("\n")) }, "audit.jsonl:5: not an entry"},
		"blank in a line":   {func(l [][]byte) [][]byte { l[4] = bytes.Replace(l[4], []byte(`,"`), []byte(`, "`), 1); return l }, "audit.jsonl:5: entry 5 was changed"},
		"hash in capitals":  {func(l [][]byte) [][]byte { l[4] = bytes.ToUpper(l[4]); return l }, "audit.jsonl:5: not an entry; audit.jsonl:6: entries 5 to 5 are missing before it"},
		"number made larger": {func(l [][]byte) [][]byte {
			l[4] = bytes.Replace(l[4], []byte(`"seq":5`), []byte(`"seq":5000000`), 1)
			return l
		}, "audit.jsonl:5: entry 5 was changed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			a := openAudit(t, dir, 0, 0)
			appendEvents(t, a, 1, 12)
			path := filepath.Join(dir, auditDir, auditCurrent)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := slices.Collect(bytes.Lines(data))
			if err := os.WriteFile(path, bytes.Join(tt.change(lines), nil), 0o600); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range verify(t, dir).Faults {
				got = append(got, f.String())
			}
			if strings.Join(got, "; ") != tt.want {
				t.Errorf("faults:\n got %s\nwant %s", strings.Join(got, "; "), tt.want)
			}
		})
	}
}

func TestVerifyMissesAWholeFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	appendEvents(t, openAudit(t, dir, 1000, 100), 1, 40)
	files, err := auditFiles(filepath.Join(dir, auditDir))
	if err != nil || len(files) < 4 {
		t.Fatalf("files: %v, %v", files, err)
	}
	for _, gone := range []string{files[1], files[0], files[len(files)-1]} {
		if err := os.Remove(gone); err != nil {
			t.Fatal(err)
		}
		if len(verify(t, dir).Faults) == 0 {
			t.Errorf("%s is gone and nobody noticed", gone)
		}
	}
}

func TestTruncationStaysVisibleAfterMoreEntries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	a := openAudit(t, dir, 0, 0)
	appendEvents(t, a, 1, 5)
	path := filepath.Join(dir, auditDir, auditCurrent)
	if err := errors.Join(a.Close(), os.Truncate(path, 0)); err != nil {
		t.Fatal(err)
	}
	appendEvents(t, openAudit(t, dir, 0, 0), 6, 8)
	if faults := verify(t, dir).Faults; len(faults) != 1 || faults[0].What != "entries 1 to 5 are missing before it" {
		t.Errorf("faults: got %v", faults)
	}
}

func TestLostHeadDoesNotRestartTheCount(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	a := openAudit(t, dir, 1000, 100)
	for a.size == 0 || len(mustFiles(t, dir)) < 2 || a.size > 400 {
		appendEvents(t, a, 1, 1)
	}
	last := a.ends.LastSeq
	if err := errors.Join(a.Close(), os.Remove(filepath.Join(dir, auditDir, auditHead)), os.Truncate(filepath.Join(dir, auditDir, auditCurrent), 0)); err != nil {
		t.Fatal(err)
	}
	a = openAudit(t, dir, 1000, 100)
	if a.ends.LastSeq == 0 || a.ends.LastSeq >= last {
		t.Errorf("count goes on from %d, want the last entry of the closed file (below %d)", a.ends.LastSeq, last)
	}
	appendEvents(t, a, 1, 1)
	if faults := verify(t, dir).Faults; len(faults) != 0 {
		t.Errorf("faults: got %v", faults)
	}
}

func mustFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := auditFiles(filepath.Join(dir, auditDir))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAppendFromManyGoroutinesIsOneChain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	a := openAudit(t, dir, 2000, 3)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 30 {
				if err := a.Append(AuditEvent{Event: "test"}, noon); err != nil {
					t.Errorf("Append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if report := verify(t, dir); len(report.Faults) > 0 || report.Last.Seq != 240 {
		t.Errorf("report: got %+v", report)
	}
}

func TestVerifyBesideAWriterRaisesNoAlarm(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	a := openAudit(t, dir, 0, 0)
	var wg sync.WaitGroup
	wg.Go(func() { appendEvents(t, a, 1, 200) })
	for range 20 {
		if faults := verify(t, dir).Faults; len(faults) > 0 {
			t.Errorf("faults: %v", faults)
		}
	}
	wg.Wait()
}

func TestHostileFieldsStayOneBoundedLine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	a := openAudit(t, dir, 0, 0)
	detail := map[string]string{}
	for i := range 1000 {
		detail[fmt.Sprint(i)] = strings.Repeat("\x00", 10_000)
	}
	if err := a.Append(AuditEvent{Event: "a\nb\",\"hash\":\"", Name: "\xff\u2028" + strings.Repeat("n", 1<<20), Detail: detail}, noon); err != nil {
		t.Fatal(err)
	}
	appendEvents(t, a, 2, 2)
	if report := verify(t, dir); len(report.Faults) > 0 || report.Entries != 2 {
		t.Errorf("report: %v, %d entries", report.Faults, report.Entries)
	}
	if a.size > maxAuditLine {
		t.Errorf("one event took %d bytes", a.size)
	}
}

func TestSecondAuditWriterIsTurnedAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	a := openAudit(t, dir, 0, 0)
	if _, err := OpenAudit(dir, 0, 0); !errors.Is(err, ErrInUse) {
		t.Errorf("second OpenAudit: got %v, want ErrInUse", err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Append(AuditEvent{}, noon); err == nil {
		t.Error("Append after Close: no error")
	}
	openAudit(t, dir, 0, 0)
}

func TestDigestHidesTheText(t *testing.T) {
	d := Digest([]byte("my secret prompt"))
	if d["bytes"] != "16" || len(d["sha256"]) != 16 {
		t.Errorf("Digest: got %v", d)
	}
}
