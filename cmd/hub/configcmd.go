package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newConfigCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the effective configuration, secrets hidden",
		Long: `Print the effective configuration as a file that --config reads, with the source of each value.
Takes the flags of hub serve. Exits with 2 if the configuration is not valid.`,
		Args: cobra.NoArgs,
		RunE: a.configured(func(_ *cobra.Command, c *config) error { return printConfig(a, c) }),
	}
	addFlags(cmd.Flags(), a.environ, forServing)
	return cmd
}

// printConfig writes TOML. Settings that cannot stand in a file, and secrets, are comments.
func printConfig(a *app, c *config) error {
	out := bufio.NewWriter(a.out)
	section := ""
	for _, s := range settings(c) {
		key := s.key
		if table, rest, nested := strings.Cut(key, "."); nested {
			if table != section {
				section = table
				_, _ = fmt.Fprintf(out, "\n[%s]\n", table)
			}
			key = rest
		}
		line := fmt.Sprintf("%s = %s", key, tomlValue(s.value))
		switch {
		case s.secret && s.value.isZero():
			line = "# " + line
		case s.secret:
			line = fmt.Sprintf("# %s = (hidden)", key)
		case s.noFile:
			line = "# " + line
		}
		_, _ = fmt.Fprintf(out, "%-48s # %s\n", line, c.origin[s.key])
	}
	for _, name := range c.strange {
		_, _ = fmt.Fprintf(out, "\n# %s is set but is no setting\n", name)
	}
	return out.Flush()
}

func tomlValue(v value) string {
	list := make([]string, 0, len(v.words()))
	for _, word := range v.words() {
		if v.quoted() {
			quoted, _ := json.Marshal(word) // a JSON string is a TOML string; strings cannot fail
			word = string(quoted)
		}
		list = append(list, word)
	}
	if v.isList() {
		return "[" + strings.Join(list, ", ") + "]"
	}
	return list[0]
}
