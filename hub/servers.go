package hub

import (
	"bytes"
	"sync"

	"zcodehub/internal/wire"
)

const (
	// maxServerBytes is the most that is kept of one session's MCP servers: some dozens with their environments.
	maxServerBytes = 64 << 10
	// maxServerSessions bounds for how many sessions they are kept; the oldest give way.
	maxServerSessions = 1000
)

// servers remembers which MCP servers clients want in their sessions, because the
// app-server forgets them when it lets go of a session: whoever resumes that has
// to name them again. They may hold secrets, so they are in memory only.
type servers struct {
	mu    sync.Mutex
	byID  map[string][]byte // raw mcpServers, by session
	order []string          // ids, oldest first
}

// note keeps the mcpServers of a session/create or session/resume.
func (s *servers) note(sessionID string, params []byte) {
	raw, named := wire.Get(params, "mcpServers")
	if !named || sessionID == "" || len(raw) > maxServerBytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = map[string][]byte{}
	}
	if _, known := s.byID[sessionID]; !known {
		s.order = append(s.order, sessionID)
	}
	s.byID[sessionID] = bytes.Clone(raw)
	if len(s.order) > maxServerSessions {
		delete(s.byID, s.order[0])
		s.order = s.order[1:]
	}
}

// resumeParams are the params with which the hub itself resumes a session.
func (s *servers) resumeParams(sessionID string) []byte {
	params := jsonOf(map[string]string{"sessionId": sessionID})
	s.mu.Lock()
	defer s.mu.Unlock()
	if raw := s.byID[sessionID]; raw != nil {
		return withRaw(params, "mcpServers", raw)
	}
	return params
}
