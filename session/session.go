package session

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"zcodehub/fanout"
)

// Session is one session of the app-server as the hub holds it: its stream,
// its interactions, and whether the app-server sends its events to us.
type Session struct {
	ID     string
	Stream *fanout.Stream
	Ledger *Ledger

	mu        sync.Mutex // before the stream's locks; held for a few instructions
	workspace string     // its workspacePath; empty while unknown
	listening bool       // the app-server has our one subscribe of this residency
	joining   bool       // and this is being arranged
	heard     bool       // it was listened to before, so a new residency is a new epoch
	waiters   []Waiter
	reading   []SnapshotWaiter
	followers map[*fanout.Subscription]struct{}
}

// A Waiter is told when the session is listened to; err is the app-server's
// error object, nil if all is well.
type Waiter func(err []byte)

// A SnapshotWaiter is told the snapshot that it asked for; snapshot is nil if
// there is none.
type SnapshotWaiter func(snapshot []byte)

// NewEpoch names a run of numbers: unique among all hubs and restarts.
func NewEpoch() string {
	return strconv.FormatInt(time.Now().UnixMilli(), 36) + "-" + strings.ToLower(rand.Text()[:8])
}

func newSession(id string, budget *fanout.Budget) *Session {
	return &Session{
		ID:        id,
		Stream:    fanout.NewStream(fanout.StreamOptions{Epoch: NewEpoch(), NewCoalescer: NewReplayable, Budget: budget}),
		Ledger:    NewLedger(id),
		followers: map[*fanout.Subscription]struct{}{},
	}
}

// Workspace is the path of the session's workspace, empty while unknown.
func (s *Session) Workspace() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workspace
}

// Place notes where the session belongs.
func (s *Session) Place(workspacePath string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if workspacePath != "" {
		s.workspace = workspacePath
	}
}

// Listen asks for the session's events. already tells that they come; else w
// is called when they do, and begin that the caller is the one who arranges it.
func (s *Session) Listen(w Waiter) (already, begin bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listening {
		return true, false
	}
	if w != nil {
		s.waiters = append(s.waiters, w)
	}
	begin = !s.joining
	s.joining = true
	return false, begin
}

// Listening tells whether the session's events come.
func (s *Session) Listening() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listening
}

// Joined ends what Listen began. With ok the events after seq come from now
// on: the stream begins a new epoch there, unless the numbers go on. It returns
// who waited, and whether the followers have to be seated again.
func (s *Session) Joined(ok bool, seq uint64) (waiters []Waiter, reseat bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiters, s.waiters = s.waiters, nil
	s.joining = false
	if !ok {
		return waiters, false
	}
	s.listening = true
	reseat = s.heard
	s.heard = true
	s.Stream.Reset(NewEpoch(), seq)
	return waiters, reseat
}

// Away notes that the app-server does not send the session's events any more.
func (s *Session) Away() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listening = false
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

// Follow enters a subscription to the session.
func (s *Session) Follow(sub *fanout.Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followers[sub] = struct{}{}
}

// Unfollow takes one out of the set.
func (s *Session) Unfollow(sub *fanout.Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.followers, sub)
}

// Followers lists the subscriptions to the session.
func (s *Session) Followers() []*fanout.Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	subs := make([]*fanout.Subscription, 0, len(s.followers))
	for sub := range s.followers {
		subs = append(subs, sub)
	}
	return subs
}

func (s *Session) unused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.listening && !s.joining && len(s.followers) == 0 && len(s.reading) == 0 && len(s.Ledger.Open()) == 0
}
