package session

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"zcodehub/fanout"
	"zcodehub/internal/wire"
	"zcodehub/session/conversation"
)

// upstream makes the frames that an app-server would send of one conversation.
type upstream struct {
	assembler conversation.Assembler
	seq       uint64
	ordinal   uint64
}

const benchTopic = "conversation/sess_11111111-1111-4111-8111-111111111111"

// params is the next frame, (from, to] as given, as it comes from the pipe.
func (u *upstream) params(from, to uint64, payload string) []byte {
	u.ordinal++
	h := conversation.Head{SubscriptionID: "sub-musegv3e-mrqoweve-1", LogicalFrameID: fmt.Sprint("sub-musegv3e-mrqoweve-1-lf-", u.ordinal),
		Ordinal: u.ordinal, DeliveryKind: conversation.Online, Topic: benchTopic}
	p, _ := wire.Get(conversation.AppendFrame(nil, h, from, to, 1791032434539, []byte(payload)), "params")
	return p
}

func (u *upstream) next(payload string) []byte {
	u.seq++
	return u.params(u.seq-1, u.seq, payload)
}

func (u *upstream) feed(tb testing.TB, t *Topic, params []byte) {
	f, fault := u.assembler.Add(params, time.Time{})
	if fault != nil {
		tb.Fatal(fault)
	}
	if _, err := t.Take(f); err != nil {
		tb.Fatal(err)
	}
}

// begin gives a topic with one row that grows.
func (u *upstream) begin(tb testing.TB, rows ...string) *Topic {
	t := NewTopic(benchTopic, nil, 32<<20)
	t.Subscribed("sub-musegv3e-mrqoweve-1")
	u.feed(tb, t, u.params(0, 0, fmt.Sprintf(`{"kind":"snapshot","snapshot":{"protocolVersion":1,"sessionId":"s","logEpoch":"e","seq":0,"revision":0,"control":{"phase":"running"},"pendingInteractions":[],"rows":{"window":[%s],"totalCount":%d,"firstRowId":1}}}`,
		strings.Join(rows, ","), len(rows))))
	return t
}

func benchRow(id int, text string) string {
	return fmt.Sprintf(`{"rowId":%d,"turnId":"msg_mu000001_33333333","entityId":"msg_mu000002_%d","productTurnId":"msg_mu000001_33333333","visibility":"visible","createdAt":1791032434600,"createdAtSeq":6,"kind":"assistantText","text":%q,"state":"streaming"}`, id, id, text)
}

// textDelta is what comes most: a few words for the row that grows.
const textDelta = `{"kind":"deltas","deltas":[{"op":"row.delta","rowId":1,"path":"text","append":"some words more "}]}`

// A benchReader is a client without a network: it copies what it is sent, as
// the kernel would.
type benchReader struct {
	outbox *fanout.Outbox
	socket []byte
	bytes  int64
}

func (r *benchReader) write(bufs net.Buffers) error {
	for _, b := range bufs {
		r.bytes += int64(len(b))
		for len(b) > 0 {
			b = b[copy(r.socket, b):]
		}
	}
	return nil
}

func newBenchReader() *benchReader { return &benchReader{socket: make([]byte, 64<<10)} }

// benchBatch is how many frames are there before they are published: what one
// read of a busy pipe brings.
const benchBatch = 64

// BenchmarkTopicDelivery measures what one frame of the app-server costs for each
// client that gets it: put together, folded, encoded once for the lane, and
// copied out. The floor, taken in the same run, is the copying alone, of as many
// frames of the continuous lane that are ready; x/floor is the ratio. The time
// per operation is that of one frame for all clients.
func BenchmarkTopicDelivery(b *testing.B) {
	for _, clients := range []int{1, 10, 100, 1000} {
		for _, d := range []fanout.Delivery{fanout.Continuous, fanout.Replayable} {
			name := map[fanout.Delivery]string{fanout.Continuous: "continuous", fanout.Replayable: "replayable"}[d]
			b.Run(fmt.Sprintf("%s/clients=%d", name, clients), func(b *testing.B) { benchDelivery(b, clients, d) })
		}
	}
}

func benchDelivery(b *testing.B, clients int, d fanout.Delivery) {
	var u upstream
	t := u.begin(b, benchRow(1, ""))
	readers := make([]*benchReader, clients)
	for i := range readers {
		r := newBenchReader()
		r.outbox = fanout.NewOutbox(fanout.OutboxOptions{Write: r.write})
		sub := r.outbox.Subscribe(t.Stream, nil)
		o, err := t.Open(sub, Ask{Delivery: d, Kind: conversation.Initial})
		if err != nil {
			b.Fatal(err)
		}
		if err := r.outbox.Seat(fanout.Frame(o.Messages[0]), o.Seat); err != nil {
			b.Fatal(err)
		}
		readers[i] = r
	}
	defer func() {
		for _, r := range readers {
			r.outbox.Close()
		}
		t.Stream.Close()
	}()
	batch := make([][]byte, benchBatch)
	b.ReportAllocs()
	b.ResetTimer()
	frames := 0
	for ; frames < b.N; frames += benchBatch {
		b.StopTimer()
		for i := range batch {
			batch[i] = u.next(textDelta)
		}
		b.StartTimer()
		for _, params := range batch {
			u.feed(b, t, params)
		}
		t.Stream.Flush()
		for _, r := range readers {
			r.outbox.WaitIdle(time.Now().Add(time.Minute))
		}
	}
	b.StopTimer()
	each := float64(b.Elapsed().Nanoseconds()) / float64(frames) / float64(clients)
	floor := benchFloor(clients, frames)
	b.ReportMetric(each, "ns/frame/client")
	b.ReportMetric(floor, "ns/floor")
	b.ReportMetric(each/floor, "x/floor")
	b.ReportMetric(float64(readers[0].bytes)/float64(frames), "B/frame/client")
}

// benchFloor is how many nanoseconds it takes to copy one ready frame to one of
// so many clients.
func benchFloor(clients, frames int) float64 {
	h := conversation.Head{SubscriptionID: "topic-mx3kbc13-dojfq5zg", LogicalFrameID: "topic-mx3kbc13-dojfq5zg-lf-14221313", Ordinal: 14221313, DeliveryKind: conversation.Online, Topic: benchTopic}
	var ready []byte
	for seq := range uint64(benchBatch) {
		ready = fanout.AppendFrame(ready, conversation.AppendFrame(nil, h, seq, seq+1, 1791032434539, []byte(textDelta)))
	}
	readers := make([]*benchReader, clients)
	for i := range readers {
		readers[i] = newBenchReader()
	}
	batches := max(frames/benchBatch, 100)
	begun := time.Now()
	for range batches {
		for _, r := range readers {
			_ = r.write(net.Buffers{ready}) // never fails
		}
	}
	return float64(time.Since(begun).Nanoseconds()) / float64(batches*benchBatch) / float64(clients)
}

// BenchmarkTopicSnapshot measures what it costs to bring a client from nowhere
// to the present of a conversation that has come to 10,000 rows of one KiB:
// while it stands still, and when it changed since the last one who asked.
func BenchmarkTopicSnapshot(b *testing.B) {
	for _, changing := range []bool{false, true} {
		b.Run(map[bool]string{false: "unchanged", true: "changed"}[changing], func(b *testing.B) {
			var u upstream
			t := u.begin(b, benchRow(1, ""))
			defer t.Stream.Close()
			text := strings.Repeat("words ", 1024/6)
			for id := 2; id <= 10_000; id++ {
				u.feed(b, t, u.next(`{"kind":"deltas","deltas":[{"op":"row.appended","row":`+benchRow(id, text)+`}]}`))
			}
			o := fanout.NewOutbox(fanout.OutboxOptions{Write: newBenchReader().write})
			defer o.Close()
			sub := o.Subscribe(t.Stream, nil)
			b.ReportAllocs()
			b.ResetTimer()
			bytes := 0
			for range b.N {
				if changing {
					u.feed(b, t, u.next(`{"kind":"deltas","deltas":[{"op":"row.delta","rowId":10000,"path":"text","append":"x"}]}`))
				}
				opening, err := t.Open(sub, Ask{Kind: conversation.Initial})
				if err != nil {
					b.Fatal(err)
				}
				bytes = len(opening.Messages[0])
				opening.Seat.Release()
			}
			b.ReportMetric(float64(bytes), "B/snapshot")
		})
	}
}
