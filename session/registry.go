package session

import (
	"slices"
	"strings"
	"sync"

	"zcodehub/fanout"
)

// Registry holds the sessions that the hub has met, by id.
type Registry struct {
	budget *fanout.Budget

	mu       sync.RWMutex // before Session.mu and the streams' locks
	sessions map[string]*Session
}

// NewRegistry returns an empty registry whose streams share budget.
func NewRegistry(budget *fanout.Budget) *Registry {
	return &Registry{budget: budget, sessions: map[string]*Session{}}
}

// Get finds a session without allocating.
func (r *Registry) Get(id []byte) *Session {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.sessions[string(id)]
}

// Meet finds a session or enters it.
func (r *Registry) Meet(id string) *Session {
	if s := r.Get([]byte(id)); s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sessions[id]; s != nil {
		return s
	}
	s := newSession(id, r.budget)
	r.sessions[id] = s
	return s
}

// All lists the sessions by id.
func (r *Registry) All() []*Session {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]*Session, 0, len(r.sessions))
	for _, s := range r.sessions {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Session) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Remove forgets a session and frees its stream.
func (r *Registry) Remove(id string) {
	r.mu.Lock()
	s := r.sessions[id]
	delete(r.sessions, id)
	r.mu.Unlock()
	if s != nil {
		s.Stream.Close()
	}
}

// RemoveUnused forgets s if nobody follows it, nothing is asked and its events
// do not come, so that ids that somebody made up do not stay.
func (r *Registry) RemoveUnused(s *Session) {
	r.mu.Lock()
	unused := r.sessions[s.ID] == s && s.unused()
	if unused {
		delete(r.sessions, s.ID)
	}
	r.mu.Unlock()
	if unused {
		s.Stream.Close()
	}
}

// FindInteraction finds an interaction by the id that clients know.
func (r *Registry) FindInteraction(id string) (*Session, *Interaction) {
	for _, s := range r.All() {
		if in, ok := s.Ledger.LookupID(id); ok {
			return s, in
		}
	}
	return nil, nil
}
