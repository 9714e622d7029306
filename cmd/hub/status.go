package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"zcodehub/hub"
)

func newStatusCommand(a *app) *cobra.Command {
	var asJSON, probe bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what runs, who is connected and what waits for an answer",
		Args:  cobra.NoArgs,
		RunE: a.configured(func(_ *cobra.Command, c *config) error {
			local := newLocalHub(c.DataDir)
			if probe {
				return local.call(http.MethodGet, "/healthz", nil, nil)
			}
			var status json.RawMessage
			if err := local.call(http.MethodGet, "/api/status", nil, &status); err != nil {
				return err
			}
			if asJSON {
				_, err := fmt.Fprintf(a.out, "%s\n", status)
				return err
			}
			var s statusAnswer
			if err := json.Unmarshal(status, &s); err != nil {
				return fmt.Errorf("status: %w", err)
			}
			return printStatus(a.out, &s, time.Now())
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&probe, "probe", false, "print nothing, exit with 0 if the hub is alive: a health probe")
	cmd.MarkFlagsMutuallyExclusive("json", "probe")
	return cmd
}

// statusAnswer is the body of GET /api/status.
type statusAnswer struct {
	hub.Status
	Addresses []string `json:"addresses"`
}

func printStatus(w io.Writer, s *statusAnswer, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(format string, args ...any) { _, _ = fmt.Fprintf(t, format+"\n", args...) }

	row("hub\t%s\t(%s, version %s, up %s)", s.Instance.Name, s.Instance.ID, s.Version, since(s.UptimeMs))
	row("listening\t%s", strings.Join(s.Addresses, "  "))
	row("app-server\t%s\t(%s)", s.AppServer.State, processOf(s.AppServer))
	if s.AppServer.Detail != "" {
		row("\t%s", s.AppServer.Detail)
	}
	row("\nclients: %d", len(s.Clients))
	for _, c := range s.Clients {
		row("  %s\t%s\t%s\t%s\t%s\tfor %s", c.ConnectionID, c.Name, c.Role, c.Profile, c.RemoteAddr, age(now, c.Since))
	}
	row("\nsessions: %d", len(s.Sessions))
	for _, session := range s.Sessions {
		row("  %s\tat update %d\t%d watching\t%d open", session.ID, session.Seq, session.Subscribers, session.Open)
	}
	row("\nwaiting for an answer: %d", len(s.Pending))
	for _, p := range s.Pending {
		row("  %s\t%s\t%s %s\tfor %s", p.RequestID, p.SessionID, p.Kind, p.ToolName, age(now, p.Since))
	}
	return t.Flush()
}

func processOf(s hub.AppServerStatus) string {
	if s.Pid == 0 {
		return fmt.Sprintf("generation %d, no process", s.Generation)
	}
	return fmt.Sprintf("generation %d, process %d", s.Generation, s.Pid)
}

func since(ms int64) string {
	return shortDuration((time.Duration(ms) * time.Millisecond).Round(time.Second))
}

// count is a number of things.
func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func age(now, then time.Time) string { return shortDuration(now.Sub(then).Round(time.Second)) }
