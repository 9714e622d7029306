package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"zcodehub/auth"
)

func newKeysCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Change the key that signs tokens",
		Args:  cobra.NoArgs,
		RunE:  showHelp,
	}
	cmd.AddCommand(newKeysRotateCommand(a), newKeysForgetCommand(a))
	return cmd
}

func newKeysRotateCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Make a new signing key; tokens of the old one stay good until they end",
		Args:  cobra.NoArgs,
		RunE: a.configured(func(_ *cobra.Command, c *config) error {
			fresh, old, err := rotateKeys(c.DataDir)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "new tokens are signed by key %s\nif the old one leaked: %s\n", fresh, again(c, "keys forget "+old))
			return err
		}),
	}
}

func newKeysForgetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "forget KEY",
		Short: "End a retired key with all tokens it signed, at once: for a key that leaked",
		Long: `End a retired key with all tokens it signed, at once: for a key that leaked.

hub keys rotate says the name of the key it retires. Open connections must show their token again. Paired devices renew
themselves; tokens made by hand have to be made again.`,
		Args: cobra.ExactArgs(1),
		RunE: a.configured(func(cmd *cobra.Command, c *config) error {
			kid := cmd.Flags().Arg(0)
			if err := forgetKey(c.DataDir, kid); err != nil {
				return err
			}
			_, err := fmt.Fprintf(a.out, "forgot key %s\n", kid)
			return err
		}),
	}
}

func rotateKeys(dataDir string) (fresh, old string, err error) {
	var answer struct{ KeyID, Retired string }
	err = newLocalHub(dataDir).call(http.MethodPost, "/api/keys/rotate", nil, &answer)
	if !errors.Is(err, errNotRunning) {
		return answer.KeyID, answer.Retired, err
	}
	err = withGate(dataDir, func(gate *auth.Gate) error { // the open store keeps a hub from starting meanwhile
		old = gate.Keys.KeyID()
		if err := gate.Keys.Rotate(time.Now()); err != nil {
			return err
		}
		fresh = gate.Keys.KeyID()
		return recordWithoutHub(dataDir, auth.AuditEvent{Event: "keys.rotated", Detail: map[string]string{"from": old, "to": fresh}})
	})
	return fresh, old, err
}

func forgetKey(dataDir, kid string) error {
	err := newLocalHub(dataDir).call(http.MethodPost, "/api/keys/"+url.PathEscape(kid)+"/forget", nil, nil)
	if !errors.Is(err, errNotRunning) {
		return err
	}
	return withGate(dataDir, func(gate *auth.Gate) error {
		if err := gate.Keys.Forget(kid, time.Now()); err != nil {
			return err
		}
		return recordWithoutHub(dataDir, auth.AuditEvent{Event: "keys.forgotten", Detail: map[string]string{"key": kid}})
	})
}
