//go:build e2e

// Package e2e uses the hub as people do: the real program, started as `hub demo`, in a real browser, directly and behind
// nginx. It wants chromium, nginx and promtool on the machine, so it has a build tag: `make e2e`.
package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take before a test gives up: a browser's first start on a small machine is slow.
const patience = 60 * time.Second

// program is the hub, built once for all tests.
var program string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hub-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "hub")
	build := exec.Command("go", "build", "-race", "-o", program, "../cmd/hub")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the hub:", err)
		return 1
	}
	return m.Run()
}

// demo is a running `hub demo`.
type demo struct {
	t      *testing.T
	cmd    *exec.Cmd
	data   string // its data dir
	stderr bytes.Buffer
	url    string // as it listens or, with --public-url, as it is reached
	desk   string // link that signs a browser in as "desk", an admin
	phone  string // the same as "phone", an operator
}

var printedLink = regexp.MustCompile(`(link|phone) +((http://\S+)/#pair=\S+)`)

func startDemo(t *testing.T, args ...string) *demo {
	t.Helper()
	data, err := os.MkdirTemp("", "hub-e2e-data-") // short: a socket path holds 103 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	// The log says all it can, so that stop can see what it does not say.
	d := &demo{t: t, data: data, cmd: exec.Command(program, append([]string{"demo", "--listen", "127.0.0.1:0", "--data-dir", data, "--log-level", "debug"}, args...)...)}
	d.cmd.Stderr = &d.stderr
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.stop)
	lines := bufio.NewScanner(stdout)
	for d.phone == "" && lines.Scan() {
		found := printedLink.FindStringSubmatch(lines.Text())
		switch {
		case found == nil:
		case found[1] == "link":
			d.desk, d.url = found[2], found[3]
		default:
			d.phone = found[2]
		}
	}
	if d.phone == "" {
		t.Fatal("hub demo ended without printing its links")
	}
	go func() { // ends with the process; what is printed after the link is for people
		for lines.Scan() {
		}
	}()
	return d
}

// stop ends the demo as Ctrl-C does; it must end cleanly and have nothing to complain about.
func (d *demo) stop() {
	_ = d.cmd.Process.Signal(syscall.SIGINT)
	limit := time.AfterFunc(patience, func() { _ = d.cmd.Process.Kill() })
	defer limit.Stop()
	if err := d.cmd.Wait(); err != nil {
		d.t.Errorf("hub demo ended with %v", err)
	}
	d.wantNoSecrets()
	if d.t.Failed() {
		d.t.Logf("standard error of the hub:\n%s", d.stderr.String())
	}
}

// secrets are what the hub mints: tokens, refresh secrets, and in a link a pairing code.
var secrets = regexp.MustCompile(`eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+|hub-refresh\.[\w-]+|(?:pair|token|ticket)=[\w-]+`)

// wantNoSecrets looks through all that a run put out for what it minted.
func (d *demo) wantNoSecrets() {
	output := map[string]string{"the log": d.stderr.String()}
	for _, file := range []string{"audit/audit.jsonl", "audit/head.json"} {
		content, err := os.ReadFile(filepath.Join(d.data, file))
		if err != nil {
			d.t.Errorf("%s: %v", file, err)
		}
		output[file] = string(content)
	}
	for where, text := range output {
		if found := secrets.FindString(text); found != "" {
			d.t.Errorf("%s holds a secret: %.12s…", where, found)
		}
		for _, link := range []string{d.desk, d.phone} {
			if _, code, ok := strings.Cut(link, "="); !ok || strings.Contains(text, code) {
				d.t.Errorf("%s holds a pairing code, or there is none in %s", where, link)
			}
		}
	}
}

// hub runs another command of the hub on the demo's data dir.
func (d *demo) hub(args ...string) string {
	d.t.Helper()
	out, err := exec.Command(program, append(args, "--data-dir", d.data)...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("hub %q: %v\n%s", args, err, out)
	}
	return string(out)
}
