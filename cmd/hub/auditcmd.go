package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zcodehub/auth"
)

func newAuditCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show the record of who did what, and check that it is whole",
		Args:  cobra.NoArgs,
		RunE:  showHelp,
	}
	cmd.AddCommand(newAuditShowCommand(a), newAuditVerifyCommand(a))
	return cmd
}

// auditFilter says which entries to show.
type auditFilter struct {
	event, device string
	since         time.Duration
	last          int
	asJSON        bool
}

func newAuditShowCommand(a *app) *cobra.Command {
	var filter auditFilter
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the record, oldest first",
		Example: `  hub audit show --last 20
  hub audit show --since 24h --event credential.failed`,
		Args: cobra.NoArgs,
		RunE: a.configured(func(_ *cobra.Command, c *config) error { return showAudit(a, c.DataDir, filter, time.Now()) }),
	}
	f := cmd.Flags()
	f.StringVar(&filter.event, "event", "", "only events whose name starts so, such as device or credential.failed")
	f.StringVar(&filter.device, "device", "", "only of this device (id or name)")
	f.DurationVar(&filter.since, "since", 0, "only of the time since, such as 24h")
	f.IntVar(&filter.last, "last", 0, "only the last so many")
	f.BoolVar(&filter.asJSON, "json", false, "print the lines as they are kept")
	return cmd
}

func showAudit(a *app, dataDir string, filter auditFilter, now time.Time) error {
	var shown []auth.AuditEntry
	err := auth.ReadAudit(dataDir, func(e auth.AuditEntry) bool {
		if filter.fits(e, now) {
			shown = append(shown, e)
		}
		return true
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if filter.last > 0 && len(shown) > filter.last {
		shown = shown[len(shown)-filter.last:]
	}
	for _, e := range shown {
		line := auditLine(e)
		if filter.asJSON {
			encoded, err := json.Marshal(e)
			if err != nil {
				return err
			}
			line = string(encoded)
		}
		if _, err := fmt.Fprintln(a.out, line); err != nil {
			return err
		}
	}
	return nil
}

func (f auditFilter) fits(e auth.AuditEntry, now time.Time) bool {
	return strings.HasPrefix(e.Event, f.event) && (f.device == "" || e.Device == f.device || e.Name == f.device) &&
		(f.since == 0 || now.Sub(e.Time) <= f.since)
}

// auditLine is an entry for a person. Quoted, so that no name can draw on the terminal.
func auditLine(e auth.AuditEntry) string {
	line := fmt.Sprintf("%s  %-20s", e.Time.Local().Format(time.DateTime), e.Event)
	add := func(key, value string) {
		if value != "" {
			line += fmt.Sprintf("  %s=%q", key, value)
		}
	}
	add("name", e.Name)
	add("device", e.Device)
	add("addr", e.Addr)
	add("session", e.SessionID)
	for _, key := range slices.Sorted(maps.Keys(e.Detail)) {
		add(key, e.Detail[key])
	}
	return line
}

func newAuditVerifyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Find lines that were changed, removed or cut off",
		Long: `Find lines that were changed, removed or cut off. Exits with 1 if there are any.
Somebody who can write the data dir can rewrite all of it consistently: keep the last hash elsewhere to notice that too.`,
		Args: cobra.NoArgs,
		RunE: a.configured(func(_ *cobra.Command, c *config) error {
			report, err := auth.VerifyAudit(c.DataDir)
			if err != nil {
				return err
			}
			if report.Files == 0 && len(report.Faults) == 0 {
				return fmt.Errorf("there is no audit in %s", c.DataDir)
			}
			for _, fault := range report.Faults {
				_, _ = fmt.Fprintln(a.out, fault)
			}
			if len(report.Faults) > 0 {
				return fmt.Errorf("the audit has %s", count(len(report.Faults), "fault", "faults"))
			}
			_, err = fmt.Fprintf(a.out, "whole: %s in %s, last hash %s\n",
				count(report.Entries, "entry", "entries"), count(report.Files, "file", "files"), report.Last.Hash)
			return err
		}),
	}
}
