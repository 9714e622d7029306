package acp

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// lastOf is the last n bytes of what was printed, as a tail shows it.
func lastOf(printed string, n int) string { return printed[max(0, len(printed)-n):] }

func TestATailGivesWhatIsNew(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	type seen struct {
		text  string
		total *int64
	}
	for _, c := range []struct {
		name  string
		seen  []seen
		fresh string // of each, joined by |
	}{
		{"growing", []seen{{"a", nil}, {"ab", nil}, {"abc", nil}}, "a|b|c"},
		{"standing still", []seen{{"ab", nil}, {"ab", nil}}, "ab|"},
		{"sliding", []seen{{"abcd", nil}, {"cdef", nil}, {"efgh", nil}}, "abcd|ef|gh"},
		{"having lost some", []seen{{"abcd", nil}, {"wxyz", nil}}, "abcd|wxyz"},
		{"repeating, with its length", []seen{{"aaaa", n(4)}, {"aaaa", n(6)}, {"aaaa", n(6)}}, "aaaa|aa|"},
		{"with a length that does not fit", []seen{{"abcd", n(4)}, {"cdef", n(99)}, {"efgh", n(1)}}, "abcd|ef|gh"},
		{"cut inside a character", []seen{{"aé", n(3)}, {"éb", n(4)}}, "aé|b"},
		{"begun anew", []seen{{"abc", nil}, {"", nil}, {"abc", nil}}, "abc||abc"},
	} {
		var l tail
		var fresh []string
		for _, s := range c.seen {
			fresh = append(fresh, l.grow(s.text, s.total))
		}
		if got := strings.Join(fresh, "|"); got != c.fresh {
			t.Errorf("%s: got %s, want %s", c.name, got, c.fresh)
		}
	}
}

// Whatever a command prints and however far a tail reaches: where no tail missed anything, a terminal shows what was
// printed, byte for byte.
func TestATerminalShowsWhatWasPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(4, 40).Draw(t, "size")
		withTotal := rapid.Bool().Draw(t, "withTotal")
		alphabet := []rune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
		if withTotal { // without a length, repetition cannot be told from standing still
			alphabet = []rune("a")
		}
		var l tail
		printed, shown := "", ""
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			// The tail holds all that is new and half of what was there.
			more := rapid.StringOfN(rapid.SampledFrom(alphabet), 0, size/2, -1).Draw(t, "more")
			if !withTotal {
				more = fmt.Sprintf("%d:%s", len(printed), more)
				more = more[:min(len(more), size/2)]
			}
			printed += more
			var total *int64
			if withTotal {
				n := int64(len(printed))
				total = &n
			}
			shown += l.grow(lastOf(printed, size), total)
			if withTotal && shown != printed {
				t.Fatalf("shown %q of %q", shown, printed)
			}
		}
		if rest, ok := l.after(printed + "the end"); withTotal && (!ok || rest != "the end") {
			t.Fatalf("after gives %q, %v", rest, ok)
		}
	})
}

func TestOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 0, 12, -1)
		a, b := some.Draw(t, "a"), some.Draw(t, "b")
		want := 0
		for k := 1; k <= min(len(a), len(b)); k++ {
			if strings.HasSuffix(a, b[:k]) {
				want = k
			}
		}
		if got := overlap(a, b); got != want {
			t.Fatalf("overlap(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

func TestTerminals(t *testing.T) {
	begin := []string{called("c", "Bash", `{"command":"make"}`), tool("scheduled", omitted), tool("started", "")}
	more := func(events ...string) []string { return append(append([]string{}, begin...), events...) }
	const exit0 = `more c completed [terminal c] terminal_exit={"exit_code":0,"signal":null,"terminal_id":"c"}`
	const exit1 = `more c failed [terminal c] terminal_exit={"exit_code":1,"signal":null,"terminal_id":"c"}`
	out := func(text string) string {
		return `more c terminal_output={"data":` + string(encode(text)) + `,"terminal_id":"c"}`
	}
	testRows(t, TranslatorOptions{Terminal: true}, []row{
		{"a command has a terminal", nil, begin[:2], `card c pending execute Bash: make [terminal c] in={"command":"make"} terminal_info={"terminal_id":"c"}`},
		{"what it prints goes there piece by piece", begin, []string{
			tool("progress", `"stdoutTail":"one\n"`), tool("progress", `"stdoutTail":"one\ntwo\n"`), tool("progress", `"stdoutTail":"one\ntwo\n"`)},
			out("one\n") + "\n" + out("two\n")},
		{"both streams", begin, []string{
			tool("progress", `"stdoutTail":"out\n","stderrTail":"err\n"`), tool("progress", `"stdoutTail":"out\n","stderrTail":"err\nmore\n"`)},
			out("out\nerr\n") + "\n" + out("more\n")},
		{"a preview is as good as a tail", begin, []string{tool("progress", `"outputPreview":"x"`)}, out("x")},
		{"the end comes apart from the output", begin, []string{tool("result", `"result":{"success":true,"content":"all\n"}`)}, out("all\n") + "\n" + exit0},
		{"nothing is printed twice", more(tool("progress", `"stdoutTail":"one\n","stdoutBytes":4`)), []string{tool("result", `"result":{"success":true,"content":"one\ntwo\n"}`)},
			out("two\n") + "\n" + exit0},
		{"not even without its last line end", more(tool("progress", `"stdoutTail":"one\n","stdoutBytes":4`)), []string{tool("result", `"result":{"success":true,"content":"one"}`)}, exit0},
		{"nor what both streams printed", more(tool("progress", `"stdoutTail":"a\n","stderrTail":"b\n"`)), []string{tool("result", `"result":{"success":true,"content":"a\nb\nc"}`)},
			out("c") + "\n" + exit0},
		{"nor what is not to be found", more(tool("progress", `"stdoutTail":"one\n"`)), []string{tool("result", `"result":{"success":true,"content":"else"}`)}, exit0},
		{"the exit code is the command's", begin, []string{
			tool("result", `"result":{"success":true,"content":"","perf":{"detail":{"kind":"command","command":{"exitCode":3}}}}`)},
			`more c completed [terminal c] terminal_exit={"exit_code":3,"signal":null,"terminal_id":"c"}`},
		{"an error is printed", more(tool("progress", `"stdoutTail":"one\n"`)), []string{tool("error", `"error":{"message":"timed out"}`)}, out("timed out") + "\n" + exit1},
		{"a denial as well", begin[:2], []string{ev("permission.resolved", `{"toolCallId":"c","decision":"deny","reason":"no"}`),
			ev("tool.updated", `{"kind":"batch","toolCallIds":["c"],"errorCount":1}`)}, out("no") + "\n" + exit1},
		{"a turn that ends closes it", begin, []string{ev("turn.completed", `{"resultType":"cancelled"}`)}, exit1},
		{"other tools have none", nil, []string{tool("scheduled", `"toolName":"Read"`), tool("progress", `"stdoutTail":"x"`)}, "card c pending read Read\nmore c in_progress"},
	})
	testRows(t, TranslatorOptions{}, []row{
		{"without terminals the card shows the tail", begin, []string{tool("progress", `"stdoutTail":"one\n"`), tool("progress", `"stdoutTail":"one\n\u001b[1mtwo"`)},
			"more c in_progress [\"```console\\none\\n```\"]\nmore c in_progress [\"```console\\none\\ntwo\\n```\"]"},
		{"progress without output only says that it runs", begin[:2], []string{tool("progress", `"pid":1`), tool("progress", `"pid":1`)}, "more c in_progress"},
	})
}
