package wire

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
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

// FuzzSpecialBytes checks the search among eight bytes against looking at each.
func FuzzSpecialBytes(f *testing.F) {
	for _, s := range []string{"abcdefgh", "!!!\"!!!!", "\x1f\x20\x80\xff\\aaa", "\xa2\xdc\x9f\x21\x23\x5b\x5d\x7f", "#\x00\"\\\x01\x02aa"} {
		f.Add(binary.LittleEndian.Uint64([]byte(s)))
	}
	f.Fuzz(func(t *testing.T, x uint64) {
		want := 8
		for i, c := range binary.LittleEndian.AppendUint64(nil, x) {
			if c < ' ' || c == '"' || c == '\\' {
				want = i
				break
			}
		}
		if got := bits.TrailingZeros64(specialBytes(x)) / 8; got != want {
			t.Fatalf("specialBytes(%#016x): the first is %d, want %d", x, got, want)
		}
	})
}
