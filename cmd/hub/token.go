package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"zcodehub/auth"
)

func newTokenCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make and inspect tokens",
		Args:  cobra.NoArgs,
		RunE:  showHelp,
	}
	cmd.AddCommand(newTokenCreateCommand(a), newTokenInspectCommand(a))
	return cmd
}

// tokenRequest is what was asked for, and the body of POST /api/token/create and /api/pairings on the local socket.
type tokenRequest struct {
	Name       string         `json:"name"`
	Role       auth.Role      `json:"role"`
	Sessions   []string       `json:"sessions"`
	Workspaces []string       `json:"workspaces"`
	Profiles   []auth.Profile `json:"profiles"`
	TTLSeconds int64          `json:"ttlSeconds"`
}

func newTokenCreateCommand(a *app) *cobra.Command {
	var flags grantFlags
	cmd := &cobra.Command{
		Use:   "create --role ROLE --name NAME",
		Short: "Print a new token on standard output",
		Long: `Print a new token on standard output, and nothing else.

Roles: viewer looks; approver also answers questions of the agent; operator also prompts, stops and changes settings;
admin may do everything. A token limited to sessions or workspaces knows of no others.`,
		Example: `  hub token create --role approver --name phone --ttl 12h
  hub token create --role viewer --name wall --session sess_1 > token.txt`,
		Args: cobra.NoArgs,
		RunE: a.configured(func(_ *cobra.Command, c *config) error {
			grant, err := flags.parse()
			if err != nil {
				return err
			}
			token, err := createToken(c.DataDir, grant)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.out, token)
			return err
		}),
	}
	flags.add(cmd, "", auth.DefaultTTL, "both")
	for _, required := range []string{"role", "name"} {
		_ = cmd.MarkFlagRequired(required) // fails only for a flag that does not exist
	}
	return cmd
}

// createToken asks the running hub, so that what it knows of devices stays true, and does it alone when none runs.
func createToken(dataDir string, grant auth.Grant) (string, error) {
	var made struct {
		Token string `json:"token"`
	}
	err := newLocalHub(dataDir).call(http.MethodPost, "/api/token/create", requestFor(grant), &made)
	if !errors.Is(err, errNotRunning) {
		return made.Token, err
	}
	return issueWithoutHub(dataDir, grant)
}

func newTokenInspectCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect [FILE]",
		Short: "Show what a token says, read from a file or standard input",
		Long: `Show what a token says, read from a file or standard input: as an argument it would show in process lists.
The signature is not checked.`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.body(func(_ *cobra.Command, args []string) error {
			in := a.in
			if len(args) == 1 && args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer func() { _ = f.Close() }()
				in = f
			}
			token, err := io.ReadAll(io.LimitReader(in, auth.MaxTokenBytes+1))
			if err != nil {
				return err
			}
			return inspectToken(a.out, strings.TrimSpace(string(token)))
		}),
	}
}

func inspectToken(w io.Writer, token string) error {
	inspection, err := auth.Inspect(token)
	if err != nil {
		return err
	}
	return writeJSON(w, inspection)
}
