package main

import (
	"bufio"
	"os"

	"golang.org/x/term"
)

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
