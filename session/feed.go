package session

import (
	"sync"

	"zcodehub/fanout"
)

// A Feed is what the app-server sends of one thing and who follows it here: a
// stream, fed by one subscription upstream, whatever the number of followers.
type Feed struct {
	Stream *fanout.Stream

	mu        sync.Mutex // before the stream's locks; held for short computations
	listening bool       // the app-server has our one subscription
	joining   bool       // and this is being arranged
	waiters   []Waiter
	followers map[*fanout.Subscription]struct{}
}

// A Waiter is told when the feed comes; err is the app-server's error object,
// nil if all is well.
type Waiter func(err []byte)

// Listen asks for the feed. already tells that it comes; else w is called when
// it does, and begin that the caller is the one who arranges it.
func (f *Feed) Listen(w Waiter) (already, begin bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listening {
		return true, false
	}
	if w != nil {
		f.waiters = append(f.waiters, w)
	}
	begin = !f.joining
	f.joining = true
	return false, begin
}

// joinedLocked ends what Listen began and returns who waited.
func (f *Feed) joinedLocked(ok bool) (waiters []Waiter) {
	waiters, f.waiters = f.waiters, nil
	f.joining, f.listening = false, ok
	return waiters
}

// Listening tells whether the feed comes.
func (f *Feed) Listening() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listening
}

// Unused tells that nobody follows the feed or waits for it.
func (f *Feed) Unused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.joining && len(f.followers) == 0
}

// Away notes that the app-server does not send the feed any more.
func (f *Feed) Away() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listening = false
}

// quietLocked tells that nothing comes, is arranged or is followed.
func (f *Feed) quietLocked() bool { return !f.listening && !f.joining && len(f.followers) == 0 }

// Follow enters a subscription to the feed.
func (f *Feed) Follow(sub *fanout.Subscription) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.followers == nil {
		f.followers = map[*fanout.Subscription]struct{}{}
	}
	f.followers[sub] = struct{}{}
}

// Unfollow takes one out.
func (f *Feed) Unfollow(sub *fanout.Subscription) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.followers, sub)
}

// Followers lists the subscriptions to the feed.
func (f *Feed) Followers() []*fanout.Subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	subs := make([]*fanout.Subscription, 0, len(f.followers))
	for sub := range f.followers {
		subs = append(subs, sub)
	}
	return subs
}
