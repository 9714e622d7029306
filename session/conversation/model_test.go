package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"zcodehub/internal/wire"
)

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// A reader is a client as the protocol has it, written without regard to cost:
// everything is decoded, everything it ever got is kept.
type reader struct {
	assembler Assembler
	seq       uint64
	zone      map[string]any
	rows      []readerRow
	total     int
	first     any
}

type readerRow struct {
	id     int64
	fields map[string]json.RawMessage
}

var errReaderGap = errors.New("gap")

// read takes messages as they come from the hub.
func (r *reader) read(t tb, messages ...[]byte) error {
	t.Helper()
	for _, msg := range messages {
		params, _ := wire.Get(msg, "params")
		f, fault := r.assembler.Add(params, time.Time{})
		if fault != nil {
			t.Fatalf("fault %v of %.300s", fault, msg)
		}
		if f == nil {
			continue
		}
		if err := r.apply(t, f); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) apply(t tb, f *Frame) error {
	t.Helper()
	if f.Kind == Snapshot {
		r.load(t, f)
		return nil
	}
	if f.From != r.seq {
		return errReaderGap
	}
	for raw := range f.Deltas() {
		var d struct {
			Op        string
			Row       map[string]json.RawMessage
			RowID     int64
			FromRowID int64
			Path      string
			Append    json.RawMessage
			Patch     map[string]any
		}
		must(t, json.Unmarshal(raw, &d))
		switch d.Op {
		case "row.appended":
			r.push(t, d.Row)
			r.total++
			if r.first == nil {
				r.first = float64(r.rows[len(r.rows)-1].id)
			}
		case "row.upserted":
			id := idOf(t, d.Row)
			for i := range r.rows {
				if r.rows[i].id == id {
					r.rows[i].fields = d.Row
				}
			}
		case "row.removed":
			r.remove(d.FromRowID)
		case "row.delta":
			for i := range r.rows {
				if r.rows[i].id == d.RowID {
					grow(t, r.rows[i].fields, d.Path, d.Append)
				}
			}
		case "state.updated":
			for k, v := range d.Patch {
				r.zone[k] = v
			}
		}
	}
	r.seq = f.To
	return nil
}

func (r *reader) load(t tb, f *Frame) {
	var s struct {
		Rows struct {
			Window     []map[string]json.RawMessage
			TotalCount int
			FirstRowID any
		}
	}
	must(t, json.Unmarshal(f.Snapshot(), &s))
	r.zone = map[string]any{}
	must(t, json.Unmarshal(f.Snapshot(), &r.zone))
	delete(r.zone, "rows")
	r.rows, r.total, r.first, r.seq = nil, s.Rows.TotalCount, s.Rows.FirstRowID, f.To
	for _, row := range s.Rows.Window {
		r.push(t, row)
	}
}

func (r *reader) push(t tb, fields map[string]json.RawMessage) {
	r.rows = append(r.rows, readerRow{idOf(t, fields), fields})
}

func (r *reader) remove(from int64) {
	before := len(r.rows)
	r.rows = slices.DeleteFunc(r.rows, func(row readerRow) bool { return row.id >= from })
	if first, ok := r.first.(float64); ok && from <= int64(first) {
		r.total, r.first = 0, nil
		return
	}
	r.total -= before - len(r.rows)
}

// grow concatenates by splicing tokens, since a Go string cannot hold half a
// surrogate pair.
func grow(t tb, fields map[string]json.RawMessage, path string, more json.RawMessage) {
	kinds := map[string]string{"text": `"assistantText" "reasoning"`, "inputText": `"toolCall"`, "output.text": `"toolCall"`, "summaryText": `"subagent"`}
	if !strings.Contains(kinds[path], string(fields["kind"])) {
		return
	}
	if path == "output.text" {
		var output map[string]json.RawMessage
		if fields["output"] == nil || json.Unmarshal(fields["output"], &output) != nil || output == nil {
			return
		}
		concatenate(output, "text", more)
		joined, err := json.Marshal(output)
		must(t, err)
		fields["output"] = joined
		return
	}
	concatenate(fields, path, more)
}

func concatenate(fields map[string]json.RawMessage, key string, more json.RawMessage) {
	have := fields[key]
	if have == nil {
		have = json.RawMessage(`""`)
	}
	fields[key] = json.RawMessage(string(have[:len(have)-1]) + string(more[1:]))
}

// snapshot is what the reader shows: the newest rows, at most count.
func (r *reader) snapshot(t tb, count int) []byte {
	t.Helper()
	window := []map[string]json.RawMessage{}
	for _, row := range r.rows[max(0, len(r.rows)-count):] {
		window = append(window, row.fields)
	}
	s := map[string]any{}
	for k, v := range r.zone {
		s[k] = v
	}
	s["seq"] = r.seq
	s["rows"] = map[string]any{"window": window, "totalCount": r.total, "firstRowId": r.first}
	b, err := json.Marshal(s)
	must(t, err)
	return b
}

func idOf(t tb, fields map[string]json.RawMessage) (id int64) {
	t.Helper()
	must(t, json.Unmarshal(fields["rowId"], &id))
	return id
}

// canonical is the one text for all JSON texts that mean the same.
func canonical(t tb, text []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

func must(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// updates is a run of messages of the continuous lane.
type updates []update

type update struct {
	from, to uint64
	msg      []byte
}

func (u updates) Each(yield func(from, to uint64, msg []byte)) {
	for _, x := range u {
		yield(x.from, x.to, x.msg)
	}
}

const testTopic = "conversation/sess_1"

// A counter makes the heads of one lane.
type counter struct {
	name    string
	ordinal uint64
}

func (c *counter) head(deliveryKind string) Head {
	c.ordinal++
	return Head{
		SubscriptionID: c.name, LogicalFrameID: fmt.Sprintf("%s-lf-%d", c.name, c.ordinal),
		Ordinal: c.ordinal, DeliveryKind: deliveryKind, Topic: testTopic,
	}
}

func (c *counter) online(uint64) Head { return c.head(Online) }
