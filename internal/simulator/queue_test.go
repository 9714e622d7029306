package simulator

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"
)

func TestProducersWaitForASlowReaderAndLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, w := io.Pipe()
		o := newOutput(w)
		ended := make(chan error, 1)
		go func() { ended <- o.run() }()
		line := bytes.Repeat([]byte("x"), 1<<20)
		const lines = 40
		produced := make(chan struct{})
		go func() {
			defer close(produced)
			for range lines {
				o.push(bytes.Clone(line), false)
				if o.full() {
					o.waitRoom()
				}
			}
			o.close()
		}()
		synctest.Wait()
		select {
		case <-produced:
			t.Error("the producer ran ahead of a reader that does not read")
		default:
		}
		text, err := io.ReadAll(io.LimitReader(reader, lines*(1<<20+1)))
		if n := bytes.Count(text, []byte("\n")); err != nil || n != lines {
			t.Errorf("read %d lines, %v", n, err)
		}
		if err := <-ended; err != nil || o.waited() == 0 {
			t.Errorf("writer ended with %v after %d waits", err, o.waited())
		}
	})
}

func TestRequestQueueRefusesWhatExceedsItsBound(t *testing.T) {
	q := newRequestQueue()
	if !q.push(&request{size: maxQueuedRequests}) || q.push(&request{size: 1}) || q.refused != 1 {
		t.Errorf("bytes %d, refused %d", q.bytes, q.refused)
	}
	if q.pop() == nil || !q.push(&request{size: 1}) {
		t.Error("room is not given back")
	}
}

func TestTitlesAreCutAsRecorded(t *testing.T) {
	sixty := string(bytes.Repeat([]byte("a"), 60))
	for text, want := range map[string]string{sixty: sixty, sixty + "b": sixty[:57] + "...", " two\n lines ": "two lines"} {
		if got := firstInputTitle(text); got != want {
			t.Errorf("title %q, want %q", got, want)
		}
	}
}
