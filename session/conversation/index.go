package conversation

import (
	"bytes"
	"slices"

	"zcodehub/internal/wire"
)

// An IndexProjection is the state of a sessions-index topic: the summaries of a
// workspace's sessions. The zero value waits for a snapshot.
type IndexProjection struct {
	version
	doc      document // everything but the sessions, which stand empty in their place
	sessions []summary
	place    map[string]int // session id → index in sessions
}

type summary struct {
	id  string
	raw []byte
}

// Apply implements State.
func (p *IndexProjection) Apply(f *Frame) error {
	if f.Kind == Snapshot {
		return p.load(f)
	}
	if err := p.follows(f); err != nil {
		return err
	}
	for raw := range f.Deltas() { // all of them first: all or nothing
		if _, err := readIndexDelta(raw); err != nil {
			return err
		}
	}
	for raw := range f.Deltas() {
		d, _ := readIndexDelta(raw)
		switch d.op {
		case opUpserted:
			p.upsert(d.id, d.session)
		case opRemoved:
			p.remove(d.id)
		}
	}
	p.reach(f)
	return nil
}

type indexDelta struct {
	op      op
	id      string
	session []byte // raw; of an upsert
}

func readIndexDelta(raw []byte) (d indexDelta, err error) {
	if !isObject(raw) {
		return d, ErrMalformed
	}
	name, _ := wire.Get(raw, "op")
	switch string(name) {
	case `"session.upserted"`:
		d.op = opUpserted
		d.session, _ = wire.Get(raw, "session")
		if d.id = sessionIDOf(d.session); d.id == "" {
			return d, ErrMalformed
		}
	case `"session.removed"`:
		d.op = opRemoved
		if d.id = sessionIDOf(raw); d.id == "" {
			return d, ErrMalformed
		}
	default:
		if s, ok := text(name); !ok || !bytes.HasPrefix(s, []byte(livePrefix)) {
			return d, ErrUnknownOp
		}
		d.op = opLive
	}
	return d, nil
}

// sessionIDOf is "" if there is none.
func sessionIDOf(obj []byte) string {
	if !isObject(obj) {
		return ""
	}
	raw, _ := wire.Get(obj, "sessionId")
	id, _ := wire.StringValue(raw)
	return id
}

func (p *IndexProjection) load(f *Frame) error {
	n := IndexProjection{doc: readDocument(f.Snapshot()), place: map[string]int{}}
	epoch, _ := text(n.doc.get("logEpoch"))
	sessions := n.doc.get("sessions")
	if len(epoch) == 0 || len(sessions) == 0 || sessions[0] != '[' {
		return ErrMalformed
	}
	for raw := range wire.Elements(sessions) {
		id := sessionIDOf(raw)
		if id == "" {
			return ErrMalformed
		}
		n.upsert(id, raw)
	}
	n.doc.set("sessions", nil)
	n.epoch = string(epoch)
	n.reach(f)
	*p = n
	return nil
}

// upsert replaces a summary in its place or adds it at the end.
func (p *IndexProjection) upsert(id string, raw []byte) {
	s := summary{id, bytes.Clone(raw)}
	if i, ok := p.place[id]; ok {
		p.sessions[i] = s
		return
	}
	p.place[id] = len(p.sessions)
	p.sessions = append(p.sessions, s)
}

func (p *IndexProjection) remove(id string) {
	i, ok := p.place[id]
	if !ok {
		return
	}
	delete(p.place, id)
	p.sessions = slices.Delete(p.sessions, i, i+1)
	for ; i < len(p.sessions); i++ {
		p.place[p.sessions[i].id] = i
	}
}

// Snapshot implements State.
func (p *IndexProjection) Snapshot() []byte {
	if p.cached == nil && p.epoch != "" {
		list := []byte{'['}
		for i, s := range p.sessions {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, s.raw...)
		}
		if p.doc.get("seq") != nil {
			p.doc.set("seq", p.rawSeq())
		}
		p.cached = p.doc.append(nil, "sessions", append(list, ']'))
	}
	return p.cached
}

// Session is the raw summary of a session; nil if there is none.
func (p *IndexProjection) Session(id string) []byte {
	if i, ok := p.place[id]; ok {
		return p.sessions[i].raw
	}
	return nil
}

// Sees says whether somebody may know of a session. summary is its raw summary,
// nil where the session is only named because it is gone.
type Sees func(sessionID string, summary []byte) bool

// FilterIndex makes of the payload of a sessions-index frame what somebody with
// a narrower view may see. What is not understood is left out, since nobody
// can say whom it concerns. (Security)
func FilterIndex(payload []byte, sees Sees) []byte {
	kind, body, ok := readPayload(payload)
	if !ok {
		return []byte(`{"kind":"deltas","deltas":[]}`)
	}
	if kind == Snapshot {
		return SnapshotPayload(filterSnapshot(body, sees))
	}
	out := []byte(`{"kind":"deltas","deltas":[`)
	n := 0
	for raw := range wire.Elements(body) {
		d, err := readIndexDelta(raw)
		if err != nil || d.op == opLive || !sees(d.id, d.session) {
			continue
		}
		if n++; n > 1 {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	return append(out, `]}`...)
}

func filterSnapshot(snapshot []byte, sees Sees) []byte {
	var d document
	for m := range wire.Members(snapshot) {
		switch key := string(m.Key); key {
		case "protocolVersion", "workspaceId", "logEpoch", "seq":
			d.set(key, m.Value)
		case "sessions":
			d.set(key, filterSessions(m.Value, sees))
		}
	}
	return d.append(nil, "", nil)
}

func filterSessions(list []byte, sees Sees) []byte {
	out := []byte{'['}
	for raw := range wire.Elements(list) {
		if id := sessionIDOf(raw); id == "" || !sees(id, raw) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	return append(out, ']')
}
