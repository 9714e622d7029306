package push

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/SherClockHolmes/webpush-go"
)

const (
	// maxQueued and maxQueuedBytes bound what waits: some questions to all the
	// devices that a team has, while the network is away.
	maxQueued      = 2000
	maxQueuedBytes = 4 << 20
	// maxFlying is how many push services are talked to at once.
	maxFlying = 8
	// sendTimeout bounds one try.
	sendTimeout = 20 * time.Second
	// firstPause doubles up to maxPause; after maxTries, about a quarter of an hour
	// in all, a message is old news.
	firstPause = 2 * time.Second
	maxPause   = 5 * time.Minute
	maxTries   = 11
	// keepFor is how long the push service may keep a message for a device that is
	// off: a night.
	keepFor = 12 * time.Hour
	// maxPayload is what fits into a message beside its encryption (RFC 8291
	// section 4: a record of 4096 bytes).
	maxPayload = 3993
	// maxAnswer is how much of a push service's answer is read; it says nothing of
	// use.
	maxAnswer = 4 << 10
)

// A delivery is one message on its way to one browser.
type delivery struct {
	to      record
	tag     string
	payload []byte
	due     time.Time
	tries   int

	withdrawn bool // guarded by Service.mu: not to be tried again
}

// Send queues a message to all browsers of a device; payload makes it in the
// language that the browser named, which may be empty. A later message of the
// same tag replaces one that the push service still keeps. It never blocks: what
// does not fit is dropped and counted.
func (s *Service) Send(device, tag string, payload func(language string) []byte) {
	s.mu.Lock()
	records := s.byDevice[device]
	s.mu.Unlock()
	for _, r := range records {
		d := &delivery{to: r, tag: tag, payload: payload(r.Language), due: time.Now()}
		s.mu.Lock()
		s.enqueueLocked(d)
		s.mu.Unlock()
	}
	s.nudge()
}

func (s *Service) enqueueLocked(d *delivery) {
	switch {
	case len(d.payload) > maxPayload:
		s.metrics.messages.WithLabelValues("tooLarge").Inc()
	case len(s.queue) >= maxQueued || s.bytes+len(d.payload) > maxQueuedBytes:
		s.metrics.messages.WithLabelValues("dropped").Inc()
	default:
		s.queue = append(s.queue, d)
		s.bytes += len(d.payload)
	}
}

// Withdraw takes back messages of a tag to a device that were not tried yet, and
// sees that no others are tried again. It tells whether none can have arrived.
func (s *Service) Withdraw(device, tag string) (none bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting, tried := s.withdrawLocked(func(d *delivery) bool { return d.to.Device == device && d.tag == tag })
	return waiting > 0 && waiting == len(s.byDevice[device]) && !tried
}

// withdrawLocked counts what it took out of the queue, and tells whether any of
// all was tried.
func (s *Service) withdrawLocked(unwanted func(*delivery) bool) (waiting int, tried bool) {
	s.queue = slices.DeleteFunc(s.queue, func(d *delivery) bool {
		if !unwanted(d) {
			return false
		}
		waiting++
		s.metrics.messages.WithLabelValues(string(withdrawn)).Inc()
		tried = tried || d.tries > 0
		s.bytes -= len(d.payload)
		return true
	})
	for _, d := range s.flying {
		if unwanted(d) {
			d.withdrawn, tried = true, true
		}
	}
	return waiting, tried
}

func (s *Service) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run works the queue off until ctx ends, and returns when nothing is under way
// any more. What is queued then is lost: it was about a hub that is gone.
func (s *Service) Run(ctx context.Context) {
	var flying sync.WaitGroup
	defer flying.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		d, wait := s.next(time.Now())
		if d != nil {
			flying.Go(func() { s.deliver(ctx, d) })
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
	}
}

// next takes the delivery that has been due longest, or says how long none is.
// Messages to one browser go one after another, so that what was said last
// arrives last.
func (s *Service) next(now time.Time) (*delivery, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	best, wait := -1, time.Hour // any long time: wake cuts it short
	if len(s.flying) >= maxFlying {
		return nil, wait
	}
	for i, d := range s.queue {
		switch {
		case s.flying[d.to.Endpoint] != nil:
		case d.due.After(now):
			wait = min(wait, d.due.Sub(now))
		case best < 0 || d.due.Before(s.queue[best].due):
			best = i
		}
	}
	if best < 0 {
		return nil, wait
	}
	d := s.queue[best]
	s.queue = slices.Delete(s.queue, best, best+1)
	s.bytes -= len(d.payload)
	s.flying[d.to.Endpoint] = d
	return d, 0
}

// deliver tries once, and sees to what follows.
func (s *Service) deliver(ctx context.Context, d *delivery) {
	outcome, after := s.try(ctx, d)
	if outcome == gone {
		if err := s.Unsubscribe(d.to.Device, d.to.Endpoint); err != nil {
			s.log.Error("a push subscription that is over was not removed", "device", d.to.Device, "error", err)
		}
	}
	s.mu.Lock()
	defer s.nudge()
	defer s.mu.Unlock()
	delete(s.flying, d.to.Endpoint)
	d.tries++
	switch {
	case outcome != retry:
	case d.withdrawn:
		outcome = withdrawn
	case d.tries >= maxTries || ctx.Err() != nil:
		outcome = failed
	default:
		s.metrics.retries.Inc()
		d.due = time.Now().Add(max(after, pause(d.tries)))
		s.enqueueLocked(d)
		return
	}
	s.metrics.messages.WithLabelValues(string(outcome)).Inc()
}

// An outcome is what became of a try.
type outcome string

const (
	sent   outcome = "sent"
	gone   outcome = "gone"   // the subscription is over
	failed outcome = "failed" // trying again does not help
	retry  outcome = "retry"

	withdrawn outcome = "withdrawn" // it was old news before it could be sent
)

// pause is how long to wait after a number of tries: doubling, with a jitter of
// half, so that a push service that comes back is not stormed.
func pause(tries int) time.Duration {
	d := maxPause
	if shift := tries - 1; shift < 16 {
		d = min(firstPause<<shift, maxPause)
	}
	return d/2 + time.Duration(rand.Int64N(int64(d)/2))
}

// try sends once. The error stays here: a push service's address is as good as a
// secret, so the log names the device only.
func (s *Service) try(ctx context.Context, d *delivery) (outcome, time.Duration) {
	topic := sha256.Sum256([]byte(d.tag))
	response, err := webpush.SendNotificationWithContext(ctx, slices.Clip(slices.Clone(d.payload)), // it appends to what it is given
		&webpush.Subscription{Endpoint: d.to.Endpoint, Keys: webpush.Keys{P256dh: d.to.Keys.P256dh, Auth: d.to.Keys.Auth}},
		&webpush.Options{
			HTTPClient: s.client, Subscriber: s.contact, VAPIDPublicKey: s.public, VAPIDPrivateKey: s.private,
			TTL: int(keepFor.Seconds()), Urgency: webpush.UrgencyHigh, Topic: base64.RawURLEncoding.EncodeToString(topic[:24]),
		})
	if err != nil {
		if errors.Is(err, errNotPublic) {
			s.log.Warn("a push subscription leads to an address that is not public", "device", d.to.Device)
			return failed, 0
		}
		s.log.Debug("a push service could not be reached", "device", d.to.Device, "try", d.tries+1)
		return retry, 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // so that the connection can be used again
	result := outcomeOf(response.StatusCode)
	if result != sent {
		s.log.Info("a push service refused a message", "device", d.to.Device, "status", response.StatusCode, "outcome", string(result))
	}
	return result, retryAfter(response.Header)
}

// outcomeOf reads the status of RFC 8030 section 5 and 7.3.
func outcomeOf(status int) outcome {
	switch {
	case status >= 200 && status < 300:
		return sent
	case status == http.StatusNotFound || status == http.StatusGone:
		return gone
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500:
		return retry
	}
	return failed
}

// retryAfter is what the push service asks for, in seconds, within reason.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, int(maxPause.Seconds()))) * time.Second
}
