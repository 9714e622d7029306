package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/configuration.md instead of comparing it")

const configurationIntro = `# Configuration

<!-- Made from the table in cmd/hub/settings.go by ` + "`make docs`" + `; a test compares the two. -->

Every setting is a flag, a variable and a key in a TOML file. Flags win over variables, variables over the file, the
file over the default. Lists are separated by commas in a flag (which may also be repeated) and in a variable, and are
arrays in the file. Unknown keys in the file are an error, and all faults are reported at once, with exit code 2.

The file is the one that ` + "`--config`" + ` names, else ` + "`$XDG_CONFIG_HOME/zcode-hub/hub.toml`" + ` (` + "`~/.config/zcode-hub/hub.toml`" + `) if it
exists. ` + "`hub demo`" + ` reads only a file that ` + "`--config`" + ` names. ` + "`hub config`" + ` prints the result, with the source of each value and
secrets hidden; its output is itself a file that ` + "`--config`" + ` reads.

| key | flag | variable | value | default | meaning |
|---|---|---|---|---|---|
`

const configurationEnd = `
A file that holds ` + "`provider.api-key`" + ` must be readable by its owner only. Sizes are written like ` + "`32MiB`" + `, durations like
` + "`90s`" + ` or ` + "`5m`" + `. A key with a dot stands in a table:

` + "```toml" + `
listen = "127.0.0.1:8377"
app-server = "zcode app-server --stdio"
allow-host = ["hub.example.org"]

[provider]
base-url = "https://models.example.org/api/anthropic"
api-key = "..."
models = ["GLM-5.3"]
` + "```" + `
`

// configurationDoc is docs/configuration.md.
func configurationDoc() string {
	c := defaults([]string{"HOME=~"})
	c.Name = "" // this machine's
	var doc bytes.Buffer
	doc.WriteString(configurationIntro)
	for _, s := range settings(c) {
		shown := strings.Join(s.value.words(), ", ")
		if s.key == "name" {
			shown = "the host's name"
		} else if shown != "" && !s.value.isZero() {
			shown = "`" + shown + "`"
		} else {
			shown = ""
		}
		flag := "none"
		if s.flag() != "" {
			flag = "`--" + s.flag() + "`"
		}
		key := "`" + s.key + "`"
		if s.noFile {
			key = "none"
		}
		kind := strings.ReplaceAll(s.value.kind(), "|", " \\| ")
		if s.value.isList() {
			kind = "list of " + kind
		}
		fmt.Fprintf(&doc, "| %s | %s | `%s` | %s | %s | %s |\n", key, flag, s.variable(), kind, shown, s.usage)
	}
	doc.WriteString(configurationEnd)
	return doc.String()
}

func TestConfigurationDocIsMadeFromTheTable(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "configuration.md")
	want := configurationDoc()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/configuration.md differs from the table in settings.go: run `make docs`")
	}
}
