package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newSendCommand(a *app) *cobra.Command {
	var at reach
	var asJSON, wait bool
	cmd := &cobra.Command{
		Use:   "send SESSION TEXT",
		Short: "Send a prompt to a session",
		Long: `Send a prompt to a session. A running turn is not disturbed: the prompt is queued behind it.

SESSION is an id, a piece from its beginning that fits no other, or "last" for the one that was used last. TEXT "-" is
read from standard input.`,
		Example: `  hub send last "run the tests"
  git diff | hub send sess_1f9 - --wait`,
		Args: cobra.ExactArgs(2),
		RunE: a.configuredArgs(func(cmd *cobra.Command, c *config, args []string) error {
			text, err := a.textOf(args[1])
			if err != nil {
				return err
			}
			return at.inSession(cmd.Context(), c, args[0], func(client *native, id string) error {
				if wait {
					return sendAndFollow(cmd.Context(), a, client, id, text, asJSON)
				}
				ack, err := client.command(cmd.Context(), newCommandID(), id, "sendText", map[string]any{"text": text})
				return a.report(ack, err, asJSON)
			})
		}),
	}
	at.add(cmd)
	cmd.Flags().BoolVar(&wait, "wait", false, "follow the turn and end with it: exit code 0 if it succeeded")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; with --wait, every update as a line")
	return cmd
}

// maxPrompt is the largest message that a hub takes by default.
const maxPrompt = 32 << 20

func (a *app) textOf(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	text, err := io.ReadAll(io.LimitReader(a.in, maxPrompt+1))
	if len(text) > maxPrompt {
		return "", fmt.Errorf("a prompt holds at most %d MiB", maxPrompt>>20)
	}
	return string(text), err
}

func newStopCommand(a *app) *cobra.Command {
	var at reach
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stop SESSION",
		Short: "Stop the running turn of a session",
		Long: `Stop the running turn of a session. SESSION is an id, a piece from its beginning that fits no other, or "last" for the
one that was used last.`,
		Args: cobra.ExactArgs(1),
		RunE: a.configuredArgs(func(cmd *cobra.Command, c *config, args []string) error {
			return at.inSession(cmd.Context(), c, args[0], func(client *native, id string) error {
				ack, err := client.command(cmd.Context(), newCommandID(), id, "stop", map[string]any{})
				return a.report(ack, err, asJSON)
			})
		}),
	}
	at.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// ack is the answer to a v4/command (protocol document 4.10).
type ack struct {
	CommandID  string `json:"commandId"`
	Status     string `json:"status"`
	ReasonCode string `json:"reasonCode,omitempty"`
	Message    string `json:"message,omitempty"`
	Result     struct {
		Delivery string `json:"delivery,omitempty"`
	} `json:"result"`
}

// err is nil for a command that was taken.
func (k *ack) err() error {
	switch k.Status {
	case "accepted", "noop", "duplicate":
		return nil
	}
	return fmt.Errorf("the app-server refused: %s", strings.Join(strings.Fields(k.Status+" "+k.ReasonCode+" "+plainLine(k.Message)), " "))
}

func (a *app) report(k *ack, err error, asJSON bool) error {
	if err != nil {
		return err
	}
	if asJSON {
		if err := writeJSON(a.out, k); err != nil {
			return err
		}
		return k.err()
	}
	if err := k.err(); err != nil {
		return err
	}
	said := k.Status
	if k.Result.Delivery == "queue" {
		said = "queued behind the running turn"
	}
	_, err = fmt.Fprintln(a.out, said)
	return err
}

// newCommandID is never used twice, so that the app-server takes a command once.
func newCommandID() string { return "cmd-" + rand.Text() }

// command sends a v4/command and returns its ACK, which may be a refusal.
func (n *native) command(ctx context.Context, id, sessionID, kind string, payload any) (*ack, error) {
	k := &ack{}
	err := n.call(ctx, "v4/command", map[string]any{"commandId": id, "sessionId": sessionID, "type": kind,
		"payload": payload, "issuedAt": time.Now().UnixMilli()}, k)
	return k, err
}

// sessionInfo is a row of session/list.
type sessionInfo struct {
	SessionID string `json:"sessionId"`
	Title     string `json:"title"`
	Status    string `json:"status"`
	UpdatedAt int64  `json:"updatedAt"` // milliseconds since 1970
}

// listLimit is how many sessions a name is looked for in; more than anybody has in use.
const listLimit = 500

// findSession finds the session that typed names.
func (n *native) findSession(ctx context.Context, typed string) (string, error) {
	var list struct{ Sessions []sessionInfo }
	if err := n.call(ctx, "session/list", map[string]any{"limit": listLimit}, &list); err != nil {
		return "", err
	}
	return pickSession(list.Sessions, typed)
}

// pickSession may return an id that is not listed: the app-server lists none that was never prompted, and says itself if
// there is no such session.
func pickSession(sessions []sessionInfo, typed string) (string, error) {
	isExact := func(s sessionInfo) bool { return s.SessionID == typed }
	switch {
	case typed == "" || slices.ContainsFunc(sessions, isExact):
		return typed, nil
	case typed == "last" && len(sessions) == 0:
		return "", errors.New("there is no session yet")
	case typed == "last":
		return slices.MaxFunc(sessions, func(a, b sessionInfo) int { return cmp.Compare(a.UpdatedAt, b.UpdatedAt) }).SessionID, nil
	}
	found := typed
	for _, s := range sessions {
		if strings.HasPrefix(s.SessionID, typed) {
			if found != typed {
				return "", fmt.Errorf("%q fits more than one session: type more of it", typed)
			}
			found = s.SessionID
		}
	}
	return found, nil
}

// sendAndFollow sends a prompt and shows its turn until it ends.
func sendAndFollow(ctx context.Context, a *app, client *native, sessionID, text string, asJSON bool) error {
	v := newView(a.out, asJSON)
	followed := followedTurn{commandID: newCommandID()}
	client.heard = func(m message) {
		v.show(m)
		if q, ok := askedOf(m); ok && q.SessionID == sessionID {
			v.question(&q, nil)
		}
		followed.hear(m)
	}
	if err := client.call(ctx, "session/subscribe", map[string]any{"sessionId": sessionID}, nil); err != nil {
		return err
	}
	k, err := client.command(ctx, followed.commandID, sessionID, "sendText", map[string]any{"text": text})
	if err == nil {
		err = k.err()
	}
	if err != nil {
		return err
	}
	for !followed.over {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m, ok := <-client.incoming:
			if !ok {
				return lost(client.err)
			}
			client.heard(m)
		}
	}
	return followed.err
}

// followedTurn knows when the turn of a prompt is over and how it went.
type followedTurn struct {
	commandID string
	turnID    string // the turn that took the prompt
	over      bool
	err       error
}

func (f *followedTurn) hear(m message) {
	e, ok := eventOf(m)
	switch {
	case m.Method == "hub/snapshot" || m.Method == "hub/appServer" && f.turnID != "":
		// A new app-server has no running turns, and a gap may hide the end of this one.
		f.over, f.err = true, errors.New("the turn cannot be followed to its end: hub watch shows where the session is")
	case !ok:
	case e.Type == "turn.started" && e.Payload.InputID == f.commandID, e.Type == "turn.steerDrained" && e.drained(f.commandID):
		f.turnID = e.TurnID
	case f.turnID == "" || e.TurnID != f.turnID:
	case e.Type == "turn.failed":
		f.over, f.err = true, errors.New("the turn failed")
	case e.Type == "turn.completed":
		f.over = true
		if e.Payload.ResultType != "success" {
			f.err = fmt.Errorf("the turn ended: %s", plainLine(e.Payload.ResultType))
		}
	}
}
