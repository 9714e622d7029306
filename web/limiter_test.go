package web

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"zcodehub/auth"
)

func TestFailedCredentialsSlowTheirAddressDown(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.pipes.remote = "198.51.100.7:4000" // a trusted proxy
		good := h.token(auth.Grant{})
		from := func(token, client string) http.Header {
			header := bearer(token)
			header.Set("X-Forwarded-For", client)
			return header
		}
		var status int
		var header http.Header
		for tries := 0; status != http.StatusTooManyRequests; tries++ {
			if tries > 20 {
				t.Fatal("nobody was slowed down")
			}
			status, header, _ = h.request("POST", "/api/tickets", from("forged", "203.0.113.1"))
		}
		wait, err := strconv.Atoi(header.Get("Retry-After"))
		if err != nil || wait < 1 {
			t.Errorf("Retry-After: %q", header.Get("Retry-After"))
		}
		if status, _, _ := h.request("POST", "/api/tickets", from(good, "203.0.113.1")); status != http.StatusTooManyRequests {
			t.Errorf("a credential was looked at while its address had to wait: %d", status)
		}
		if status, _, _ := h.request("POST", "/api/tickets", from(good, "203.0.113.2")); status != http.StatusOK {
			t.Errorf("another address was slowed down: %d", status)
		}
		time.Sleep(time.Duration(wait) * time.Second)
		if status, _, _ := h.request("POST", "/api/tickets", from(good, "203.0.113.1")); status != http.StatusOK {
			t.Errorf("after the wait: %d", status)
		}
		if events := h.audit.named("credential.failed"); len(events) == 0 || events[0].Addr != "203.0.113.1" {
			t.Errorf("audit: %v", events)
		}
	})
}

func TestStrangersOnASharedAddressLockNobodyOut(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.pipes.remote = "127.0.0.1:4000" // a tunnel that nobody told the hub about
		good := h.token(auth.Grant{})
		for range 100 {
			h.request("POST", "/api/tickets", bearer("forged"))
		}
		if status, _, _ := h.request("POST", "/api/tickets", bearer(good)); status != http.StatusOK {
			t.Errorf("the owner was locked out: %d", status)
		}
	})
}

func TestForgedAddressesOfStrangersDoNotCount(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.pipes.remote = "203.0.113.9:4000" // no proxy of ours
		limited := false
		for i := range 20 {
			header := bearer("forged")
			header.Set("X-Forwarded-For", "192.0.2."+strconv.Itoa(i))
			status, _, _ := h.request("POST", "/api/tickets", header)
			limited = limited || status == http.StatusTooManyRequests
		}
		if !limited {
			t.Error("a made-up X-Forwarded-For got around the limit")
		}
	})
}

func TestFloodOfBadTokensGetsOneAnswerAndLittleLog(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		good := h.token(auth.Grant{TTL: time.Second})
		time.Sleep(time.Hour)
		parts := strings.Split(good, ".")
		answers := map[string]int{}
		const flood = 10_000
		for i := range flood {
			n := strconv.Itoa(i)
			token := []string{
				good, good[:len(good)-1-i%100], parts[0] + "." + parts[1] + ".", "eyJhbGciOiJub25lIn0." + parts[1] + ".",
				parts[0] + "." + parts[1] + "." + strings.Repeat("A", 86), n + "." + n + "." + n, strings.Repeat("x", i%9000+1),
			}[i%7]
			status, header, body := h.request("POST", "/api/tickets", bearer(token))
			answers[strconv.Itoa(status)+body+header.Get("WWW-Authenticate")]++
		}
		if len(answers) != 1 || !strings.HasPrefix(first(answers), "401") {
			t.Errorf("answers: %v", answers)
		}
		if log := h.log.String(); strings.Contains(log, parts[1]) || strings.Count(log, "credential refused") > flood/7+200 {
			t.Errorf("the log has %d lines about it, or holds a token", strings.Count(log, "credential refused"))
		}
		if events := len(h.audit.named("credential.failed")); events == 0 || events > 200 {
			t.Errorf("the audit has %d events of it", events)
		}
	})
}

func first(m map[string]int) string {
	for key := range m {
		return key
	}
	return ""
}
