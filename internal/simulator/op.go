package simulator

import "maps"

// op is one delta operation of V4: what an event changed in a projection. Logged and shared between subscriptions, so
// it is not written to once it is made; only opBuffer changes the copies that it owns.
type op struct {
	kind  string // one of the op… constants; anything else stands whole in row
	rowID int    // of row.appended, row.upserted and row.delta; fromRowId of row.removed
	row   raw
	path  string
	text  escaped
	patch map[string]raw
	owned bool // text or patch belong to the buffer that holds the op
}

const (
	opAppended = "row.appended"
	opUpserted = "row.upserted"
	opRemoved  = "row.removed"
	opDelta    = "row.delta"
	opState    = "state.updated"
)

// escaped is text as it stands between the quotes of a JSON string. Kept that way it grows by plain joining, and holds
// what a Go string cannot: halves of a surrogate pair.
type escaped []byte

func escape(text string) escaped {
	quoted := encode(text)
	return quoted[1 : len(quoted)-1]
}

func (t escaped) quoted() raw {
	return append(append(append(make([]byte, 0, len(t)+2), '"'), t...), '"')
}

// wire is the op as clients get it.
func (o op) wire() any {
	switch o.kind {
	case opAppended, opUpserted:
		return object{"op": o.kind, "row": o.row}
	case opRemoved:
		return object{"op": o.kind, "fromRowId": o.rowID}
	case opDelta:
		return object{"op": o.kind, "rowId": o.rowID, "path": o.path, "append": o.text.quoted()}
	case opState:
		return object{"op": o.kind, "patch": o.patch}
	}
	return o.row
}

// size is about what the op takes on the wire.
func (o op) size() int {
	n := 64 + len(o.row) + len(o.text) // 64: names, numbers and punctuation of an op
	for key, value := range o.patch {
		n += len(key) + len(value) + 4
	}
	return n
}

// opBuffer collects ops for a frame and coalesces them by the four rules of the protocol.
type opBuffer struct {
	ops  []op
	size int
}

func (b *opBuffer) add(o op) {
	if o.kind == opUpserted {
		b.supersede(o.rowID)
	}
	if n := len(b.ops); n > 0 && b.ops[n-1].absorb(o) {
		b.size += len(o.text)
		for key, value := range o.patch { // may count a key twice; the size only has to be a bound
			b.size += len(key) + len(value) + 4
		}
		if o.kind == opUpserted {
			b.size += len(o.row)
		}
		return
	}
	b.ops, b.size = append(b.ops, o), b.size+o.size()
}

// absorb merges next into o, its left neighbour, and reports whether that was possible.
func (o *op) absorb(next op) bool {
	switch {
	case o.kind != next.kind:
		return false
	case o.kind == opDelta && o.rowID == next.rowID && o.path == next.path:
		if !o.owned {
			o.text, o.owned = append(make(escaped, 0, 2*len(o.text)+len(next.text)), o.text...), true
		}
		o.text = append(o.text, next.text...)
	case o.kind == opState:
		if !o.owned {
			o.patch, o.owned = maps.Clone(o.patch), true
		}
		maps.Copy(o.patch, next.patch)
	case o.kind == opUpserted && o.rowID == next.rowID:
		o.row = next.row
	default:
		return false
	}
	return true
}

// supersede takes out the row's deltas that an upsert, about to be added, makes needless: back to a removal or to the
// previous appearance of the row as a whole.
func (b *opBuffer) supersede(rowID int) {
	for i := len(b.ops) - 1; i >= 0; i-- {
		o := b.ops[i]
		switch {
		case o.kind == opRemoved, o.rowID == rowID && (o.kind == opAppended || o.kind == opUpserted):
			return
		case o.kind == opDelta && o.rowID == rowID:
			b.size -= o.size()
			b.ops = append(b.ops[:i:i], b.ops[i+1:]...)
		}
	}
}

func (b *opBuffer) reset() { b.ops, b.size = nil, 0 }

// take hands the ops out in wire form and empties the buffer.
func (b *opBuffer) take() []any {
	list := make([]any, 0, len(b.ops))
	for _, o := range b.ops {
		list = append(list, o.wire())
	}
	b.reset()
	return list
}
