package hub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
	"zcodehub/push"
)

// The whole way with real parts: the simulated agent asks, the phone's browser
// reads the question from a push service, its Deny button answers, the agent
// goes on, and the notification is taken back.
func TestQuestionGoesToThePhoneAndItsButtonAnswers(t *testing.T) {
	dir, station, browser := t.TempDir(), hubtest.NewPushStation(t), hubtest.NewBrowser(t)
	devices, err := auth.OpenDevices(dir)
	if err != nil {
		t.Fatal(err)
	}
	service, err := push.Open(push.Options{DataDir: dir, Devices: devices, Contact: "https://hub.example.org", Log: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry(), Transport: station.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); service.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		if err := service.Close(); err != nil {
			t.Error(err)
		}
		_ = devices.Close()
	})
	phone, err := devices.Enrol(auth.Grant{Name: "phone", Role: auth.RoleApprover, TTL: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	point, secret := browser.Keys()
	holder := &auth.Principal{Name: phone.Name, Device: phone.ID, Role: phone.Role, Rights: phone.Role.Rights(), Profiles: phone.Profiles}
	if _, err := service.Subscribe(holder, push.Subscription{Endpoint: station.URL + "/phone", Keys: push.Keys{P256dh: point, Auth: secret}, Language: "zh-CN"}, time.Now()); err != nil {
		t.Fatal(err)
	}

	h, _ := simulated(t, func(o *hub.Options) { o.Push = service })
	desk := h.Connect("desk", hubtest.As{})
	session := desk.Create("/work")
	desk.Subscribe(session, "")
	desk.Prompt(session, "ask")
	read := func() (p payload) {
		t.Helper()
		text, err := browser.Open(station.Want(t).Body)
		if err == nil {
			err = json.Unmarshal([]byte(text), &p)
		}
		if err != nil {
			t.Fatalf("the browser reads %q: %v", text, err)
		}
		return p
	}
	ask := read()
	if ask.Kind != "ask" || ask.SessionID != session || ask.Title == "" || !strings.HasPrefix(ask.Body, ask.ToolName+": ") || ask.Language != "zh-CN" {
		t.Errorf("the phone reads %+v", ask)
	}
	a, err := act(t, h, ask.Deny, "deny")
	if err != nil || a.Status != "accepted" {
		t.Errorf("the button gave %+v, %v", a, err)
	}
	desk.WantNotice("hub/interactionSettled", ask.RequestID, `"deny"`, fmt.Sprintf("%q", phone.ID))
	desk.WantNotice("hub/activity", `"answer"`, ask.RequestID, `"phone"`)
	desk.WantTurnEnd(0, session)
	if settled := read(); settled.Kind != "settled" || settled.RequestID != ask.RequestID || settled.Outcome != "deny" || settled.By != "phone" {
		t.Errorf("the phone reads %+v", settled)
	}
}
