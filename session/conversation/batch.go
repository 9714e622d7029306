package conversation

import (
	"zcodehub/fanout"
	"zcodehub/internal/wire"
)

// A batch gathers the deltas of one message to come.
//
// The rules: adjacent pieces for the same string become one; adjacent patches
// become one in which later keys win; a row.upserted makes needless the pieces
// for that row since it last came whole, and an adjacent row.upserted of the
// same row; nothing is merged across a row.removed or an operation that is not
// known.
type batch struct {
	from, to uint64
	sentAt   int64
	snapshot []byte // raw payload, instead of deltas

	skipLive bool
	ops      []change
	bytes    int
	pieces   map[int64][]int // row → its pieces in ops that a row.upserted would make needless
}

// A change is one delta to come, perhaps made of several.
type change struct {
	delta
	needless bool
	merged   bool
	joined   []byte   // the text of merged pieces
	patches  document // the members of merged patches
}

// addAll takes an array of deltas, less what lane d leaves out.
func (b *batch) addAll(deltas []byte, d fanout.Delivery) {
	for raw := range wire.Elements(deltas) {
		read, ok := readDelta(raw)
		if !ok {
			read = delta{raw: raw} // opUnknown: passes
		}
		if read.op == opDelta && d == fanout.Replayable && desktopOnly(read.path) || read.op == opLive && b.skipLive {
			continue
		}
		b.add(read)
	}
}

func desktopOnly(path string) bool {
	return path == pathInputText || path == pathOutput || path == pathSummary
}

func (b *batch) add(d delta) {
	switch d.op {
	case opDelta:
		if b.mergePiece(&d) {
			return
		}
		if b.pieces == nil {
			b.pieces = map[int64][]int{}
		}
		b.pieces[d.rowID] = append(b.pieces[d.rowID], len(b.ops))
	case opState:
		if b.mergePatch(&d) {
			return
		}
	case opAppended:
		delete(b.pieces, d.rowID)
	case opUpserted:
		b.dropPieces(d.rowID)
		if last := b.last(); last != nil && last.op == opUpserted && last.rowID == d.rowID {
			b.bytes += len(d.raw) - len(last.raw)
			last.delta = d
			return
		}
	case opRemoved, opUnknown:
		clear(b.pieces)
	}
	b.ops = append(b.ops, change{delta: d})
	b.bytes += len(d.raw)
}

// last is the newest change; nil if there is none.
func (b *batch) last() *change {
	if len(b.ops) == 0 {
		return nil
	}
	return &b.ops[len(b.ops)-1]
}

func (b *batch) mergePiece(d *delta) bool {
	last := b.last()
	if last == nil || last.op != opDelta || last.rowID != d.rowID || last.path != d.path || !last.plain || !d.plain {
		return false
	}
	if !last.merged {
		last.merged = true
		last.joined = append(last.joined, last.text...)
	}
	last.joined = append(last.joined, d.text...)
	b.bytes += len(d.text)
	return true
}

func (b *batch) mergePatch(d *delta) bool {
	last := b.last()
	if last == nil || last.op != opState || !last.plain || !d.plain {
		return false
	}
	if !last.merged {
		last.merged = true
		last.patches.setAll(last.patch)
	}
	last.patches.setAll(d.patch)
	b.bytes += len(d.patch)
	return true
}

// dropPieces takes out the pieces for a row that comes whole now.
func (b *batch) dropPieces(rowID int64) {
	for _, i := range b.pieces[rowID] {
		b.bytes -= len(b.ops[i].raw)
		b.ops[i] = change{needless: true}
	}
	delete(b.pieces, rowID)
	for last := b.last(); last != nil && last.needless; last = b.last() {
		b.ops = b.ops[:len(b.ops)-1]
	}
}

// size is an upper bound of what appendPayload appends.
func (b *batch) size() int {
	n := len(b.snapshot) + 40
	for i := range b.ops {
		n += len(b.ops[i].raw) + len(b.ops[i].joined) + b.ops[i].patches.size() + 1
	}
	return n
}

func (b *batch) appendPayload(dst []byte) []byte {
	if b.snapshot != nil {
		return append(dst, b.snapshot...)
	}
	dst = append(dst, `{"kind":"deltas","deltas":[`...)
	first := true
	for i := range b.ops {
		if b.ops[i].needless {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = b.ops[i].append(dst)
	}
	return append(dst, `]}`...)
}

func (c *change) append(dst []byte) []byte {
	switch {
	case !c.merged:
		return append(dst, c.raw...)
	case c.op == opState:
		dst = append(dst, `{"op":"state.updated","patch":`...)
		return append(c.patches.append(dst, "", nil), '}')
	}
	dst = append(dst, c.raw[:c.at]...)
	dst = append(dst, c.joined...)
	return append(dst, c.raw[c.at+len(c.text):]...)
}
