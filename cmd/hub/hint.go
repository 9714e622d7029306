package main

import (
	"os"
	"strings"
)

// programName is how the user starts this program again; `go run` builds it where it cannot be found later.
func programName() string {
	if self, err := os.Executable(); err == nil && strings.Contains(self, "go-build") {
		return "go run ./cmd/hub"
	}
	return os.Args[0]
}

// again is a command line to be typed for the same data dir.
func again(c *config, command string) string {
	line := programName() + " " + command
	if c.origin["data-dir"] != "default" {
		line += " --data-dir " + shellWord(c.DataDir)
	}
	return line
}

// shellWord is s as one word of a shell.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
