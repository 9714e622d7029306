package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// terminal is where somebody watches.
type terminal struct {
	out  io.Writer
	keys <-chan rune // nil without a keyboard
}

// rawTerminal makes every key count at once, if there is a keyboard, until restore. Without one, or with output that
// goes elsewhere, there are no keys.
func rawTerminal(a *app) (t terminal, restore func(), err error) {
	t = terminal{out: a.out}
	in, inOK := a.in.(*os.File)
	out, outOK := a.out.(*os.File)
	if !inOK || !outOK || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return t, func() {}, nil
	}
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return t, nil, err
	}
	keys := make(chan rune) // closed by the goroutine below
	// This goroutine ends with the process: a read from a terminal cannot be called off.
	go func() {
		defer close(keys)
		for r := bufio.NewReader(in); ; {
			char, _, err := r.ReadRune()
			if err != nil {
				return
			}
			keys <- char
		}
	}()
	return terminal{out: crlf{a.out}, keys: keys}, func() { _ = term.Restore(int(in.Fd()), before) }, nil
}

// crlf ends lines as a raw terminal wants it.
type crlf struct{ w io.Writer }

func (c crlf) Write(p []byte) (int, error) {
	for i, start := 0, 0; i <= len(p); i++ {
		if i == len(p) || p[i] == '\n' {
			if _, err := c.w.Write(p[start:i]); err != nil {
				return start, err
			}
			if i < len(p) {
				if _, err := fmt.Fprint(c.w, "\r\n"); err != nil {
					return i, err
				}
			}
			start = i + 1
		}
	}
	return len(p), nil
}
