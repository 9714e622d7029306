package session

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestActivityIsBoundedInEntriesBytesAndSessions(t *testing.T) {
	a, now := NewActivity(), time.Unix(1_800_000_000, 0)
	for i := range 10 * maxEntries {
		a.Add("s1", Entry{At: now.Add(time.Duration(i)), Kind: ActPrompt})
	}
	entries, last := a.After("s1", 0)
	if len(entries) != maxEntries || last != 10*maxEntries || entries[0].N != last-maxEntries+1 {
		t.Errorf("%d entries are kept, from %d to %d", len(entries), entries[0].N, last)
	}
	for range maxEntries {
		a.Add("s1", Entry{At: now, CommandID: strings.Repeat("x", 1<<20), Summary: strings.Repeat("é", 1<<20)})
	}
	entries, _ = a.After("s1", 0)
	bytes := 0
	for _, e := range entries {
		bytes += e.size()
		if len(e.CommandID) > maxEntryText || !utf8.ValidString(e.Summary) {
			t.Fatalf("an entry kept %d bytes of a text", len(e.CommandID))
		}
	}
	if bytes > maxEntriesBytes {
		t.Errorf("%d bytes are kept", bytes)
	}
	for i := range 2 * maxActive {
		a.Add(fmt.Sprint("other", i), Entry{At: now.Add(time.Hour + time.Duration(i))})
	}
	if n := len(a.Sessions()); n != maxActive {
		t.Errorf("entries of %d sessions are kept", n)
	}
	if entries, _ := a.After("s1", 0); entries != nil {
		t.Error("the session in which nothing has happened for longest is still there")
	}
	a.Forget(fmt.Sprint("other", 2*maxActive-1))
	if _, last := a.After(fmt.Sprint("other", 2*maxActive-1), 0); last != 0 {
		t.Error("a forgotten session still has entries")
	}
}

// Whoever asks for what came after the newest number it has gets exactly that,
// or all that is kept.
func TestActivityAfterANumberIsWhatCameAfterIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := NewActivity()
		count := rapid.IntRange(0, 2*maxEntries).Draw(t, "count")
		for range count {
			a.Add("s", Entry{Kind: ActStop})
		}
		after := rapid.Uint64Range(0, uint64(2*count+2)).Draw(t, "after")
		entries, last := a.After("s", after)
		want := after + 1
		if after > uint64(count) {
			want = 1
		}
		want = max(want, uint64(max(0, count-maxEntries))+1)
		for _, e := range entries {
			if e.N != want {
				t.Fatalf("after %d of %d came %d, want %d", after, count, e.N, want)
			}
			want++
		}
		if last != uint64(count) || want != last+1 {
			t.Fatalf("after %d of %d: the newest is %d, the entries end before %d", after, count, last, want)
		}
	})
}

func TestSummaryIsOneHarmlessLine(t *testing.T) {
	for _, test := range []struct{ method, params, want string }{
		{MethodPermission, `{"requestId":"r","toolName":"Bash","input":{"description":"d","command":"rm -rf build\nls"}}`, "rm -rf build …"},
		{MethodPermission, `{"requestId":"r","input":{"file_path":"/w/\u001b[31ma\u202eb.go","content":"x"}}`, "/w/[31mab.go"},
		{MethodPermission, `{"requestId":"r","reason":"why","input":{"n":1}}`, "why"},
		{MethodPermission, `{"requestId":"r","reason":"why"}`, "why"},
		{MethodUserInput, `{"requestId":"r","prompt":"p","questions":[{"question":"Which?"}]}`, "Which?"},
		{MethodUserInput, `{"requestId":"r","prompt":"p"}`, "p"},
		{MethodUserInput, `{"requestId":"r","schema":{"interaction":"plan_approval"},"input":{"plan":"\n## Do it\n1. a"}}`, "Do it …"},
		{MethodPermission, `{"requestId":"r","input":"text"}`, ""},
	} {
		if got := newInteraction("s", test.method, []byte(test.params), 1, start).Summary; got != test.want {
			t.Errorf("%s: %q, want %q", test.params, got, test.want)
		}
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("a\tb\x00\u202e\nc", 5)
	f.Add("日本語", 4)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 3 || n > 1<<10 {
			return
		}
		got := OneLine(text, n)
		if len(got) > n || strings.ContainsAny(got, "\n\r\x00\x1b\u202e\u2066") || !utf8.ValidString(got) {
			t.Errorf("OneLine(%q, %d) = %q", text, n, got)
		}
	})
}
