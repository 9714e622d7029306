package session

import (
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
// updates of a topic: initial frames, recoveries and snapshots.
const ordinalStep = 64

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

	base atomic.Uint64 // ordinal before the epoch's first update; set under Feed.mu

	// guarded by Feed.mu
	state    conversation.State
	upstream string // the app-server's subscriptionId
	scratch  []byte
	pending  []string // open questions, of a conversation
}

// NewTopic returns a topic that nothing is known of yet.
func NewTopic(name string, budget *fanout.Budget) *Topic {
	t := &Topic{Name: name, SubscriptionID: "topic-" + NewEpoch()}
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

// Subscribed notes the app-server's subscription; its frames come next.
func (t *Topic) Subscribed(subscriptionID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.upstream = subscriptionID
	t.state = newState(t.Name)
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
	Waiters  []Waiter // waited for the first frame
	Reseat   bool     // the numbers do not go on: followers need the snapshot
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
		return Taken{}, nil // of a subscription that is over
	}
	first := t.joining || !t.listening
	epoch, seq := t.state.Epoch(), t.state.Seq()
	taken.Mismatch = f.Kind == conversation.Snapshot && !first && f.To == seq && !conversation.Equal(t.state.Snapshot(), f.Snapshot())
	if err := t.state.Apply(f); err != nil {
		return Taken{}, err
	}
	switch {
	case first || t.state.Epoch() != epoch || t.state.Seq() < seq || taken.Mismatch:
		t.beginLocked()
		taken.Reseat = true
		taken.Waiters = t.joinedLocked(true)
	case t.state.Seq() > seq:
		t.scratch = conversation.AppendFrame(t.scratch[:0], t.head(t.base.Load()+f.To*ordinalStep, conversation.Online), f.From, f.To, f.SentAt, f.Payload)
		t.Stream.Append(f.To, t.scratch)
	}
	if p, ok := t.state.(*conversation.Projection); ok {
		taken.Answered = t.answeredLocked(p)
		taken.Doubtful = p.Doubtful()
	}
	return taken, nil
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
	Seat     fanout.Seat
	Epoch    string
	Resumed  bool
	Messages [][]byte
}

// Open attaches sub and says in the same step how the client gets from its
// cursor (nil for none) to the present: by what it missed or by a snapshot.
// private counts the frames that this client has had for itself. With always a
// frame is sent even if nothing was missed.
func (t *Topic) Open(sub *fanout.Subscription, d fanout.Delivery, cursor *fanout.Cursor, kind string, private uint64, always bool, limit int) (Opening, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.Stream.Attach(sub, d, cursor)
	o := Opening{Seat: a.Seat, Epoch: a.Epoch}
	h := t.head(t.base.Load()+a.Seq*ordinalStep+1+private%(ordinalStep-1), kind)
	from, payload := uint64(0), []byte(nil)
	if a.Resumed {
		if cursor.Seq == a.Seq && !always {
			o.Resumed = true
			return o, nil
		}
		payload, o.Resumed = conversation.Merge(a.Missed, d)
		from = cursor.Seq
	}
	if !o.Resumed {
		from, payload = 0, conversation.SnapshotPayload(t.state.Snapshot())
	}
	var err error
	o.Messages, err = conversation.Messages(h, from, a.Seq, time.Now().UnixMilli(), payload, limit)
	return o, err
}

// View returns the state as it is, for one whose view is narrower than a lane:
// it is given each frame by itself. f is called while the topic stands still.
func (t *Topic) View(f func(epoch string, seq uint64, snapshot []byte)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(t.state.Epoch(), t.state.Seq(), t.state.Snapshot())
}

// OwnHead is the head of a frame that ends at to and is for one client only.
func (t *Topic) OwnHead(to, private uint64, kind string) conversation.Head {
	return t.head(t.base.Load()+to*ordinalStep+1+private%(ordinalStep-1), kind)
}
