package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// load reads a configuration as `hub serve args…` would, with a file of this content unless it is empty.
func load(t *testing.T, args, environ []string, file string) (*config, error) {
	t.Helper()
	environ = append([]string{"HOME=" + t.TempDir()}, environ...)
	path := ""
	if file != "" {
		path = writeFile(t, "hub.toml", file, 0o600)
	}
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	addFlags(flags, environ, func(*setting) bool { return true })
	if err := flags.Parse(args); err != nil {
		t.Fatalf("parse %q: %v", args, err)
	}
	return loadConfig(flags, environ, path)
}

func writeFile(t *testing.T, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// sampleWords are values that each kind of setting accepts and that are no defaults.
func sampleWords(s *setting) []string {
	switch {
	case s.key == "log-level":
		return []string{"debug"}
	case s.key == "log-format":
		return []string{"json"}
	case s.key == "control":
		return []string{"lease"}
	case s.key == "cwd":
		return []string{os.TempDir()}
	case strings.HasSuffix(s.key, "listen"):
		return []string{"127.0.0.1:9"}
	case strings.HasSuffix(s.key, "url"):
		return []string{"https://hub.example.org"}
	case s.key == "allow-host":
		return []string{"a.example.org", "b.example.org"}
	case s.key == "allow-origin":
		return []string{"https://a.example.org", "https://b.example.org"}
	case s.key == "trusted-proxy":
		return []string{"127.0.0.1", "10.0.0.0/8"}
	case s.key == "jwt.secret":
		return []string{"0123456789abcdef0123456789abcdef"}
	case s.key == "oidc.issuer":
		return []string{"https://login.example.org"}
	case s.key == "oidc.roles":
		return []string{"owners=admin", "team=operator"}
	case s.key == "oidc.default-role":
		return []string{"approver"}
	}
	switch s.value.kind() {
	case "BOOL":
		return []string{"true"}
	case "DURATION":
		return []string{"42s"}
	case "SIZE":
		return []string{"3KiB"}
	case "COUNT", "NUMBER":
		return []string{"17"}
	}
	return []string{"sample"}
}

// values are the words that ended up in c, by key.
func values(c *config) map[string][]string {
	all := map[string][]string{}
	for _, s := range settings(c) {
		all[s.key] = slices.Clone(s.value.words())
	}
	return all
}

// companions are what a setting needs beside it: one alone is a fault.
var companions = map[string][]string{
	"provider.":    {"HUB_PROVIDER_BASE_URL=https://models.example.org", "HUB_PROVIDER_API_KEY=k", "HUB_PROVIDER_MODELS=m"},
	"tls-":         {"HUB_TLS_CERT=c", "HUB_TLS_KEY=k"},
	"jwt.issuer":   {"HUB_JWT_SECRET=0123456789abcdef0123456789abcdef"},
	"jwt.audience": {"HUB_JWT_SECRET=0123456789abcdef0123456789abcdef"},
	"oidc.":        {"HUB_OIDC_ISSUER=https://login.example.org", "HUB_OIDC_AUDIENCE=hub", "HUB_OIDC_DEFAULT_ROLE=viewer"},
}

// withCompanions completes the setting under test; what environ itself says wins.
func withCompanions(under *setting, environ []string) []string {
	var all []string
	for prefix, variables := range companions {
		for _, v := range variables {
			if strings.HasPrefix(under.key, prefix) && !strings.HasPrefix(v, under.variable()+"=") {
				all = append(all, v)
			}
		}
	}
	return append(all, environ...)
}

func TestEverySettingIsReachedByFlagVariableAndFile(t *testing.T) {
	for _, s := range settings(defaults(nil)) {
		want := sampleWords(s)
		check := func(source string, args, environ []string, file string) {
			c, err := load(t, args, withCompanions(s, environ), file)
			if err != nil {
				t.Errorf("%s by %s: %v", s.key, source, err)
				return
			}
			if got := values(c)[s.key]; !slices.Equal(got, want) {
				t.Errorf("%s by %s: got %q, want %q", s.key, source, got, want)
			}
			if origin := c.origin[s.key]; origin == "default" {
				t.Errorf("%s by %s: said to come from %q", s.key, source, origin)
			}
		}
		if s.key == "config" {
			continue // names the file itself; see TestConfigFileIsNamedByFlagOrVariable
		}
		if s.flag() != "" {
			check("flag", []string{"--" + s.flag() + "=" + strings.Join(want, ",")}, nil, "")
		}
		check("variable", nil, []string{s.variable() + "=" + strings.Join(want, ",")}, "")
		check("file", nil, nil, s.key+" = "+tomlOf(s, want))
	}
}

func tomlOf(s *setting, want []string) string {
	probe := settings(defaults(nil))
	for _, p := range probe {
		if p.key == s.key {
			if err := p.value.set(want); err != nil {
				panic(err)
			}
			return tomlValue(p.value)
		}
	}
	panic("no setting " + s.key)
}

func TestFlagsWinOverEnvironmentOverFileOverDefault(t *testing.T) {
	flag, env, file := []string{"--name", "from-flag"}, []string{"HUB_NAME=from-env"}, `name = "from-file"`
	for _, step := range []struct {
		args, environ []string
		file, want    string
	}{
		{flag, env, file, "from-flag"},
		{nil, env, file, "from-env"},
		{nil, nil, file, "from-file"},
		{nil, nil, "", hostname()},
	} {
		c, err := load(t, step.args, step.environ, step.file)
		if err != nil {
			t.Fatal(err)
		}
		if c.Name != step.want {
			t.Errorf("name: got %q, want %q", c.Name, step.want)
		}
	}
}

func TestConfigFileIsNamedByFlagOrVariable(t *testing.T) {
	path := writeFile(t, "other.toml", `name = "other"`, 0o644)
	for _, by := range []struct{ args, environ []string }{
		{[]string{"--config", path}, nil},
		{nil, []string{"HUB_CONFIG=" + path}},
	} {
		c, err := load(t, by.args, by.environ, "")
		if err != nil || c.Name != "other" || c.ConfigFile != path {
			t.Errorf("load %v %v: got name %q, file %q, error %v", by.args, by.environ, c.Name, c.ConfigFile, err)
		}
	}
	if _, err := load(t, []string{"--config", path + ".missing"}, nil, ""); err == nil {
		t.Error("a file that was asked for and is missing: no error")
	}
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	_, err := load(t,
		[]string{"--call-timeout", "soon", "--listen", "nowhere"},
		[]string{"HUB_MAX_MESSAGE_BYTES=huge", "HUB_PUBLIC_URL=ftp://x"},
		"listn = \"127.0.0.1:1\"\nlog-level = \"loud\"\nconfig = \"again\"\n[provider]\nbase-url = \"https://x\"\nkey = 1\n")
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"call-timeout", "nowhere", "max-message-bytes", "ftp://x", "listn: no such key", "log-level",
		"config: cannot be set in the file", "provider.key: no such key", "provider.api-key", "provider.models",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not name %s:\n%v", want, err)
		}
	}
}

func TestAListWhereOneValueIsWantedIsAFault(t *testing.T) {
	if _, err := load(t, nil, nil, `name = ["a", "b"]`); err == nil || !strings.Contains(err.Error(), "name") {
		t.Errorf("got %v, want a fault about name", err)
	}
}

func TestPrintedConfigReadsBackTheSame(t *testing.T) {
	first, err := load(t, nil, []string{"HUB_PROVIDER_API_KEY=topsecret"},
		"name = \"a \\\"b\\\" \\u00e9\"\nallow-host = [\"x.example.org\", \"y.example.org\"]\nrate-limit = 2.5\n"+
			"[provider]\nbase-url = \"https://m.example.org\"\nmodels = [\"one\", \"two\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	if err := printConfig(&app{out: &printed}, first); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(printed.String(), "topsecret") {
		t.Errorf("the secret is printed:\n%s", printed.String())
	}
	second, err := load(t, nil, []string{"HUB_PROVIDER_API_KEY=topsecret"}, printed.String())
	if err != nil {
		t.Fatalf("read back: %v\n%s", err, printed.String())
	}
	a, b := values(first), values(second)
	delete(a, "config")
	delete(b, "config")
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("read back differs:\n%s", diff)
	}
}

func TestSecretIsNoFlagAndNeedsAPrivateFile(t *testing.T) {
	const content = "[provider]\napi-key = \"topsecret\"\nbase-url = \"https://m.example.org\"\nmodels = [\"m\"]\n"
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	addFlags(flags, nil, func(*setting) bool { return true })
	if flags.Lookup("provider-api-key") != nil {
		t.Error("there is a flag for the secret")
	}
	open := writeFile(t, "open.toml", content, 0o644)
	_, err := load(t, []string{"--config", open}, nil, "")
	if err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("secret in a file that others may read: got %v", err)
	}
	if err != nil && strings.Contains(err.Error(), "topsecret") {
		t.Errorf("the secret is in the error: %v", err)
	}
	if _, err := load(t, []string{"--config", writeFile(t, "private.toml", content, 0o600)}, nil, ""); err != nil {
		t.Errorf("secret in a private file: %v", err)
	}
}

func TestListeningBeyondLoopbackWantsToBeMeant(t *testing.T) {
	for _, c := range []struct {
		args []string
		good bool
	}{
		{[]string{"--listen", "0.0.0.0:1"}, false},
		{[]string{"--listen", ":1"}, false},
		{[]string{"--listen", "0.0.0.0:1", "--allow-remote"}, true},
		{[]string{"--listen", "0.0.0.0:1", "--public-url", "https://hub.example.org"}, true},
		{[]string{"--listen", "[::1]:1"}, true},
		{[]string{"--listen", "localhost:0"}, true},
	} {
		if _, err := load(t, c.args, nil, ""); (err == nil) != c.good {
			t.Errorf("%v: got error %v, want good %v", c.args, err, c.good)
		}
	}
}

func TestSizesAndDurationsReadBack(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "512B": 512, "2KiB": 2048, "2 KiB": 2048, "32MiB": 32 << 20, "1GiB": 1 << 30, "2MB": 2_000_000,
	} {
		got, err := parseSize(text)
		if err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
		if again, err := parseSize(formatSize(got)); err != nil || again != got {
			t.Errorf("parseSize(formatSize(%d)) = %d, %v", got, again, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "B", "1TB", "1.5MiB", "9223372036854775807GiB", "1e3"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("parseSize(%q) = %d, want an error", text, got)
		}
	}
}

func TestMisspeltVariableIsNamedNotFatal(t *testing.T) {
	c, err := load(t, nil, []string{"HUB_LISTN=127.0.0.1:1", "HUB_LISTEN=127.0.0.1:2"}, "")
	if err != nil || !slices.Equal(c.strange, []string{"HUB_LISTN"}) {
		t.Errorf("got %q, %v; want HUB_LISTN", c.strange, err)
	}
}
