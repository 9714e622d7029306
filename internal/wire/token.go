package wire

import (
	"bytes"
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

// StringValue decodes a JSON string token. Lone surrogates become U+FFFD, as in
// encoding/json. It says false when raw is anything else.
func StringValue(raw []byte) (string, bool) {
	if !isString(raw) || skipString(raw, 0) != len(raw) || !utf8.Valid(raw) {
		return "", false
	}
	return string(unquote(raw)), true
}

func isString(raw []byte) bool { return len(raw) >= 2 && raw[0] == '"' }

// unquote decodes a string token that skipString has accepted. Without escapes
// the answer is a view of the token, else a copy.
func unquote(token []byte) []byte {
	s := token[1 : len(token)-1]
	next := bytes.IndexByte(s, '\\')
	if next < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for next >= 0 {
		out = append(out, s[:next]...)
		out, s = appendUnescaped(out, s[next:])
		next = bytes.IndexByte(s, '\\')
	}
	return append(out, s...)
}

// appendUnescaped decodes the escape sequence that s starts with, and returns
// what follows it.
func appendUnescaped(out, s []byte) ([]byte, []byte) {
	c := s[1]
	switch c {
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		r, n := unescapeRune(s)
		return utf8.AppendRune(out, r), s[n:]
	}
	return append(out, c), s[2:]
}

// unescapeRune decodes the \uXXXX at the start of s, or two of them that form a
// surrogate pair, and says how many bytes it took.
func unescapeRune(s []byte) (rune, int) {
	r := hexRune(s[2:6])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if pair := utf16.DecodeRune(r, hexRune(s[8:12])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func hexRune(digits []byte) (r rune) {
	for _, c := range digits {
		r <<= 4
		switch {
		case c <= '9':
			r += rune(c - '0')
		default:
			r += rune(c|0x20-'a') + 10 // 0x20 makes a letter lower case
		}
	}
	return r
}

// AppendString appends s as a JSON string token. The token is valid UTF-8
// whatever s holds: bytes that are not become U+FFFD. U+2028 and U+2029 stay as
// they are; they are ordinary characters to JSON and to this line format.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0 // s[start:i] waits to be copied as it is
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[start:i]...)
				dst = utf8.AppendRune(dst, utf8.RuneError)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// Int64 reads a JSON number written as an integer (no fraction, no exponent)
// that fits.
func Int64(raw []byte) (int64, bool) {
	negative := len(raw) > 0 && raw[0] == '-'
	digits := raw
	if negative {
		digits = raw[1:]
	}
	n, ok := parseUint64(digits)
	switch {
	case !ok:
		return 0, false
	case negative && n <= -math.MinInt64:
		return -int64(n), true // -int64(1<<63) is MinInt64 again
	case !negative && n <= math.MaxInt64:
		return int64(n), true
	}
	return 0, false
}

// parseUint64 reads plain digits as JSON writes them: no sign, no leading zero.
func parseUint64(digits []byte) (n uint64, ok bool) {
	if len(digits) == 0 || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	for _, c := range digits {
		d := uint64(c - '0')
		if c < '0' || c > '9' || n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// isInteger reports whether raw, a valid JSON value, is a number without
// fraction and exponent.
func isInteger(raw []byte) bool {
	return (raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') && !bytes.ContainsAny(raw, ".eE")
}
