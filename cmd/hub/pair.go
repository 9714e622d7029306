package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"zcodehub/auth"
)

// grantFlags are the flags that say what a new device may do.
type grantFlags struct {
	grant    auth.Grant
	role     string
	profiles []string
}

// add defines them; profiles says what is allowed when --profile is not given.
func (g *grantFlags) add(cmd *cobra.Command, role string, ttl time.Duration, profiles string) {
	f := cmd.Flags()
	f.StringVar(&g.role, "role", role, "viewer, approver, operator or admin")
	f.StringVar(&g.grant.Name, "name", "", "what to call who or what comes in")
	f.StringSliceVar(&g.grant.Sessions, "session", nil, "limit it to this session (repeatable)")
	f.StringSliceVar(&g.grant.Workspaces, "workspace", nil, "limit it to sessions of this workspace (repeatable)")
	f.StringSliceVar(&g.profiles, "profile", nil, "allow this profile only: "+string(auth.Continuous)+" or "+string(auth.Replayable)+" (repeatable; default "+profiles+")")
	f.DurationVar(&g.grant.TTL, "ttl", ttl, "how long it may come in")
	completeWords(cmd, "role", "viewer", "approver", "operator", "admin")
	completeWords(cmd, "profile", string(auth.Continuous), string(auth.Replayable))
}

// parse checks the words of the command line.
func (g *grantFlags) parse() (auth.Grant, error) {
	grant := g.grant
	var err error
	if grant.Role, err = auth.ParseRole(g.role); err != nil {
		return grant, faultf("%v", err)
	}
	if grant.TTL < time.Second {
		return grant, faultf("--ttl: wants a second or more, such as 24h")
	}
	for _, word := range g.profiles {
		profile, err := auth.ParseProfile(word)
		if err != nil {
			return grant, faultf("%v", err)
		}
		grant.Profiles = append(grant.Profiles, profile)
	}
	return grant, nil
}

// pictureFlags are where the QR code goes beside the terminal.
type pictureFlags struct {
	png, svg string
	asJSON   bool
}

func (p *pictureFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.png, "png", "", "write the QR code to this file too (PNG)")
	cmd.Flags().StringVar(&p.svg, "svg", "", "write the QR code to this file too (SVG)")
	cmd.Flags().BoolVar(&p.asJSON, "json", false, "print JSON and no QR code")
}

func newPairCommand(a *app) *cobra.Command {
	var flags grantFlags
	var picture pictureFlags
	cmd := &cobra.Command{
		Use:   "pair",
		Short: "Print a one-time link and its QR code for a new device",
		Long: `Print a link that makes one browser a device of this hub, once, within five minutes, and its QR code.

The code stands in the link's fragment, which browsers send to no server. The device renews itself as long as --ttl;
hub devices revoke ends it.`,
		Example: `  hub pair
  hub pair --role approver --name phone
  hub pair --role viewer --workspace /home/me/project --ttl 8h --svg pair.svg`,
		Args: cobra.NoArgs,
		RunE: a.configured(func(_ *cobra.Command, c *config) error { return openPairing(a, c, &flags, picture) }),
	}
	flags.add(cmd, string(auth.RoleOperator), auth.PairedTTL, string(auth.Replayable))
	picture.add(cmd)
	cmd.AddCommand(newPairListCommand(a), newPairCancelCommand(a))
	return cmd
}

func newShareCommand(a *app) *cobra.Command {
	var flags grantFlags
	var picture pictureFlags
	cmd := &cobra.Command{
		Use:   "share --session SESSION",
		Short: "Print a one-time link by which somebody may watch one session",
		Long: `Print a link that lets one browser watch one session, and nothing else, until --ttl is over.
It is hub pair for a viewer.`,
		Example: `  hub share --session sess_1 --ttl 2h`,
		Args:    cobra.NoArgs,
		RunE: a.configured(func(_ *cobra.Command, c *config) error {
			flags.role = string(auth.RoleViewer)
			return openPairing(a, c, &flags, picture)
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&flags.grant.Sessions, "session", nil, "the session to show (repeatable)")
	f.StringVar(&flags.grant.Name, "name", "guest", "what to call whoever comes")
	f.DurationVar(&flags.grant.TTL, "ttl", shareTTL, "how long they may watch")
	_ = cmd.MarkFlagRequired("session") // fails only for a flag that does not exist
	picture.add(cmd)
	return cmd
}

// shareTTL is how long a guest may watch when nobody says: a meeting.
const shareTTL = 2 * time.Hour

// openedPairing is the answer of POST /api/pairings.
type openedPairing struct {
	auth.Pairing
	Code string `json:"code"`
	Link string `json:"link"`
}

func openPairing(a *app, c *config, flags *grantFlags, picture pictureFlags) error {
	grant, err := flags.parse()
	if err != nil {
		return err
	}
	local := newLocalHub(c.DataDir)
	var opened openedPairing
	if err := local.call(http.MethodPost, "/api/pairings", requestFor(grant), &opened); err != nil {
		return err
	}
	warnOfSessions(a.err, local, grant.Sessions)
	if err := writePictures(opened.Link, picture); err != nil {
		return err
	}
	if picture.asJSON {
		return json.NewEncoder(a.out).Encode(opened)
	}
	if _, err := fmt.Fprintf(a.out, "%s\n\n", opened.Link); err != nil {
		return err
	}
	if err := printQR(a.out, opened.Link); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "\nGood for one device (%s) until %s. To take it back: %s\n%s", opened.Role,
		opened.ExpiresAt.Local().Format(time.TimeOnly), again(c, "pair cancel "+opened.ID), warnOfLoopback(opened.Link))
	return err
}

// warnOfLoopback tells whoever points a phone at an address that means the phone itself.
func warnOfLoopback(link string) string {
	u, err := url.Parse(link)
	if err != nil || u.Hostname() != "localhost" && !strings.HasPrefix(u.Hostname(), "127.") {
		return ""
	}
	return "This address works on this machine only. For another one, run the hub with --public-url.\n"
}

func requestFor(grant auth.Grant) *tokenRequest {
	return &tokenRequest{
		Name: grant.Name, Role: grant.Role, Sessions: grant.Sessions, Workspaces: grant.Workspaces,
		Profiles: grant.Profiles, TTLSeconds: int64(grant.TTL / time.Second),
	}
}

func newPairListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show the links that were not used yet",
		Args:  cobra.NoArgs,
		RunE: a.configured(func(_ *cobra.Command, c *config) error {
			var answer struct{ Pairings []auth.Pairing }
			if err := newLocalHub(c.DataDir).call(http.MethodGet, "/api/pairings", nil, &answer); err != nil {
				return err
			}
			return printPairings(a.out, answer.Pairings, time.Now())
		}),
	}
}

func printPairings(w io.Writer, open []auth.Pairing, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "ID\tFOR\tROLE\tOPENED BY\tENDS")
	for _, p := range open {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\tin %s\n", p.ID, p.Name, p.Role, p.OpenedBy, roughly(p.ExpiresAt.Sub(now)))
	}
	return t.Flush()
}

func newPairCancelCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel ID",
		Short: "Take back a link that was not used yet",
		Args:  cobra.ExactArgs(1),
		RunE: a.configured(func(cmd *cobra.Command, c *config) error {
			return newLocalHub(c.DataDir).call(http.MethodDelete, "/api/pairings/"+url.PathEscape(cmd.Flags().Arg(0)), nil, nil)
		}),
	}
}
