package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/google/shlex"
	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"

	"zcodehub/auth"
)

// rawFlag keeps what was typed. Its meaning is checked together with the other sources, so that all faults come at once.
type rawFlag struct {
	setting *setting
	typed   []string
}

func (f *rawFlag) Set(s string) error {
	if f.setting.value.isList() {
		f.typed = append(f.typed, strings.Split(s, ",")...)
		return nil
	}
	f.typed = []string{s}
	return nil
}

func (f *rawFlag) String() string {
	if f.typed != nil {
		return strings.Join(f.typed, ",")
	}
	if f.setting == nil || f.setting.value.isZero() {
		return ""
	}
	return strings.Join(f.setting.value.words(), ",")
}

func (f *rawFlag) Type() string { return f.setting.value.kind() }

// addFlags makes a flag of each row of the table that is wanted.
func addFlags(flags *pflag.FlagSet, environ []string, wanted func(*setting) bool) {
	for _, s := range settings(defaults(environ)) {
		if s.flag() == "" || !wanted(s) {
			continue
		}
		f := flags.VarPF(&rawFlag{setting: s}, s.flag(), "", s.usage+" ($"+s.variable()+")")
		if s.value.kind() == "BOOL" {
			f.NoOptDefVal = "true"
		}
	}
}

func forEveryCommand(s *setting) bool { return s.common }
func forServing(s *setting) bool      { return !s.common }

// faults are all the things wrong with a configuration.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func (f faults) err() error {
	switch len(f) {
	case 0:
		return nil
	case 1:
		return faultf("the configuration is not valid: %s", f[0])
	}
	return faultf("the configuration has %d faults:\n  - %s", len(f), strings.Join(f, "\n  - "))
}

// loadConfig takes each setting from the first of flags, environment and file that has it, else its default. Without
// --config it reads defaultFile if that exists; "" is none.
func loadConfig(flags *pflag.FlagSet, environ []string, defaultFile string) (*config, error) {
	var bad faults
	c := defaults(environ)
	c.origin = map[string]string{}
	table := settings(c)

	all := koanf.New(".")
	merge := func(layer *koanf.Koanf, name string) {
		for _, key := range layer.Keys() {
			c.origin[key] = name
		}
		_ = all.Merge(layer) // fails only with a strict option that is not set
	}
	flagLayer, envLayer := layerOfFlags(table, flags), layerOfEnvironment(table, environ)
	fileLayer, path := layerOfFile(table, configPath(flagLayer, envLayer), defaultFile, &bad)
	merge(fileLayer, path)
	merge(envLayer, "environment")
	merge(flagLayer, "flag")

	for _, s := range table {
		if !all.Exists(s.key) {
			c.origin[s.key] = "default"
			continue
		}
		if err := s.value.set(wordsOf(all.Get(s.key))); err != nil {
			bad.add("%s: %v (from %s)", s.key, err, c.origin[s.key])
		}
	}
	c.ConfigFile = path
	c.strange = strangeVariables(table, environ)
	c.check(&bad)
	return c, bad.err()
}

func layerOfFlags(table []*setting, flags *pflag.FlagSet) *koanf.Koanf {
	typed := map[string]any{}
	for _, s := range table {
		if s.flag() == "" {
			continue
		}
		if f := flags.Lookup(s.flag()); f != nil && f.Changed {
			if raw, ok := f.Value.(*rawFlag); ok {
				typed[s.key] = raw.typed
			}
		}
	}
	layer := koanf.New(".")
	_ = layer.Load(confmap.Provider(typed, "."), nil) // a map in memory cannot fail to load
	return layer
}

func layerOfEnvironment(table []*setting, environ []string) *koanf.Koanf {
	byVariable := map[string]*setting{}
	for _, s := range table {
		byVariable[s.variable()] = s
	}
	layer := koanf.New(".")
	_ = layer.Load(env.Provider(".", env.Opt{ // the environment cannot fail to load
		Prefix:      variablePrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, v string) (string, any) {
			s := byVariable[name]
			switch {
			case s == nil:
				return "", nil // somebody else's HUB_…
			case s.value.isList():
				return s.key, strings.Split(v, ",")
			}
			return s.key, v
		},
	}), nil)
	return layer
}

// strangeVariables are HUB_… names that are no setting: misspelt, or somebody else's. They are worth a word, not an end.
func strangeVariables(table []*setting, environ []string) []string {
	var strange []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, variablePrefix) && !slices.ContainsFunc(table, func(s *setting) bool { return s.variable() == name }) {
			strange = append(strange, name)
		}
	}
	return strange
}

func configPath(flags, environment *koanf.Koanf) string {
	for _, layer := range []*koanf.Koanf{flags, environment} {
		if layer.Exists("config") {
			return strings.Join(wordsOf(layer.Get("config")), ",")
		}
	}
	return ""
}

// layerOfFile reads the file that was asked for, which must exist, or the default one, which need not.
func layerOfFile(table []*setting, asked, defaultFile string, bad *faults) (*koanf.Koanf, string) {
	path := cmp.Or(asked, defaultFile)
	layer := koanf.New(".")
	if path == "" {
		return layer, ""
	}
	err := layer.Load(file.Provider(path), toml.Parser())
	if asked == "" && errors.Is(err, fs.ErrNotExist) {
		return koanf.New("."), ""
	}
	if err != nil {
		bad.add("%s: %v", path, err)
		return koanf.New("."), path
	}
	known := map[string]*setting{}
	for _, s := range table {
		known[s.key] = s
	}
	for _, key := range layer.Keys() {
		s := known[key]
		switch {
		case s == nil:
			bad.add("%s: %s: no such key", path, key)
		case s.noFile:
			bad.add("%s: %s: cannot be set in the file", path, key)
		case s.secret && readableByOthers(path):
			bad.add("%s: holds %s but others may read it: chmod 600 it", path, key)
			continue
		default:
			continue
		}
		layer.Delete(key)
	}
	return layer, path
}

func readableByOthers(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0
}

// wordsOf turns what a source holds (TOML types, strings, lists of either) into words.
func wordsOf(v any) []string {
	switch v := v.(type) {
	case []string:
		return v
	case []any:
		list := make([]string, 0, len(v))
		for _, e := range v {
			list = append(list, fmt.Sprint(e))
		}
		return list
	}
	return []string{fmt.Sprint(v)}
}

// check finds what is wrong although each value can be read.
func (c *config) check(bad *faults) {
	if c.DataDir == "" {
		bad.add("data-dir: is empty and neither XDG_STATE_HOME nor HOME is set")
	}
	edge := c.edge("check")
	if err := auth.CheckListen(c.Listen, c.AllowRemote || c.PublicURL != ""); err != nil {
		bad.add("listen: %v", err)
		edge.Listen = "" // it would be told a second time
	}
	if _, err := auth.NewEdge(edge); err != nil {
		for _, fault := range apart(err) {
			bad.add("%v", fault)
		}
	}
	if c.MetricsListen != "" {
		if _, _, err := net.SplitHostPort(c.MetricsListen); err != nil {
			bad.add("metrics-listen: wants HOST:PORT, got %q", c.MetricsListen)
		}
	}
	if _, err := shlex.Split(c.AppServer); err != nil {
		bad.add("app-server: cannot be split into words: %v", err)
	}
	if info, err := os.Stat(c.Cwd); c.Cwd != "" && (err != nil || !info.IsDir()) {
		bad.add("cwd: %q is not a directory", c.Cwd)
	}
	if _, err := c.trustedProxies(); err != nil {
		bad.add("trusted-proxy: %v", err)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		bad.add("tls-cert, tls-key: give both or none")
	}
	c.checkIssuers(bad)
	c.Provider.check(bad)
	sort.Strings(*bad)
}

// edge says where the hub is reached, for package auth.
func (c *config) edge(instance string) auth.EdgeConfig {
	edge := auth.EdgeConfig{
		Listen: c.Listen, PublicURL: c.PublicURL,
		Hosts: c.AllowHost, Origins: c.AllowOrigin, Instance: instance,
	}
	if c.OIDC.Header != "" {
		edge.Ambient = []string{c.OIDC.Header}
	}
	return edge
}

// apart undoes errors.Join, to count and sort faults one by one.
func apart(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func defaultConfigFile(environ []string) string {
	dir := lookup(environ, "XDG_CONFIG_HOME")
	if dir == "" {
		dir = filepath.Join(lookup(environ, "HOME"), ".config")
	}
	return filepath.Join(dir, "zcode-hub", "hub.toml")
}

func defaultDataDir(environ []string) string {
	if dir := lookup(environ, "XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "zcode-hub")
	}
	if home := lookup(environ, "HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "zcode-hub")
	}
	return ""
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "hub"
	}
	return name
}

// lookup finds a variable in an environment; the last one wins, as in a process.
func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// private are the files that hold secrets of the hub, beside its data dir: no client reads them through file routes.
func (c *config) private() []string {
	var files []string
	for _, file := range []string{c.ConfigFile, c.JWT.SecretFile, c.TLSKey} {
		if file != "" {
			files = append(files, file)
		}
	}
	return files
}
