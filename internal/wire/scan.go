package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// maxDepth is how many arrays and objects may be open at once: the bound of
// encoding/json, so that both give the same verdict.
const maxDepth = 10000

// invalid is what a skip function returns instead of an index when the text is
// not JSON or not UTF-8.
const invalid = -1

// Valid reports whether b is one JSON value, white space around it allowed, in
// valid UTF-8.
func Valid(b []byte) bool {
	return atEnd(b, skipValue(b, skipSpace(b, 0), 0))
}

// atEnd reports whether only white space is left at i.
func atEnd(b []byte, i int) bool {
	return i != invalid && skipSpace(b, i) == len(b)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipValue returns the index after the value that starts at i, or invalid.
// depth is the number of arrays and objects around it. It recurses; maxDepth
// bounds the stack to about 2 MiB.
func skipValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return invalid
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{':
		return skipObject(b, i, depth)
	case c == '[':
		return skipArray(b, i, depth)
	case c == '-' || '0' <= c && c <= '9':
		return skipNumber(b, i)
	case c == 't':
		return skipLiteral(b, i, "true")
	case c == 'f':
		return skipLiteral(b, i, "false")
	case c == 'n':
		return skipLiteral(b, i, "null")
	}
	return invalid
}

func skipObject(b []byte, i, depth int) int {
	o := openObject(b, i, depth)
	for o.next() {
		o.at = skipValue(b, o.at, depth+1)
	}
	return o.at
}

func skipArray(b []byte, i, depth int) int {
	if depth >= maxDepth {
		return invalid
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		i = skipValue(b, i, depth+1)
		if i == invalid {
			return invalid
		}
		i = skipSpace(b, i)
		if i >= len(b) {
			return invalid
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case ']':
			return i + 1
		default:
			return invalid
		}
	}
}

func skipLiteral(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return invalid
}

func skipNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = skipDigits(b, i); i == invalid {
		return invalid
	}
	if i < len(b) && b[i] == '.' {
		if i = skipDigits(b, i+1); i == invalid {
			return invalid
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return skipDigits(b, i)
	}
	return i
}

// skipDigits wants at least one digit.
func skipDigits(b []byte, i int) int {
	start := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	if i == start {
		return invalid
	}
	return i
}

// Eight copies of one byte, to look at eight bytes of a string at once.
const (
	everyOne  = 0x0101010101010101
	everyHigh = 0x8080808080808080
)

// skipString returns the index after the string token that starts with the
// quote at i. Payloads are mostly long strings, so plain stretches are passed
// eight bytes at a time.
func skipString(b []byte, i int) int {
	i++
	for {
		i = skipPlain(b, i)
		if i >= len(b) {
			return invalid
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			i = skipEscape(b, i)
		case c >= utf8.RuneSelf:
			i = skipRunes(b, i)
		default:
			return invalid // a bare control character
		}
		if i == invalid {
			return invalid
		}
	}
}

// skipPlain returns the index of the first byte at or after i that is a quote,
// a backslash, a control character or not ASCII.
//
// In each of the eight bytes a subtraction sets the high bit when the byte was
// too small; a borrow into the next byte can only come from a byte that is
// itself marked, so the lowest mark is always true.
func skipPlain(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		marks := (x | (x - everyOne*' ') | (x ^ everyOne*'"' - everyOne) | (x ^ everyOne*'\\' - everyOne)) & everyHigh
		if marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] < utf8.RuneSelf && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// skipEscape returns the index after the escape sequence whose backslash is at i.
func skipEscape(b []byte, i int) int {
	if i+1 >= len(b) {
		return invalid
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if i+6 <= len(b) && isHex(b[i+2]) && isHex(b[i+3]) && isHex(b[i+4]) && isHex(b[i+5]) {
			return i + 6
		}
	}
	return invalid
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// skipRunes passes a stretch of characters beyond ASCII, which must be valid
// UTF-8.
func skipRunes(b []byte, i int) int {
	for i < len(b) && b[i] >= utf8.RuneSelf {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return invalid
		}
		i += size
	}
	return i
}
