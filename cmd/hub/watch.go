package main

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/coder/websocket"
	"github.com/spf13/cobra"

	"zcodehub/session"
)

const (
	// keyGuard keeps a key that was meant for something else from answering a question that has just appeared.
	keyGuard = 500 * time.Millisecond
	// firstRetry and lastRetry bound the pause before a lost connection is tried again; it doubles in between.
	firstRetry = 500 * time.Millisecond
	lastRetry  = 15 * time.Second
)

func newWatchCommand(a *app) *cobra.Command {
	var at reach
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "watch [SESSION]",
		Short: "Follow a session as text; ring when the agent asks, answer with a key",
		Long: `Follow a session as text, until Ctrl-C. SESSION is an id, a piece from its beginning that fits no other, or "last",
which is also meant without one. Questions of all sessions ring; in a terminal a key answers the oldest of them. A lost
connection is tried again, and nothing that happened meanwhile is left out.`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.configuredArgs(func(cmd *cobra.Command, c *config, args []string) error {
			typed := "last"
			if len(args) == 1 {
				typed = args[0]
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM) // so that the terminal is put right
			defer stop()
			w := &watch{view: newView(a.out, asJSON), dial: func(ctx context.Context) (*native, error) { return at.dialNative(ctx, c) }}
			if asJSON {
				return w.run(ctx, typed, nil)
			}
			terminal, restore, err := rawTerminal(a)
			if err != nil {
				return err
			}
			defer restore()
			w.view.w = terminal.out
			return w.run(ctx, typed, terminal.keys)
		}),
	}
	at.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print every message as a line of JSON; no keys")
	return cmd
}

// watch follows one session over as many connections as it takes.
type watch struct {
	view *view
	dial func(context.Context) (*native, error)

	keyboard  bool // there are keys to answer with
	sessionID string
	cursor    map[string]any // afterSeq and epoch of what was shown last; nil before the first subscribe
	open      []asking       // oldest first
	client    *native
}

// asking is an open question and since when it is shown.
type asking struct {
	question
	shown time.Time
	keys  []key
}

// A key answers a question.
type key struct {
	char   rune
	means  string
	result any
}

var errQuit = errors.New("quit")

// run ends with ctx, with a key that quits, or when coming again is of no use.
func (w *watch) run(ctx context.Context, typed string, keys <-chan rune) error {
	w.keyboard = keys != nil
	pause := firstRetry
	for {
		followed, err := w.once(ctx, typed, keys)
		switch {
		case ctx.Err() != nil || errors.Is(err, errQuit):
			return nil
		case !comeAgain(err):
			return err
		case followed:
			pause = firstRetry
		case w.sessionID == "": // never got in: say it instead of trying for ever
			return err
		}
		wait := rand.N(pause) + pause/2
		w.view.note("! %v; trying again in %s", err, wait.Round(100*time.Millisecond))
		pause = min(2*pause, lastRetry)
		if err := w.sleep(ctx, wait, keys); err != nil {
			return nil
		}
	}
}

// comeAgain tells whether a connection that ended like this may be tried again.
func comeAgain(err error) bool {
	switch websocket.CloseStatus(err) {
	case websocket.StatusPolicyViolation, 4401, 4403: // docs/protocol.md has the table
		return false
	}
	return !errors.Is(err, errRefused)
}

// sleep waits, and heeds the key that quits.
func (w *watch) sleep(ctx context.Context, d time.Duration, keys <-chan rune) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		case k, ok := <-keys:
			if !ok {
				keys = nil
			} else if quits(k) {
				return errQuit
			}
		}
	}
}

func quits(k rune) bool {
	const ctrlC, ctrlD = 3, 4 // a raw terminal sends them as keys
	return k == 'q' || k == ctrlC || k == ctrlD
}

// once follows the session over one connection.
func (w *watch) once(ctx context.Context, typed string, keys <-chan rune) (followed bool, err error) {
	w.client, err = w.dial(ctx)
	if err != nil {
		return false, err
	}
	defer w.client.close()
	w.open = nil // the hub shows again what is open
	w.client.heard = w.hear
	if w.sessionID == "" {
		id, err := w.client.findSession(ctx, typed)
		if err != nil {
			return false, err
		}
		w.sessionID = id
	}
	if err := w.subscribe(ctx); err != nil {
		return false, err
	}
	for {
		select {
		case <-ctx.Done():
			return true, ctx.Err()
		case m, ok := <-w.client.incoming:
			if !ok {
				return true, lost(w.client.err)
			}
			w.hear(m)
		case k, ok := <-keys:
			if !ok {
				keys = nil
				continue
			}
			if quits(k) {
				return true, errQuit
			}
			if err := w.press(ctx, k); err != nil {
				return true, err
			}
		}
	}
}

// subscribe begins, or goes on where the last connection ended.
func (w *watch) subscribe(ctx context.Context) error {
	params := map[string]any{"sessionId": w.sessionID}
	for k, v := range w.cursor {
		params[k] = v
	}
	var answer struct {
		EventSeq uint64            `json:"eventSeq"`
		Epoch    string            `json:"epoch"`
		Resumed  bool              `json:"resumed"`
		Events   []json.RawMessage `json:"events"`
	}
	if err := w.client.call(ctx, "session/subscribe", params, &answer); err != nil {
		return err
	}
	switch {
	case w.cursor == nil:
		w.view.note("following %s; Ctrl-C ends this", w.sessionID)
	case !answer.Resumed:
		w.view.note("connected again; updates were skipped here")
	default:
		w.view.note("connected again")
	}
	for _, e := range answer.Events {
		text, err := json.Marshal(map[string]any{"method": "session/event", "params": e})
		if err != nil {
			return err
		}
		w.view.show(message{Method: "session/event", Params: e, text: text})
	}
	w.cursor = map[string]any{"afterSeq": answer.EventSeq, "epoch": answer.Epoch}
	return nil
}

// hear takes one message of the hub.
func (w *watch) hear(m message) {
	w.view.show(m)
	if q, ok := askedOf(m); ok {
		w.ask(q)
		return
	}
	switch m.Method {
	case "session/event":
		if e, ok := eventOf(m); ok && w.cursor != nil {
			w.cursor["afterSeq"] = e.Seq
		}
	case "hub/snapshot":
		var s struct {
			EventSeq uint64 `json:"eventSeq"`
			Epoch    string `json:"epoch"`
		}
		if json.Unmarshal(m.Params, &s) == nil {
			w.cursor = map[string]any{"afterSeq": s.EventSeq, "epoch": s.Epoch}
		}
	case "hub/interactionSettled":
		var s struct{ RequestID string }
		if json.Unmarshal(m.Params, &s) == nil {
			w.close(s.RequestID)
		}
	case "hub/answer":
		if f, ok := fateOf(m); ok {
			if err := f.err(time.Now()); err != nil {
				w.view.note("! %v", err)
			}
		}
	}
}

// ask shows a question; one that is open already was only shown again.
func (w *watch) ask(q question) {
	for i := range w.open {
		if w.open[i].ID == q.ID {
			return
		}
	}
	var keys []key
	if w.keyboard {
		keys = keysOf(&q)
	}
	w.open = append(w.open, asking{q, time.Now(), keys})
	w.view.question(&q, w.open[len(w.open)-1].keys)
}

// close forgets a question and shows again the one that the keys answer now.
func (w *watch) close(requestID string) {
	for i := range w.open {
		if w.open[i].RequestID != requestID {
			continue
		}
		w.open = append(w.open[:i], w.open[i+1:]...)
		if i == 0 && len(w.open) > 0 {
			w.open[0].shown = time.Now()
			w.view.question(&w.open[0].question, w.open[0].keys)
		}
		return
	}
}

// press answers the oldest question. It stays until the hub says that it is settled.
func (w *watch) press(ctx context.Context, char rune) error {
	if len(w.open) == 0 || time.Since(w.open[0].shown) < keyGuard {
		return nil
	}
	for _, k := range w.open[0].keys {
		if k.char == char {
			w.view.note("%s: %s", w.open[0].shortID(), plainLine(k.means))
			return w.client.send(ctx, map[string]any{"id": w.open[0].ID, "result": k.result})
		}
	}
	return nil
}

// keysOf are the keys that answer a question. What needs words has none but the one that declines.
func keysOf(q *question) []key {
	var keys []key
	add := func(char rune, means string, result any, err error) {
		if err == nil {
			keys = append(keys, key{char, means, result})
		}
	}
	switch {
	case q.Kind == session.Permission:
		yes, err := q.approval("", nil)
		add('y', "allow once", yes, err)
		for _, o := range q.Params.Options {
			if o.Kind == "allow_always" {
				add('a', o.Name, o.Response, nil)
				break
			}
		}
	case q.Kind == session.Plan:
		yes, err := q.approval("", nil)
		add('y', "approve", yes, err)
	case len(q.Params.Questions) == 1 && !q.Params.Questions[0].MultiSelect:
		for i, o := range q.Params.Questions[0].Options {
			if i < 9 { // one digit
				yes, err := q.approval("", []string{o.Value})
				add('1'+rune(i), o.Label, yes, err)
			}
		}
	}
	no, err := q.denial("")
	add('n', "deny", no, err)
	return keys
}
