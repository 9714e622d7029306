package acp

import (
	"strings"
	"unicode/utf8"
)

// terminal is the output of a command. The app-server tells the last part of each of its streams, again and again; a
// client's terminal wants what is new.
type terminal struct {
	attached bool // the client shows a terminal; else its card shows text
	exited   bool
	out, err tail
}

// inTerminal says whether the client shows this card's output in a terminal that is still open.
func (c *card) inTerminal() bool {
	return c.terminal != nil && c.terminal.attached && !c.terminal.exited
}

// tail is the end of a growing text as it was seen last.
type tail struct {
	text  string
	bytes int64 // of the whole text up to there, as far as is known
}

// grow takes the text's end as it is now and gives what is new in it. total is the length of the whole text so far, if
// that is known: a tail that slides over repeating text cannot be told from one that stands still otherwise.
func (l *tail) grow(text string, total *int64) (fresh string) {
	before := *l
	l.text = text
	if total != nil {
		l.bytes = *total
		if n := *total - before.bytes; before.fits(text, n) {
			return text[len(text)-int(n):]
		}
	}
	if rest, grew := strings.CutPrefix(text, before.text); grew {
		fresh = rest
	} else {
		fresh = text[overlap(before.text, text):]
	}
	if total == nil {
		l.bytes += int64(len(fresh))
	}
	return fresh
}

// fits says whether text can be what l was plus n bytes, cut at its front.
func (l *tail) fits(text string, n int64) bool {
	if n < 0 || n > int64(len(text)) {
		return false
	}
	kept := text[:len(text)-int(n)]
	return strings.HasSuffix(l.text, kept) && (n == int64(len(text)) || n == 0 || utf8.RuneStart(text[len(kept)]))
}

// overlap is the length of the longest end of a that b begins with.
func overlap(a, b string) int {
	if len(a) > len(b) {
		a = a[len(a)-len(b):]
	}
	// The prefix function of b, run over a: linear, where a comparison at each place would not be.
	border := make([]int, len(b))
	for i, k := 1, 0; i < len(b); i++ {
		for k > 0 && b[i] != b[k] {
			k = border[k-1]
		}
		if b[i] == b[k] {
			k++
		}
		border[i] = k
	}
	k := 0
	for i := range len(a) {
		for k > 0 && (k == len(b) || a[i] != b[k]) {
			k = border[k-1]
		}
		if len(b) > 0 && a[i] == b[k] {
			k++
		}
	}
	return k
}

// after is what of the whole text follows what was seen of it; ok is false if that is not in there.
func (l *tail) after(whole string) (rest string, ok bool) {
	if l.bytes <= int64(len(whole)) && strings.HasSuffix(whole[:l.bytes], l.text) {
		return whole[l.bytes:], true
	}
	if at := strings.LastIndex(whole, l.text); at >= 0 {
		return whole[at+len(l.text):], true
	}
	// A result often comes without the line end that was printed last.
	return "", strings.HasSuffix(whole, strings.TrimRight(l.text, "\r\n"))
}

// rest is what of the whole output was not printed yet.
func (m *terminal) rest(whole string) (rest string, ok bool) {
	if rest, ok = m.out.after(whole); !ok {
		return "", false
	}
	if m.err.text != "" {
		if after, ok := m.err.after(rest); ok {
			rest = after
		}
	}
	return rest, true
}

// progress tells what a running tool has printed so far.
func (t *Translator) progress(c *card, p toolEvent) []Update {
	updates := c.advance()
	if c.terminal == nil {
		return updates
	}
	out := first(p.StdoutTail, p.OutputPreview)
	if !c.inTerminal() {
		text := cut(plain(out+p.StderrTail), maxOutput)
		if text == "" {
			return updates
		}
		u := c.more(statusRunning)
		u.Content = []any{wrap(textBlock(fenced("console", text)))}
		return []Update{u.update()}
	}
	fresh := ""
	if out != "" {
		fresh += c.terminal.out.grow(out, known(p.StdoutBytes, p.StdoutTail))
	}
	if p.StderrTail != "" {
		fresh += c.terminal.err.grow(p.StderrTail, p.StderrBytes)
	}
	return append(updates, c.print(fresh)...)
}

// known is the length of a stream if the tail is that stream's.
func known(total *int64, tail string) *int64 {
	if tail == "" {
		return nil
	}
	return total
}

// print adds text to the client's terminal.
func (c *card) print(text string) []Update {
	if text == "" {
		return nil
	}
	u := c.more("")
	u.Meta = object{"terminal_output": object{"terminal_id": c.id, "data": text}}
	return []Update{u.update()}
}

// exit ends the command in a client's terminal: first what was not printed yet, then, in an update of its own, the end.
// Output that was printed is not printed again, but an error that is no output is.
func (c *card) exit(status, whole string, exitCode *int64) []Update {
	rest, ok := c.terminal.rest(whole)
	if !ok && status == statusFailed {
		rest = whole
	}
	updates := c.print(cut(rest, maxOutput))
	u := c.more(status)
	u.Content = []any{terminalRef{"terminal", c.id}}
	u.Meta = object{"terminal_exit": c.exitMeta(status, exitCode)}
	return append(updates, u.update())
}

// exitMeta tells the end of a terminal.
func (c *card) exitMeta(status string, exitCode *int64) object {
	c.terminal.exited = true
	code := int64(0)
	if status == statusFailed {
		code = 1
	}
	if exitCode != nil {
		code = *exitCode
	}
	return object{"terminal_id": c.id, "exit_code": code, "signal": nil}
}
