package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zcodehub/auth"
)

// demoTTL is how long who came by a printed link may stay: long enough to try things, short enough to forget about it.
const demoTTL = 24 * time.Hour

func newDemoCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the hub with a simulated app-server and print a link to it",
		Long: `Run the hub with a simulated app-server and print a link that signs a browser in.

Nothing is kept: unless --data-dir says otherwise, the data directory is a temporary one. A configuration file is read
only if --config names it.`,
		Args: cobra.NoArgs,
		RunE: a.body(func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(cmd.Flags(), a.environ, "") // the user's own file is about another hub
			if err != nil {
				return err
			}
			return demo(cmd.Context(), a, c)
		}),
	}
	addFlags(cmd.Flags(), a.environ, func(s *setting) bool { return forServing(s) && !forAppServer(s) })
	return cmd
}

// forAppServer says of a setting that it is about a real app-server, which a demo has not.
func forAppServer(s *setting) bool {
	return s.key == "app-server" || strings.HasPrefix(s.key, "provider.")
}

func demo(ctx context.Context, a *app, c *config) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c.Provider = providerConfig{}
	if c.origin["data-dir"] == "default" {
		if c.DataDir, err = os.MkdirTemp("", "hub-demo-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(c.DataDir) }()
	}
	if c.origin["listen"] == "default" && taken(c.Listen) {
		c.Listen = "127.0.0.1:0" // beside a hub that serves, a demo still works
	}
	if c.origin["log-level"] == "default" {
		c.LogLevel = "warn" // or the link scrolls away
	}
	return serve(ctx, a, c, []string{self, "simulate"}, func(gate *auth.Gate, url string) error {
		return announceDemo(a, c, gate, url)
	})
}

func taken(address string) bool {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return true
	}
	return listener.Close() != nil
}

// announceDemo prints how to get in, as two people, so that it shows who answered. A code stands in its link's
// fragment, which browsers send to no server; the page takes it out of the address bar.
func announceDemo(a *app, c *config, gate *auth.Gate, url string) error {
	link := func(name string, role auth.Role) (string, error) {
		code, _, err := gate.Devices.OpenPairing(auth.Grant{Name: name, Role: role, TTL: demoTTL}, "demo", time.Now())
		return strings.TrimSuffix(url, "/") + "/#pair=" + code, err
	}
	desk, err := link("desk", auth.RoleAdmin)
	if err != nil {
		return err
	}
	phone, err := link("phone", auth.RoleOperator)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.out, demoWelcome, url, desk, phone); err != nil {
		return err
	}
	if err := printQR(a.out, phone); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, demoAdvice, programName(), shellWord(c.DataDir))
	return err
}

const demoWelcome = `
hub demo: a simulated app-server; nothing is kept and no model is asked.

  hub    %s
  link   %s
  phone  %s

Each link lets one browser in, once, within five minutes; the code below is the phone's.

`

const demoAdvice = `
Open the link, create a session in any folder and send it one of: help, ask, question, plan, burst 2000.
Open the phone's link in a private window, or on a phone that reaches this address: both see who answered.

  %[1]s status --data-dir %[2]s
  %[1]s pair --role viewer --name wall --data-dir %[2]s

Ctrl-C ends the demo.
`
