package auth

import (
	"strings"
	"testing"
)

func TestBeyondLoopbackNeedsADecision(t *testing.T) {
	tests := []struct {
		addr        string
		allowed, ok bool
	}{
		{"127.0.0.1:8377", false, true},
		{"127.0.0.1:0", false, true},
		{"127.1.2.3:8377", false, true},
		{"[::1]:8377", false, true},
		{"localhost:8377", false, true},
		{":8377", false, false},
		{"0.0.0.0:8377", false, false},
		{"[::]:8377", false, false},
		{"192.168.1.5:8377", false, false},
		{"box.lan:8377", false, false},
		{"localhost.evil.example:8377", false, false},
		{"0.0.0.0:8377", true, true},
		{"8377", true, false},
	}
	for _, tt := range tests {
		err := CheckListen(tt.addr, tt.allowed)
		if (err == nil) != tt.ok {
			t.Errorf("CheckListen(%q, %v): got %v, want ok=%v", tt.addr, tt.allowed, err, tt.ok)
		}
	}
	err := CheckListen(":8377", false)
	if err == nil || !strings.Contains(err.Error(), "--public-url") || !strings.Contains(err.Error(), AllowListenFlag) {
		t.Errorf("the error names no way out: %v", err)
	}
}
