package simulator

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxListedIssues is how many issues the text of an error names before it says "(+n more)".
const maxListedIssues = 5

// decodeStrict checks raw JSON against s and decodes it into T. Absent params count as an empty object. The schema is
// what guards the decoding: encoding/json alone would accept unknown and differently spelled keys.
func decodeStrict[T any](text raw, s schema) (T, []issue) {
	var out T
	var v any = map[string]any{}
	if text != nil {
		v = decodeAny(text)
	}
	if issues := s(v, nil); len(issues) > 0 {
		return out, issues
	}
	if text == nil || json.Unmarshal(text, &out) == nil {
		return out, nil
	}
	// A whole number in another spelling (1e2, 1.0) passes the schema but not encoding/json: normalise and try again.
	var again T
	if err := json.Unmarshal(encode(v), &again); err != nil {
		return again, []issue{{Code: "custom", Path: []any{}, Message: "Invalid input"}}
	}
	return again, nil
}

// invalidParams is the answer to legacy params that fail their schema.
func invalidParams(issues []issue) *fault {
	var parts []string
	for _, i := range issues[:min(len(issues), maxListedIssues)] {
		parts = append(parts, describe(i))
	}
	text := "Invalid params — " + strings.Join(parts, "; ")
	if more := len(issues) - maxListedIssues; more > 0 {
		text += fmt.Sprintf(" (+%d more)", more)
	}
	return &fault{codeInvalidParams, zodError(issues), text}
}

// zodError is the data member of validation errors: the library's error with its issue list as text.
func zodError(issues []issue) object {
	return object{"name": "ZodError", "message": issueText(issues)}
}

func issueText(issues []issue) string {
	text, err := json.MarshalIndent(issues, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("simulator: issues cannot be encoded: %v", err))
	}
	return string(text)
}

func describe(i issue) string {
	if len(i.Path) == 0 {
		return i.Message
	}
	steps := make([]string, len(i.Path))
	for n, step := range i.Path {
		steps[n] = fmt.Sprint(step)
	}
	return strings.Join(steps, ".") + ": " + i.Message
}
