package main

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/sys/unix"
)

// newLogger writes text for a person at a terminal and JSON for everything that collects logs.
func newLogger(w io.Writer, c *config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // one of four words, checked by the table
	options := &slog.HandlerOptions{Level: level}
	_, terminal := terminalWidth(w)
	if c.LogFormat == "text" || c.LogFormat == "auto" && terminal {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// terminalWidth is the number of columns, if w is a terminal at all.
func terminalWidth(w io.Writer) (columns int, ok bool) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}
