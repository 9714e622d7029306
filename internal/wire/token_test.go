package wire

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestInt64(t *testing.T) {
	for raw, want := range map[string]string{
		"0": "0", "-0": "0", "17": "17", "-17": "-17",
		"9223372036854775807": "9223372036854775807", "-9223372036854775808": "-9223372036854775808",
		"9223372036854775808": "no", "-9223372036854775809": "no", "18446744073709551616": "no", "99999999999999999999": "no",
		"": "no", "-": "no", "01": "no", "1.0": "no", "1e3": "no", `"1"`: "no", "null": "no", "+1": "no",
	} {
		got := "no"
		if n, ok := Int64([]byte(raw)); ok {
			got = strconv.FormatInt(n, 10)
		}
		if got != want {
			t.Errorf("Int64(%s) = %s, want %s", raw, got, want)
		}
	}
}

// FuzzString: what AppendString writes is JSON in UTF-8 that encoding/json and
// StringValue read back alike, and StringValue reads tokens as encoding/json does.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "abc", "a\"b\\c\n\r\t\x00\x1f\x7f", "é日本😀\u2028\u2029", "\xff\xc3", `"\ud83d\ude00\ud800x\udc00\u00e9\/\b"`, `"\ud800\ud83d\ude00"`, `"a`, `"a"b`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		token := AppendString([]byte("x"), s)[1:]
		var back string
		if err := json.Unmarshal(token, &back); err != nil || !utf8.Valid(token) || !Valid(token) {
			t.Fatalf("AppendString(%q) = %q: %v", s, token, err)
		}
		if want := string([]rune(s)); back != want {
			t.Fatalf("AppendString(%q) reads back as %q, want %q", s, back, want)
		}
		if got, ok := StringValue(token); !ok || got != back {
			t.Fatalf("StringValue(%q) = %q, %v, want %q", token, got, ok, back)
		}
		var want string
		wantOK := utf8.ValidString(s) && strings.HasPrefix(s, `"`) && strings.HasSuffix(s, `"`) && json.Unmarshal([]byte(s), &want) == nil
		if got, ok := StringValue([]byte(s)); ok != wantOK || ok && got != want {
			t.Fatalf("StringValue(%q) = %q, %v, want %q, %v", s, got, ok, want, wantOK)
		}
	})
}

// FuzzSkipPlain checks the eight-at-a-time search against one byte at a time.
func FuzzSkipPlain(f *testing.F) {
	f.Add([]byte("abcdefgh\x1fijk\""), 0)
	f.Add([]byte("!!!!!!!!!!!!!!!!\x80!!!!!!!\\"), 3)
	f.Add([]byte("#####\x21#####]]]]]\x20\x00"), 1)
	f.Fuzz(func(t *testing.T, b []byte, from int) {
		if from < 0 || from > len(b) {
			t.Skip()
		}
		want := from
		for want < len(b) && b[want] >= ' ' && b[want] < 0x80 && b[want] != '"' && b[want] != '\\' {
			want++
		}
		if got := skipPlain(b, from); got != want {
			t.Fatalf("skipPlain(%q, %d) = %d, want %d", b, from, got, want)
		}
	})
}
