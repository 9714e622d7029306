package fanout

import (
	"sort"
	"sync/atomic"
	"time"
)

// A log is a chain of chunks that hold ready frames back to back. Bytes once
// written never move or change, so what lies below a published position may be
// read without a lock. The appending side is guarded by Stream.mu.
type log struct {
	first, last *chunk
	bytes       int64  // allocated, of all chunks in the chain
	abs         uint64 // bytes ever appended
	frames      uint64 // frames ever appended
	seq         uint64 // number of the newest frame
}

const (
	// minChunk is the first allocation of a log: a few ordinary updates of 300
	// bytes, so that a quiet session costs little.
	minChunk = 4 << 10
	// maxChunk is the largest allocation for ordinary frames, and thus what one
	// eviction frees and what a frozen reader can pin: 1/64 of a full log.
	maxChunk = 256 << 10
)

// A chunk is one allocation of a log.
type chunk struct {
	data  []byte  // fixed length; frames fill it from the front
	used  int     // guarded by Stream.mu; final once next is set
	index []entry // one per frame, appended under Stream.mu
	abs   uint64  // log.abs before its first byte
	from  uint64  // log.seq before its first frame

	// next is set when the chunk is full, and cleared when it is evicted: a
	// reader that stands here and must go on then knows that it fell off.
	next atomic.Pointer[chunk]

	endSeq, endFrames uint64 // log.seq and log.frames after its last frame; final once next is set
}

// An entry is one frame of a chunk: its number and where it ends.
type entry struct {
	to  uint64
	end int
}

// A position is a place between two frames of a log. Immutable.
type position struct {
	chunk  *chunk
	off    int
	abs    uint64
	seq    uint64
	frames uint64
	at     time.Time // when the oldest frame that this publication added was appended
}

// end is the position behind the newest frame.
func (l *log) end(at time.Time) *position {
	l.ensure(0)
	return &position{chunk: l.last, off: l.last.used, abs: l.abs, seq: l.seq, frames: l.frames, at: at}
}

// append adds one frame that ends the interval (l.seq, to] and returns the
// stored message. It reports how many bytes it allocated.
func (l *log) append(to uint64, msg []byte) (stored []byte, allocated int64) {
	size := frameSize(len(msg))
	allocated = l.ensure(size)
	c := l.last
	frame := AppendFrame(c.data[c.used:c.used:len(c.data)], msg)
	c.used += size
	c.index = append(c.index, entry{to: to, end: c.used})
	l.abs += uint64(size)
	l.frames++
	l.seq = to
	return message(frame), allocated
}

// ensure makes room for size bytes at the end of the chain.
func (l *log) ensure(size int) (allocated int64) {
	if l.last != nil && len(l.last.data)-l.last.used >= size {
		return 0
	}
	n := minChunk
	if l.last != nil {
		n = min(2*len(l.last.data), maxChunk)
	}
	c := &chunk{data: make([]byte, max(n, size)), abs: l.abs, from: l.seq}
	if l.last == nil {
		l.first = c
	} else {
		l.last.endSeq, l.last.endFrames = l.seq, l.frames
		l.last.next.Store(c)
	}
	l.last = c
	l.bytes += int64(len(c.data))
	return int64(len(c.data))
}

// rest is what would stay without the oldest chunk, 0 if there is no other.
func (l *log) rest() int64 {
	if l.first == l.last {
		return 0
	}
	return l.bytes - int64(len(l.first.data))
}

// evict drops the oldest chunk, if it is not the only one, and reports the
// bytes freed.
func (l *log) evict() (freed int64) {
	c := l.first
	if c == nil || c == l.last {
		return 0
	}
	l.first = c.next.Load()
	c.next.Store(nil)
	l.bytes -= int64(len(c.data))
	return int64(len(c.data))
}

// drop empties the chain; the numbers go on.
func (l *log) drop() (freed int64) {
	for l.first != nil && l.first != l.last {
		freed += l.evict()
	}
	if l.last != nil {
		freed += l.bytes
	}
	l.first, l.last, l.bytes = nil, nil, 0
	return freed
}

// floor is the oldest number after which everything is still here.
func (l *log) floor() uint64 {
	if l.first == nil {
		return l.seq
	}
	return l.first.from
}

// seek returns the position behind the frame numbered after. The caller has
// checked floor() <= after <= seq; ok is false if no frame ends there.
func (l *log) seek(after uint64) (p *position, ok bool) {
	if after == l.seq {
		return l.end(time.Time{}), true
	}
	for c := l.first; c != nil; c = c.next.Load() {
		if after == c.from {
			return &position{chunk: c, abs: c.abs, seq: after, frames: l.framesBefore(c)}, true
		}
		i := sort.Search(len(c.index), func(i int) bool { return c.index[i].to >= after })
		if i < len(c.index) {
			e := c.index[i]
			if e.to != after {
				return nil, false
			}
			return &position{chunk: c, off: e.end, abs: c.abs + uint64(e.end), seq: after, frames: l.framesBefore(c) + uint64(i) + 1}, true
		}
	}
	return nil, false
}

// framesBefore is log.frames as it was before c's first frame.
func (l *log) framesBefore(c *chunk) uint64 {
	n := l.frames
	for d := c; d != nil; d = d.next.Load() {
		n -= uint64(len(d.index))
	}
	return n
}

// A Range is a run of updates taken from a stream's log: a consistent view
// that stays readable whatever the stream does next.
type Range struct {
	From, To uint64 // the interval (From, To]
	parts    []part
}

type part struct {
	chunk *chunk
	index []entry
	start int // offset of the first frame
	from  uint64
}

// capture returns the updates in (after, l.seq]. The caller has checked that
// after is not below the floor.
func (l *log) capture(after uint64) Range {
	r := Range{From: after, To: l.seq}
	for c := l.first; c != nil; c = c.next.Load() {
		i := sort.Search(len(c.index), func(i int) bool { return c.index[i].to > after })
		if i == len(c.index) {
			continue
		}
		p := part{chunk: c, index: c.index[i:len(c.index):len(c.index)], from: c.from}
		if i > 0 {
			p.start, p.from = c.index[i-1].end, c.index[i-1].to
		}
		r.parts = append(r.parts, p)
	}
	return r
}

// Each yields the messages of the range in order. Their bytes are shared and
// must not be changed.
func (r Range) Each(yield func(from, to uint64, msg []byte)) {
	for _, p := range r.parts {
		start, from := p.start, p.from
		for _, e := range p.index {
			yield(from, e.to, message(p.chunk.data[start:e.end]))
			start, from = e.end, e.to
		}
	}
}

// Bytes is the size of the range, frame headers included.
func (r Range) Bytes() (n int64) {
	for _, p := range r.parts {
		n += int64(p.index[len(p.index)-1].end - p.start)
	}
	return n
}

// Coalesced yields the range as a replayable lane would deliver it to someone
// who had not been there: everything merged that c merges, ending at r.To.
func (r Range) Coalesced(c Coalescer, yield func(from, to uint64, msg []byte)) {
	r.Each(c.Add)
	c.Flush(true, yield)
}
