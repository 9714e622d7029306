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
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: sayDuration}
	_, terminal := terminalWidth(w)
	if c.LogFormat == "text" || c.LogFormat == "auto" && terminal {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// sayDuration writes durations as people do: slog's JSON would give bare nanoseconds.
func sayDuration(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
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
