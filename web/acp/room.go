package acp

import (
	"slices"
	"sync"
)

// A room is what the ACP connections of a hub share of one session: who is in it, and in which order their prompts go to
// the app-server. It exists while somebody is in it.
type room struct {
	// fixed after construction
	adapter   *Adapter
	sessionID string

	mu       sync.Mutex // after Adapter.mu; guards what follows
	conns    map[*Conn]struct{}
	prompts  []*prompt     // in order; the first is with the app-server, or next to go
	last     *prompt       // the one that was done last, for connections that have yet to hear of its turn; nil after a while
	stopping int           // calls under way that stop a turn: no prompt may go meanwhile, or they might stop it
	changed  chan struct{} // closed and replaced when prompts or stopping changes
}

// maxPrompts bounds the prompts of one session that wait; each may hold tens of megabytes.
const maxPrompts = 16

// enter puts a connection into the room of a session.
func (a *Adapter) enter(sessionID string, c *Conn) *room {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.rooms[sessionID]
	if r == nil {
		r = &room{adapter: a, sessionID: sessionID, conns: map[*Conn]struct{}{}, changed: make(chan struct{})}
		a.rooms[sessionID] = r
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[c] = struct{}{}
	return r
}

// leave takes a connection out; the last one takes the room with it.
func (r *room) leave(c *Conn) {
	r.adapter.mu.Lock()
	defer r.adapter.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
	if len(r.conns) == 0 && r.adapter.rooms[r.sessionID] == r {
		delete(r.adapter.rooms, r.sessionID)
	}
}

// others are the connections in the room but one.
func (r *room) others(but *Conn) []*Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*Conn, 0, len(r.conns))
	for c := range r.conns {
		if c != but {
			all = append(all, c)
		}
	}
	return all
}

func (r *room) tellLocked() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// queue puts a prompt behind those that wait.
func (r *room) queue(p *prompt) *Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.prompts) >= maxPrompts {
		return internalError("Too many prompts wait in this session already: let some of them run first.")
	}
	r.prompts = append(r.prompts, p)
	return nil
}

// done takes a prompt out, wherever it stands.
func (r *room) done(p *prompt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prompts = slices.DeleteFunc(r.prompts, func(other *prompt) bool { return other == p })
	r.last = p
	r.tellLocked()
}

// forget lets go of a prompt that was done.
func (r *room) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil && r.last.id == id {
		r.last = nil
	}
}

// sent is the prompt whose newest try has this input id; nil if there is none here.
func (r *room) sent(inputID string) *prompt {
	r.mu.Lock()
	defer r.mu.Unlock()
	candidates := []*prompt{r.last}
	if len(r.prompts) > 0 {
		candidates = append(candidates, r.prompts[0])
	}
	for _, p := range candidates {
		if p != nil && inputID != "" && p.inputID() == inputID {
			return p
		}
	}
	return nil
}

// mayGo tells whether it is p's turn, and when to look again if it is not.
func (r *room) mayGo(p *prompt) (bool, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mayGoLocked(p), r.changed
}

func (r *room) mayGoLocked(p *prompt) bool {
	return len(r.prompts) > 0 && r.prompts[0] == p && r.stopping == 0
}

// claim begins a try of p, if it is still its turn.
func (r *room) claim(p *prompt) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.mayGoLocked(p) {
		return false
	}
	p.tries.Add(1)
	return true
}

// stop keeps prompts from going until release is called. gone is the prompt that has gone already; nil if there is none.
// Who is not in the room stops nothing: release is nil.
func (r *room) stop(c *Conn) (gone *prompt, release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, here := r.conns[c]; !here {
		return nil, nil
	}
	r.stopping++
	if len(r.prompts) > 0 && r.prompts[0].tries.Load() > 0 {
		gone = r.prompts[0]
	}
	return gone, sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.stopping--
		r.tellLocked()
	})
}
