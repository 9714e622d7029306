package main

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"zcodehub/auth"
	"zcodehub/web"
)

// The hub as it is installed offers its page, leased control and Web Push, keeps its key and the subscriptions over a
// restart, and forgets those of a device that is revoked.
func TestServedHubOffersPageControlAndPush(t *testing.T) {
	dir := shortDir(t)
	serve := func() *hubProcess {
		return startHubIn(t, dir, nil, "serve", "--app-server", simulated(), "--listen", "127.0.0.1:0", "--control", "lease")
	}
	p := serve()
	token := strings.TrimSpace(p.run("token", "create", "--role", "approver", "--name", "phone"))
	ws, status := p.dial("", bearer(token))
	if ws == nil {
		t.Fatalf("/ws answered %d", status)
	}
	_, frame, err := ws.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var hello struct {
		Params struct {
			Capabilities struct {
				Page, Control string
				Push          bool
			}
		}
	}
	if err := json.Unmarshal(frame, &hello); err != nil {
		t.Fatal(err)
	}
	page, err := web.PageID()
	if got := hello.Params.Capabilities; err != nil || got.Page != page || got.Control != "lease" || !got.Push {
		t.Errorf("hub/hello tells %s: %v", frame, err)
	}
	if status, body := p.get("/build.json", ""); status != 200 || !strings.Contains(body, page) {
		t.Errorf("/build.json answered %d %s", status, body)
	}

	_, key := p.get("/api/push/key", token)
	point, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	subscription := fmt.Sprintf(`{"endpoint":"https://push.example.org/1","keys":{"p256dh":%q,"auth":"AAAAAAAAAAAAAAAAAAAAAA"}}`,
		base64.RawURLEncoding.EncodeToString(point.PublicKey().Bytes()))
	request, err := http.NewRequest("POST", p.url+"/api/push/subscriptions", strings.NewReader(subscription))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = bearer(token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Errorf("subscribing answered %d", response.StatusCode)
	}
	p.kill()
	p = serve()
	subscriptions := func(n int) {
		t.Helper()
		if _, body := p.get("/metrics", ""); !strings.Contains(body, fmt.Sprintf("\nhub_push_subscriptions %d\n", n)) {
			t.Errorf("there are not %d subscriptions", n)
		}
	}
	subscriptions(1)
	if _, again := p.get("/api/push/key", token); again != key || !strings.Contains(key, "publicKey") {
		t.Errorf("the key is %s, before the restart it was %s", again, key)
	}
	p.run("devices", "revoke", "phone")
	subscriptions(0)
	if err := auth.CheckDataDir(filepath.Join(dir, "data")); err != nil {
		t.Error(err)
	}
	if status, _ := p.get("/api/push/key", token); status != http.StatusUnauthorized {
		t.Errorf("a revoked device's request answered %d", status)
	}
}
