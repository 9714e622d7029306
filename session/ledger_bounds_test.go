package session

import (
	"fmt"
	"strings"
	"testing"
)

func TestSettledOnesAreRememberedUpToABound(t *testing.T) {
	l := NewLedger("s")
	for i := range maxSettled + 1 {
		announce(t, l, fmt.Sprint(i), MethodPermission, permission(fmt.Sprintf("r%d", i)))
		l.Answer(fmt.Sprintf("r%d", i), phone, onlyAnswer, []byte(deny), false, start)
		l.Confirm(fmt.Sprintf("r%d", i), start)
	}
	list := l.Settled()
	if len(list) != maxSettled || list[0].RequestID != "r1" {
		t.Errorf("%d settled are remembered, from %s", len(list), list[0].RequestID)
	}
	if _, ok := l.Lookup("r0"); ok {
		t.Error("the oldest is still known")
	}
	if in, ok := l.Lookup("r1"); !ok || in.Params != nil {
		t.Errorf("Lookup(r1) = %+v, %v; want it without params", in, ok)
	}
	if len(l.byID) != maxSettled || len(l.byRequest) != maxSettled || l.openBytes != 0 {
		t.Errorf("left behind: %d ids, %d requests, %d bytes", len(l.byID), len(l.byRequest), l.openBytes)
	}
}

func TestRememberedResultsAreBounded(t *testing.T) {
	l := NewLedger("s")
	huge := fmt.Appendf(nil, `{"decision":"modify","modifiedInput":{"x":"%s"}}`, strings.Repeat("x", maxSettledBytes*2/3))
	for _, r := range []string{"a", "b"} {
		announce(t, l, `"`+r+`"`, MethodPermission, permission(r))
		l.Answer(r, phone, operator, huge, false, start)
		l.Written(r, start)
		l.Confirm(r, start)
	}
	if list := l.Settled(); len(list) != 1 || list[0].RequestID != "b" || l.settledBytes > maxSettledBytes {
		t.Errorf("remembered: %s, %d bytes", show(list...), l.settledBytes)
	}
}

func TestTooManyOpenInteractionsAreRefused(t *testing.T) {
	l := NewLedger("s")
	for i := range maxOpen {
		announce(t, l, fmt.Sprint(i), MethodPermission, permission(fmt.Sprintf("r%d", i)))
	}
	if _, _, _, err := l.Announce([]byte("x"), MethodPermission, permission("more"), start); err != ErrTooManyOpen {
		t.Errorf("one more: %v", err)
	}
	if _, first, _, err := l.Announce([]byte("y"), MethodPermission, permission("r0"), start); first || err != nil {
		t.Errorf("an open one again: %v", err)
	}
	l.Confirm("r0", start)
	announce(t, l, "z", MethodPermission, permission("more"))

	big := NewLedger("s")
	large := []byte(strings.Replace(string(permission("r")), `"ls"`, `"`+strings.Repeat("x", maxOpenBytes)+`"`, 1))
	announce(t, big, "1", MethodPermission, large)
	if _, _, _, err := big.Announce([]byte("2"), MethodPermission, permission("s"), start); err != ErrTooManyOpen {
		t.Errorf("over the bytes: %v", err)
	}
}

func TestOldestAnnouncedIDsAreForgotten(t *testing.T) {
	l := newLedger(t)
	for i := range maxAnnounced {
		announce(t, l, fmt.Sprint(i), MethodPermission, permission("r"))
	}
	v := l.Answer("r", phone, onlyAnswer, []byte(deny), false, start)
	if len(v.Announced) != maxAnnounced || string(v.Announced[0]) != fmt.Sprint(maxAnnounced-1) || string(v.Announced[maxAnnounced-1]) != "0" {
		t.Errorf("%d ids, from %s to %s", len(v.Announced), v.Announced[0], v.Announced[len(v.Announced)-1])
	}
}
