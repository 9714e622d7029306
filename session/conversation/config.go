package conversation

import (
	"bytes"

	"zcodehub/internal/wire"
)

// A ConfigProjection is the state of a workspace-config topic. The zero value
// waits for a snapshot.
type ConfigProjection struct {
	version
	doc document
}

// Apply implements State.
func (p *ConfigProjection) Apply(f *Frame) error {
	if f.Kind == Snapshot {
		return p.load(f)
	}
	if err := p.follows(f); err != nil {
		return err
	}
	var config []byte
	for raw := range f.Deltas() {
		if !isObject(raw) {
			return ErrMalformed
		}
		name, _ := wire.Get(raw, "op")
		switch s, _ := text(name); {
		case string(s) == "config.updated":
			if config, _ = wire.Get(raw, "config"); config == nil {
				return ErrMalformed
			}
		case !bytes.HasPrefix(s, []byte(livePrefix)):
			return ErrUnknownOp
		}
	}
	if config != nil { // the last one has it all
		p.doc.set("config", bytes.Clone(config))
	}
	p.reach(f)
	return nil
}

func (p *ConfigProjection) load(f *Frame) error {
	doc := readDocument(f.Snapshot())
	epoch, _ := text(doc.get("logEpoch"))
	if len(epoch) == 0 {
		return ErrMalformed
	}
	p.doc, p.epoch = doc, string(epoch)
	p.reach(f)
	return nil
}

// Snapshot implements State.
func (p *ConfigProjection) Snapshot() []byte {
	if p.cached == nil && p.epoch != "" {
		if p.doc.get("seq") != nil {
			p.doc.set("seq", p.rawSeq())
		}
		p.cached = p.doc.append(nil, "", nil)
	}
	return p.cached
}
