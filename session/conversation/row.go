package conversation

import (
	"bytes"

	"zcodehub/internal/wire"
)

// A row is one row of a conversation as raw JSON, in which strings can grow
// without being copied each time.
type row struct {
	id      int64
	kind    string // raw value of kind
	raw     []byte // never written to
	growing []growth
}

// A growth is what was appended to one string of a row.
type growth struct {
	path string
	at   int    // index in raw of the quote that ends the string
	text []byte // contents to come before that quote
}

func newRow(id int64, raw []byte) *row {
	kind, _ := wire.Get(raw, "kind")
	return &row{id: id, kind: string(kind), raw: bytes.Clone(raw)}
}

func (r *row) size() (n int) {
	n = len(r.raw)
	for i := range r.growing {
		n += len(r.growing[i].text)
	}
	return n
}

// takes says whether a row of this kind has a string at path that can grow.
func (r *row) takes(path string) bool {
	switch r.kind {
	case `"assistantText"`, `"reasoning"`:
		return path == pathText
	case `"toolCall"`:
		return path == pathInputText || path == pathOutput
	case `"subagent"`:
		return path == pathSummary
	}
	return false
}

// grow appends text, the contents of a JSON string, to the string at path. What
// cannot take it stays as it is.
func (r *row) grow(path string, text []byte) {
	for i := range r.growing {
		if g := &r.growing[i]; g.path == path {
			g.text = append(g.text, text...)
			return
		}
	}
	if !r.takes(path) {
		return
	}
	at, ok := r.find(path)
	if !ok {
		return
	}
	g := growth{path: path, at: at, text: bytes.Clone(text)}
	if len(r.growing) > 0 && r.growing[0].at > at { // there are two at most
		r.growing = append([]growth{g}, r.growing...)
	} else {
		r.growing = append(r.growing, g)
	}
}

// find returns the index in raw of the quote that ends the string at path. A
// string that is not there yet is put there, empty, in the object that is to
// hold it.
func (r *row) find(path string) (at int, ok bool) {
	holder, key := span{0, len(r.raw)}, path
	if path == pathOutput {
		if holder, ok = memberOf(r.raw, holder, "output"); !ok || r.raw[holder.start] != '{' {
			return 0, false
		}
		key = "text"
	}
	if s, ok := memberOf(r.raw, holder, key); ok {
		return s.end - 1, r.raw[s.start] == '"'
	}
	r.insert(holder.end-1, key)
	s, ok := memberOf(r.raw, span{holder.start, len(r.raw)}, key)
	return s.end - 1, ok
}

// insert puts an empty string into the object whose closing brace is at end.
func (r *row) insert(end int, key string) {
	text := `"` + key + `":""`
	if before := bytes.TrimRight(r.raw[:end], " \t\r\n"); before[len(before)-1] != '{' {
		text = "," + text
	}
	raw := make([]byte, 0, len(r.raw)+len(text))
	raw = append(raw, r.raw[:end]...)
	raw = append(raw, text...)
	r.raw = append(raw, r.raw[end:]...)
	for i := range r.growing {
		if r.growing[i].at > end {
			r.growing[i].at += len(text)
		}
	}
}

// append appends the row as it is now.
func (r *row) append(dst []byte) []byte {
	from := 0
	for i := range r.growing {
		g := &r.growing[i]
		dst = append(dst, r.raw[from:g.at]...)
		dst = append(dst, g.text...)
		from = g.at
	}
	return append(dst, r.raw[from:]...)
}

// A span is a part of some bytes.
type span struct{ start, end int }

// memberOf finds the value of a member of the object at within in raw; the last
// one counts.
func memberOf(raw []byte, within span, key string) (s span, ok bool) {
	for m := range wire.Members(raw[within.start:]) {
		if string(m.Key) == key {
			end := within.start + m.End
			s, ok = span{end - len(m.Value), end}, true
		}
	}
	return s, ok
}
