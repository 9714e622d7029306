package wire

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRecordedTrafficIsUnderstood reads ../shared/recorded beside the
// repository, which is not part of it.
func TestRecordedTrafficIsUnderstood(t *testing.T) {
	files, err := filepath.Glob("../../../shared/recorded/ndjson/*.ndjson")
	if err != nil || len(files) == 0 {
		t.Skip("no recorded traffic in ../shared/recorded/ndjson beside the repository")
	}
	messages := 0
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r := NewReader(f, 0)
		for line, err := r.Next(); err == nil; line, err = r.Next() {
			if _, cut := Get(line, "cutAt"); cut {
				continue // the recorder lost its end
			}
			message, ok := Get(line, "msg")
			var e Envelope
			if err := ParseEnvelope(message, &e); !ok || err != nil {
				t.Errorf("%s: %v: %.120s", filepath.Base(file), err, message)
			}
			messages++
		}
	}
	if messages == 0 {
		t.Errorf("no message in %d files", len(files))
	}
}
