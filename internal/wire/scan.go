package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// The skip functions check everything about JSON and nothing about UTF-8. That
// is checked once for a whole text by utf8.Valid, which passes ASCII at memory
// speed; JSON's own characters are all ASCII, so the two checks are independent.
//
// A scan of our own was chosen by measurement. Microseconds for one line, on a
// 2.8 GHz Xeon, Go 1.26, best of ten (BenchmarkEnvelope); text is one long string with
// an escape every 30 bytes, structure is many small members. Skip is a loop
// that counts brackets and checks nothing; struct is json.Unmarshal into the
// envelope with RawMessage for the rest, which makes 10 to 12 allocations.
//
//	             ParseEnvelope   skip   json.Valid   struct
//	text 170 B            0.30   0.23         0.51      2.6
//	     4 KiB             2.4    4.6           12       28
//	     64 KiB             33     78          187      510
//	     4 MiB           2,170  4,890       12,100   29,200
//	structure 410 B       0.63   0.75          1.4      4.5
//	     4 KiB             5.5    6.4           13       35
//	     64 KiB             86    107          317      795
//	     4 MiB           9,520  8,810       31,000   51,800

// maxDepth is how many arrays and objects may be open at once: the bound of
// encoding/json, so that both give the same verdict.
const maxDepth = 10000

// invalid is what a skip function returns instead of an index when the text is
// not JSON.
const invalid = -1

// Valid reports whether b is one JSON value, white space around it allowed, in
// valid UTF-8.
func Valid(b []byte) bool {
	return utf8.Valid(b) && isJSON(b)
}

func isJSON(b []byte) bool { return atEnd(b, skipValue(b, skipSpace(b, 0), 0)) }

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
// bounds the stack to 4 MiB.
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
// quote at i. Payloads are mostly long strings, so what is plain in them is
// passed eight bytes at a time.
func skipString(b []byte, i int) int {
	i++
	for i < len(b) {
		if i+8 <= len(b) {
			special := specialBytes(binary.LittleEndian.Uint64(b[i:]))
			if special == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(special) / 8
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			if i = skipEscape(b, i); i == invalid {
				return invalid
			}
		case c < ' ':
			return invalid
		default: // among the last seven bytes
			i++
		}
	}
	return invalid
}

// specialBytes sets the high bit of the bytes in x that are a quote, a
// backslash or a control character; only the lowest one set can be relied on.
//
// Each subtraction sets the high bit of a byte that was too small for it. It
// borrows from the next byte only where it set one, so nothing below the first
// true mark is wrong. Bytes that had the high bit before are not ASCII.
func specialBytes(x uint64) uint64 {
	control := x - everyOne*' '
	quote := x ^ everyOne*'"' - everyOne
	backslash := x ^ everyOne*'\\' - everyOne
	return (control | quote | backslash) &^ x & everyHigh
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
