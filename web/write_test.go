package web

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever a write leaves behind, what is missing of the cut frame makes the peer's stream whole again.
func TestCutFrameCompletesTheStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		var ends []int
		for range rapid.IntRange(1, 6).Draw(t, "frames") {
			size := rapid.SampledFrom([]int{0, 1, 125, 126, 200, 65535, 65536, 70000}).Draw(t, "size")
			stream = append(stream, textFrame(strings.Repeat("x", size))...)
			ends = append(ends, len(stream))
		}
		var bufs net.Buffers // the same bytes, cut anywhere: a buffer may hold several frames or part of one
		for rest := stream; len(rest) > 0; {
			n := rapid.IntRange(0, len(rest)).Draw(t, "buffer")
			bufs = append(bufs, rest[:n:n])
			rest = rest[n:]
			if n == 0 && len(bufs) > 20 {
				bufs, rest = append(bufs, rest), nil
			}
		}
		before := slices.Clone(bufs)
		n := rapid.IntRange(0, len(stream)).Draw(t, "written")

		rest := bytes.Join(cutFrame(bufs, int64(n)), nil)
		end := n + len(rest)
		if !bytes.Equal(stream[n:end], rest) {
			t.Fatal("not the bytes that follow")
		}
		if end != 0 && !slices.Contains(ends, end) {
			t.Fatalf("after %d of %v bytes it ends at %d", n, ends, end)
		}
		if i, _ := slices.BinarySearch(ends, max(n, 1)); n > 0 && end != ends[i] {
			t.Fatalf("after %d of %v bytes it ends at %d: more than the cut frame", n, ends, end)
		}
		for i := range bufs {
			if !bytes.Equal(bufs[i], before[i]) {
				t.Fatal("the frames were changed")
			}
		}
	})
}

func TestWriteFramesWritesEverythingAndLeavesTheFramesAlone(t *testing.T) {
	here, there := net.Pipe()
	var got bytes.Buffer
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(&got, there)
		read <- err
	}()
	var frames net.Buffers
	for i := range 3 * maxVectors {
		frames = append(frames, textFrame(fmt.Sprint(i)))
	}
	frames = append(frames, textFrame(strings.Repeat("x", 3*writeChunk)), textFrame("last"))
	want := slices.Clone(frames)
	if err := newOutlet(here).writeFrames(frames); err != nil {
		t.Fatal(err)
	}
	here.Close()
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), bytes.Join(want, nil)) {
		t.Error("the peer read something else")
	}
	for i := range want {
		if !bytes.Equal(frames[i], want[i]) {
			t.Errorf("frame %d was changed", i)
		}
	}
}

// A message may be of any size: what counts is that the peer takes some of it all the time.
func TestSlowPeerGetsABigMessageWhole(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		conn, client := h.rawConnect()
		defer conn.Close()
		big := textFrame(strings.Repeat("x", 8*writeChunk))
		wrote := make(chan error, 1)
		go func() { wrote <- client.sink.WriteFrames(net.Buffers{big}) }()
		started := time.Now()
		for range 8 {
			time.Sleep(writeTimeout - time.Second)
			if _, err := io.ReadFull(conn, make([]byte, writeChunk)); err != nil {
				t.Fatalf("after %v: %v", time.Since(started), err)
			}
		}
		go io.Copy(io.Discard, conn)
		if err := <-wrote; err != nil {
			t.Error(err)
		}
	})
}

// The hub writes as fast as it can while the peer pings: every frame arrives whole, the hub's in order, pongs between
// them, and nothing after the close frame.
func TestControlFramesNeverInterleaveWithData(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, ln)
	defer h.stop()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	h.upgrade(conn)
	client := <-h.hub.attached

	const batches, each = 300, 50
	var work sync.WaitGroup
	work.Go(func() {
		for i := range batches {
			var frames net.Buffers
			for j := range each {
				frames = append(frames, textFrame(fmt.Sprintf("%d %s", i*each+j, strings.Repeat("x", (i*j)%3000))))
			}
			if err := client.sink.WriteFrames(frames); err != nil {
				t.Errorf("WriteFrames: %v", err)
				return
			}
		}
		client.sink.CloseSoon(CloseGoingAway, "done")
	})
	work.Go(func() {
		for i := range 2000 {
			if _, err := conn.Write(clientFrame(finBit|opPing, fmt.Sprint(i))); err != nil {
				return // closed meanwhile
			}
		}
	})
	next, pongs := 0, 0
	for {
		frame, err := readFrame(conn)
		if err != nil {
			t.Fatalf("ended without a close frame after %d messages: %v", next, err)
		}
		switch frame[0] {
		case finBit | opText:
			payload := frame[2:]
			if frame[1] == 126 {
				payload = frame[4:]
			}
			if want := fmt.Sprintf("%d ", next); !bytes.HasPrefix(payload, []byte(want)) {
				t.Fatalf("message %.20q, want it to start with %q", payload, want)
			}
			next++
			continue
		case finBit | opPong:
			pongs++
			continue
		case finBit | opClose:
		default:
			t.Fatalf("no frame: %.20q", frame)
		}
		break
	}
	work.Wait()
	if after, _ := io.ReadAll(conn); len(after) > 0 {
		t.Errorf("after the close frame came %.50q", after)
	}
	if next != batches*each || pongs == 0 {
		t.Errorf("got %d messages and %d pongs, want %d and some", next, pongs, batches*each)
	}
}
