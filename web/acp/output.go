package acp

import (
	"net"

	"zcodehub/fanout"
	"zcodehub/hub"
)

// output is the one way out of a connection. Whoever holds the connection's pen (see [Conn.write]) owns it; messages go
// out in the order in which they were added.
type output struct {
	sink   hub.Sink
	frames []byte // ready frames that were not written yet
	broken bool   // the client cannot be written to any more
}

// gatherBytes is how much is gathered before it is written: what one write of the hub brings becomes one or a few of ours,
// and a history of any length passes in pieces of this size.
const gatherBytes = 64 << 10

// add takes one message.
func (o *output) add(message []byte) {
	if o.broken {
		return
	}
	o.frames = fanout.AppendFrame(o.frames, message)
	if len(o.frames) >= gatherBytes {
		o.flush()
	}
}

// addFrames takes ready frames.
func (o *output) addFrames(frames []byte) {
	if o.broken {
		return
	}
	o.frames = append(o.frames, frames...)
	if len(o.frames) >= gatherBytes {
		o.flush()
	}
}

// flush writes what was gathered. It waits for the client, within the sink's own time; a client that cannot be written to
// is closed by its sink.
func (o *output) flush() {
	if len(o.frames) == 0 || o.broken {
		return
	}
	if err := o.sink.WriteFrames(net.Buffers{o.frames}); err != nil {
		o.broken, o.frames = true, nil
		return
	}
	if cap(o.frames) > 4*gatherBytes {
		o.frames = nil // a large message does not stay behind
	}
	o.frames = o.frames[:0]
}

func (o *output) notify(method string, params any) { o.add(appendNotification(nil, method, params)) }
