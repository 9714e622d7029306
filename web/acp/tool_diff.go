package acp

import (
	"encoding/json"
	"strconv"
	"strings"
)

// maxDiff bounds the text of one change: what is larger is looked at in the file.
const maxDiff = 256 << 10

// change is a diff with the line where it begins, from 1; 0 means unknown.
type change struct {
	diff diff
	line int
}

// display is how the app-server wants a result shown. A change of a file comes as hunks, or as the text of a unified
// diff; a patch of several files as a list of such.
type display struct {
	Kind, FilePath, Diff string
	StructuredPatch      []hunk
	Files                []display
}

type hunk struct {
	OldStart, OldLines, NewStart int
	Lines                        []string // each with its sign: space, - or +
}

// diffsOf are the changes that a call made: those that the result shows, else what the arguments of Edit and Write say.
func diffsOf(tool string, input, shown json.RawMessage) []change {
	if toolKind(tool) != "edit" {
		return nil
	}
	var d display
	_ = json.Unmarshal(shown, &d)
	if changes := d.changes(pathOf(input)); len(changes) > 0 {
		return changes
	}
	if c, ok := changeOfInput(tool, input); ok {
		return []change{c}
	}
	return nil
}

func (d display) changes(path string) (changes []change) {
	for _, file := range d.Files {
		file.Files = nil // a list of lists is none
		changes = append(changes, file.changes("")...)
	}
	path = first(d.FilePath, path)
	if path == "" {
		return changes
	}
	hunks := d.StructuredPatch
	if len(hunks) == 0 {
		hunks = hunksOf(d.Diff)
	}
	for _, h := range hunks {
		if c, ok := h.change(path); ok {
			changes = append(changes, c)
		}
	}
	return changes
}

func (h hunk) change(path string) (change, bool) {
	var before, after strings.Builder
	for _, line := range h.Lines {
		if line == "" {
			line = " "
		}
		text := line[1:] + "\n"
		switch line[0] {
		case '-':
			before.WriteString(text)
		case '+':
			after.WriteString(text)
		case ' ':
			before.WriteString(text)
			after.WriteString(text)
		}
	}
	if before.Len()+after.Len() > maxDiff || before.String() == after.String() {
		return change{}, false
	}
	d := diff{Type: "diff", Path: path, NewText: after.String()}
	if before.Len() > 0 || h.OldStart > 0 {
		text := before.String()
		d.OldText = &text
	}
	return change{d, max(h.NewStart, 0)}, true
}

// hunksOf reads the text of a unified diff of one file.
func hunksOf(text string) (hunks []hunk) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "@@ ") {
			hunks = append(hunks, hunkHead(line))
			continue
		}
		if len(hunks) == 0 || strings.HasPrefix(line, `\`) { // head, or "no newline at end of file"
			continue
		}
		last := &hunks[len(hunks)-1]
		last.Lines = append(last.Lines, line)
	}
	return hunks
}

// hunkHead reads a line like "@@ -1,3 +1,4 @@ name".
func hunkHead(line string) (h hunk) {
	for _, field := range strings.Fields(line) {
		number, _, _ := strings.Cut(field[1:], ",")
		n, _ := strconv.Atoi(number)
		switch field[0] {
		case '-':
			h.OldStart = n
		case '+':
			h.NewStart = n
		}
	}
	return h
}

// changeOfInput is the change that a call asks for.
func changeOfInput(tool string, input json.RawMessage) (change, bool) {
	d := diff{Type: "diff", Path: pathOf(input)}
	switch tool {
	case toolEdit:
		before := textOf(input, "old_string")
		d.NewText = textOf(input, "new_string")
		if before != "" {
			d.OldText = &before
		}
	case toolWrite:
		d.NewText = textOf(input, "content")
	default:
		return change{}, false
	}
	size := len(d.NewText)
	if d.OldText != nil {
		size += len(*d.OldText)
	}
	if d.Path == "" || size == 0 || size > maxDiff {
		return change{}, false
	}
	return change{diff: d}, true
}
