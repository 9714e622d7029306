package conversation

import (
	"bytes"

	"zcodehub/internal/wire"
)

type op uint8

const (
	opUnknown op = iota
	opAppended
	opUpserted
	opRemoved
	opDelta
	opState
	opLive // of interest only to who is there; not part of the state
)

// livePrefix starts the names of all operations that change no state.
const livePrefix = "pluginUi."

// A delta is one operation on a conversation, read. Its slices are views.
type delta struct {
	op    op
	raw   []byte
	row   []byte // appended, upserted: raw object
	rowID int64  // of the row; removed: the first to go
	path  string // delta: one of the paths below, or "" if it is none of them
	at    int    // delta: where the contents of append's string start in raw …
	text  []byte // … and what they are, escapes kept
	patch []byte // state: raw object
	plain bool   // nothing stands in it that this package does not know, so it may be merged
}

// The fields that grow by row.delta.
const (
	pathText      = "text"
	pathInputText = "inputText"
	pathOutput    = "output.text"
	pathSummary   = "summaryText"
)

// readDelta reads one raw delta, valid JSON. ok is false if a known operation
// lacks what it must have.
func readDelta(raw []byte) (d delta, ok bool) {
	d = delta{raw: raw, plain: true}
	if !isObject(raw) {
		return d, false
	}
	var name, rowID, fromRowID, path, appended []byte
	for m := range wire.Members(raw) {
		switch string(m.Key) {
		case "op":
			name = m.Value
		case "row":
			d.row = m.Value
		case "rowId":
			rowID = m.Value
		case "fromRowId":
			fromRowID = m.Value
		case "path":
			path = m.Value
		case "append":
			appended = m.Value
			d.at = m.End - len(m.Value) + 1
		case "patch":
			d.patch = m.Value
		default:
			d.plain = false
		}
	}
	switch string(name) {
	case `"row.appended"`:
		d.op = opAppended
		d.rowID, ok = rowIDOf(d.row)
	case `"row.upserted"`:
		d.op = opUpserted
		d.rowID, ok = rowIDOf(d.row)
	case `"row.removed"`:
		d.op = opRemoved
		d.rowID, ok = wire.Int64(fromRowID)
	case `"row.delta"`:
		d.op = opDelta
		d.path = knownPath(path)
		d.plain = d.plain && d.path != ""
		if d.rowID, ok = wire.Int64(rowID); ok && len(appended) > 0 && appended[0] == '"' {
			d.text = appended[1 : len(appended)-1]
		} else {
			ok = false
		}
	case `"state.updated"`:
		d.op, ok = opState, isObject(d.patch)
	default:
		if s, isText := text(name); isText && bytes.HasPrefix(s, []byte(livePrefix)) {
			d.op = opLive
		}
		ok = true
	}
	return d, ok
}

func rowIDOf(row []byte) (int64, bool) {
	if !isObject(row) {
		return 0, false
	}
	id, _ := wire.Get(row, "rowId")
	return wire.Int64(id)
}

func knownPath(raw []byte) string {
	switch string(raw) {
	case `"` + pathText + `"`:
		return pathText
	case `"` + pathInputText + `"`:
		return pathInputText
	case `"` + pathOutput + `"`:
		return pathOutput
	case `"` + pathSummary + `"`:
		return pathSummary
	}
	return ""
}
