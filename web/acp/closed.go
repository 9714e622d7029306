package acp

import (
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

// closedSessions are those that clients closed or deleted and nobody has used since. The app-server keeps every session
// for good, so this is the hub's to remember.
type closedSessions struct {
	file string // "" keeps nothing beyond the process
	log  *slog.Logger

	mu       sync.Mutex // before writing; guards what follows
	sessions map[string]closing
	changes  int

	writing sync.Mutex // one writer at a time
	written int        // the change that the file holds; guarded by writing
}

// closing says when a session was closed.
type closing struct {
	At      int64 `json:"at"` // ms
	Deleted bool  `json:"deleted,omitempty"`
}

// maxClosed bounds the record; the oldest give way. A person who closes one an hour needs a year for it.
const maxClosed = 5000

// openClosedSessions begins anew where the file cannot be read: nothing is lost but what was hidden.
func openClosedSessions(file string, log *slog.Logger) *closedSessions {
	c := &closedSessions{file: file, log: log, sessions: map[string]closing{}}
	if file == "" {
		return c
	}
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &c.sessions)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("the record of closed sessions cannot be read: lists show them again", "error", err)
		c.sessions = map[string]closing{}
	}
	return c
}

// is reports whether a session is closed, and for good.
func (c *closedSessions) is(s *Session) (closed, deleted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, found := c.sessions[s.ID]
	return found, entry.Deleted
}

func (c *closedSessions) close(id string, deleted bool) {
	c.change(func() bool {
		if len(c.sessions) >= maxClosed {
			c.forgetOldest()
		}
		c.sessions[id] = closing{time.Now().UnixMilli(), deleted}
		return true
	})
}

func (c *closedSessions) open(id string) {
	c.change(func() bool {
		_, found := c.sessions[id]
		delete(c.sessions, id)
		return found
	})
}

// liveness is the age up to which updatedAt says nothing (protocol document 2.1): a session in memory is said to have
// changed just now, whenever it is asked about.
const liveness = 5 * time.Second

// reopen shows a session again that somebody used since it was closed, by whatever client: a turn runs, or it was stored.
func (c *closedSessions) reopen(s *Session, now time.Time) {
	c.change(func() bool {
		entry, found := c.sessions[s.ID]
		stored := s.UpdatedAt.UnixMilli() > entry.At && now.Sub(s.UpdatedAt) > liveness
		if !found || !s.Running && !stored {
			return false
		}
		delete(c.sessions, s.ID)
		return true
	})
}

func (c *closedSessions) forgetOldest() {
	oldest := ""
	for id, entry := range c.sessions {
		if oldest == "" || entry.At < c.sessions[oldest].At {
			oldest = id
		}
	}
	delete(c.sessions, oldest)
}

// change changes the record and the file, if there is something to change. What the disk does not take is still true
// as long as the hub runs.
func (c *closedSessions) change(f func() bool) {
	c.mu.Lock()
	if !f() {
		c.mu.Unlock()
		return
	}
	c.changes++
	change := c.changes
	raw, err := json.Marshal(c.sessions)
	c.mu.Unlock()
	if c.file == "" {
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.written >= change {
		return // a later change was faster, and holds this one
	}
	if err == nil {
		err = replaceFile(c.file, raw)
	}
	if err != nil {
		c.log.Warn("the record of closed sessions is not on disk", "error", err)
		return
	}
	c.written = change
}

// replaceFile writes a file as a whole or not at all.
func replaceFile(path string, content []byte) error {
	const ownerOnly = 0o600
	next := path + ".new"
	if err := os.WriteFile(next, content, ownerOnly); err != nil {
		return err
	}
	return os.Rename(next, path)
}
