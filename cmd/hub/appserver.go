package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/shlex"
)

// Variables by which a bundled zcode.cjs learns its providers. It wants both or neither.
const (
	builtinVariable  = "ZCODE_BUILTIN_PROVIDER_CONFIG_FILE"
	personalVariable = "ZCODE_PERSONAL_PROVIDER_CONFIG_FILE"
)

// appServerArgs start the app-server of a zcode executable.
var appServerArgs = []string{"app-server", "--stdio"}

// bundledPaths are where the desktop app puts its zcode.cjs.
func bundledPaths(environ []string) []string {
	home := lookup(environ, "HOME")
	return []string{
		"/Applications/ZCode.app/Contents/Resources/glm/zcode.cjs",
		filepath.Join(home, "Applications/ZCode.app/Contents/Resources/glm/zcode.cjs"),
		"/opt/ZCode/resources/glm/zcode.cjs",
	}
}

// findAppServer is the command line of --app-server, else of the first zcode that this machine has.
func findAppServer(c *config, environ []string) ([]string, error) {
	if c.AppServer != "" {
		return shlex.Split(c.AppServer)
	}
	if bin := lookup(environ, "ZCODE_BIN"); bin != "" {
		if _, err := exec.LookPath(bin); err != nil && !exists(bin) {
			return nil, faultf("ZCODE_BIN names %s, which does not exist", bin)
		}
		return zcodeCommand(bin)
	}
	if bin, err := exec.LookPath("zcode"); err == nil {
		return zcodeCommand(bin)
	}
	for _, bundled := range bundledPaths(environ) {
		if exists(bundled) {
			return zcodeCommand(bundled)
		}
	}
	return nil, faultf("no app-server found: ZCODE_BIN is not set, there is no zcode on PATH and no ZCode desktop app.\n" +
		"Name one with --app-server, for example\n" +
		"    hub serve --app-server \"zcode app-server --stdio\"\n" +
		"or try the hub without one:\n" +
		"    hub demo")
}

// zcodeCommand starts a script with node and anything else as it is.
func zcodeCommand(bin string) ([]string, error) {
	if !isScript(bin) {
		return append([]string{bin}, appServerArgs...), nil
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, faultf("%s needs node %s or newer, and there is no node on PATH", bin, oldestNode)
	}
	printed, err := exec.Command(node, "--version").Output()
	if err != nil {
		return nil, faultf("%s --version: %v", node, err)
	}
	if version := strings.TrimSpace(string(printed)); !newEnough(version) {
		return nil, faultf("%s needs node %s or newer, but %s is %s", bin, oldestNode, node, version)
	}
	return append([]string{node, bin}, appServerArgs...), nil
}

// oldestNode is the first with the built-in SQLite that the app-server keeps its sessions in.
const oldestNode = "22.5"

func newEnough(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "v%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 22 || major == 22 && minor >= 5
}

func isScript(path string) bool {
	return slices.Contains([]string{".cjs", ".mjs", ".js"}, filepath.Ext(path))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// childEnviron is the environment of the app-server: the hub's own less what is meant for the hub, and the provider files.
func childEnviron(c *config, command, environ []string) ([]string, error) {
	child := slices.DeleteFunc(slices.Clone(environ), forHubOnly)
	builtin := lookup(child, builtinVariable)
	if builtin == "" {
		if builtin = builtinFile(command); builtin != "" {
			child = append(child, builtinVariable+"="+builtin)
		}
	}
	if builtin == "" {
		if c.Provider.asked() {
			return nil, faultf("provider.* is set, but this app-server is not a bundled zcode.cjs: set %s too, or configure its providers in ZCode", builtinVariable)
		}
		return child, nil
	}
	if !c.Provider.asked() && lookup(child, personalVariable) != "" {
		return child, nil
	}
	personal, err := personalFilePath(c, child)
	if err != nil {
		return nil, fmt.Errorf("provider file: %w", err)
	}
	return append(child, personalVariable+"="+personal), nil
}

// forHubOnly says of NAME=value that it is addressed to the hub: its settings, which hold secrets, and what systemd tells it.
func forHubOnly(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return strings.HasPrefix(name, variablePrefix) ||
		slices.Contains([]string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"}, name)
}

// personalFilePath prefers the settings, then the file that the user's own ZCode keeps, then an empty one: a bundled
// zcode.cjs does not start without any.
func personalFilePath(c *config, environ []string) (string, error) {
	own := filepath.Join(lookup(environ, "HOME"), ".zcode", "v2", "provider_config.json")
	if !c.Provider.asked() && exists(own) {
		return own, nil
	}
	return c.Provider.writePersonalFile(c.DataDir)
}

// builtinFile finds the provider list that ships with a zcode.cjs in the command line. The app packs it beside its
// resources, where zcode.cjs does not look by itself.
func builtinFile(command []string) string {
	for _, word := range command {
		if filepath.Base(word) != "zcode.cjs" {
			continue
		}
		if target, err := filepath.EvalSymlinks(word); err == nil {
			word = target
		}
		dir := filepath.Dir(word)
		for _, candidate := range []string{
			filepath.Join(dir, "..", "config", "provider", "zcode-builtin.json"),
			filepath.Join(dir, "provider", "zcode-builtin.json"),
		} {
			if exists(candidate) {
				return candidate
			}
		}
	}
	return ""
}
