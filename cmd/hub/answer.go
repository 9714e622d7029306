package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"zcodehub/session"
)

func newPendingCommand(a *app) *cobra.Command {
	var at reach
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "Show what waits for an answer",
		Args:  cobra.NoArgs,
		RunE: a.configured(func(cmd *cobra.Command, c *config) error {
			client, err := at.dialNative(cmd.Context(), c)
			if err != nil {
				return err
			}
			defer client.close()
			if asJSON {
				list, err := pending[json.RawMessage](cmd.Context(), client)
				if err != nil {
					return err
				}
				return writeJSON(a.out, list)
			}
			open, err := pending[question](cmd.Context(), client)
			if err != nil {
				return err
			}
			return printQuestions(a.out, open, time.Now())
		}),
	}
	at.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with all that was asked")
	return cmd
}

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// pending lists what waits for an answer.
func pending[T json.RawMessage | question](ctx context.Context, client *native) ([]T, error) {
	var list struct{ Pending []T }
	err := client.call(ctx, "hub/pendingInteractions", map[string]any{}, &list)
	return list.Pending, err
}

func newAllowCommand(a *app) *cobra.Command {
	var at reach
	var option string
	var answers []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "allow ID",
		Short: "Allow what the agent asks, once",
		Long: `Allow what the agent asks, once, or approve its plan, or answer its questions. The ID is what hub pending shows.

The exit code is 0 only if this answer was taken: if somebody else was faster it is 1, and the sentence says who.`,
		Example: `  hub allow ask-3
  hub allow ask-3 --option allow_project
  hub allow ask-4 --answer "PostgreSQL" --answer "yes"`,
		Args: cobra.ExactArgs(1),
		RunE: a.configuredArgs(func(cmd *cobra.Command, c *config, args []string) error {
			return a.answer(cmd.Context(), c, &at, args[0], asJSON, func(q *question) (any, error) { return q.approval(option, answers) })
		}),
	}
	at.add(cmd)
	cmd.Flags().StringVar(&option, "option", "", "the offered option to take instead of allowing once, such as allow_project")
	cmd.Flags().StringArrayVar(&answers, "answer", nil, "answer to a question, one for each in order")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newDenyCommand(a *app) *cobra.Command {
	var at reach
	var why string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "deny ID",
		Short: "Deny what the agent asks",
		Long: `Deny what the agent asks. The ID is what hub pending shows. What --why says reaches the agent: as the reason of the
denial, or as feedback to its plan.`,
		Example: `  hub deny ask-3 --why "use the staging database"`,
		Args:    cobra.ExactArgs(1),
		RunE: a.configuredArgs(func(cmd *cobra.Command, c *config, args []string) error {
			return a.answer(cmd.Context(), c, &at, args[0], asJSON, func(q *question) (any, error) { return q.denial(why) })
		}),
	}
	at.add(cmd)
	cmd.Flags().StringVar(&why, "why", "", "what the agent is told")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// answer finds an open question, answers it and tells what became of the answer.
func (a *app) answer(ctx context.Context, c *config, at *reach, typed string, asJSON bool, decide func(*question) (any, error)) error {
	client, err := at.dialNative(ctx, c)
	if err != nil {
		return err
	}
	defer client.close()
	open, err := pending[question](ctx, client)
	if err != nil {
		return err
	}
	q, err := findQuestion(open, typed)
	if err != nil {
		return err
	}
	result, err := decide(q)
	if err != nil {
		return err
	}
	fate, err := client.answer(ctx, q, result)
	if err != nil {
		return err
	}
	if asJSON {
		if err := writeJSON(a.out, fate); err != nil {
			return err
		}
	}
	if err := fate.err(time.Now()); err != nil || asJSON {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s: taken by the agent\n", q.shortID())
	return err
}

// fate is what became of an answer: the params of hub/answer.
type fate struct {
	ID        string          `json:"id,omitempty"`
	RequestID string          `json:"requestId,omitempty"`
	Status    string          `json:"status"`
	Reason    string          `json:"reason,omitempty"`
	DecidedBy *session.Author `json:"decidedBy,omitempty"`
	DecidedAt *time.Time      `json:"decidedAt,omitempty"`
}

// err is nil for the answer that counts.
func (f *fate) err(now time.Time) error {
	switch {
	case f.Status == session.Accepted:
		return nil
	case f.Status == session.Late && f.DecidedBy != nil && f.DecidedAt != nil:
		return fmt.Errorf("%s was faster, %s ago", plainLine(f.DecidedBy.Name), age(now, *f.DecidedAt))
	case f.Reason != "":
		return errors.New(f.Reason)
	}
	return fmt.Errorf("the answer was not taken: %s", f.Status)
}

// answer sends an answer and waits for what becomes of it.
func (n *native) answer(ctx context.Context, q *question, result any) (*fate, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, replyTimeout, errors.New("the hub does not say what became of the answer"))
	defer cancel()
	if err := n.send(ctx, map[string]any{"id": q.ID, "result": result}); err != nil {
		return nil, err
	}
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case m, ok := <-n.incoming:
			if !ok {
				return nil, lost(n.err)
			}
			if f, ok := fateOf(m); ok && f.ID == q.ID {
				return f, nil
			}
		}
	}
}

func fateOf(m message) (*fate, bool) {
	if m.Method != "hub/answer" {
		return nil, false
	}
	f := &fate{}
	return f, json.Unmarshal(m.Params, f) == nil
}
