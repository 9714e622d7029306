package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is what the Go toolchain recorded about this binary. A build outside a checkout knows no commit.
type build struct {
	version, commit, date string
}

// Set by the linker where no version control is at hand, as in a container build.
var linkedVersion, linkedCommit, linkedDate string

func readBuild() build {
	b := build{version: "devel", commit: "unknown", date: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		b.version = info.Main.Version
	}
	if ok {
		b.readVCS(info.Settings)
	}
	b.version = cmp.Or(linkedVersion, b.version)
	b.commit = cmp.Or(linkedCommit, b.commit)
	b.date = cmp.Or(linkedDate, b.date)
	return b
}

func (b *build) readVCS(settings []debug.BuildSetting) {
	modified := false
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			b.date = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if modified {
		b.commit += " (modified)"
	}
}

func versionText() string {
	b := readBuild()
	return fmt.Sprintf("hub %s\ncommit %s\nbuilt  %s\n%s %s/%s\n",
		b.version, b.commit, b.date, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, commit and build date",
		Args:  cobra.NoArgs,
		RunE: a.body(func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(a.out, versionText())
			return err
		}),
	}
}
