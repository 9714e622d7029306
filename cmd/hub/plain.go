package main

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escapeSequence is what programs send to colour a terminal and worse: CSI and OSC sequences (ECMA-48), 7 and 8 bit.
var escapeSequence = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\x1b\\]|\u009d)[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)?")

// plain makes text from elsewhere harmless to a terminal: escape sequences go, and what would move the cursor, hide or
// reorder text is shown as U+FFFD.
func plain(s string) string {
	s = escapeSequence.ReplaceAllString(strings.ToValidUTF8(s, "\ufffd"), "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return -1
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return utf8.RuneError
		}
		return r
	}, s)
}

// plainLine is plain on one line.
func plainLine(s string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(plain(s))
}

// clip shortens a line to what a row of a table holds.
func clip(s string) string {
	const row = 80 // the width of a terminal that nobody changed
	if utf8.RuneCountInString(s) <= row {
		return s
	}
	return string([]rune(s)[:row-1]) + "…"
}
