package acp

import (
	"encoding/json"

	"zcodehub/internal/wire"
)

// result is what a tool gave back, read from an event or from a stored message.
type result struct {
	failed   bool
	text     string
	images   []block
	display  json.RawMessage
	exitCode *int64
}

func readResult(raw json.RawMessage) result {
	var p struct {
		Success *bool
		Content json.RawMessage
		Error   json.RawMessage
		Display json.RawMessage
		Perf    struct {
			ExitCode *int64
			Detail   struct{ Command struct{ ExitCode *int64 } }
		}
	}
	if _, isText := wire.StringValue(raw); isText {
		p.Content = raw
	} else {
		_ = json.Unmarshal(raw, &p)
	}
	r := result{failed: p.Success != nil && !*p.Success, display: p.Display, exitCode: p.Perf.ExitCode}
	if r.exitCode == nil {
		r.exitCode = p.Perf.Detail.Command.ExitCode
	}
	r.text, r.images = blocksOf(p.Content)
	if r.failed && r.text == "" {
		r.text = errorText(p.Error)
	}
	return r
}

// errorText is the text of an error that may be a string or an object.
func errorText(raw json.RawMessage) string {
	if text := textOf(raw, "message"); text != "" {
		return text
	}
	text, _ := blocksOf(raw)
	return text
}

// result ends a card with what the tool gave. The launch of a command in the background ends nothing.
func (t *Translator) result(c *card, r result) []Update {
	r.text = withoutReminders(r.text)
	switch {
	case r.failed:
		return t.fail(c, r.text)
	case c.detached && isCommand(c.tool):
		c.lasting = true // this is only the end of its launch
		return c.advance()
	}
	var updates []Update
	if c.inTerminal() {
		updates = c.exit(statusCompleted, r.text, r.exitCode)
	} else {
		u := c.more(statusCompleted)
		u.Content, u.Locations = contentOf(c.tool, c.input, r)
		if c.tool == toolPlan { // content takes the place of what the card showed, and the plan is to stay
			u.Content = append(planContent(c.input), u.Content...)
		}
		u.RawOutput = head(plain(r.text), maxRawOutput)
		updates = []Update{u.update()}
	}
	if c.tool == toolTodo {
		updates = append(updates, t.planChanged(memberOf(c.input, "todos"))...)
	}
	c.finish(false)
	return updates
}

// fail ends a card with an error.
func (t *Translator) fail(c *card, text string) []Update {
	text = first(withoutReminders(text), c.denial, "The tool failed and did not say why.")
	return t.close(c, statusFailed, cut(plain(text), maxOutput))
}

// contentOf is what a card shows of a result: the change of a file, else the text.
func contentOf(tool string, input json.RawMessage, r result) (content []any, places []location) {
	if diffs := diffsOf(tool, input, r.display); len(diffs) > 0 {
		for _, d := range diffs {
			content = append(content, d.diff)
			places = append(places, location{d.diff.Path, d.line})
		}
		return content, places
	}
	if text := cut(plain(r.text), maxOutput); text != "" {
		if isCommand(tool) {
			text = fenced("console", text)
		}
		content = append(content, wrap(textBlock(text)))
	}
	for _, image := range r.images {
		content = append(content, wrap(image))
	}
	return content, nil
}
