package session

import (
	"strings"
	"unicode"

	"zcodehub/internal/wire"
)

// maxSummary is what a notification on a phone shows of one, in bytes.
const maxSummary = 160

// summaryKeys are the members of a tool's input that say best what it would do,
// the best first.
var summaryKeys = []string{"command", "file_path", "path", "notebook_path", "url", "pattern", "query", "description", "prompt"}

// summaryOf says in one line what the agent asks.
func (in *Interaction) summaryOf(params []byte) string {
	input, _ := wire.Get(params, "input")
	text := ""
	switch in.Kind {
	case Permission:
		if text = InputSummary(input); text == "" {
			text = textOf(params, "reason")
		}
	case Plan:
		text = strings.TrimLeft(textOf(input, "plan"), "# \t\r\n")
	case UserInput:
		text = textOf(params, "prompt")
		if len(in.questions) > 0 {
			text = in.questions[0]
		}
	}
	return OneLine(text, maxSummary)
}

// InputSummary is what of a tool's input says best what it would do, as it
// stands there; empty if nothing does.
func InputSummary(input []byte) string {
	for _, key := range summaryKeys {
		if text := textOf(input, key); text != "" {
			return text
		}
	}
	return ""
}

// OneLine is the first line of a text that others may have written, for places
// that show it as it is: at most n bytes, and nothing in it that moves the
// cursor or turns the direction of writing.
func OneLine(text string, n int) string {
	text, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	shown := strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
	if more {
		shown = strings.TrimSpace(shown) + " …"
	}
	return Cut(shown, n)
}
