package web

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	finBit  = 0x80
	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xA
)

const (
	// writeChunk bytes must get out within writeTimeout, or the peer is too slow. The pair demands 13 KB/s, which a phone
	// at the edge of its network still has, however big the message is; 20 s is shorter than the time between two pings.
	writeChunk   = 256 << 10
	writeTimeout = 20 * time.Second

	// renewAfter is how old a deadline may be for the next write to keep it: a twentieth of it.
	renewAfter = writeTimeout / 20

	// maxVectors buffers go out in one writev. The runtime keeps that many vectors per connection for ever (4 KiB at 256);
	// beyond it the system call is a small part of the cost.
	maxVectors = 256

	// closeGrace bounds each of the two waits of a closing connection: for room to write the close frame, and for the peer
	// to answer it. A healthy peer needs one round trip.
	closeGrace = time.Second

	// maxWaitingControl bounds the pongs that wait for a data write to end; a pong needs to answer the latest ping only.
	maxWaitingControl = 1 << 10
)

// errClosing is returned to whoever writes after the connection began to close.
var errClosing = errors.New("connection is closing")

// longAgo as a deadline makes a blocked read or write return at once.
var longAgo = time.Unix(1, 0)

// outlet is the one way out of a connection. One writer at a time holds it; frames never interleave, whoever writes;
// after a frame was cut by an error or a close frame went out, nothing else follows.
type outlet struct {
	raw net.Conn // fixed

	mu      sync.Mutex  // guards what follows; never held across a write
	free    sync.Cond   // signalled when writing ends or closing begins
	writing bool        // somebody holds the outlet
	waiting []byte      // pongs to send when the data write that is running has ended
	closing bool        // nothing but the close frame may follow
	cut     net.Buffers // what is missing of the frame that an aborted write left behind
	due     time.Time   // the write deadline that was set last
	broken  error       // the peer cannot be written to any more
}

func newOutlet(raw net.Conn) *outlet {
	o := &outlet{raw: raw}
	o.free.L = &o.mu
	return o
}

// writeFrames writes whole frames and leaves frames as it is. A write that is out of time ends the outlet.
func (o *outlet) writeFrames(frames net.Buffers) error {
	o.mu.Lock()
	for o.writing && !o.closing {
		o.free.Wait()
	}
	if o.closing {
		o.mu.Unlock()
		return errClosing
	}
	o.writing = true
	o.mu.Unlock()
	return o.finish(frames)
}

// ping sends a ping, unless a data write is running: then the peer's silence would mean nothing.
func (o *outlet) ping() (sent bool, err error) {
	o.mu.Lock()
	if o.writing || o.closing {
		o.mu.Unlock()
		return false, nil
	}
	o.writing = true
	o.mu.Unlock()
	return true, o.finish(net.Buffers{{finBit | opPing, 0}})
}

// pong answers a ping: now, or as soon as the running data write has ended.
func (o *outlet) pong(payload []byte) error {
	frame := append([]byte{finBit | opPong, byte(len(payload))}, payload...)
	o.mu.Lock()
	if o.writing || o.closing {
		if len(o.waiting)+len(frame) > maxWaitingControl {
			o.waiting = nil
		}
		o.waiting = append(o.waiting, frame...)
		o.mu.Unlock()
		return nil
	}
	o.writing = true
	o.mu.Unlock()
	return o.finish(net.Buffers{frame})
}

// finish writes frames, then the pongs that were asked for meanwhile, and gives the outlet back.
func (o *outlet) finish(frames net.Buffers) error {
	for {
		n, err := o.write(frames)
		o.mu.Lock()
		if err == nil && len(o.waiting) > 0 && !o.closing {
			frames, o.waiting = net.Buffers{o.waiting}, nil
			o.mu.Unlock()
			continue
		}
		o.writing = false
		if err != nil {
			o.closing = true
			if errors.Is(err, os.ErrDeadlineExceeded) {
				o.cut = cutFrame(frames, n)
			} else {
				o.broken = err
			}
		}
		o.free.Broadcast()
		o.mu.Unlock()
		return err
	}
}

// shut ends data and control frames. A write that is blocked returns at once.
func (o *outlet) shut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing {
		return
	}
	o.closing = true
	if o.writing {
		_ = o.raw.SetWriteDeadline(longAgo)
	}
	o.free.Broadcast()
}

// writeClose writes the close frame, after shut. A frame that was cut is completed before it, or the peer would take the
// close frame for its data.
func (o *outlet) writeClose(frame []byte) error {
	o.mu.Lock()
	for o.writing {
		o.free.Wait()
	}
	last, broken := append(o.cut, frame), o.broken
	o.mu.Unlock()
	if broken != nil {
		return broken
	}
	_ = o.raw.SetWriteDeadline(time.Now().Add(closeGrace))
	_, err := last.WriteTo(o.raw)
	return err
}

// vectors are reused, because net.Buffers.WriteTo eats the slice it is given.
var vectors = sync.Pool{New: func() any {
	return &vector{all: make(net.Buffers, 0, maxVectors)}
}}

type vector struct{ all, rest net.Buffers }

// write writes frames in chunks, each with a deadline of its own, and returns how many bytes went out.
func (o *outlet) write(frames net.Buffers) (total int64, err error) {
	v := vectors.Get().(*vector)
	defer vectors.Put(v)
	for next, offset := 0, 0; next < len(frames); {
		v.all = v.all[:0]
		for size := 0; next < len(frames) && size < writeChunk && len(v.all) < maxVectors; {
			b := frames[next][offset:]
			if room := writeChunk - size; len(b) > room {
				b = b[:room]
				offset += room
			} else {
				next, offset = next+1, 0
			}
			v.all = append(v.all, b)
			size += len(b)
		}
		if !o.setDeadline() {
			return total, os.ErrDeadlineExceeded
		}
		n, err := v.writeTo(o.raw)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// writeTo writes what was gathered and lets it go: the pool must not hold on to
// the hub's frames. One buffer, the usual case, is cheaper without writev.
func (v *vector) writeTo(raw net.Conn) (n int64, err error) {
	if len(v.all) == 1 {
		var written int
		written, err = raw.Write(v.all[0])
		n = int64(written)
	} else {
		v.rest = v.all
		n, err = v.rest.WriteTo(raw)
		v.rest = nil
	}
	clear(v.all)
	return n, err
}

// setDeadline gives the next chunk its time, unless shut has taken it away. A
// deadline that was set less than renewAfter ago is left as it is: setting one
// costs as much as a tenth of a small write.
func (o *outlet) setDeadline() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing {
		return false
	}
	if due := time.Now().Add(writeTimeout); due.Sub(o.due) > renewAfter {
		o.due = due
		_ = o.raw.SetWriteDeadline(due)
	}
	return true
}

// cutFrame returns what is missing of the frame in which a write of n bytes ended; nil when it ended between two.
func cutFrame(frames net.Buffers, n int64) net.Buffers {
	frames = slices.Clone(frames)
	for n > 0 {
		size := frameSize(frames)
		if n < size {
			return take(skip(frames, n), size-n)
		}
		frames = skip(frames, size)
		n -= size
	}
	return nil
}

// frameSize is the size on the wire of the first of frames, which are unmasked.
func frameSize(frames net.Buffers) int64 {
	var header []byte
	for i := 0; i < len(frames) && len(header) < 10; i++ {
		header = append(header, frames[i][:min(len(frames[i]), 10-len(header))]...)
	}
	switch length := header[1] & 0x7F; length {
	case 126:
		return 4 + int64(binary.BigEndian.Uint16(header[2:]))
	case 127:
		return 10 + int64(binary.BigEndian.Uint64(header[2:]))
	default:
		return 2 + int64(length)
	}
}

// skip drops the first n bytes in place.
func skip(bufs net.Buffers, n int64) net.Buffers {
	for len(bufs) > 0 && n >= int64(len(bufs[0])) {
		n -= int64(len(bufs[0]))
		bufs = bufs[1:]
	}
	if n > 0 {
		bufs[0] = bufs[0][n:]
	}
	return bufs
}

// take returns the first n bytes.
func take(bufs net.Buffers, n int64) net.Buffers {
	var out net.Buffers
	for _, b := range bufs {
		if n <= 0 {
			break
		}
		b = b[:min(int64(len(b)), n)]
		out = append(out, b)
		n -= int64(len(b))
	}
	return out
}
