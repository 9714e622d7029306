package session

import (
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"zcodehub/fanout"
)

// Session is one session of the app-server as the hub holds it: the feed of its
// events and its interactions.
type Session struct {
	Feed
	ID     string
	Ledger *Ledger

	// guarded by Feed.mu
	workspace string // its workspacePath; empty while unknown
	heard     bool   // it was listened to before, so a new residency is a new epoch
	reading   []SnapshotWaiter
	revision  int64 // newest stateRevision of this residency; 0 if none was told
}

// A SnapshotWaiter is told the snapshot that it asked for; snapshot is nil if
// there is none.
type SnapshotWaiter func(snapshot []byte)

// NewEpoch names a run of numbers: unique among all hubs and restarts.
func NewEpoch() string {
	return strconv.FormatInt(time.Now().UnixMilli(), 36) + "-" + strings.ToLower(rand.Text()[:8])
}

func newSession(id string, budget *fanout.Budget) *Session {
	s := &Session{ID: id, Ledger: NewLedger(id)}
	s.Stream = fanout.NewStream(fanout.StreamOptions{Epoch: NewEpoch(), NewCoalescer: NewReplayable, Budget: budget})
	return s
}

// Workspace is the path of the session's workspace, empty while unknown.
func (s *Session) Workspace() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workspace
}

// SetWorkspace notes where the session belongs.
func (s *Session) SetWorkspace(workspacePath string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if workspacePath != "" {
		s.workspace = workspacePath
	}
}

// Joined ends what Listen began. With ok the events after seq come from now
// on, and the stream begins a new epoch there. It returns who waited, and whether
// the followers have to be seated again.
func (s *Session) Joined(ok bool, seq uint64) (waiters []Waiter, reseat bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiters = s.joinedLocked(ok)
	if !ok {
		return waiters, false
	}
	reseat = s.heard
	s.heard = true
	s.revision = 0
	s.Stream.Reset(NewEpoch(), seq)
	return waiters, reseat
}

// Revised takes the stateRevision of a state.updated (0 if it names none) and
// tells that it went back, as it does only when the session is loaded anew.
func (s *Session) Revised(revision int64) (anew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	anew = revision > 0 && revision < s.revision
	s.revision = revision
	return anew
}

// AskSnapshot adds one who waits for a snapshot; first tells that nobody did
// before, so that the caller asks the app-server.
func (s *Session) AskSnapshot(w SnapshotWaiter) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading = append(s.reading, w)
	return len(s.reading) == 1
}

// SnapshotCame returns all who waited for it.
func (s *Session) SnapshotCame() (waiters []SnapshotWaiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiters, s.reading = s.reading, nil
	return waiters
}

func (s *Session) unused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quietLocked() && len(s.reading) == 0 && len(s.Ledger.Open()) == 0
}
