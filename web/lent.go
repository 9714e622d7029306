package web

import (
	"bufio"
	"net"
	"net/http"
	"time"
)

const (
	// readBuffer holds frame headers and small frames; a larger payload is read past it. Together with controlBuffer it
	// takes the place of net/http's two buffers of 4 KiB for as long as the connection lives.
	readBuffer = 1 << 10
	// controlBuffer holds any control frame (2 + 125 bytes) whole, so that the library writes each in one call.
	controlBuffer = 256
)

// lent is the connection as the WebSocket library sees it. It reads what the peer sends, but what it writes goes
// through the outlet, and closing it only ends its reading: the connection itself is closed by conn.run.
type lent struct {
	net.Conn
	conn  *conn
	early []byte // what the peer sent together with its handshake
}

func (l *lent) Read(p []byte) (int, error) {
	if len(l.early) > 0 {
		n := copy(p, l.early)
		l.early = l.early[n:]
		return n, nil
	}
	n, err := l.Conn.Read(p)
	l.conn.received.Add(int64(n))
	l.conn.server.metrics.receivedBytes.Add(float64(n))
	if l.conn.overrun(n) {
		return 0, l.conn.refuse(ClosePolicy, "fragments without end")
	}
	return n, err
}

// Write takes one control frame. The library writes nothing but close frames: pongs are sent by conn.pinged.
func (l *lent) Write(frame []byte) (int, error) {
	if frame[0]&0x0F == opClose {
		l.conn.CloseSoon(parseCloseFrame(frame))
		return len(frame), nil
	}
	return 0, errClosing
}

func (l *lent) Close() error { return l.Conn.SetReadDeadline(longAgo) }

// lender is the ResponseWriter that lends the connection when the library hijacks it.
type lender struct {
	http.ResponseWriter
	conn *conn
}

func (l *lender) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	raw, buffered, err := http.NewResponseController(l.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := buffered.Peek(buffered.Reader.Buffered())
	l.conn.open(raw)
	lent := &lent{Conn: raw, conn: l.conn, early: append([]byte(nil), early...)}
	return lent, bufio.NewReadWriter(bufio.NewReaderSize(lent, readBuffer), bufio.NewWriterSize(lent, controlBuffer)), nil
}

// sendBuffer is what the kernel may hold for one peer (it doubles the figure for its own overhead). Left alone it grows
// to 4 MiB: a thousand frozen clients would pin 4 GiB, and a client would count as served megabytes too early. 256 KiB
// fills a path of 20 Mbit/s at 100 ms.
const sendBuffer = 256 << 10

func limitSendBuffer(raw net.Conn) {
	if secured, ok := raw.(interface{ NetConn() net.Conn }); ok { // TLS of our own
		limitSendBuffer(secured.NetConn())
	} else if sized, ok := raw.(interface{ SetWriteBuffer(int) error }); ok {
		_ = sized.SetWriteBuffer(sendBuffer) // at worst the kernel's own figure stays
	}
	_ = raw.SetDeadline(time.Time{})
}
