//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// swarm is many subscribers in one goroutine: an epoll loop that reads into one buffer, walks frame headers and counts
// updates. It is used from one goroutine at a time and starts none.
type swarm struct {
	addr    unix.SockaddrInet4
	upgrade []byte // the HTTP request that opens a connection
	join    []byte // the frame that subscribes

	epoll  int
	conns  []*subscription
	ready  int // subscriptions whose join was answered
	events int // updates received by all since the last count began
	notes  map[string]int
	buf    []byte
	polled [256]unix.EpollEvent

	// inspect, when set, sees each update and the wall clock right after the read(2) that brought it.
	inspect func(s *subscription, update []byte, now int64) error
}

// subscription is one connection of the swarm.
type subscription struct {
	fd       int
	upgraded bool
	joined   bool
	rest     []byte // an incomplete frame (or HTTP head) from the last read
	events   int
	lastSeq  uint64
}

// subscribeFrame subscribes to the one session of the child. Clients may ask for no deliveryKind: the hub knows theirs.
const subscribeFrame = `{"id":1,"method":"session/subscribe","params":{"sessionId":"` + benchSession + `"}}`

// openAtOnce is how many connections are in the making at a time: more would measure the listen backlog.
const openAtOnce = 32

func newSwarm(t *target) (*swarm, error) {
	addr, err := netip.ParseAddrPort(t.addr)
	if err != nil {
		return nil, err
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	key := make([]byte, 16)
	_, _ = rand.Read(key) // never fails (crypto/rand)
	return &swarm{
		addr: unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()},
		upgrade: fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n%s\r\n", t.path, t.addr, base64.StdEncoding.EncodeToString(key), t.headers),
		join:  clientFrame(0x1, []byte(subscribeFrame)),
		epoll: epoll,
		notes: make(map[string]int),
		buf:   make([]byte, 1<<20),
	}, nil
}

// clientFrame is a final frame under an all-zero mask, which leaves the payload readable.
func clientFrame(opcode byte, payload []byte) []byte {
	head := appendFrameHeader(nil, len(payload))
	head[0] = 0x80 | opcode
	head[1] |= 0x80
	return append(append(head, 0, 0, 0, 0), payload...)
}

func (s *swarm) close() {
	for _, c := range s.conns {
		unix.Close(c.fd)
	}
	unix.Close(s.epoll)
}

// connect opens connections until there are n and every one is subscribed.
func (s *swarm) connect(ctx context.Context, n int) error {
	for s.ready < n {
		for len(s.conns) < n && len(s.conns)-s.ready < openAtOnce {
			if err := s.open(); err != nil {
				return fmt.Errorf("connection %d: %w", len(s.conns), err)
			}
		}
		if err := s.poll(ctx); err != nil {
			return fmt.Errorf("%d of %d subscribed: %w", s.ready, n, err)
		}
	}
	return nil
}

func (s *swarm) open() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	c := &subscription{fd: fd}
	s.conns = append(s.conns, c)
	if err := unix.Connect(fd, &s.addr); err != nil { // on loopback this ends when the kernel has queued it
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	if err := s.watch(len(s.conns) - 1); err != nil {
		return err
	}
	return c.write(s.upgrade)
}

func (s *swarm) watch(i int) error {
	return unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, s.conns[i].fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)})
}

// stall stops reading from the first n connections.
func (s *swarm) stall(n int) error {
	for _, c := range s.conns[:n] {
		if err := unix.EpollCtl(s.epoll, unix.EPOLL_CTL_DEL, c.fd, nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *subscription) write(b []byte) error {
	n, err := unix.Write(c.fd, b)
	if err == nil && n < len(b) {
		err = errors.New("short write of a small frame")
	}
	return err
}

// begin forgets what was counted.
func (s *swarm) begin() {
	s.events = 0
	clear(s.notes)
	for _, c := range s.conns {
		c.events = 0
	}
}

// await reads until conns[from:] have received n updates each. Whoever reads from all passes 0.
func (s *swarm) await(ctx context.Context, from, n int) error {
	for s.events < n*(len(s.conns)-from) {
		if err := s.poll(ctx); err != nil {
			return fmt.Errorf("%d of %d updates arrived, notices %v: %w", s.events, n*(len(s.conns)-from), s.notes, err)
		}
	}
	for i, c := range s.conns[from:] {
		if c.events != n {
			return fmt.Errorf("subscriber %d got %d updates, want %d; notices %v", from+i, c.events, n, s.notes)
		}
	}
	return nil
}

// poll waits for readable connections and reads once from each.
func (s *swarm) poll(ctx context.Context) error {
	const tick = 200 // ms; only so that an ended context is noticed
	n, err := unix.EpollWait(s.epoll, s.polled[:], tick)
	if err == unix.EINTR || n == 0 {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	for _, ev := range s.polled[:n] {
		if err := s.read(s.conns[ev.Fd]); err != nil {
			return fmt.Errorf("subscriber %d: %w", ev.Fd, err)
		}
	}
	return context.Cause(ctx)
}

// readSize bounds one read: large enough to take what a socket holds, small enough to stay in the cache.
const readSize = 256 << 10

func (s *swarm) read(c *subscription) error {
	held := copy(s.buf, c.rest)
	n, err := unix.Read(c.fd, s.buf[held:min(held+readSize, len(s.buf))])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return nil
	case err != nil:
		return err
	case n == 0:
		return errors.New("the server closed the connection")
	}
	var now int64
	if s.inspect != nil {
		now = time.Now().UnixNano()
	}
	used, err := s.consume(c, s.buf[:held+n], now)
	if err != nil {
		return err
	}
	c.rest = append(c.rest[:0], s.buf[used:held+n]...)
	return nil
}

// consume takes all complete frames from b and says how far it came.
func (s *swarm) consume(c *subscription, b []byte, now int64) (used int, err error) {
	if !c.upgraded {
		end := bytes.Index(b, []byte("\r\n\r\n"))
		if end < 0 {
			return 0, nil
		}
		if !bytes.HasPrefix(b, []byte("HTTP/1.1 101 ")) {
			return 0, fmt.Errorf("upgrade refused: %.200q", b)
		}
		c.upgraded, used = true, end+4
		if err := c.write(s.join); err != nil {
			return used, err
		}
	}
	for {
		opcode, payload, size := parseFrame(b[used:])
		if size == 0 {
			return used, nil
		}
		used += size
		if err := s.frame(c, opcode, payload, now); err != nil {
			return used, err
		}
	}
}

// parseFrame reads one unmasked frame. size is 0 when b does not hold all of it.
func parseFrame(b []byte) (opcode byte, payload []byte, size int) {
	if len(b) < 2 {
		return 0, nil, 0
	}
	head, n := 2, int(b[1]&0x7f)
	switch {
	case n == 126 && len(b) >= 4:
		head, n = 4, int(binary.BigEndian.Uint16(b[2:]))
	case n == 127 && len(b) >= 10:
		head, n = 10, int(binary.BigEndian.Uint64(b[2:]))
	case n >= 126:
		return 0, nil, 0
	}
	if len(b) < head+n {
		return 0, nil, 0
	}
	return b[0] & 0xf, b[head : head+n], head + n
}

func (s *swarm) frame(c *subscription, opcode byte, payload []byte, now int64) error {
	switch opcode {
	case 0x1:
		if bytes.HasPrefix(payload, eventPrefix) {
			c.events++
			s.events++
			if s.inspect != nil {
				return s.inspect(c, payload, now)
			}
			return nil
		}
		return s.other(c, payload)
	case 0x8:
		if len(payload) < 2 {
			return errors.New("closed without a code")
		}
		return fmt.Errorf("closed with %d %s", binary.BigEndian.Uint16(payload), payload[2:])
	case 0x9:
		return c.write(clientFrame(0xa, payload))
	}
	return nil
}

// other takes what is not an update: the answer to the join, and notices, which are counted by method.
func (s *swarm) other(c *subscription, payload []byte) error {
	switch {
	case bytes.HasPrefix(payload, []byte(`{"method":"hub/lagged"`)): // from here on it gets merged updates, and counting is over
		return fmt.Errorf("fell too far behind: %.300s", payload)
	case bytes.HasPrefix(payload, []byte(`{"method":"`)):
		name := payload[len(`{"method":"`):]
		s.notes[string(name[:max(0, bytes.IndexByte(name, '"'))])]++
	case !c.joined && bytes.Contains(payload, []byte(`"result"`)):
		c.joined = true
		s.ready++
	case bytes.Contains(payload, []byte(`"error"`)):
		return fmt.Errorf("refused: %.300s", payload)
	}
	return nil
}

// checkOrder is an inspect function: every subscriber must see seq rise by one.
func checkOrder(c *subscription, update []byte, _ int64) error {
	seq, ok := numberAfter(update, `"seq":`)
	if !ok || (c.lastSeq != 0 && seq != c.lastSeq+1) {
		return fmt.Errorf("out of order: %d after %d in %.400s", seq, c.lastSeq, update)
	}
	c.lastSeq = seq
	return nil
}

// numberAfter reads the digits behind the last occurrence of key.
func numberAfter(b []byte, key string) (uint64, bool) {
	at := bytes.LastIndex(b, []byte(key))
	if at < 0 {
		return 0, false
	}
	b = b[at+len(key):]
	end := 0
	for end < len(b) && b[end] >= '0' && b[end] <= '9' {
		end++
	}
	n, err := strconv.ParseUint(string(b[:end]), 10, 64)
	return n, err == nil
}

// raiseFileLimit lets 5,000 connections be open on both sides; servers started later inherit it.
func raiseFileLimit() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = limit.Max
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
}
