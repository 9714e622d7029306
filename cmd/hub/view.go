package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"zcodehub/internal/wire"
	"zcodehub/session"
)

// view shows what happens in a session as text, or each message as a line of JSON. All text of the agent and its tools
// is made harmless to the terminal.
type view struct {
	w       io.Writer
	asJSON  bool
	midLine bool            // text without a line end was written last
	message string          // whose text that was
	tools   map[string]bool // tool calls whose line was written
}

func newView(w io.Writer, asJSON bool) *view {
	return &view{w: w, asJSON: asJSON, tools: map[string]bool{}}
}

// show writes what a message means to somebody who watches.
func (v *view) show(m message) {
	if v.asJSON {
		_, _ = fmt.Fprintf(v.w, "%s\n", wire.OneLine(m.text))
		return
	}
	if e, ok := eventOf(m); ok {
		v.event(e)
		return
	}
	switch m.Method {
	case "hub/interactionSettled":
		var s session.Settlement
		if json.Unmarshal(m.Params, &s) == nil {
			v.line("= %s by %s", s.Outcome, plainLine(s.By.Name))
		}
	case "hub/appServer":
		var n struct{ State, Detail string }
		if json.Unmarshal(m.Params, &n) == nil {
			v.line("! app-server: %s", plainLine(strings.TrimSpace(n.State+" "+n.Detail)))
		}
	case "hub/snapshot":
		v.line("! updates were skipped here")
	case "hub/closing":
		v.line("! the hub is closing")
	}
}

func (v *view) event(e *event) {
	p := &e.Payload
	switch e.Type {
	case "turn.started":
		var input string
		_ = json.Unmarshal(p.Input, &input)
		v.line("> %s", indented(input))
	case "turn.steerQueued":
		var input string
		_ = json.Unmarshal(p.Input, &input)
		v.line("+ queued: %s", indented(input))
	case "turn.steerDrained":
		for _, in := range p.DrainedInputs {
			v.line("> %s", indented(in.Input))
		}
	case "model.streaming":
		switch p.Kind {
		case "text_delta":
			v.text(p.MessageID, p.Delta)
		case "tool_call":
			v.call(p.ToolCallID, p.ToolName, p.Input)
		}
	case "tool.updated":
		v.tool(e)
	case "turn.completed":
		v.line("- %s after %s", ended(p.ResultType), shortDuration(time.Duration(p.Duration*float64(time.Millisecond)).Round(time.Second)))
	case "turn.failed":
		v.line("- the turn failed: %s", indented(errorText(p.Error)))
	}
}

func ended(resultType string) string {
	switch resultType {
	case "success":
		return "done"
	case "cancelled":
		return "stopped"
	}
	return "ended (" + plainLine(resultType) + ")"
}

func (v *view) call(id, tool string, input json.RawMessage) {
	if !v.tools[id] {
		v.tools[id] = true
		v.line("* %s %s", plainLine(tool), indented(inputSummary(input)))
	}
}

// maxResultLines is how much of a tool's output is shown: enough to see how it went.
const maxResultLines = 12

func (v *view) tool(e *event) {
	p := &e.Payload
	switch p.Kind {
	case "scheduled":
		v.call(p.ToolCallID, p.ToolName, p.Input) // no tool_call need have come before it
	case "result":
		delete(v.tools, p.ToolCallID)
		var content string
		_ = json.Unmarshal(p.Result.Content, &content)
		lines := strings.Split(strings.TrimRight(plain(content), "\n"), "\n")
		if left := len(lines) - maxResultLines; left > 0 {
			lines = append(lines[:maxResultLines], fmt.Sprintf("… %d more lines", left))
		}
		for _, line := range lines {
			v.line("  | %s", line)
		}
	case "error":
		delete(v.tools, p.ToolCallID)
		v.line("  ! %s", indented(errorText(p.Error)))
	}
}

// errorText reads an error that is a text or an object with a message.
func errorText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object struct{ Message string }
	_ = json.Unmarshal(raw, &object)
	return object.Message
}

// question writes a question with the keys that answer it, and rings.
func (v *view) question(q *question, keys []key) {
	if v.asJSON {
		return // the message itself was shown
	}
	v.line("\a? %s %s", q.shortID(), q.title())
	p := &q.Params
	switch {
	case q.Kind == session.Plan:
		var input struct{ Plan string }
		_ = json.Unmarshal(p.Input, &input)
		v.line("    %s", indented(input.Plan))
	case q.Kind == session.Permission:
		v.line("    %s", indented(q.summary()))
		if p.Reason != "" {
			v.line("    (%s)", indented(p.Reason))
		}
	}
	for _, asked := range p.Questions {
		if q.Kind == session.Plan {
			break
		}
		labels := make([]string, len(asked.Options))
		for i, o := range asked.Options {
			labels[i] = plainLine(o.Label)
		}
		v.line("    %s (%s)", indented(asked.Question), strings.Join(labels, ", "))
	}
	if len(keys) == 0 {
		v.line("    answer with: hub allow %s%s, or hub deny %[1]s --why TEXT", q.shortID(), q.wordsWanted())
		return
	}
	words := make([]string, len(keys))
	for i, k := range keys {
		words[i] = fmt.Sprintf("[%c] %s", k.char, plainLine(k.means))
	}
	v.line("    %s", strings.Join(words, "  "))
	if wanted := q.wordsWanted(); wanted != "" {
		v.line("    or: hub allow %s%s", q.shortID(), wanted)
	}
}

// wordsWanted are the flags of hub allow that answer the questions in words.
func (q *question) wordsWanted() string {
	if q.Kind == session.Plan {
		return ""
	}
	return strings.Repeat(" --answer TEXT", len(q.Params.Questions))
}

func (q *question) title() string {
	switch q.Kind {
	case session.Permission:
		if q.Params.RiskLevel != "" {
			return fmt.Sprintf("%s wants to run (risk: %s)", plainLine(q.ToolName), plainLine(q.Params.RiskLevel))
		}
		return plainLine(q.ToolName) + " wants to run"
	case session.Plan:
		return "is this plan approved?"
	}
	return "the agent asks"
}

// text goes on with the text of a message; another message begins on a line of its own.
func (v *view) text(message, s string) {
	s = plain(s)
	if s == "" {
		return
	}
	if v.midLine && message != v.message {
		s = "\n" + s
	}
	_, _ = io.WriteString(v.w, s)
	v.midLine, v.message = !strings.HasSuffix(s, "\n"), message
}

// line writes a line of its own. What is formatted must be plain already.
func (v *view) line(format string, args ...any) {
	if v.midLine {
		_, _ = io.WriteString(v.w, "\n")
		v.midLine = false
	}
	_, _ = fmt.Fprintf(v.w, format+"\n", args...)
}

// note is a line about the watching itself.
func (v *view) note(format string, args ...any) {
	if !v.asJSON {
		v.line(format, args...)
	}
}

// indented keeps the lines of a text below its first one.
func indented(s string) string {
	return strings.ReplaceAll(strings.TrimRight(plain(s), "\n"), "\n", "\n    ")
}
