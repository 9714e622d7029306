package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"zcodehub/fanout"
	"zcodehub/session/conversation"
)

// The families of V4 topics (protocol document 4.2).
const (
	TopicConversation = "conversation/"
	TopicIndex        = "sessions-index/"
	TopicConfig       = "workspace-config/"
)

// ordinalStep is how many frames of its own a client may get between two
// updates of a topic (initial frames, recoveries and snapshots): far more than
// the rate limit lets it ask for while nothing happens. Ordinals stay below 2^53,
// where JavaScript begins to round, for 137 thousand million updates.
const ordinalStep = 1 << 16

// ErrAbsent is returned while nothing is known of a topic: its first frame is
// on its way.
var ErrAbsent = errors.New("the topic's first frame has not come yet")

// Topic is one V4 topic: the feed of its frames and its state, kept by folding
// them, from which snapshots are served without asking the app-server.
//
// Downstream, a frame's ordinal follows from the number at which it ends, so
// that it is the same in both lanes and needs no counter of each client: it
// rises by steps, and the numbers between belong to the frames that one client
// gets for itself.
type Topic struct {
	Feed
	Name           string
	SubscriptionID string // downstream, of every client and both lanes
	laneLimit      int    // bytes of a message in a lane; larger frames are told to each follower in fragments

	base atomic.Uint64 // ordinal before the epoch's first update; set under Feed.mu

	// guarded by Feed.mu
	state    conversation.State
	upstream string // the app-server's subscriptionId
	scratch  []byte
	pending  []string // open questions, of a conversation
}

// NewTopic returns a topic that nothing is known of yet. No message to a client
// is longer than limit bytes. A lane takes half of that at most, since what is
// merged in the replayable lane may be somewhat longer than each of its parts.
func NewTopic(name string, budget *fanout.Budget, limit int) *Topic {
	t := &Topic{Name: name, SubscriptionID: "topic-" + NewEpoch(), laneLimit: limit / 2}
	t.Stream = fanout.NewStream(fanout.StreamOptions{Budget: budget, NewCoalescer: t.newCoalescer})
	return t
}

// SessionID is the session of a conversation topic, empty for the others.
func (t *Topic) SessionID() string {
	if id, ok := strings.CutPrefix(t.Name, TopicConversation); ok {
		return id
	}
	return ""
}

func newState(name string) conversation.State {
	switch {
	case strings.HasPrefix(name, TopicIndex):
		return &conversation.IndexProjection{}
	case strings.HasPrefix(name, TopicConfig):
		return &conversation.ConfigProjection{}
	default:
		return &conversation.Projection{}
	}
}

func (t *Topic) newCoalescer() fanout.Coalescer {
	base := t.base.Load()
	return conversation.NewReplayable(func(to uint64) conversation.Head { return t.head(base+to*ordinalStep, conversation.Online) })
}

func (t *Topic) head(ordinal uint64, kind string) conversation.Head {
	return conversation.Head{SubscriptionID: t.SubscriptionID, Ordinal: ordinal, DeliveryKind: kind, Topic: t.Name,
		LogicalFrameID: fmt.Sprintf("%s-lf-%d", t.SubscriptionID, ordinal)}
}

// Subscribed notes the app-server's subscription; its first frame comes next.
func (t *Topic) Subscribed(subscriptionID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.upstream = subscriptionID
	t.state = newState(t.Name)
	t.joining, t.listening = true, false
}

// Upstream is the app-server's subscriptionId, empty if there is none.
func (t *Topic) Upstream() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.upstream
}

// Lost notes that the app-server's subscription is over. It returns who waited
// for its first frame.
func (t *Topic) Lost() (waiters []Waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.upstream = ""
	return t.joinedLocked(false)
}

// Taken tells what a frame did.
type Taken struct {
	Ignored  bool     // it is of a subscription that is over
	Waiters  []Waiter // waited for the first frame
	Reseat   bool     // followers need the snapshot: a lane does not bring them to where the topic is
	Mismatch bool     // the app-server's snapshot is not what was folded here
	Doubtful bool     // rows are missing here: a snapshot is needed
	Answered []string // questions that are open no more
}

// Take folds a frame into the state and puts it into the stream. After an error
// the topic has to be resynced.
func (t *Topic) Take(f *conversation.Frame) (taken Taken, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == nil || f.SubscriptionID != t.upstream {
		return Taken{Ignored: true}, nil
	}
	first, doubtful := t.joining || !t.listening, t.doubtfulLocked()
	epoch, seq := t.state.Epoch(), t.state.Seq()
	var before []byte // what was folded, to compare with the app-server's snapshot of the same number
	if f.Kind == conversation.Snapshot && f.To == seq && !first && !doubtful {
		before = t.state.Snapshot()
	}
	if err := t.state.Apply(f); err != nil {
		return Taken{}, err
	}
	goesOn := !first && t.state.Epoch() == epoch && t.state.Seq() >= seq
	taken.Mismatch = goesOn && before != nil && !conversation.Equal(before, f.Snapshot())
	switch {
	case !goesOn || doubtful && f.Kind == conversation.Snapshot || taken.Mismatch:
		taken.Reseat = true
	case t.state.Seq() > seq:
		taken.Reseat = !t.appendLocked(f)
	}
	if taken.Reseat {
		t.beginLocked()
	}
	if first {
		taken.Waiters = t.joinedLocked(true)
	}
	if p, ok := t.state.(*conversation.Projection); ok {
		taken.Answered = t.answeredLocked(p)
	}
	taken.Doubtful = t.doubtfulLocked()
	return taken, nil
}

// appendLocked puts a frame into the stream; false if it is too large for that.
func (t *Topic) appendLocked(f *conversation.Frame) bool {
	h := t.head(t.base.Load()+f.To*ordinalStep, conversation.Online)
	t.scratch = conversation.AppendFrame(t.scratch[:0], h, f.From, f.To, f.SentAt, f.Payload)
	fits := len(t.scratch) <= t.laneLimit
	if fits {
		t.Stream.Append(f.To, t.scratch)
	}
	if cap(t.scratch) > maxScratch {
		t.scratch = nil
	}
	return fits
}

// maxScratch is the largest build buffer kept between frames: what comes in one
// physical frame fits.
const maxScratch = 1 << 20

func (t *Topic) doubtfulLocked() bool {
	p, ok := t.state.(*conversation.Projection)
	return ok && p.Doubtful()
}

// beginLocked begins a new epoch at the state's number. Ordinals go on rising.
func (t *Topic) beginLocked() {
	t.base.Add((t.Stream.Head() + 1) * ordinalStep)
	t.Stream.Reset(t.state.Epoch(), t.state.Seq())
}

// answeredLocked returns the questions that were open before and are not now.
func (t *Topic) answeredLocked(p *conversation.Projection) (answered []string) {
	now := p.PendingInteractions()
	for _, id := range t.pending {
		if !slices.Contains(now, id) {
			answered = append(answered, id)
		}
	}
	t.pending = now
	return answered
}

// An Opening is what a client is told when it attaches: the verdict, and the
// messages that bring it to where its lane goes on.
type Opening struct {
	Seat     fanout.Seat // has its place in the outbox's queue: give it to Outbox.Seat
	Epoch    string
	Resumed  bool
	Ordinal  uint64 // of its frame, or of the last one before
	Messages [][]byte
}

// An Ask says how a client wants to be brought to the present.
type Ask struct {
	Delivery fanout.Delivery
	Cursor   *fanout.Cursor // where it is; nil for nowhere
	Kind     string         // delivery kind of the frame
	Ordinal  uint64         // of the last frame that it had for itself
	Always   bool           // a frame is sent even if nothing was missed
	Limit    int            // bytes of a message
}

// Open attaches sub and says in the same step how the client gets from its
// cursor to the present: by what it missed, or else by a snapshot.
func (t *Topic) Open(sub *fanout.Subscription, ask Ask) (Opening, error) {
	t.mu.Lock()
	if t.state == nil || t.state.Epoch() == "" {
		t.mu.Unlock()
		return Opening{}, ErrAbsent
	}
	a := t.Stream.Attach(sub, ask.Delivery, ask.Cursor)
	h := t.OwnHead(a.Seq, ask.Ordinal, ask.Kind)
	var snapshot []byte
	if !a.Resumed {
		snapshot = t.state.Snapshot()
	}
	t.mu.Unlock() // what follows copies a whole state, and the next frame need not wait for that
	o := Opening{Seat: a.Seat, Epoch: a.Epoch, Ordinal: ask.Ordinal, Resumed: a.Resumed}
	if a.Resumed && ask.Cursor.Seq == a.Seq && !ask.Always {
		return o, nil
	}
	o.Ordinal = h.Ordinal
	var err error
	if !a.Resumed {
		o.Messages, err = conversation.Messages(h, 0, a.Seq, time.Now().UnixMilli(), conversation.SnapshotPayload(snapshot), ask.Limit)
		if err != nil {
			a.Seat.Release()
		}
		return o, err
	}
	if payload, ok := conversation.Merge(a.Missed, ask.Delivery); ok {
		if o.Messages, err = conversation.Messages(h, ask.Cursor.Seq, a.Seq, time.Now().UnixMilli(), payload, ask.Limit); err == nil {
			return o, nil
		}
	}
	a.Seat.Release()
	ask.Cursor = nil // it missed a snapshot, or more than a frame may hold: it gets one
	return t.Open(sub, ask)
}

// View shows the state as it is, for one whose view is narrower than a lane: it
// is given each frame by itself. f is called while the topic stands still, and
// not at all before the first frame.
func (t *Topic) View(f func(epoch string, seq uint64, snapshot []byte)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == nil || t.state.Epoch() == "" {
		return ErrAbsent
	}
	f(t.state.Epoch(), t.state.Seq(), t.state.Snapshot())
	return nil
}

// OwnHead is the head of a frame that ends at to and is for one client only,
// whose last one of that kind had the ordinal after.
func (t *Topic) OwnHead(to, after uint64, kind string) conversation.Head {
	return t.head(max(t.base.Load()+to*ordinalStep, after)+1, kind)
}
