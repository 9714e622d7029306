package web

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"zcodehub/auth"
)

const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
)

// Each case is what a client sends after its handshake: what reaches the hub, and how the connection ends.
func TestFrameRules(t *testing.T) {
	euro := "\xe2\x82\xac"
	join := func(frames ...[]byte) []byte { return bytes.Join(frames, nil) }
	normal := string([]byte{0x03, 0xE8})
	tests := []struct {
		name  string
		send  []byte
		heard []string
		code  int
	}{
		{"one frame", join(clientFrame(finBit|opText, "whole"), clientFrame(finBit|opClose, normal)), []string{"whole"}, CloseNormal},
		{"an empty frame", join(clientFrame(finBit|opText, ""), clientFrame(finBit|opClose, normal)), []string{""}, CloseNormal},
		{"close without a code", clientFrame(finBit|opClose, ""), nil, closeNoStatus},
		{"fragments", join(clientFrame(opText, "in "), clientFrame(opContinuation, "three "), clientFrame(finBit|opContinuation, "parts"), clientFrame(finBit|opClose, normal)),
			[]string{"in three parts"}, CloseNormal},
		{"a pong between fragments", join(clientFrame(opText, "a"), clientFrame(finBit|opPong, "x"), clientFrame(finBit|opContinuation, "b"), clientFrame(finBit|opClose, normal)),
			[]string{"ab"}, CloseNormal},
		{"a character cut by fragments", join(clientFrame(opText, euro[:1]), clientFrame(finBit|opContinuation, euro[1:]), clientFrame(finBit|opClose, normal)),
			[]string{euro}, CloseNormal},
		{"invalid UTF-8", clientFrame(finBit|opText, "\xff"), nil, CloseNotUTF8},
		{"a surrogate", clientFrame(finBit|opText, "\xed\xa0\x80"), nil, CloseNotUTF8},
		{"a character that ends too early", clientFrame(finBit|opText, euro[:2]), nil, CloseNotUTF8},
		{"a binary frame", clientFrame(finBit|opBinary, "{}"), nil, ClosePolicy},
		{"a message that starts inside another", join(clientFrame(opText, "a"), clientFrame(finBit|opText, "b")), nil, CloseProtocol},
		{"a continuation of nothing", clientFrame(finBit|opContinuation, "a"), nil, CloseProtocol},
		{"an unknown opcode", clientFrame(finBit|0x3, ""), nil, CloseProtocol},
		{"a reserved bit", clientFrame(finBit|0x40|opText, "a"), nil, CloseProtocol},
		{"a fragmented ping", clientFrame(opPing, ""), nil, CloseProtocol},
		{"a ping that is too long", clientFrame(finBit|opPing, strings.Repeat("x", 126)), nil, CloseProtocol},
		{"a close code that may not be sent", clientFrame(finBit|opClose, string([]byte{0x03, 0xED})), nil, CloseProtocol},
		{"a close frame of one byte", clientFrame(finBit|opClose, "x"), nil, CloseProtocol},
		{"an unmasked frame", textFrame("bare"), nil, CloseProtocol},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *harness) {
				conn, client := h.rawConnect()
				defer conn.Close()
				go conn.Write(tt.send)
				frame, err := readFrame(conn)
				if code, _ := parseCloseFrame(frame); err != nil || code != tt.code {
					t.Errorf("the hub sent %q, %v, want a close frame with %d", frame, err, tt.code)
				}
				if after, err := io.ReadAll(conn); err != nil || len(after) > 0 {
					t.Errorf("after the close frame came %q, %v", after, err)
				}
				<-client.detached
				close(client.frames)
				var heard []string
				for f := range client.frames {
					heard = append(heard, string(f))
				}
				if diff := cmp.Diff(tt.heard, heard); diff != "" {
					t.Errorf("the hub heard (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestPingBetweenFragmentsIsAnswered(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		conn, client := h.rawConnect()
		defer conn.Close()
		go func() {
			conn.Write(clientFrame(opText, "a"))
			conn.Write(clientFrame(finBit|opPing, "now"))
			conn.Write(clientFrame(finBit|opContinuation, "b"))
		}()
		if frame, err := readFrame(conn); err != nil || string(frame) != "\x8a\x03now" {
			t.Errorf("the hub sent %q, %v, want a pong", frame, err)
		}
		if got := string(<-client.frames); got != "ab" {
			t.Errorf("the hub heard %q, want %q", got, "ab")
		}
	})
}

func TestMessageOverTheLimitCloses1009(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.server.maxMessage = 1000
		conn, client := h.rawConnect()
		defer conn.Close()
		go func() {
			conn.Write(clientFrame(finBit|opText, strings.Repeat("x", 1000)))
			conn.Write(clientFrame(opText, strings.Repeat("x", 600)))
			conn.Write(clientFrame(finBit|opContinuation, strings.Repeat("x", 600)))
		}()
		if got := len(<-client.frames); got != 1000 {
			t.Errorf("the hub heard %d bytes, want the 1000 that are allowed", got)
		}
		frame, err := readFrame(conn)
		if code, _ := parseCloseFrame(frame); err != nil || code != CloseTooBig {
			t.Errorf("the hub sent %q, %v, want a close frame with %d", frame, err, CloseTooBig)
		}
	})
}

// Over TCP, closing with unread bytes would reset the connection and the close frame would be lost.
func TestPeerThatIsStillSendingReadsItsCloseFrame(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, ln)
	defer h.stop()
	h.server.maxMessage = 1 << 20
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	h.upgrade(conn)
	sent := make(chan error, 1)
	go func() {
		_, err := conn.Write(clientFrame(finBit|opText, strings.Repeat("x", 8<<20)))
		sent <- err
	}()
	frame, err := readFrame(conn)
	if code, _ := parseCloseFrame(frame); err != nil || code != CloseTooBig {
		t.Errorf("the hub sent %q, %v, want a close frame with %d", frame, err, CloseTooBig)
	}
	if err := <-sent; err != nil {
		t.Errorf("the peer's write ended with %v: its connection was reset", err)
	}
}

func TestFrameAfterTheCloseFrameIsNotHeard(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		conn, client := h.rawConnect()
		defer conn.Close()
		client.sink.CloseSoon(CloseRevoked, "revoked")
		if frame, err := readFrame(conn); err != nil || frame[0] != finBit|opClose {
			t.Errorf("the hub sent %q, %v", frame, err)
		}
		conn.Write(clientFrame(finBit|opText, "one more wish"))
		<-client.detached
		select {
		case frame := <-client.frames:
			t.Errorf("the hub heard %q", frame)
		default:
		}
	})
}

// wantPolicyClose reads until the hub closes the connection, which it does for
// policy, and hangs up.
func wantPolicyClose(t *testing.T, conn net.Conn) {
	t.Helper()
	defer conn.Close()
	for {
		frame, err := readFrame(conn)
		if err != nil {
			t.Fatalf("ended without a close frame: %v", err)
		}
		if frame[0]&0x0F != opClose {
			continue
		}
		if code, _ := parseCloseFrame(frame); code != ClosePolicy {
			t.Errorf("closed with %d, want %d", code, ClosePolicy)
		}
		return
	}
}

func TestFloodIsCutOff(t *testing.T) {
	for _, kind := range []byte{finBit | opText, finBit | opPing, finBit | opPong} {
		bubble(t, func(t *testing.T, h *harness) {
			conn, client := h.rawConnect()
			defer conn.Close()
			go func() {
				for range client.frames {
				}
			}()
			defer func() { <-client.detached; close(client.frames) }()
			sent := make(chan int)
			go func() {
				n := 0
				for ; n < 2*floodBurst; n++ {
					if _, err := conn.Write(clientFrame(kind, "")); err != nil {
						break
					}
				}
				sent <- n
			}()
			wantPolicyClose(t, conn)
			if got := <-sent; got < floodBurst {
				t.Errorf("cut off after %d frames, want at least %d", got, floodBurst)
			}
		})
	}
}

// Empty fragments are no message, however many there are: they end as soon as
// they are more than the largest message would be.
func TestFragmentsWithoutEndAreCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.server.maxMessage = 1 << 20
		conn, client := h.rawConnect()
		defer conn.Close()
		defer func() { <-client.detached }()
		empty := bytes.Repeat(clientFrame(opContinuation, ""), 10_000)
		wrote := make(chan int)
		go func() {
			conn.Write(clientFrame(opText, "a"))
			total := 0
			for total < 16<<20 {
				n, err := conn.Write(empty)
				total += n
				if err != nil {
					break
				}
			}
			wrote <- total
		}()
		wantPolicyClose(t, conn)
		if n := <-wrote; n > 4<<20 {
			t.Errorf("%d bytes of nothing were read", n)
		}
	})
}

func TestSubprotocolIsOptional(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		for _, tt := range []struct {
			offered []string
			want    string
		}{{nil, ""}, {[]string{subprotocol}, subprotocol}, {[]string{"other", subprotocol}, subprotocol}, {[]string{"other"}, ""}} {
			ws, _, err := websocket.Dial(t.Context(), "ws://"+address+"/ws", &websocket.DialOptions{
				HTTPClient: h.http, HTTPHeader: bearer(h.token(auth.Grant{})), Subprotocols: tt.offered,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := ws.Subprotocol(); got != tt.want {
				t.Errorf("offered %v: got %q, want %q", tt.offered, got, tt.want)
			}
			ws.CloseNow()
		}
	})
}

func TestCompressionIsNotNegotiated(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		ws, response, err := websocket.Dial(t.Context(), "ws://"+address+"/ws", &websocket.DialOptions{
			HTTPClient: h.http, HTTPHeader: bearer(h.token(auth.Grant{})), CompressionMode: websocket.CompressionContextTakeover,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer ws.CloseNow()
		if got := response.Header.Get("Sec-WebSocket-Extensions"); got != "" {
			t.Errorf("negotiated %q", got)
		}
	})
}

// Frames that a client sends together with its handshake are not lost with the HTTP server's buffer.
func TestFramesSentWithTheHandshakeAreHeard(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		conn, err := h.pipes.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		early := handshake(h.token(auth.Grant{})) + string(clientFrame(finBit|opText, "early"))
		go io.WriteString(conn, early)
		go io.Copy(io.Discard, conn)
		client := <-h.hub.attached
		if got := string(<-client.frames); got != "early" {
			t.Errorf("the hub heard %q", got)
		}
	})
}

func TestPeerThatVanishesIsDetached(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		conn, client := h.rawConnect()
		blocked := make(chan error, 1)
		go func() { blocked <- client.sink.WriteFrames(net.Buffers{textFrame("never read")}) }()
		synctest.Wait()
		started := time.Now()
		conn.Close()
		if <-blocked == nil {
			t.Error("a write to nobody succeeded")
		}
		<-client.detached
		if waited := time.Since(started); waited != 0 {
			t.Errorf("detached after %v", waited)
		}
	})
}
