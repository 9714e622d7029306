package auth

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"
)

func TestFailuresDoubleThePause(t *testing.T) {
	var l Limiter
	addr := netip.MustParseAddr("192.0.2.1")
	want := []time.Duration{0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}
	for i, w := range want {
		l.Failed(addr, noon)
		if got := l.Wait(addr, noon); got != w*time.Second {
			t.Errorf("after %d failures: got %v, want %v", i+1, got, w*time.Second)
		}
	}
	for range 100 {
		l.Failed(addr, noon)
	}
	if got := l.Wait(addr, noon); got != maxBackoff {
		t.Errorf("after very many: got %v, want %v", got, maxBackoff)
	}
	if got := l.Wait(addr, noon.Add(299*time.Second)); got != time.Second {
		t.Errorf("a second before its end: got %v, want 1s", got)
	}
	if got := l.Wait(netip.MustParseAddr("192.0.2.2"), noon); got != 0 {
		t.Errorf("a neighbour waits %v", got)
	}
	l.Succeeded(addr)
	if got := l.Wait(addr, noon); got != 0 {
		t.Errorf("after a success: got %v, want 0", got)
	}
}

func TestOldFailuresAreForgotten(t *testing.T) {
	var l Limiter
	addr := netip.MustParseAddr("192.0.2.1")
	for range 20 {
		l.Failed(addr, noon)
	}
	l.Failed(addr, noon.Add(forgetFailures))
	if got := l.known[addr].count; got != 1 {
		t.Errorf("failures counted after a quiet time: got %d, want 1", got)
	}
}

func TestOneNetworkIsOneClient(t *testing.T) {
	var l Limiter
	for range 20 {
		l.Failed(netip.MustParseAddr("2001:db8:1:2:aaaa::1"), noon)
		l.Failed(netip.MustParseAddr("::ffff:192.0.2.1"), noon)
	}
	for addr, waits := range map[string]bool{
		"2001:db8:1:2:bbbb::9": true, "2001:db8:1:3::1": false, "192.0.2.1": true, "192.0.2.2": false,
	} {
		if got := l.Wait(netip.MustParseAddr(addr), noon) > 0; got != waits {
			t.Errorf("%s waits: got %v, want %v", addr, got, waits)
		}
	}
}

func TestStrangerBehindATunnelDoesNotLockOutAll(t *testing.T) {
	var l Limiter
	for _, addr := range []string{"127.0.0.1", "::1"} {
		for range 100 {
			l.Failed(netip.MustParseAddr(addr), noon)
		}
		if got := l.Wait(netip.MustParseAddr(addr), noon); got != sharedBackoff {
			t.Errorf("%s: got %v, want %v", addr, got, sharedBackoff)
		}
	}
}

func TestLimiterIsBounded(t *testing.T) {
	var l Limiter
	var b [4]byte
	for i := range maxAddresses + 100 {
		binary.BigEndian.PutUint32(b[:], uint32(i)+1<<24)
		l.Failed(netip.AddrFrom4(b), noon.Add(time.Duration(i)))
	}
	if got := len(l.known); got != maxAddresses {
		t.Errorf("addresses kept: got %d, want %d", got, maxAddresses)
	}
	if _, kept := l.known[netip.AddrFrom4(b)]; !kept {
		t.Error("the newest was forgotten")
	}
}
