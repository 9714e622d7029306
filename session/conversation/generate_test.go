package conversation

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// A script makes up what the publisher of one conversation sends.
type script struct {
	t     *rapid.T
	next  int64          // row id
	first int64          // of the rows that were never removed; 0 if there are none
	kinds map[int64]int  // of all rows
	last  int64          // row that got the last piece
	open  map[int64]bool // rows of which a piece was sent that not everybody gets
}

var rowKinds = []string{"assistantText", "reasoning", "toolCall", "toolCall", "subagent", "turnHeader", "novelKind"}

// Pieces of text as they stand in JSON. Half a surrogate pair may be followed by
// the other half in the next piece.
var texts = []string{``, `a`, `Hello, `, `\n`, `\"}]`, `\\`, `\u00e9`, `é😀`, `\ud83d`, `\ude00`, strings.Repeat("long ", 100)}

func (s *script) text(label string) string { return rapid.SampledFrom(texts).Draw(s.t, label) }

func (s *script) n(label string, least, most int) int {
	return rapid.IntRange(least, most).Draw(s.t, label)
}

// row is a row with all that can be odd about one.
func (s *script) row(id int64) string {
	fields := []string{fmt.Sprintf(`"rowId":%d`, id), `"createdAtSeq": 7`}
	add := func(label, format string, a ...any) {
		if s.n(label, 0, 3) > 0 {
			fields = append(fields, fmt.Sprintf(format, a...))
		}
	}
	switch kind := rowKinds[s.kinds[id]]; kind {
	case "toolCall":
		add("inputText", `"inputText":"%s"`, s.text("text"))
		if s.n("outputText", 0, 1) > 0 {
			add("output", `"output":{"text":"%s","truncated":{"ref":"x"}}`, s.text("text"))
		} else {
			add("output", `"output": {%s}`, rapid.SampledFrom([]string{``, ` `, `"display":1`}).Draw(s.t, "display"))
		}
	case "subagent":
		add("summary", `"summaryText":"%s"`, s.text("text"))
	default:
		add("text", `"text":"%s"`, s.text("text"))
	}
	add("unknown", `"novel":{"text":"not this one","n":[1,2.50,{}]}`)
	fields = append(fields, fmt.Sprintf(`"kind":"%s"`, rowKinds[s.kinds[id]]))
	fields = rapid.Permutation(fields).Draw(s.t, "order")
	return `{` + strings.Join(fields, ", ") + `}`
}

func (s *script) appendRow() string {
	id := s.next
	s.next += int64(s.n("step", 1, 2))
	if s.first == 0 {
		s.first = id
	}
	s.kinds[id] = s.n("kind", 0, len(rowKinds)-1)
	return fmt.Sprintf(`{"op":"row.appended","row":%s}`, s.row(id))
}

func (s *script) upsert(id int64) string {
	delete(s.open, id)
	return fmt.Sprintf(`{"row":%s,"op":"row.upserted"}`, s.row(id))
}

// anyRow is a row that is there or has been, most often a new one.
func (s *script) anyRow(depth int) int64 {
	return max(1, s.next-int64(s.n("back", 0, depth)))
}

func (s *script) piece() string {
	id := s.anyRow(4)
	if s.last > 0 && s.n("same", 0, 2) > 0 {
		id = s.last
	}
	s.last = id
	fitting := []string{"text"}
	switch rowKinds[s.kinds[id]] {
	case "toolCall":
		fitting = []string{"inputText", "output.text"}
	case "subagent":
		fitting = []string{"summaryText"}
	}
	if s.n("misfit", 0, 9) == 0 {
		fitting = []string{"text", "inputText", "summaryText", "novel.text"}
	}
	path := rapid.SampledFrom(fitting).Draw(s.t, "path")
	if path != "text" {
		s.open[id] = true
	}
	extra := ""
	if s.n("extra", 0, 9) == 0 {
		extra = `,"novel":1`
	}
	return fmt.Sprintf(`{"op":"row.delta","rowId":%d,"path":"%s","append":"%s"%s}`, id, path, s.text("append"), extra)
}

func (s *script) remove() string {
	from := s.anyRow(rapid.SampledFrom([]int{3, 20, 40, 90, 400}).Draw(s.t, "depth"))
	if from <= s.first {
		s.first = 0
	}
	return fmt.Sprintf(`{"op":"row.removed","fromRowId":%d}`, from)
}

func (s *script) patch() string {
	fields := []string{}
	for range s.n("keys", 0, 3) {
		key := rapid.SampledFrom([]string{"revision", "control", "usage", "goal", "novel", "pendingInteractions"}).Draw(s.t, "key")
		value := rapid.SampledFrom([]string{`null`, `1`, `{"a":{"b":[1]}}`, `[]`, `[{"interactionId":"i1"},{"interactionId":"i\u0032"}]`}).Draw(s.t, "value")
		fields = append(fields, fmt.Sprintf(`"%s":%s`, key, value))
	}
	return `{"op":"state.updated","patch":{` + strings.Join(fields, ",") + `}}`
}

// deltas is one frame's worth.
func (s *script) deltas() []string {
	var list []string
	for range s.n("deltas", 0, 6) {
		switch k := s.n("op", 0, 99); {
		case k < 40:
			list = append(list, s.piece())
		case k < 60:
			list = append(list, s.appendRow())
		case k < 75:
			list = append(list, s.upsert(s.anyRow(4)))
		case k < 92:
			list = append(list, s.patch())
		case k < 95:
			list = append(list, s.remove())
		case k < 99:
			for range s.n("burst", 30, 70) {
				list = append(list, s.appendRow())
			}
		default:
			list = append(list, `{"op":"pluginUi.resourceUpdated","uri":"x"}`)
		}
	}
	return list
}

// closing sends whole all rows of which a piece was sent that not everybody got.
func (s *script) closing() (list []string) {
	for id := range s.open {
		if s.kinds[id] != 0 || s.next > id {
			list = append(list, s.upsert(id))
		}
	}
	return list
}

// snapshot is a first snapshot of a conversation of some length.
func newScript(t *rapid.T) (s *script, rows []string) {
	s = &script{t: t, next: 1, kinds: map[int64]int{}, open: map[int64]bool{}}
	for range rapid.SampledFrom([]int{0, 3, 59, 61, 130}).Draw(t, "history") {
		id := s.next
		s.next++
		if s.first == 0 {
			s.first = id
		}
		s.kinds[id] = int(id) % len(rowKinds)
		rows = append(rows, fmt.Sprintf(`{"rowId":%d,"kind":"%s","text":"old"}`, id, rowKinds[s.kinds[id]]))
	}
	return s, rows
}
