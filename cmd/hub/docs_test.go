package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

// namesIn collects what the pattern's group finds in files.
func namesIn(t *testing.T, pattern *regexp.Regexp, files ...string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range pattern.FindAllSubmatch(content, -1) {
			names[string(found[1])] = true
		}
	}
	if len(names) == 0 {
		t.Fatalf("%s finds nothing in %v", pattern, files)
	}
	return names
}

func wantSame(t *testing.T, what string, code, doc map[string]bool) {
	t.Helper()
	for name := range code {
		if !doc[name] {
			t.Errorf("%s %s is in the code but not in its document", what, name)
		}
	}
	for name := range doc {
		if !code[name] {
			t.Errorf("%s %s is in the document but not in the code", what, name)
		}
	}
}

// productFiles are the Go files of some packages without their tests.
func productFiles(t *testing.T, packages ...string) []string {
	t.Helper()
	var files []string
	for _, pkg := range packages {
		found, err := filepath.Glob(filepath.Join("..", "..", pkg, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			if !strings.HasSuffix(file, "_test.go") {
				files = append(files, file)
			}
		}
	}
	return files
}

func TestMetricsDocNamesEveryMetric(t *testing.T) {
	code := namesIn(t, regexp.MustCompile(`"(hub_[a-z_]+)"`), productFiles(t, "hub", "web", "web/acp", "push", "fanout", "session", "auth", "cmd/hub")...)
	doc := namesIn(t, regexp.MustCompile("\\| `(hub_[a-z_]+)` \\|"), filepath.Join("..", "..", "docs", "metrics.md"))
	wantSame(t, "metric", code, doc)
}

func TestProtocolDocNamesEveryCloseAndErrorCode(t *testing.T) {
	protocol := filepath.Join("..", "..", "docs", "protocol.md")
	closes := namesIn(t, regexp.MustCompile(`Close[A-Za-z0-9]+ += ([0-9]{4})\b`), filepath.Join("..", "..", "web", "close.go"))
	wantSame(t, "close code", closes, namesIn(t, regexp.MustCompile(`(?m)^\| ([0-9]{4}) \|`), protocol))
	codes := namesIn(t, regexp.MustCompile(`= (-3204[0-9])\b`), filepath.Join("..", "..", "hub", "errors.go"))
	wantSame(t, "error code", codes, namesIn(t, regexp.MustCompile(`(?m)^\| (-320[0-9]{2}) \|`), protocol))
}

func TestProtocolDocNamesEveryMethodOfTheHub(t *testing.T) {
	code := namesIn(t, regexp.MustCompile(`"(hub/[a-zA-Z]+)"`), productFiles(t, "hub")...)
	doc := namesIn(t, regexp.MustCompile("`(hub/[a-zA-Z]+)"), filepath.Join("..", "..", "docs", "protocol.md"))
	wantSame(t, "method", code, doc)
}

func TestDecisionsNameEveryDependency(t *testing.T) {
	decisions, err := os.ReadFile(filepath.Join("..", "..", "docs", "decisions.md"))
	if err != nil {
		t.Fatal(err)
	}
	direct := regexp.MustCompile(`(?m)^\t(\S+\.\S+) v\S+$`) // lines that are not marked as indirect
	for module := range namesIn(t, direct, filepath.Join("..", "..", "go.mod")) {
		// The parts of koanf are modules of their own but one decision.
		if name := strings.TrimPrefix(module, "github.com/knadh/koanf/"); !strings.Contains(string(decisions), "`"+name+"`") && !strings.Contains(string(decisions), "`"+module+"`") {
			t.Errorf("go.mod requires %s, and docs/decisions.md does not say why", module)
		}
	}
}

func TestSecurityDocNamesTestsThatExist(t *testing.T) {
	var tests []string
	for _, pattern := range []string{"*/*_test.go", "*/*/*_test.go"} {
		found, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		tests = append(tests, found...)
	}
	exist := namesIn(t, regexp.MustCompile(`(?m)^func (Test\w+)`), tests...)
	for name := range namesIn(t, regexp.MustCompile("`(Test\\w+)`"), filepath.Join("..", "..", "docs", "security.md")) {
		if !exist[name] {
			t.Errorf("docs/security.md names %s, and there is no such test", name)
		}
	}
}
