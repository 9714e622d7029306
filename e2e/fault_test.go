//go:build e2e

package e2e

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// faultProxy stands between browsers and a hub and does what networks do: it delays, stalls, cuts and comes back.
type faultProxy struct {
	target string
	ln     net.Listener
	wait   sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{}         // closed and replaced whenever latency or stalled change
	latency time.Duration         // in each direction
	rate    int                   // bytes a second in each direction; 0 = as fast as it goes
	stalled bool                  // nothing moves, nothing ends
	down    bool                  // new connections are cut at once
	conns   map[net.Conn]struct{} // both ends of all connections
}

// startFaultProxy listens in front of the hub at a URL.
func startFaultProxy(t *testing.T, hubURL string) *faultProxy {
	t.Helper()
	u, err := url.Parse(hubURL)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &faultProxy{target: u.Host, ln: ln, changed: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	f.wait.Go(f.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		f.cut()
		f.wait.Wait()
	})
	return f
}

// url is a link of the hub as it is reached through the proxy.
func (f *faultProxy) url(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		panic(err)
	}
	u.Host = f.ln.Addr().String()
	return u.String()
}

func (f *faultProxy) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	close(f.changed)
	f.changed = make(chan struct{})
}

// delay makes every byte take so long, each way, and lets so many bytes a second through (0 = all).
func (f *faultProxy) delay(latency time.Duration, rate int) {
	f.set(func() { f.latency, f.rate = latency, rate })
}

// stall lets nothing through and ends nothing, as a tunnel does that lost its way, until resume.
func (f *faultProxy) stall()  { f.set(func() { f.stalled = true }) }
func (f *faultProxy) resume() { f.set(func() { f.stalled = false }) }

// cut ends all connections; goDown also refuses new ones, until comeUp.
func (f *faultProxy) cut() {
	f.set(func() {
		f.stalled = false
		for c := range f.conns {
			_ = c.Close()
		}
	})
}

func (f *faultProxy) goDown() {
	f.set(func() { f.down = true })
	f.cut()
}

func (f *faultProxy) comeUp() { f.set(func() { f.down = false }) }

func (f *faultProxy) accept() {
	for {
		near, err := f.ln.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		down := f.down
		f.mu.Unlock()
		far, err := net.Dial("tcp", f.target)
		if down || err != nil {
			_ = near.Close()
			if err == nil {
				_ = far.Close()
			}
			continue
		}
		f.set(func() { f.conns[near], f.conns[far] = struct{}{}, struct{}{} })
		f.wait.Go(func() { f.carry(near, far) })
		f.wait.Go(func() { f.carry(far, near) })
	}
}

// carry moves bytes from one end to the other until either ends. Latency is held without holding back what follows: a
// slow line is not a narrow one.
func (f *faultProxy) carry(to, from net.Conn) {
	type piece struct {
		at    time.Time
		bytes []byte
	}
	pieces := make(chan piece, 1024) // closed when from has ended
	f.wait.Go(func() {
		defer close(pieces)
		for {
			buf := make([]byte, 16<<10)
			n, err := from.Read(buf)
			if n > 0 {
				f.mu.Lock()
				latency := f.latency
				f.mu.Unlock()
				pieces <- piece{time.Now().Add(latency), buf[:n]}
			}
			if err != nil {
				return
			}
		}
	})
	for p := range pieces {
		f.mu.Lock()
		rate := f.rate
		f.mu.Unlock()
		time.Sleep(time.Until(p.at))
		if rate > 0 {
			time.Sleep(time.Duration(len(p.bytes)) * time.Second / time.Duration(rate))
		}
		f.moving()
		if _, err := to.Write(p.bytes); err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
	for range pieces {
	}
	f.set(func() { delete(f.conns, from) })
}

// moving waits while the proxy is stalled.
func (f *faultProxy) moving() {
	for {
		f.mu.Lock()
		stalled, changed := f.stalled, f.changed
		f.mu.Unlock()
		if !stalled {
			return
		}
		<-changed
	}
}

func TestFaultProxyDelaysStallsAndCuts(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = echo.Close() }()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	f := startFaultProxy(t, "http://"+echo.Addr().String())
	c, err := net.Dial("tcp", f.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	roundTrip := func() time.Duration {
		t.Helper()
		start := time.Now()
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return time.Since(start)
	}
	roundTrip()
	f.delay(100*time.Millisecond, 0)
	if took := roundTrip(); took < 200*time.Millisecond {
		t.Errorf("with 100 ms each way a round trip took %s", took)
	}
	f.delay(0, 0)
	f.stall()
	time.AfterFunc(300*time.Millisecond, f.resume)
	if took := roundTrip(); took < 300*time.Millisecond {
		t.Errorf("through a line that stalled for 300 ms a round trip took %s", took)
	}
	f.goDown()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a connection survived the cut")
	}
}
