package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"zcodehub/auth"
)

func newDevicesCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List, rename and revoke the devices that may come in",
		Args:  cobra.NoArgs,
		RunE:  showHelp,
	}
	cmd.AddCommand(newDevicesListCommand(a), newDevicesRevokeCommand(a), newDevicesRenameCommand(a))
	return cmd
}

func newDevicesListCommand(a *app) *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show devices, what they may do and when they were last seen",
		Args:  cobra.NoArgs,
		RunE: a.configured(func(_ *cobra.Command, c *config) error {
			devices, err := listDevices(c.DataDir)
			if err != nil {
				return err
			}
			now := time.Now()
			if !all {
				devices = liveDevices(devices, now)
			}
			if asJSON {
				return writeJSON(a.out, devices)
			}
			return printDevices(a.out, devices, now)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&all, "all", false, "show those that have ended too")
	return cmd
}

// listDevices asks the running hub, or reads the store when none runs.
func listDevices(dataDir string) ([]auth.Device, error) {
	var answer struct{ Devices []auth.Device }
	err := newLocalHub(dataDir).call(http.MethodGet, "/api/devices", nil, &answer)
	if errors.Is(err, errNotRunning) {
		err = withDevices(dataDir, func(devices *auth.Devices) error { answer.Devices = devices.List(); return nil })
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // no hub ever ran here: there are none
	}
	return answer.Devices, err
}

func liveDevices(devices []auth.Device, now time.Time) []auth.Device {
	live := []auth.Device{}
	for _, dev := range devices {
		if dev.Live(now) {
			live = append(live, dev)
		}
	}
	return live
}

func printDevices(w io.Writer, devices []auth.Device, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "NAME\tID\tROLE\tLIMITED TO\tLAST SEEN\tFROM\tENDS")
	for _, dev := range devices {
		seen, from, ends := "never", dev.LastAddr, "in "+roughly(dev.ExpiresAt.Sub(now))
		if !dev.LastSeen.IsZero() {
			seen = roughly(now.Sub(dev.LastSeen)) + " ago"
		}
		switch {
		case dev.Revoked():
			ends = "revoked " + dev.RevokedFor
		case !now.Before(dev.ExpiresAt):
			ends = "expired"
		}
		limits := strings.Join(append(append([]string{}, dev.Sessions...), dev.Workspaces...), " ")
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", dev.Name, dev.ID, dev.Role, limits, seen, from, ends)
	}
	return t.Flush()
}

// roughly is a duration in the one unit that people look at.
func roughly(d time.Duration) string {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= 2*unit.size {
			return fmt.Sprintf("%d%s", (d+unit.size/2)/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%ds", max(0, (d+time.Second/2)/time.Second))
}

func newDevicesRevokeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke NAME|ID",
		Short: "End a device with all its tokens, and close its connections at once",
		Args:  cobra.ExactArgs(1),
		RunE: a.configured(func(cmd *cobra.Command, c *config) error {
			name := cmd.Flags().Arg(0)
			err := newLocalHub(c.DataDir).call(http.MethodPost, devicePath(name, "revoke"), nil, nil)
			if errors.Is(err, errNotRunning) {
				err = revokeWithoutHub(c.DataDir, name)
			}
			if err == nil {
				_, err = fmt.Fprintf(a.out, "revoked %s\n", name)
			}
			return err
		}),
	}
}

func revokeWithoutHub(dataDir, name string) error {
	return withDevices(dataDir, func(devices *auth.Devices) error {
		dev, err := devices.Revoke(name, "by local", time.Now())
		if err != nil {
			return err
		}
		return recordWithoutHub(dataDir, auth.AuditEvent{Event: "device.revoked", Name: dev.Name, Device: dev.ID, Detail: map[string]string{"why": dev.RevokedFor}})
	})
}

func renameWithoutHub(dataDir, old, name string) error {
	return withDevices(dataDir, func(devices *auth.Devices) error {
		dev, err := devices.Rename(old, name, time.Now())
		if err != nil {
			return err
		}
		return recordWithoutHub(dataDir, auth.AuditEvent{Event: "device.renamed", Name: dev.Name, Device: dev.ID, Detail: map[string]string{"by": "local"}})
	})
}

func newDevicesRenameCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rename NAME|ID NEW-NAME",
		Short: "Give a device another name",
		Args:  cobra.ExactArgs(2),
		RunE: a.configured(func(cmd *cobra.Command, c *config) error {
			old, name := cmd.Flags().Arg(0), cmd.Flags().Arg(1)
			err := newLocalHub(c.DataDir).call(http.MethodPost, devicePath(old, "rename"), map[string]string{"name": name}, nil)
			if errors.Is(err, errNotRunning) {
				err = renameWithoutHub(c.DataDir, old, name)
			}
			return err
		}),
	}
}

func devicePath(device, act string) string {
	return "/api/devices/" + url.PathEscape(device) + "/" + act
}
