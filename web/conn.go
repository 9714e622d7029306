package web

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"

	"zcodehub/auth"
)

const (
	// pingEvery keeps connections alive through tunnels and proxies, the strictest of which cut after 30 s of silence.
	pingEvery = 25 * time.Second
	// maxMissed is how many pings in a row may stay without a sign of life: one may get lost when a phone changes networks.
	maxMissed = 2

	// floodRate is no pace of a client that a person uses: the hub refuses frames long before (-32042), and whoever does
	// not heed that is cut off here, before refusing costs more than a few percent of a core.
	floodRate  = 5000  // frames a second
	floodBurst = 20000 // frames at once, such as a test that calls without waiting for answers
)

// conn is one WebSocket connection. It is the hub's Sink.
type conn struct {
	// fixed once open
	server *Server
	raw    net.Conn
	out    *outlet
	room   room // owned by whoever calls WriteFrames
	ws     *websocket.Conn
	client Client
	holder *auth.Principal // as of the handshake
	flood  *rate.Limiter

	received atomic.Int64 // bytes; added to by the read loop

	sinceMessage int64 // bytes received since the last whole message; owned by the read loop

	// owned by the ping timer's callback, which never runs twice at once
	pingSent bool
	atPing   int64 // what received was then
	missed   int

	mu        sync.Mutex // guards what follows; never held across I/O
	code      int        // of the close frame; 0 while the connection is open
	reason    string
	ended     bool           // the read loop has ended: nothing may be started any more
	tasks     sync.WaitGroup // the close frame's writer, a ping being sent; added to under mu unless ended
	ping      *time.Timer
	expiry    *time.Timer // nil = the credential does not expire
	expiresAt time.Time
}

func newConn(s *Server) *conn {
	return &conn{server: s, flood: rate.NewLimiter(floodRate, floodBurst)}
}

// open takes the connection over from the HTTP server.
func (c *conn) open(raw net.Conn) {
	limitSendBuffer(raw)
	c.raw, c.out, c.room = raw, newOutlet(raw), newRoom(raw)
}

// startTimers comes before the hub may use the connection; end stops them.
func (c *conn) startTimers(expiresAt time.Time) {
	c.mu.Lock()
	c.ping = time.AfterFunc(pingEvery, c.keepAlive)
	c.mu.Unlock()
	if !expiresAt.IsZero() {
		c.ExtendUntil(expiresAt)
	}
}

// run is the life of the connection: it reads until the connection ends and returns when nothing runs for it any more.
func (c *conn) run() { c.end(c.read()) }

// read hands every text frame to the client and returns why there are no more.
func (c *conn) read() error {
	ctx := context.Background() // a context that can end would cost a timer for every frame
	for {
		kind, r, err := c.ws.Reader(ctx)
		if err != nil {
			return err
		}
		if kind != websocket.MessageText {
			return c.refuse(ClosePolicy, "only text frames are understood")
		}
		frame, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		switch {
		case !utf8.Valid(frame):
			return c.refuse(CloseNotUTF8, "text that is not UTF-8")
		case !c.flood.Allow():
			return c.refuse(ClosePolicy, "far too many frames")
		case c.closing():
			continue // what was asked after the close frame is not heard, the peer's own close frame is
		}
		c.sinceMessage = 0
		c.client.Handle(frame)
	}
}

// errRefused ends the read loop after a frame that ends the connection.
var errRefused = errors.New("refused")

func (c *conn) refuse(code int, reason string) error {
	c.CloseSoon(code, reason)
	return errRefused
}

// overrun tells that more came than the largest message is, in no matter how small pieces, and still no message: empty
// fragments cost the reader and bring nothing.
func (c *conn) overrun(n int) bool {
	c.sinceMessage += int64(n)
	return c.sinceMessage > c.server.maxMessage+c.server.maxMessage/4+1<<20
}

// ponged counts pongs, which nobody needs to answer.
func (c *conn) ponged(context.Context, []byte) {
	if !c.flood.Allow() {
		c.CloseSoon(ClosePolicy, "far too many pongs")
	}
}

// pinged answers a ping of the peer in place of the library, whose pongs would close the connection if they had to
// wait for a data write longer than 5 s.
func (c *conn) pinged(_ context.Context, payload []byte) (libraryAnswers bool) {
	if !c.flood.Allow() {
		c.CloseSoon(ClosePolicy, "far too many pings")
	} else if err := c.out.pong(payload); err != nil {
		c.writeFailed(err)
	}
	return false
}

// WriteFrames writes whole server frames in one write where they fit, and never changes frames or its bytes. It is
// called by one goroutine at a time.
func (c *conn) WriteFrames(frames net.Buffers) error {
	err := c.out.writeFrames(frames)
	if err != nil {
		c.writeFailed(err)
	}
	return err
}

func (c *conn) writeFailed(err error) {
	switch {
	case errors.Is(err, errClosing):
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.CloseSoon(CloseTooSlow, "too slow")
	default:
		_ = c.raw.SetReadDeadline(longAgo) // the peer is gone: end the read loop
	}
}

// CloseSoon ends the connection with a close code. A data write that is blocked gives up. It never blocks, and only the
// first call counts.
func (c *conn) CloseSoon(code int, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.code != 0 || c.ended {
		return
	}
	c.code, c.reason = code, reason
	c.out.shut()
	c.tasks.Go(c.sayGoodbye)
}

// sayGoodbye sends the close frame and gives the peer a moment to answer it with its own, which ends the read loop.
func (c *conn) sayGoodbye() {
	if err := c.out.writeClose(closeFrame(c.code, c.reason)); err != nil {
		_ = c.raw.Close()
		return
	}
	_ = c.raw.SetReadDeadline(time.Now().Add(closeGrace))
}

func (c *conn) closing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code != 0
}

// end tears the connection down after its read loop ended with err.
func (c *conn) end(err error) {
	spoke := violates(err)
	if spoke {
		c.CloseSoon(CloseProtocol, "not a WebSocket frame") // unless the library has found a better word
	}
	c.mu.Lock()
	c.ended = true
	c.ping.Stop()
	if c.expiry != nil {
		c.expiry.Stop()
	}
	code := c.code
	c.mu.Unlock()

	c.out.shut()
	c.client.Detach()
	c.tasks.Wait()
	if spoke {
		c.drain()
	}
	_ = c.raw.Close()
	_ = c.ws.CloseNow() // stops what the library holds
	c.server.metrics.closed(code)
	c.server.log.Info("client gone", "connection", c.client.ID(), "code", code, "reason", c.reason, "cause", err)
}

// violates reports whether reading ended because of what the peer sent, and not because it is gone or said goodbye.
func violates(err error) bool {
	var network net.Error
	return websocket.CloseStatus(err) == -1 && !errors.As(err, &network) && !errors.Is(err, net.ErrClosed) &&
		!errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.ErrClosedPipe)
}

// drain lets the peer read its close frame while it is still sending: closing a socket that holds unread bytes resets
// the connection, and the reset overtakes the frame.
func (c *conn) drain() {
	if half, ok := c.raw.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = c.raw.SetReadDeadline(time.Now().Add(closeGrace))
	_, _ = io.Copy(io.Discard, c.raw)
}

// keepAlive pings, and ends connections that stay silent: any byte received since a ping counts as an answer, because a
// pong waits behind the big frame that a slow phone may be sending.
func (c *conn) keepAlive() {
	c.mu.Lock()
	if c.ended || c.code != 0 {
		c.mu.Unlock()
		return
	}
	c.tasks.Add(1)
	expired := !c.expiresAt.IsZero() && !time.Now().Before(c.expiresAt) // a timer stands still while a laptop sleeps
	c.mu.Unlock()
	defer c.tasks.Done()

	heard := c.received.Load()
	switch {
	case c.pingSent && heard == c.atPing:
		c.missed++
		c.server.metrics.missedPongs.Inc()
	default:
		c.missed = 0
	}
	switch {
	case expired:
		c.expire()
		return
	case c.missed >= maxMissed:
		c.CloseSoon(CloseTooSlow, "no answer to two pings")
		return
	}
	sent, err := c.out.ping()
	if err != nil {
		c.writeFailed(err)
		return
	}
	c.pingSent, c.atPing = sent, heard
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.ping.Reset(pingEvery)
	}
}

// ExtendUntil sets when the connection ends for want of a valid credential: at first, and after a newer token came.
func (c *conn) ExtendUntil(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.expiresAt = t
	if c.expiry != nil {
		c.expiry.Stop()
	}
	c.expiry = time.AfterFunc(time.Until(t), c.expire)
}

func (c *conn) expire() { c.CloseSoon(CloseTokenExpired, "the token has expired") }
