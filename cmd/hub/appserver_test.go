package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// emptyPath makes PATH one empty directory and returns it, for executables of the test.
func emptyPath(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	return dir
}

func writeScript(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func wantConfigFault(t *testing.T, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, errConfig) {
		t.Fatalf("got error %v, want a fault of the configuration", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error does not say %q: %v", word, err)
		}
	}
}

func TestAppServerIsSplitLikeAShellWould(t *testing.T) {
	c := &config{AppServer: `/opt/my\ agent/zcode app-server --cwd "/a b" 'c $HOME'`}
	got, err := findAppServer(c, nil)
	want := []string{"/opt/my agent/zcode", "app-server", "--cwd", "/a b", "c $HOME"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestAppServerIsFoundInThisOrder(t *testing.T) {
	path := emptyPath(t)
	home := t.TempDir()
	environ := []string{"HOME=" + home}
	find := func(environ []string) []string {
		t.Helper()
		got, err := findAppServer(&config{}, environ)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}

	_, err := findAppServer(&config{}, environ)
	wantConfigFault(t, err, "--app-server", "hub demo")

	node := writeScript(t, filepath.Join(path, "node"), "#!/bin/sh\necho v22.5.1\n")
	bundled := writeScript(t, filepath.Join(home, "Applications/ZCode.app/Contents/Resources/glm/zcode.cjs"), "")
	if got, want := find(environ), []string{node, bundled, "app-server", "--stdio"}; !slices.Equal(got, want) {
		t.Errorf("desktop app: got %q, want %q", got, want)
	}
	onPath := writeScript(t, filepath.Join(path, "zcode"), "#!/bin/sh\n")
	if got, want := find(environ), []string{onPath, "app-server", "--stdio"}; !slices.Equal(got, want) {
		t.Errorf("PATH: got %q, want %q", got, want)
	}
	named := writeScript(t, filepath.Join(home, "bin/my-zcode"), "#!/bin/sh\n")
	if got, want := find(append(environ, "ZCODE_BIN="+named)), []string{named, "app-server", "--stdio"}; !slices.Equal(got, want) {
		t.Errorf("ZCODE_BIN: got %q, want %q", got, want)
	}
	_, err = findAppServer(&config{}, append(environ, "ZCODE_BIN=/nowhere/zcode"))
	wantConfigFault(t, err, "/nowhere/zcode")
}

func TestAScriptNeedsANewEnoughNode(t *testing.T) {
	path := emptyPath(t)
	script := writeScript(t, filepath.Join(t.TempDir(), "zcode.cjs"), "")
	_, err := zcodeCommand(script)
	wantConfigFault(t, err, "no node on PATH")
	for version, good := range map[string]bool{
		"v20.19.0": false, "v22.4.9": false, "v22.5.0": true, "v24.0.0": true, "nonsense": false,
	} {
		writeScript(t, filepath.Join(path, "node"), "#!/bin/sh\necho "+version+"\n")
		if _, err := zcodeCommand(script); (err == nil) != good {
			t.Errorf("node %s: got error %v, want good %v", version, err, good)
		}
	}
}

// bundle lays out a desktop app and returns its zcode.cjs and its provider list.
func bundle(t *testing.T) (script, builtin string) {
	t.Helper()
	resources := filepath.Join(t.TempDir(), "ZCode/resources")
	script = writeScript(t, filepath.Join(resources, "glm/zcode.cjs"), "")
	builtin = writeScript(t, filepath.Join(resources, "config/provider/zcode-builtin.json"), "{}")
	return script, builtin
}

func TestChildEnvironmentKeepsWhatIsForTheHubAway(t *testing.T) {
	environ := []string{"HOME=/h", "HUB_PROVIDER_API_KEY=k", "HUB_X=1", "NOTIFY_SOCKET=/s", "WATCHDOG_USEC=1", "PATH=/bin", "ZCODE_X=1"}
	got, err := childEnviron(&config{}, []string{"zcode", "app-server"}, environ)
	want := []string{"HOME=/h", "PATH=/bin", "ZCODE_X=1"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestBundledAppServerGetsBothProviderFiles(t *testing.T) {
	script, builtin := bundle(t)
	command := []string{"node", script, "app-server", "--stdio"}
	dataDir, home := t.TempDir(), t.TempDir()
	c := &config{DataDir: dataDir}
	files := func(environ ...string) (string, string) {
		t.Helper()
		got, err := childEnviron(c, command, append([]string{"HOME=" + home}, environ...))
		if err != nil {
			t.Fatal(err)
		}
		return lookup(got, builtinVariable), lookup(got, personalVariable)
	}
	wantFiles := func(what, gotBuiltin, gotPersonal, wantPersonal string) {
		t.Helper()
		if filepath.Clean(gotBuiltin) != builtin || gotPersonal != wantPersonal {
			t.Errorf("%s: got %s and %s, want %s and %s", what, gotBuiltin, gotPersonal, builtin, wantPersonal)
		}
	}

	b, p := files()
	wantFiles("nothing known", b, p, filepath.Join(dataDir, "provider.json"))
	own := writeScript(t, filepath.Join(home, ".zcode/v2/provider_config.json"), "{}")
	b, p = files()
	wantFiles("the user's own", b, p, own)
	b, p = files(personalVariable + "=/given.json")
	wantFiles("given in the environment", b, p, "/given.json")
	c.Provider = providerConfig{ID: "mine", APIType: "anthropic-messages", BaseURL: "https://m.example.org", APIKey: "k", Models: []string{"one", "two"}}
	b, p = files(personalVariable + "=/given.json")
	wantFiles("settings", b, p, filepath.Join(dataDir, "provider.json"))
}

func TestPersonalProviderFileHasTheShapeTheAppServerReads(t *testing.T) {
	p := providerConfig{ID: "mine", APIType: "anthropic-messages", BaseURL: "https://m.example.org", APIKey: "k", Models: []string{"one", "two"}}
	path, err := p.writePersonalFile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode: got %v, %v; want 0600", info.Mode(), err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	const example = `{"schemaVersion":1,"config":{
	  "providerConfigRules":{"providerRules":[{"providerId":"mine","providerName":"mine","config":{
	    "group":"standard-personal","access":{"type":"api-key","apiKey":"k"},
	    "api":{"type":"anthropic-messages","baseUrl":"https://m.example.org"},
	    "personalModelIds":["one","two"],"modelOrder":["one","two"]}}]},
	  "modelConfigRules":{"providerModelRules":[],"manualProviderModelRules":[]}}}`
	if err := json.Unmarshal([]byte(example), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("provider file (-want +got):\n%s", diff)
	}
}

func TestProviderSettingsNeedAnAppServerThatReadsThem(t *testing.T) {
	c := &config{Provider: providerConfig{BaseURL: "https://m.example.org"}}
	_, err := childEnviron(c, []string{"zcode", "app-server"}, nil)
	wantConfigFault(t, err, builtinVariable)
}
