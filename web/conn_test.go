package web

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"zcodehub/auth"
)

func TestFramesPassBothWays(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		ws, client := h.connect(auth.Grant{})
		defer ws.CloseNow()
		if err := ws.Write(context.Background(), websocket.MessageText, []byte(`{"id":1}`)); err != nil {
			t.Fatal(err)
		}
		if got := string(<-client.frames); got != `{"id":1}` {
			t.Errorf("hub got %q", got)
		}
		wrote := make(chan error, 1)
		go func() { wrote <- client.sink.WriteFrames(net.Buffers{textFrame("one"), textFrame("two")}) }()
		for _, want := range []string{"one", "two"} {
			if _, got, err := ws.Read(context.Background()); err != nil || string(got) != want {
				t.Errorf("read %q, %v, want %q", got, err, want)
			}
		}
		if err := <-wrote; err != nil {
			t.Error(err)
		}
	})
}

func TestConnectionEndsNoLaterThanItsCredential(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		const life = 10 * time.Minute
		ws, client := h.connect(auth.Grant{TTL: life})
		started := time.Now()
		wantClose(t, ws, CloseTokenExpired)
		if got := time.Since(started); got != life {
			t.Errorf("closed after %v, want %v", got, life)
		}
		<-client.detached
	})
}

func TestNewerTokenExtendsTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		ws, client := h.connect(auth.Grant{TTL: time.Minute})
		started := time.Now()
		client.sink.(interface{ ExtendUntil(time.Time) }).ExtendUntil(started.Add(time.Hour))
		wantClose(t, ws, CloseTokenExpired)
		if got := time.Since(started); got != time.Hour {
			t.Errorf("closed after %v, want an hour", got)
		}
	})
}

// While a laptop sleeps, timers stand still and the clock does not: the next ping notices.
func TestCredentialThatExpiredDuringSleepEndsTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		ws, _ := h.connect(auth.Grant{TTL: time.Hour})
		h.server.forEach(func(c *conn) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.expiresAt = time.Now() // as if an hour had gone by
		})
		started := time.Now()
		wantClose(t, ws, CloseTokenExpired)
		if got := time.Since(started); got != pingEvery {
			t.Errorf("closed after %v, want %v", got, pingEvery)
		}
	})
}

func TestHealthyPeerStays(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		ws, client := h.connect(auth.Grant{})
		defer ws.CloseNow()
		ws.CloseRead(context.Background()) // answers pings
		time.Sleep(time.Hour)
		select {
		case <-client.detached:
			t.Error("a peer that answers every ping was disconnected")
		default:
		}
	})
}

// A silent peer takes what is sent and says nothing.
func TestSilentPeerEndsAfterTwoMissedPongs(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		conn, client := h.rawConnect()
		defer conn.Close()
		started := time.Now()
		pings := 0
		for {
			frame, err := readFrame(conn)
			if err != nil {
				t.Fatalf("ended without a close frame: %v", err)
			}
			if frame[0]&0x0F == opPing {
				pings++
				continue
			}
			if code, _ := parseCloseFrame(frame); code != CloseTooSlow {
				t.Errorf("closed with %d, want %d", code, CloseTooSlow)
			}
			break
		}
		if got, want := time.Since(started), 3*pingEvery; got != want || pings != 2 {
			t.Errorf("closed after %v and %d pings, want %v and 2", got, pings, want)
		}
		<-client.detached
	})
}

func TestOneMissedPongIsAllowed(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		conn, client := h.rawConnect()
		defer conn.Close()
		for i := range 20 {
			if _, err := readFrame(conn); err != nil {
				t.Fatalf("ended at ping %d: %v", i, err)
			}
			if i%2 == 1 { // every other pong is lost
				if _, err := conn.Write(clientFrame(finBit|opPong, "")); err != nil {
					t.Fatal(err)
				}
			}
		}
		select {
		case <-client.detached:
			t.Error("disconnected")
		default:
		}
	})
}

// A peer that reads nothing must cost the hub no more than one write's time, and nobody else anything.
func TestFrozenPeerIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		frozen, client := h.rawConnect()
		defer frozen.Close()
		ws, other := h.connect(auth.Grant{})
		defer ws.CloseNow()

		started := time.Now()
		blocked := make(chan error, 1)
		go func() { blocked <- client.sink.WriteFrames(net.Buffers{textFrame("never read")}) }()
		synctest.Wait()
		go other.sink.WriteFrames(net.Buffers{textFrame("on time")})
		if _, got, err := ws.Read(context.Background()); err != nil || string(got) != "on time" {
			t.Errorf("the other client read %q, %v", got, err)
		}
		if waited := time.Since(started); waited != 0 {
			t.Errorf("the other client waited %v", waited)
		}
		if err := <-blocked; err == nil {
			t.Error("a write to a frozen peer succeeded")
		}
		if got := time.Since(started); got != writeTimeout {
			t.Errorf("the write took %v, want %v", got, writeTimeout)
		}
		<-client.detached
		if got := time.Since(started); got > writeTimeout+closeGrace {
			t.Errorf("the connection took %v to end", got)
		}
	})
}

func TestCloseSoonNeverBlocksAndEndsABlockedWrite(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		frozen, client := h.rawConnect()
		defer frozen.Close()
		blocked := make(chan error, 1)
		go func() { blocked <- client.sink.WriteFrames(net.Buffers{textFrame("never read")}) }()
		synctest.Wait()

		started := time.Now()
		client.sink.CloseSoon(CloseTooSlow, "too slow")
		client.sink.CloseSoon(CloseGoingAway, "only the first counts")
		if <-blocked == nil {
			t.Error("the blocked write succeeded")
		}
		if waited := time.Since(started); waited != 0 {
			t.Errorf("the blocked write took %v to give up", waited)
		}
		<-client.detached
		if got := time.Since(started); got != closeGrace {
			t.Errorf("the connection ended after %v, want %v", got, closeGrace)
		}
		if err := client.sink.WriteFrames(net.Buffers{textFrame("late")}); err == nil {
			t.Error("a write after the end succeeded")
		}
	})
}

// A peer that is merely slow reads the rest of the frame that was cut, and then learns why it is disconnected.
func TestSlowPeerLearnsWhyItIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		slow, client := h.rawConnect()
		defer slow.Close()
		go client.sink.WriteFrames(net.Buffers{textFrame("first"), textFrame("second"), textFrame("third")})
		head := make([]byte, 10) // the first frame and the beginning of the second
		if _, err := slow.Read(head[:7]); err != nil {
			t.Fatal(err)
		}
		if _, err := slow.Read(head[7:]); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		client.sink.CloseSoon(CloseTooSlow, "too slow")

		rest := make([]byte, 5)
		if _, err := slow.Read(rest); err != nil || string(rest) != "econd" {
			t.Errorf("the frame that was cut went on with %q, %v", rest, err)
		}
		frame, err := readFrame(slow)
		if code, reason := parseCloseFrame(frame); err != nil || code != CloseTooSlow || reason != "too slow" {
			t.Errorf("then came %q, %v, want the close frame", frame, err)
		}
		if frame, err := readFrame(slow); err == nil {
			t.Errorf("after the close frame came %q", frame)
		}
	})
}

func TestPingIsAnsweredAfterTheRunningWrite(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		conn, client := h.rawConnect()
		defer conn.Close()
		go client.sink.WriteFrames(net.Buffers{textFrame("busy")})
		synctest.Wait()
		if _, err := conn.Write(clientFrame(finBit|opPing, "are you there")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second) // longer than the library allows a control frame
		for _, want := range []string{"\x81\x04busy", "\x8a\x0dare you there"} {
			frame, err := readFrame(conn)
			if err != nil || string(frame) != want {
				t.Errorf("read %q, %v, want %q", frame, err, want)
			}
		}
	})
}
