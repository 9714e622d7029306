package simulator

import (
	"slices"
	"strconv"
)

const (
	// retainedEvents is how far back a subscriber may resume in a conversation (protocol: 2000 events).
	retainedEvents = 2000
	// retainedChanges is the same for lists of sessions and settings (protocol: 512 deltas).
	retainedChanges = 512
)

// publisher serves one topic: it numbers what happens, remembers the latest of it, and feeds the subscriptions.
// Guarded by the loop.
type publisher struct {
	// Fixed after construction.
	s         *server
	topic     string
	prefix    string // of subscription ids
	retention int
	state     func() object // the topic's snapshot as it stands
	bound     func() int    // about the size of that snapshot; nil if it is small

	epoch  string
	seq    uint64
	log    []loggedOps // consecutive, the last one is number seq
	subs   []*subscription
	opened int // subscriptions so far, for their ids
	frames int // logical frames so far, over all subscriptions
}

type loggedOps struct {
	seq uint64
	ops []op
}

// start gives the topic a new epoch: nothing that was numbered before means anything any more.
func (p *publisher) start(seq uint64) {
	p.s.epochs++
	g := newIDs(p.s.seed, "epoch/"+p.topic+"/"+strconv.Itoa(p.s.epochs))
	p.epoch = strconv.FormatInt(p.s.clock.peek(), 36) + "-" + g.letters(epochLetters)
	p.seq, p.log = seq, nil
}

// epochLetters is the length of the random part of an epoch (recorded: 8).
const epochLetters = 8

// publish is called for every event of the topic, also those without an effect.
func (p *publisher) publish(ops []op) {
	p.seq++
	p.log = append(p.log, loggedOps{p.seq, ops})
	if len(p.log) > p.retention {
		p.log[0] = loggedOps{}
		p.log = p.log[1:]
	}
	for _, sub := range p.subs {
		sub.add(ops)
	}
}

// base is how far a client says it has come.
type base struct {
	Epoch string `json:"logEpoch"`
	Seq   uint64 `json:"seq"`
}

// resumable reports whether everything after b is still there.
func (p *publisher) resumable(b *base) bool {
	return b != nil && b.Epoch == p.epoch && b.Seq <= p.seq && b.Seq+uint64(len(p.log)) >= p.seq
}

// tooLarge reports whether no frame can hold the topic's snapshot.
func (p *publisher) tooLarge() bool {
	return p.bound != nil && p.bound() > maxLogical-terminalReserve && len(encode(p.state())) > maxLogical-terminalReserve
}

// since gives what happened after b, in the form of a buffer of the given profile.
func (p *publisher) since(b base, prof profile) opBuffer {
	var buffer opBuffer
	for _, logged := range p.log {
		if logged.seq > b.Seq {
			prof.fill(&buffer, logged.ops)
		}
	}
	return buffer
}

// open makes the subscription of a connection; an older one of the same connection ends.
func (p *publisher) open(connectionID string, prof profile) *subscription {
	p.subs = slices.DeleteFunc(p.subs, func(sub *subscription) bool { return sub.connectionID == connectionID })
	p.opened++
	sub := &subscription{p: p, id: p.prefix + "-" + p.epoch + "-" + strconv.Itoa(p.opened), connectionID: connectionID, profile: prof}
	p.subs = append(p.subs, sub)
	return sub
}

func (p *publisher) find(connectionID, id string) *subscription {
	for _, sub := range p.subs {
		if sub.id == id && sub.connectionID == connectionID {
			return sub
		}
	}
	return nil
}

func (p *publisher) close(sub *subscription) {
	p.subs = slices.DeleteFunc(p.subs, func(other *subscription) bool { return other == sub })
}
