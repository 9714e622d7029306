package auth

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestTicketWorksOnce(t *testing.T) {
	var tickets Tickets
	p := &Principal{Device: "d"}
	ticket, _ := tickets.Issue(p)
	if got, ok := tickets.Redeem(ticket); !ok || got != p {
		t.Fatalf("first Redeem: got %v, %v", got, ok)
	}
	if _, ok := tickets.Redeem(ticket); ok {
		t.Error("second Redeem: accepted")
	}
	for _, bad := range []string{"", ticket + "A", "AAAAAAAAAAAAAAAAAAAAAA"} {
		if _, ok := tickets.Redeem(bad); ok {
			t.Errorf("Redeem(%q): accepted", bad)
		}
	}
}

func TestTicketHasOneWinnerInARace(t *testing.T) {
	var tickets Tickets
	ticket, _ := tickets.Issue(&Principal{Device: "d"})
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, ok := tickets.Redeem(ticket); ok {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("winners: got %d, want 1", won.Load())
	}
}

func TestTicketLivesThirtySecondsAndNotLongerThanItsPrincipal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tickets Tickets
		early, expires := tickets.Issue(&Principal{Device: "d"})
		late, _ := tickets.Issue(&Principal{Device: "d"})
		mortal, _ := tickets.Issue(&Principal{Device: "d", ExpiresAt: time.Now().Add(10 * time.Second)})
		if got := time.Until(expires); got != 30*time.Second {
			t.Errorf("life: got %v, want 30s", got)
		}
		time.Sleep(30*time.Second - 1)
		if _, ok := tickets.Redeem(early); !ok {
			t.Error("refused before its time")
		}
		if _, ok := tickets.Redeem(mortal); ok {
			t.Error("accepted after the principal's own end")
		}
		time.Sleep(time.Nanosecond)
		if _, ok := tickets.Redeem(late); ok {
			t.Error("accepted after its time")
		}
		if len(tickets.open) != 0 {
			t.Errorf("tickets kept: got %d, want 0", len(tickets.open))
		}
	})
}

func TestOneDeviceCannotPushOutTheOthersTickets(t *testing.T) {
	var tickets Tickets
	other, _ := tickets.Issue(&Principal{Device: "other"})
	var last string
	for range 10 * maxTickets {
		last, _ = tickets.Issue(&Principal{Device: "greedy"})
	}
	if got := len(tickets.open); got != maxTicketsPerDevice+1 {
		t.Errorf("open tickets: got %d, want %d", got, maxTicketsPerDevice+1)
	}
	for _, ticket := range []string{other, last} {
		if _, ok := tickets.Redeem(ticket); !ok {
			t.Error("a ticket was pushed out")
		}
	}
}

func TestTicketsAreBounded(t *testing.T) {
	var tickets Tickets
	for i := range maxTickets + 10 {
		tickets.Issue(&Principal{Device: fmt.Sprint(i)})
	}
	if got := len(tickets.open); got != maxTickets {
		t.Errorf("open tickets: got %d, want %d", got, maxTickets)
	}
}

func TestDroppedDeviceHasNoTickets(t *testing.T) {
	var tickets Tickets
	gone, _ := tickets.Issue(&Principal{Device: "gone"})
	kept, _ := tickets.Issue(&Principal{Device: "kept"})
	tickets.Drop("gone")
	if _, ok := tickets.Redeem(gone); ok {
		t.Error("a dropped device's ticket was accepted")
	}
	if _, ok := tickets.Redeem(kept); !ok {
		t.Error("another device's ticket was dropped")
	}
}

func TestTicketOpensItsOwnPathOnly(t *testing.T) {
	var tickets Tickets
	p := &Principal{Device: "d"}
	tests := []struct {
		issued, used string
		ok           bool
	}{{"/ws", "/ws", true}, {"/ws", "/acp", false}, {"/ws", "", false}, {"", "/acp", true}}
	for _, tt := range tests {
		ticket, _ := tickets.IssueFor(p, tt.issued)
		if _, ok := tickets.RedeemFor(ticket, tt.used); ok != tt.ok {
			t.Errorf("ticket for %q on %q: got %v, want %v", tt.issued, tt.used, ok, tt.ok)
		}
		if _, ok := tickets.RedeemFor(ticket, tt.issued); ok {
			t.Errorf("ticket for %q after its use on %q: accepted", tt.issued, tt.used)
		}
	}
}
