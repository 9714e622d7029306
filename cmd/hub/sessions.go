package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"zcodehub/hub"
)

// warnOfSessions tells whoever limits a device to sessions which of them the hub does not know: a misspelt one shows
// nothing, and the guest cannot say why. It only warns, since a session may be made later.
func warnOfSessions(w io.Writer, local *localHub, wanted []string) {
	if len(wanted) == 0 {
		return
	}
	known, err := local.sessions(wanted)
	if err != nil {
		_, _ = fmt.Fprintf(w, "hub: whether there is such a session was not checked: %v\n", err)
		return
	}
	unknown := slices.DeleteFunc(slices.Clone(wanted), func(id string) bool { return slices.Contains(known, id) })
	if len(unknown) > 0 {
		_, _ = fmt.Fprintf(w, "hub: the app-server knows no session %s: there will be nothing to see\n", strings.Join(unknown, ", "))
	}
}

// maxSessionIDs is what the app-server takes in one session/list.
const maxSessionIDs = 64

// sessions are those of the ids that the hub has met or the app-server has stored; it lists none that was never
// prompted.
func (l *localHub) sessions(ids []string) ([]string, error) {
	var status hub.Status
	if err := l.call(http.MethodGet, "/api/status", nil, &status); err != nil {
		return nil, err
	}
	var known []string
	for _, s := range status.Sessions {
		known = append(known, s.ID)
	}
	if status.AppServer.State != "ready" {
		return nil, fmt.Errorf("the app-server is %s", status.AppServer.State)
	}
	var stored struct {
		Sessions []struct {
			SessionID string `json:"sessionId"`
		} `json:"sessions"`
	}
	params := map[string]any{"sessionIds": ids[:min(len(ids), maxSessionIDs)], "includeArchived": true, "limit": maxSessionIDs}
	if err := l.ask("session/list", params, &stored); err != nil {
		return nil, err
	}
	for _, s := range stored.Sessions {
		known = append(known, s.SessionID)
	}
	return known, nil
}

// ask is one request over a connection of its own, as a client makes it.
func (l *localHub) ask(method string, params, out any) error {
	ctx, cancel := context.WithTimeout(context.Background(), localTimeout)
	defer cancel()
	client, err := (&reach{}).dialNative(ctx, &config{DataDir: l.dataDir})
	if err != nil {
		return err
	}
	defer client.close()
	return client.call(ctx, method, params, out)
}
