package main

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"zcodehub/auth"
)

func newKeysCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Change the key that signs tokens",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "rotate",
		Short: "Make a new signing key; tokens of the old one stay good until they end",
		Args:  cobra.NoArgs,
		RunE: a.configured(func(_ *cobra.Command, c *config) error {
			id, err := rotateKeys(c.DataDir)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "new tokens are signed by key %s\n", id)
			return err
		}),
	})
	return cmd
}

func rotateKeys(dataDir string) (keyID string, err error) {
	var answer struct{ KeyID string }
	err = newLocalHub(dataDir).call(http.MethodPost, "/api/keys/rotate", nil, &answer)
	if !errors.Is(err, errNotRunning) {
		return answer.KeyID, err
	}
	err = withGate(dataDir, func(gate *auth.Gate) error { // the open store keeps a hub from starting meanwhile
		old := gate.Keys.KeyID()
		if err := gate.Keys.Rotate(time.Now()); err != nil {
			return err
		}
		keyID = gate.Keys.KeyID()
		return recordWithoutHub(dataDir, auth.AuditEvent{Event: "keys.rotated", Detail: map[string]string{"from": old, "to": keyID}})
	})
	return keyID, err
}
