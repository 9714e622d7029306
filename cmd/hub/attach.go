package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zcodehub/auth"
	"zcodehub/internal/wire"
	"zcodehub/session"
)

func newAttachCommand(a *app) *cobra.Command {
	var at reach
	var stdio bool
	cmd := &cobra.Command{
		Use:   "attach --stdio",
		Short: "Be an app-server on standard input and output, for programs that start one",
		Long: `Be an app-server on standard input and output, for programs that start "zcode app-server --stdio" themselves. They
become one more client of the hub that runs, and share its sessions with all others. The command ends when standard
input ends, and when the app-server behind the hub ends.`,
		Example: `  ZCODE_COMMAND="hub attach --stdio" some-bridge`,
		Args:    cobra.NoArgs,
		RunE: a.configured(func(cmd *cobra.Command, c *config) error {
			if !stdio {
				return faultf("standard input and output are the only way to attach: say --stdio")
			}
			return attach(cmd.Context(), a, c, &at)
		}),
	}
	at.add(cmd)
	cmd.Flags().BoolVar(&stdio, "stdio", false, "speak on standard input and output")
	return cmd
}

func attach(ctx context.Context, a *app, c *config, at *reach) error {
	ws, err := at.dial(ctx, c, "/ws", url.Values{"profile": {string(auth.Continuous)}})
	if err != nil {
		return err
	}
	p := &pump{ws: ws, in: a.in, out: a.out, log: a.err}
	p.forward = (&impersonator{}).forward
	return p.run(ctx)
}

// impersonator makes the hub's native surface look like an app-server: what only a hub says is left out.
type impersonator struct {
	started bool // the end of the start-up was told
}

func (i *impersonator) forward(msg []byte) ([]byte, error) {
	var e wire.Envelope
	if wire.ParseEnvelope(msg, &e) != nil {
		return msg, nil
	}
	switch method := string(e.Method); {
	case method == "hub/hello" || method == "hub/appServer":
		return i.startup(e.Params)
	case strings.HasPrefix(method, "hub/"):
		return nil, nil
	case method == "session/event":
		return wire.AppendNotification(nil, method, wire.Without(e.Params, isInterval)), nil
	case e.Kind == wire.Response && isSubscribed(e.Result):
		return wire.AppendResult(nil, e.ID, upstreamAnswer(e.Result)), nil
	}
	return msg, nil
}

func isInterval(key []byte) bool { return string(key) == "fromSeq" }

// cursorMembers is what the hub adds to the answer of session/subscribe.
var cursorMembers = []string{"epoch", "resumed", "floorSeq"}

func isCursorMember(key []byte) bool { return slices.Contains(cursorMembers, string(key)) }

// isSubscribed tells whether a result answers session/subscribe.
func isSubscribed(result []byte) bool {
	for _, key := range append([]string{"eventSeq"}, cursorMembers...) {
		if _, ok := wire.Get(result, key); !ok {
			return false
		}
	}
	return true
}

// upstreamAnswer is the answer of session/subscribe as the app-server gives it.
func upstreamAnswer(result []byte) []byte {
	out := []byte{'{'}
	result = wire.Without(result, isCursorMember)
	for m := range wire.Members(result) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		if string(m.Key) != "events" {
			out = append(out, result[m.Start:m.End]...)
			continue
		}
		out = append(out, `"events":[`...)
		for event := range wire.Elements(m.Value) {
			if out[len(out)-1] != '[' {
				out = append(out, ',')
			}
			out = append(out, wire.Without(event, isInterval)...)
		}
		out = append(out, ']')
	}
	return append(out, '}')
}

// errAppServerEnded ends the command as the app-server's own process would end.
var errAppServerEnded = errors.New("the app-server ended; start again to attach to its successor")

// startup turns the hub's word on the app-server into the frames that one prints at its start (protocol document 1.6).
func (i *impersonator) startup(params []byte) ([]byte, error) {
	var said struct {
		State     string `json:"state"`
		Instance  struct{ ID string }
		AppServer *struct{ State string }
	}
	if err := json.Unmarshal(params, &said); err != nil {
		return nil, nil
	}
	state := said.State
	if said.AppServer != nil {
		state = said.AppServer.State
	}
	switch {
	case state == "ready" && !i.started:
		i.started = true
		database := sha256.Sum256([]byte(said.Instance.ID))
		frame := storageState{SchemaVersion: 1, AttemptID: session.NewEpoch(), DatabaseID: hex.EncodeToString(database[:]), DatabaseKind: "session"}
		lines := append(frame.line(1, "checking"), '\n')
		frame.Migration = &migration{Kind: "none"}
		return append(lines, frame.line(2, "ready")...), nil
	case i.started && (state == "restarting" || state == "failed"):
		return nil, errAppServerEnded
	}
	return nil, nil
}

type storageState struct {
	SchemaVersion int        `json:"schemaVersion"`
	AttemptID     string     `json:"attemptId"`
	Sequence      int        `json:"sequence"`
	DatabaseID    string     `json:"databaseId"`
	DatabaseKind  string     `json:"databaseKind"`
	Phase         string     `json:"phase"`
	ElapsedMs     int        `json:"elapsedMs"`
	Migration     *migration `json:"migration,omitempty"`
}

type migration struct {
	Kind                   string  `json:"kind"`
	ExecutedCount          int     `json:"executedCount"`
	CommittedCount         int     `json:"committedCount"`
	LastAppliedMigrationID *string `json:"lastAppliedMigrationId"`
}

func (s storageState) line(sequence int, phase string) []byte {
	s.Sequence, s.Phase = sequence, phase
	params, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of texts and numbers
	}
	return fmt.Appendf(nil, `{"method":"startup/storageState","params":%s}`, params)
}
