package push

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"zcodehub/internal/hubtest"
)

// No address of this machine, its networks or any network but the internet is
// ever dialled, in whatever form it stands.
func TestPushReachesPublicAddressesOnly(t *testing.T) {
	for _, text := range []string{
		"127.0.0.1:443", "127.9.9.9:80", "10.0.0.1:443", "172.16.0.1:443", "192.168.1.1:443", "169.254.169.254:80", "100.64.0.1:443", "0.0.0.0:443",
		"255.255.255.255:1", "224.0.0.1:1", "198.18.0.1:1", "192.0.2.1:1", "240.0.0.1:1",
		"[::1]:443", "[::]:443", "[fe80::1%eth0]:443", "[fc00::1]:443", "[fd12::1]:443", "[ff02::1]:443", "[::ffff:127.0.0.1]:443", "[::ffff:10.0.0.1]:443",
		"[::127.0.0.1]:443", "[64:ff9b::7f00:1]:443", "[2002:7f00:1::]:443", "[2001:0:7f00:1::]:443", "[2001:db8::1]:443", "[fec0::1]:443",
		"localhost:443", "", "1.1.1.1",
	} {
		if checkPublic(text) == nil {
			t.Errorf("%q may be dialled", text)
		}
	}
	for _, text := range []string{"1.1.1.1:443", "172.15.0.1:443", "100.63.0.1:443", "[2606:4700::1111]:443", "[::ffff:1.1.1.1]:443"} {
		if err := checkPublic(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// An address of version 4 is judged alike in its mapped form.
func FuzzMappedAddressesAreJudgedAlike(f *testing.F) {
	f.Add(uint32(0x7f000001))
	f.Fuzz(func(t *testing.T, number uint32) {
		var four [4]byte
		binary.BigEndian.PutUint32(four[:], number)
		plain := netip.AddrFrom4(four)
		if mapped := netip.AddrFrom16(plain.As16()); isPublic(plain) != isPublic(mapped) {
			t.Errorf("%s and %s are judged differently", plain, mapped)
		}
	})
}

// The service that is used outside of tests refuses what leads to this machine,
// and does not try again.
func TestPushIsNotSentToThisMachine(t *testing.T) {
	st, b := hubtest.NewPushStation(t), hubtest.NewBrowser(t)
	r := newRig(t, t.TempDir(), nil)
	r.subscribe(t, "phone", subscriptionOf(b, st.URL+"/1"))
	r.Send("phone", "a", text("hello"))
	r.wantCount(t, "failed", 1)
	if len(st.Got) > 0 {
		t.Error("the push service on this machine was sent a message")
	}
}
