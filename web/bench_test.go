package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"zcodehub/auth"
	"zcodehub/hub"
)

// idleHub keeps nothing, so that the benchmarks below measure the edge alone.
type idleHub struct{ sinks chan hub.Sink }

func (h idleHub) Attach(_ hub.ClientInfo, sink hub.Sink) (Client, error) {
	h.sinks <- sink
	return nobody{}, nil
}
func (h idleHub) Ready() (bool, string)                     { return true, "ready" }
func (h idleHub) Status() hub.Status                        { return hub.Status{} }
func (h idleHub) Drain(string, time.Duration)               {}
func (h idleHub) Act(string, string, func(hub.Acted)) error { return hub.ErrBadAction }
func (h idleHub) CallAs(context.Context, *auth.Principal, string, any) (json.RawMessage, error) {
	return nil, errors.New("there is no app-server")
}

func benchServer(b *testing.B, clients int) (*harness, net.Listener, idleHub) {
	b.Helper()
	gate := newGate(b)
	b.Cleanup(func() { _ = gate.Devices.Close() })
	edge, err := auth.NewEdge(auth.EdgeConfig{PublicURL: "http://" + address})
	if err != nil {
		b.Fatal(err)
	}
	sinks := idleHub{make(chan hub.Sink, clients)}
	server, err := New(Options{
		Hub: sinks, Gate: gate, Tickets: new(auth.Tickets), Edge: edge, Registry: prometheus.NewRegistry(),
		Log: slog.New(slog.DiscardHandler), DrainTimeout: time.Millisecond,
	})
	if err != nil {
		b.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(b.Context(), ln) }()
	b.Cleanup(func() { <-served })
	return &harness{gate: gate}, ln, sinks
}

// BenchmarkIdleConnection reports what an authenticated connection holds while nothing happens: after one message and
// one ping in both directions, with stacks and after a collection. The peer's end, in the same process, is a bare
// socket of about 0.7 KiB and is counted too.
func BenchmarkIdleConnection(b *testing.B) {
	const clients = 1000
	h, ln, sinks := benchServer(b, clients)
	for b.Loop() {
		before := memoryInUse()
		started := time.Now()
		conns := make([]net.Conn, clients)
		for i := range conns {
			conn, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			upgradeForBench(b, h, conn)
			conns[i] = conn
		}
		b.ReportMetric(float64(time.Since(started).Microseconds())/clients, "us/connect")
		kept := make([]hub.Sink, clients)
		for i := range kept {
			kept[i] = <-sinks.sinks
			if err := kept[i].WriteFrames(net.Buffers{textFrame("hello")}); err != nil {
				b.Fatal(err)
			}
		}
		for _, conn := range conns {
			conn.Write(clientFrame(finBit|opText, `{"id":1,"method":"hub/ping","params":{}}`))
			conn.Write(clientFrame(finBit|opPing, ""))
			for range 2 {
				if _, err := readFrame(conn); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(memoryInUse()-before)/clients/1024, "KiB/conn")
		b.ReportMetric(float64(runtime.NumGoroutine())/clients, "goroutines/conn")
		for _, conn := range conns {
			conn.Close()
		}
		runtime.KeepAlive(kept)
	}
}

func upgradeForBench(b *testing.B, h *harness, conn net.Conn) {
	b.Helper()
	token, _, err := h.gate.Issue(auth.Grant{Name: "phone", Role: auth.RoleOperator}, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	if err := upgrade(conn, token); err != nil {
		b.Fatal(err)
	}
}

func memoryInUse() int64 {
	runtime.GC()
	runtime.GC() // stacks shrink in the first, what they held is freed in the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkWriteFrames measures one write of a burst: 256 ready frames of 290 bytes to a peer that reads.
func BenchmarkWriteFrames(b *testing.B) {
	h, ln, sinks := benchServer(b, 1)
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	upgradeForBench(b, h, conn)
	go io.Copy(io.Discard, conn)
	sink := <-sinks.sinks
	frames := make(net.Buffers, 256)
	for i := range frames {
		frames[i] = textFrame(string(make([]byte, 286)))
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := sink.WriteFrames(frames); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/frame")
	conn.Close()
}
