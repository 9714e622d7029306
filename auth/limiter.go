package auth

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// freeFailures are the mistakes of an honest client: an old cookie, a token just renewed in another tab.
	freeFailures = 5
	firstBackoff = time.Second
	maxBackoff   = 5 * time.Minute // longer would punish whoever gets the address next
	// sharedBackoff is the longest for the loopback: behind a tunnel or proxy that is not known as one, everybody
	// comes from there, and one stranger must not lock out all.
	sharedBackoff = time.Second
	// forgetFailures is when an address without new failures starts afresh.
	forgetFailures = 15 * time.Minute
	// maxAddresses bounds memory against somebody with a large network (about 1 MiB).
	maxAddresses = 10_000
	roomSample   = 16 // misses the oldest tenth once in five times: good enough, and cheap
	// networkBits: one IPv6 client owns a whole /64.
	networkBits = 64
)

// Limiter slows down addresses whose credentials fail: some mistakes are free, then each doubles the pause. The zero
// value is ready. When there are too many addresses, the one of a random few whose last failure is oldest is forgotten.
type Limiter struct {
	mu    sync.Mutex
	known map[netip.Addr]failures
}

type failures struct {
	count int
	last  time.Time
}

// Wait says how long the address must wait before a credential of it is looked at; zero = not at all.
func (l *Limiter) Wait(addr netip.Addr, now time.Time) time.Duration {
	key := network(addr)
	l.mu.Lock()
	defer l.mu.Unlock()
	f, found := l.known[key]
	if !found || now.Sub(f.last) >= forgetFailures {
		return 0
	}
	return max(0, f.last.Add(backoff(key, f.count)).Sub(now))
}

// Failed notes a refused credential.
func (l *Limiter) Failed(addr netip.Addr, now time.Time) {
	key := network(addr)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[netip.Addr]failures{}
	}
	f, found := l.known[key]
	if found && now.Sub(f.last) >= forgetFailures {
		f = failures{}
	}
	if !found && len(l.known) >= maxAddresses {
		l.makeRoomLocked()
	}
	l.known[key] = failures{count: f.count + 1, last: now}
}

// Succeeded clears an address: somebody there holds a good credential.
func (l *Limiter) Succeeded(addr netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, network(addr))
}

// makeRoomLocked drops one address. A search for the very oldest would let a stranger with many addresses buy much
// work with little.
func (l *Limiter) makeRoomLocked() {
	var oldest netip.Addr
	looked := 0
	for addr, f := range l.known { // starts anywhere
		if o, found := l.known[oldest]; !found || f.last.Before(o.last) {
			oldest = addr
		}
		if looked++; looked == roomSample {
			break
		}
	}
	delete(l.known, oldest)
}

func backoff(addr netip.Addr, count int) time.Duration {
	if count <= freeFailures {
		return 0
	}
	longest := maxBackoff
	if addr.IsLoopback() {
		longest = sharedBackoff
	}
	doublings := min(count-freeFailures-1, 16) // far beyond the longest, far below an overflow
	return min(firstBackoff<<doublings, longest)
}

func network(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() || addr.IsLoopback() {
		return addr
	}
	prefix, err := addr.Prefix(networkBits)
	if err != nil {
		return addr
	}
	return prefix.Addr()
}
