package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// encode writes v the way JSON.stringify does: no HTML escapes, and U+2028/U+2029 as raw characters, which is what
// makes readers that split on Unicode line ends fail.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("simulator: value cannot be encoded: %v", err))
	}
	return unescapeLineSeparators(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// unescapeLineSeparators replaces the escapes of U+2028 and U+2029 that encoding/json always writes.
func unescapeLineSeparators(b []byte) []byte {
	if !bytes.Contains(b, []byte(`\u202`)) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 >= len(b) {
			out = append(out, b[i])
			continue
		}
		switch {
		case bytes.HasPrefix(b[i:], []byte(`\u2028`)):
			out, i = append(out, "\u2028"...), i+5
		case bytes.HasPrefix(b[i:], []byte(`\u2029`)):
			out, i = append(out, "\u2029"...), i+5
		default: // any other escape is two characters that must not be looked at again: `\\u2028` is a backslash and text
			out, i = append(out, b[i], b[i+1]), i+1
		}
	}
	return out
}
