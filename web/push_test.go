package web

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/push"
	"zcodehub/session"
)

// pushBubble is bubble with a push service beside the server. What it is given to send goes to taken.
func pushBubble(t *testing.T, test func(t *testing.T, h *harness, service *push.Service, taken chan *http.Request)) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		defer h.stop()
		taken := make(chan *http.Request, 100)
		service, err := push.Open(push.Options{DataDir: t.TempDir(), Devices: h.gate.Devices, Contact: "https://hub.example.org",
			Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Transport: takes(taken)})
		if err != nil {
			t.Fatal(err)
		}
		h.server.push = service
		h.gate.Devices.OnRevoke(func(dev auth.Device) { _ = service.Forget(dev.ID) })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); service.Run(ctx) }()
		defer func() {
			cancel()
			<-ended
			if err := service.Close(); err != nil {
				t.Error(err)
			}
		}()
		test(t, h, service, taken)
	})
}

// takes is a network on which every push service takes everything.
type takes chan *http.Request

func (t takes) RoundTrip(r *http.Request) (*http.Response, error) {
	t <- r
	return &http.Response{StatusCode: http.StatusCreated, Body: http.NoBody, Request: r}, nil
}

// subscription is one of a browser of its own, as JSON.
func subscription(t *testing.T, endpoint string) string {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"endpoint":%q,"keys":{"p256dh":%q,"auth":"AAAAAAAAAAAAAAAAAAAAAA"},"language":"zh-CN"}`,
		endpoint, base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes()))
}

// A device that may answer subscribes, is reached, and is not any more once it has unsubscribed or was revoked.
func TestDeviceSubscribesToPush(t *testing.T) {
	pushBubble(t, func(t *testing.T, h *harness, service *push.Service, taken chan *http.Request) {
		phone, tablet := h.token(auth.Grant{Name: "phone"}), h.token(auth.Grant{Name: "tablet", Role: auth.RoleApprover})
		code, _, body := h.request("GET", "/api/push/key", bearer(phone))
		if code != 200 || body != fmt.Sprintf("{\"publicKey\":%q}\n", service.PublicKey()) {
			t.Errorf("the key: %d %s", code, body)
		}
		first := subscription(t, "https://push.example.org/1")
		for range 2 {
			if code, _, body := h.send("POST", "/api/push/subscriptions", bearer(phone), first); code != 204 {
				t.Fatalf("subscribing answered %d %s", code, body)
			}
		}
		if n := len(h.audit.named("push.subscribed")); n != 1 {
			t.Errorf("the audit notes %d subscriptions", n)
		}
		h.send("POST", "/api/push/subscriptions", bearer(tablet), subscription(t, "https://push.example.org/2"))
		holders := service.Holders(time.Now())
		if len(holders) != 2 {
			t.Fatalf("the holders are %+v", holders)
		}
		for _, p := range holders {
			service.Send(p.Device, "tag", func(language string) []byte { return []byte(language) })
		}
		synctest.Wait()
		if len(taken) != 2 {
			t.Errorf("%d messages went out", len(taken))
		}
		if code, _, _ := h.send("DELETE", "/api/push/subscriptions", bearer(tablet), `{"endpoint":"https://push.example.org/1"}`); code != 204 || len(service.Holders(time.Now())) != 2 {
			t.Errorf("another device's unsubscribe: %d, holders %+v", code, service.Holders(time.Now()))
		}
		if code, _, _ := h.send("DELETE", "/api/push/subscriptions", bearer(phone), `{"endpoint":"https://push.example.org/1"}`); code != 204 || len(service.Holders(time.Now())) != 1 {
			t.Errorf("unsubscribing: %d, holders %+v", code, service.Holders(time.Now()))
		}
		if _, err := h.gate.Devices.Revoke("tablet", "test", time.Now()); err != nil || len(service.Holders(time.Now())) != 0 {
			t.Errorf("after the revocation: %v, holders %+v", err, service.Holders(time.Now()))
		}
	})
}

func TestPushRoutesAreForDevicesThatMayAnswer(t *testing.T) {
	pushBubble(t, func(t *testing.T, h *harness, service *push.Service, _ chan *http.Request) {
		viewer, good := h.token(auth.Grant{Name: "wall", Role: auth.RoleViewer}), subscription(t, "https://push.example.org/1")
		foreign := bearer(h.token(auth.Grant{}))
		foreign.Set("Origin", "https://evil.example.org")
		for _, route := range []string{"GET /api/push/key", "POST /api/push/subscriptions", "DELETE /api/push/subscriptions"} {
			method, path, _ := strings.Cut(route, " ")
			for who, header := range map[string]http.Header{"nobody": nil, "a viewer": bearer(viewer), "a foreign page": foreign} {
				want := map[string]int{"nobody": 401}[who]
				if want == 0 {
					want = 403
				}
				if code, _, _ := h.send(method, path, header, good); code != want {
					t.Errorf("%s by %s answered %d, want %d", route, who, code, want)
				}
			}
		}
		operator := bearer(h.token(auth.Grant{}))
		for what, body := range map[string]string{
			"plain http": subscription(t, "http://push.example.org/1"), "no keys": `{"endpoint":"https://push.example.org/1"}`, "nothing": ``,
			"more members": strings.Replace(good, `{`, `{"device":"another",`, 1),
		} {
			if code, _, _ := h.send("POST", "/api/push/subscriptions", operator, body); code != 400 {
				t.Errorf("a subscription with %s answered %d", what, code)
			}
		}
		if len(service.Holders(time.Now())) != 0 {
			t.Errorf("the holders are %+v", service.Holders(time.Now()))
		}
	})
}

// A token needs no cookie and no header; a bad one is a bad credential: one answer for all, and after some of them the
// address must wait.
func TestActionByTokenNeedsNoCookieAndCannotBeGuessed(t *testing.T) {
	pushBubble(t, func(t *testing.T, h *harness, _ *push.Service, _ chan *http.Request) {
		h.pipes.remote = "203.0.113.9:4000"
		h.hub.actOn, h.hub.acted = "secret-token", hub.Acted{Status: "late", DecidedBy: &session.Author{Name: "desk", Device: "d"}}
		act := func(token, decision string) (int, http.Header, string) {
			return h.send("POST", "/api/push/act", http.Header{"Origin": {"http://" + address}}, fmt.Sprintf(`{"token":%q,"decision":%q}`, token, decision))
		}
		code, _, body := act("secret-token", "allow")
		var acted hub.Acted
		if err := json.Unmarshal([]byte(body), &acted); code != 200 || err != nil || acted.Status != "late" || acted.DecidedBy.Name != "desk" {
			t.Errorf("acting answered %d %s", code, body)
		}
		codes := map[int]int{}
		first := ""
		for i := range 60 {
			code, header, body := act(fmt.Sprint("guess-", i), []string{"allow", "deny", "", "modify"}[i%4])
			codes[code]++
			if first == "" {
				first = body
			}
			if code == 401 && body != first {
				t.Errorf("a guess was answered %s, another %s", body, first)
			}
			if code == 429 && header.Get("Retry-After") == "" {
				t.Error("it is not said how long to wait")
			}
		}
		if codes[401] == 0 || codes[429] == 0 || len(codes) != 2 {
			t.Errorf("the guesses were answered %v", codes)
		}
		if strings.Contains(h.log.String(), "secret-token") || strings.Contains(h.log.String(), "guess-1") {
			t.Error("a token is in the log")
		}
		if code, _, _ := h.send("POST", "/api/push/act", http.Header{"Origin": {"https://evil.example.org"}}, `{"token":"x","decision":"allow"}`); code != 403 {
			t.Errorf("a foreign page's try answered %d", code)
		}
	})
}

// An app-server that does not take the answer keeps no request waiting for long.
func TestActionByTokenDoesNotWaitForEver(t *testing.T) {
	pushBubble(t, func(t *testing.T, h *harness, _ *push.Service, _ chan *http.Request) {
		h.hub.actOn = "secret-token"
		begun := time.Now()
		code, _, _ := h.send("POST", "/api/push/act", nil, `{"token":"secret-token","decision":"allow"}`)
		if waited := time.Since(begun); code != http.StatusGatewayTimeout || waited != actTimeout {
			t.Errorf("it answered %d after %v", code, waited)
		}
	})
}

func TestWithoutPushItsRoutesAreNotThere(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		for _, route := range []string{"GET /api/push/key", "POST /api/push/subscriptions", "DELETE /api/push/subscriptions", "POST /api/push/act"} {
			method, path, _ := strings.Cut(route, " ")
			if code, _, _ := h.send(method, path, bearer(h.token(auth.Grant{})), `{}`); code != 404 {
				t.Errorf("%s answered %d", route, code)
			}
		}
	})
}
