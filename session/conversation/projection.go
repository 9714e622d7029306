package conversation

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"zcodehub/internal/wire"
)

// Why a frame was not applied. After each of them the state is what it was
// before, and the caller fetches a snapshot.
var (
	ErrGap       = errors.New("the frame does not follow what was applied last")
	ErrUnknownOp = errors.New("unknown operation")
	ErrMalformed = errors.New("malformed payload")
)

// A State is the snapshot of one topic, kept up to date by applying frames.
type State interface {
	// Apply applies all of a frame or nothing.
	Apply(*Frame) error
	// Snapshot is the state as a raw snapshot object, nil before the first one
	// came. It is immutable and shared until the next change.
	Snapshot() []byte
	Seq() uint64
	Epoch() string
}

const (
	// servedRows is how many rows a snapshot holds (4.12).
	servedRows = 60
	// servedBytes bounds the rows of a snapshot, so that it can be told in one
	// logical frame; 1 MiB is left for everything else.
	servedBytes = maxLogicalBytes - 1<<20
	// keptRows is how many rows are kept, so that a rewind of several turns still
	// leaves a whole window to serve.
	keptRows = 200
	// keptBytes bounds the rows kept beyond those served: the size of a
	// stream's log.
	keptBytes = 16 << 20
)

// A Projection is the state of a conversation. The zero value waits for a
// snapshot.
type Projection struct {
	version
	doc     document // everything but the rows, which stand empty in their place
	frame   document // rows without window, totalCount, firstRowId: what else may be there
	rows    []*row   // the newest, in order
	bytes   int      // in rows
	total   int64
	first   []byte // raw firstRowId
	pending []string

	// lowest is the oldest row that every reader surely has: none got a snapshot
	// that begins later.
	lowest int64
	doubt  bool
}

// version is what all states have: how far they have come, and the snapshot of
// that if somebody asked for it.
type version struct {
	epoch  string
	seq    uint64
	cached []byte
}

func (v *version) Seq() uint64   { return v.seq }
func (v *version) Epoch() string { return v.epoch }

// follows checks that a frame of deltas can be applied.
func (v *version) follows(f *Frame) error {
	if v.epoch == "" || f.From != v.seq {
		return fmt.Errorf("%w: frame (%d, %d] after %d", ErrGap, f.From, f.To, v.seq)
	}
	return nil
}

// rawSeq is seq as JSON.
func (v *version) rawSeq() []byte { return strconv.AppendUint(nil, v.seq, 10) }

// reach moves on after a frame was applied.
func (v *version) reach(f *Frame) {
	v.seq = f.To
	v.cached = nil
}

// Apply implements State. Operations that change no state are passed over.
func (p *Projection) Apply(f *Frame) error {
	if f.Kind == Snapshot {
		return p.load(f)
	}
	if err := p.follows(f); err != nil {
		return err
	}
	var few [8]delta
	deltas := few[:0]
	for raw := range f.Deltas() {
		d, ok := readDelta(raw)
		switch {
		case !ok || d.op == opState && !patchable(d.patch):
			return ErrMalformed
		case d.op == opUnknown:
			return ErrUnknownOp
		}
		deltas = append(deltas, d)
	}
	for i := range deltas {
		p.apply(&deltas[i])
	}
	p.trim()
	p.reach(f)
	return nil
}

// patchable says whether a patch leaves alone what is not its to change.
func patchable(patch []byte) bool {
	for m := range wire.Members(patch) {
		switch string(m.Key) {
		case "rows", "sessionId", "protocolVersion":
			return false
		}
	}
	return true
}

func (p *Projection) load(f *Frame) error {
	var n Projection
	n.doc = readDocument(f.Snapshot())
	epoch, _ := text(n.doc.get("logEpoch"))
	rows := n.doc.get("rows")
	if len(epoch) == 0 || !isObject(rows) {
		return ErrMalformed
	}
	n.epoch = string(epoch)
	n.doc.set("rows", nil)
	n.first = []byte("null")
	for m := range wire.Members(rows) {
		ok := true
		switch string(m.Key) {
		case "window":
			ok = n.loadWindow(m.Value)
		case "totalCount":
			n.total, ok = wire.Int64(m.Value)
		case "firstRowId":
			n.first = bytes.Clone(m.Value)
		default:
			n.frame.set(string(m.Key), bytes.Clone(m.Value))
		}
		if !ok {
			return ErrMalformed
		}
	}
	n.pending = interactionIDs(n.doc.get("pendingInteractions"))
	n.note(n.rows) // the snapshot goes to the readers as it came
	n.trim()
	n.reach(f)
	*p = n
	return nil
}

func (p *Projection) loadWindow(window []byte) bool {
	if len(window) == 0 || window[0] != '[' {
		return false
	}
	p.rows, p.bytes = nil, 0
	for raw := range wire.Elements(window) {
		id, ok := rowIDOf(raw)
		if !ok {
			return false
		}
		p.push(newRow(id, raw))
	}
	return true
}

func (p *Projection) push(r *row) {
	p.rows = append(p.rows, r)
	p.bytes += r.size()
}

func (p *Projection) apply(d *delta) {
	switch d.op {
	case opAppended:
		r := newRow(d.rowID, d.row)
		p.push(r)
		p.total++
		if string(p.first) == "null" {
			p.first = strconv.AppendInt(nil, r.id, 10)
		}
	case opUpserted:
		if i := p.find(d.rowID); i >= 0 {
			p.bytes -= p.rows[i].size()
			p.rows[i] = newRow(d.rowID, d.row)
			p.bytes += p.rows[i].size()
		}
	case opDelta:
		if i := p.find(d.rowID); i >= 0 && d.path != "" {
			p.bytes -= p.rows[i].size()
			p.rows[i].grow(d.path, d.text)
			p.bytes += p.rows[i].size()
		}
	case opRemoved:
		p.remove(d.rowID)
	case opState:
		p.patch(d.patch)
	}
}

// find returns the index of a row; -1 if it is not kept. Most are looked for
// soon after they were made.
func (p *Projection) find(id int64) int {
	for i := len(p.rows) - 1; i >= 0; i-- {
		if p.rows[i].id == id {
			return i
		}
	}
	return -1
}

func (p *Projection) remove(from int64) {
	before := len(p.rows)
	p.rows = slices.DeleteFunc(p.rows, func(r *row) bool {
		if r.id < from {
			return false
		}
		p.bytes -= r.size()
		return true
	})
	if first, ok := wire.Int64(p.first); ok && from <= first {
		p.total, p.first, p.lowest = 0, []byte("null"), 0
		return
	}
	p.total -= int64(before - len(p.rows))
	if from < p.lowest || int64(len(p.rows)) < min(servedRows, p.total) {
		p.doubt = true
	}
}

func (p *Projection) patch(patch []byte) {
	for m := range wire.Members(patch) {
		switch key := string(m.Key); key {
		case "seq", "logEpoch": // the frame says where we are
		case "pendingInteractions":
			p.pending = interactionIDs(m.Value)
			fallthrough
		default:
			p.doc.set(key, bytes.Clone(m.Value))
		}
	}
}

// trim drops the oldest rows beyond what is kept.
func (p *Projection) trim() {
	for len(p.rows) > keptRows || len(p.rows) > servedRows && p.bytes > keptBytes {
		p.bytes -= p.rows[0].size()
		p.rows[0] = nil
		p.rows = p.rows[1:]
	}
}

// served is what a snapshot holds of the rows: the newest one, whatever its
// size, and those before it that fit.
func (p *Projection) served() []*row {
	oldest := len(p.rows)
	for size := 0; oldest > max(0, len(p.rows)-servedRows); oldest-- {
		size += p.rows[oldest-1].size() + 1
		if size > servedBytes && oldest < len(p.rows) {
			break
		}
	}
	return p.rows[oldest:]
}

// note notes that somebody gets these rows and none before them.
func (p *Projection) note(rows []*row) {
	if len(rows) > 0 {
		p.lowest = max(p.lowest, rows[0].id)
	}
}

// Doubtful tells that a rewind went so far back that rows are missing here, or
// that somebody who got a snapshot earlier cannot know how many rows went. A
// snapshot from the app-server, told to all, makes it good.
func (p *Projection) Doubtful() bool { return p.doubt }

// Member is a top-level member of the state as raw JSON (control, config …); nil if there is
// none. The rows are not among them.
func (p *Projection) Member(key string) []byte { return p.doc.get(key) }

// PendingInteractions lists the ids of the questions that are open.
func (p *Projection) PendingInteractions() []string { return p.pending }

func interactionIDs(list []byte) (ids []string) {
	for raw := range wire.Elements(list) {
		if !isObject(raw) {
			continue
		}
		id, _ := wire.Get(raw, "interactionId")
		if s, ok := wire.StringValue(id); ok {
			ids = append(ids, s)
		}
	}
	return ids
}

// Snapshot implements State. It holds the newest 60 rows.
func (p *Projection) Snapshot() []byte {
	if p.cached == nil && p.epoch != "" {
		p.note(p.served())
		p.doc.set("seq", p.rawSeq())
		rows := p.window()
		p.cached = p.doc.append(make([]byte, 0, p.doc.size()+len(rows)), "rows", rows)
	}
	return p.cached
}

// window is the value of rows.
func (p *Projection) window() []byte {
	rows := p.served()
	size := p.frame.size() + 100 // for the members around the window
	for _, r := range rows {
		size += r.size() + 1
	}
	b := append(make([]byte, 0, size), `{"window":[`...)
	for i, r := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.append(b)
	}
	b = append(b, `],"totalCount":`...)
	b = strconv.AppendInt(b, p.total, 10)
	b = append(b, `,"firstRowId":`...)
	b = append(b, p.first...)
	for _, m := range p.frame {
		b = append(b, ',')
		b = wire.AppendString(b, m.key)
		b = append(b, ':')
		b = append(b, m.value...)
	}
	return append(b, '}')
}
