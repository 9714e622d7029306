package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zcodehub/auth"
	"zcodehub/hub"
)

func newDoctorCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the whole set-up: what is broken, and what is unsafe",
		Long: `Check the whole set-up: what is broken, and what is unsafe. Changes nothing. Takes the flags of hub serve.
Exits with 1 if something is broken or open to other users; warnings alone exit with 0.`,
		Args: cobra.NoArgs,
		RunE: a.configured(func(_ *cobra.Command, c *config) error {
			d := &doctor{config: c, environ: a.environ, now: time.Now()}
			d.examine()
			for _, f := range d.findings {
				if _, err := fmt.Fprintf(a.out, "%-5s %-12s %s\n", f.grade, f.about, f.text); err != nil {
					return err
				}
			}
			if d.broken > 0 {
				return fmt.Errorf("%s failed", count(d.broken, "check", "checks"))
			}
			return nil
		}),
	}
	addFlags(cmd.Flags(), a.environ, forServing)
	return cmd
}

// finding is the outcome of one check.
type finding struct{ grade, about, text string }

// doctor looks and changes nothing.
type doctor struct {
	config   *config
	environ  []string
	now      time.Time
	findings []finding
	broken   int
}

func (d *doctor) good(about, format string, args ...any) { d.add("ok", about, format, args) }
func (d *doctor) warn(about, format string, args ...any) { d.add("warn", about, format, args) }
func (d *doctor) bad(about, format string, args ...any) {
	d.broken++
	d.add("BAD", about, format, args)
}

func (d *doctor) add(grade, about, format string, args []any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n"+strings.Repeat(" ", 19))
	d.findings = append(d.findings, finding{grade, about, text})
}

func (d *doctor) examine() {
	d.checkDataDir()
	running := d.checkSocket()
	d.checkListen(running != nil)
	d.checkProxy()
	d.checkTLS()
	d.checkSecretFiles()
	d.checkAppServer(running)
	d.checkClock()
	d.checkAudit()
}

func (d *doctor) checkDataDir() {
	dir := d.config.DataDir
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		d.good("data dir", "%s does not exist yet; the first start makes it", dir)
	} else if err := auth.CheckDataDir(dir); err != nil {
		d.bad("data dir", "%v", err)
	} else {
		d.good("data dir", "%s is private", dir)
	}
}

// checkSocket also gives the status of the hub that runs, nil without one.
func (d *doctor) checkSocket() *hub.Status {
	var status hub.Status
	err := newLocalHub(d.config.DataDir).call(http.MethodGet, "/api/status", nil, &status)
	switch {
	case err == nil:
		d.good("hub", "runs, version %s, %s", status.Version, count(len(status.Clients), "client", "clients"))
		return &status
	case errors.Is(err, errNotRunning):
		d.good("hub", "does not run")
	default:
		d.bad("hub", "%v", err)
	}
	return nil
}

func (d *doctor) checkListen(running bool) {
	c := d.config
	name, _, _ := net.SplitHostPort(c.Listen)
	loopback := auth.CheckListen(c.Listen, false) == nil
	switch {
	case loopback:
		d.good("listen", "%s: this machine only", c.Listen)
	case c.TLSCert != "" || strings.HasPrefix(c.PublicURL, "https:"):
		d.good("listen", "%s: other machines come by https", c.Listen)
	default:
		d.warn("listen", "%s: other machines may come in, without https: tokens cross the network readable", c.Listen)
	}
	if !loopback && (name == "" || name == "0.0.0.0" || name == "::") {
		d.warn("listen", "on every network this machine is in; name one address if you can")
	}
	if running || !loopback {
		return
	}
	if listener, err := net.Listen("tcp", c.Listen); err != nil {
		d.bad("listen", "%v", err)
	} else {
		_ = listener.Close()
	}
}

func (d *doctor) checkProxy() {
	c := d.config
	if u, err := url.Parse(c.PublicURL); c.PublicURL != "" && err == nil && u.Scheme != "https" {
		d.warn("public url", "%s is not https: tokens cross the network readable, and the cookie is not Secure", c.PublicURL)
	}
	if c.PublicURL != "" && c.TLSCert == "" && len(c.TrustedProxy) == 0 {
		d.warn("proxy", "--trusted-proxy is not set: behind a proxy or tunnel all clients look like one address, and share its limit on bad credentials")
	}
	for _, word := range c.TrustedProxy {
		if strings.HasSuffix(word, "/0") {
			d.bad("proxy", "--trusted-proxy %s lets anybody claim any address", word)
		}
	}
	if c.OIDC.Header != "" {
		d.warn("oidc", "%s is believed once its token verifies: make sure that only the proxy reaches the hub", c.OIDC.Header)
	}
}

// certificateWarning is how long before its end a certificate should have been renewed: automatic renewal does it with
// a third of 90 days left.
const certificateWarning = 14 * 24 * time.Hour

func (d *doctor) checkTLS() {
	c := d.config
	if c.TLSCert == "" {
		return
	}
	pair, err := loadCertificate(c.TLSCert, c.TLSKey, slog.New(slog.DiscardHandler))
	if err != nil {
		d.bad("tls", "%v", err)
		return
	}
	leaf, err := x509.ParseCertificate(pair.current.Certificate[0])
	if err != nil {
		d.bad("tls", "%v", err)
		return
	}
	say := d.good
	switch left := leaf.NotAfter.Sub(d.now); {
	case left < 0:
		say = d.bad
	case left < certificateWarning:
		say = d.warn
	}
	say("tls", "%s ends on %s", c.TLSCert, leaf.NotAfter.Format(time.DateOnly))
}

func (d *doctor) checkSecretFiles() {
	if file := d.config.JWT.SecretFile; file != "" {
		if _, err := auth.ReadSecretFile(file); err != nil {
			d.bad("jwt", "%v", err)
		} else {
			d.good("jwt", "%s is private and long enough", file)
		}
	}
	if d.config.Provider.APIKey != "" && d.config.origin["provider.api-key"] == "environment" {
		d.good("provider", "its key comes from the environment, which the app-server does not inherit")
	}
}

// checkAppServer believes a running hub about its own; only without one it looks for what the next would start.
func (d *doctor) checkAppServer(running *hub.Status) {
	if running != nil {
		d.checkRunningAppServer(running.AppServer)
		return
	}
	command, err := findAppServer(d.config, d.environ)
	if err != nil {
		d.bad("app-server", "%v", err)
		return
	}
	if len(command) == 0 {
		d.bad("app-server", "--app-server is empty")
	} else if path, err := exec.LookPath(command[0]); err != nil {
		d.bad("app-server", "%v", err)
	} else {
		d.good("app-server", "%s", path)
	}
}

func (d *doctor) checkRunningAppServer(s hub.AppServerStatus) {
	say := d.warn // starting, migrating, restarting: ask again in a moment
	switch s.State {
	case "ready":
		say = d.good
	case "failed":
		say = d.bad
	}
	text := fmt.Sprintf("%s (%s)", s.State, processOf(s))
	if s.Detail != "" {
		text += ": " + s.Detail
	}
	say("app-server", "%s", text)
}

// clockTolerance is what the clocks of two file systems may differ by.
const clockTolerance = 5 * time.Second

// checkClock notices a clock that was set back: tokens then are not valid yet, and ended devices come to life. What the
// hub wrote last is the only other clock at hand.
func (d *doctor) checkClock() {
	var newest time.Time
	var file string
	_ = filepath.WalkDir(d.config.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // checkDataDir tells
		}
		if info, err := entry.Info(); err == nil && info.ModTime().After(newest) {
			newest, file = info.ModTime(), path
		}
		return nil
	})
	if newest.After(d.now.Add(clockTolerance)) {
		d.bad("clock", "it is %s, but %s was written at %s: the clock was set back", d.now.Format(time.DateTime), file, newest.Format(time.DateTime))
		return
	}
	d.good("clock", "%s", d.now.Format(time.RFC3339))
}

func (d *doctor) checkAudit() {
	report, err := auth.VerifyAudit(d.config.DataDir)
	switch {
	case err != nil:
		d.bad("audit", "%v", err)
	case len(report.Faults) > 0:
		d.bad("audit", "%s (hub audit verify tells more)", report.Faults[0])
	case report.Files == 0: // nothing happened yet
	default:
		d.good("audit", "whole, %s", count(report.Entries, "entry", "entries"))
	}
}
