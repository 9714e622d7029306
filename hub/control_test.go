package hub_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
)

func leased(o *hub.Options) { o.Control = hub.ControlLease }

// control asks for an action and returns the answer, be it an error.
func control(c *hubtest.Client, session, action string) hubtest.Message {
	return c.Call("hub/control", fmt.Sprintf(`{"sessionId":%q,"action":%q}`, session, action))
}

// steering are calls that change the course of a session, in every form.
func steering(session string) map[string]string {
	all := map[string]string{}
	for method, more := range map[string]string{
		"session/send": `,"content":"x"`, "session/stop": ``, "session/compact": ``, "session/goal": `,"action":"clear"`, "session/fork": `,"target":{"kind":"latestCheckpoint"}`,
		"session/setMode": `,"mode":"plan"`, "session/setModel": ``, "session/setThoughtLevel": ``, "session/cancelBackgroundTask": `,"taskId":"x"`,
		"session/close": ``, "future/method": ``,
	} {
		all[method] = fmt.Sprintf(`{"sessionId":%q%s}`, session, more)
	}
	for _, kind := range []string{"sendText", "sendGoalCommand", "compact", "stop", "retryTurn", "editUserQuery", "forkAssistant", "applyFileRewind",
		"sendQueuedNow", "deleteQueueItem", "editQueueItem", "reorderQueueItem", "setAutoDrain", "setFollowupMode", "switchModelConfig",
		"switchCollaborationMode", "pauseGoal", "resumeGoal", "cancelBackgroundWork", "renameSession", "deleteSession", "someFutureCommand"} {
		all["v4/command "+kind] = fmt.Sprintf(`{"commandId":"other-%s","sessionId":%q,"type":%q,"payload":{"text":"x"},"issuedAt":1}`, kind, session, kind)
	}
	return all
}

// Whoever steers first holds control. Nothing that another device sends steers
// then, and the refusal says who holds it; looking and answering go on.
func TestLeasedControlLetsOneDeviceSteer(t *testing.T) {
	h, sim := simulated(t, leased)
	laptop := h.Connect("laptop", hubtest.As{Device: "dev-laptop"})
	phone := h.Connect("phone", hubtest.As{Device: "dev-phone"})
	session := laptop.Create("/work")
	laptop.Subscribe(session, "")
	follow(t, phone, "conversation/"+session)
	if m := control(phone, session, "state"); m.Path("result", "mode") != "lease" || m.Path("result", "holder") != "null" {
		t.Errorf("before anybody steered: %s", m)
	}
	laptop.Prompt(session, "ask")
	for _, c := range []*hubtest.Client{laptop, phone} {
		m := c.WantNotice("hub/control", session)
		if m.Path("params", "holder", "device") != "dev-laptop" || m.Path("params", "holder", "connectionId") != laptop.ID() || m.Path("params", "mode") != "lease" {
			t.Errorf("%s was told %s", c.Name, m)
		}
		c.WantNotice("hub/activity", `"control"`, `"taken"`, "dev-laptop")
	}
	heard := len(sim.Heard())
	for what, params := range steering(session) {
		method, _, _ := strings.Cut(what, " ")
		m := phone.Call(method, params)
		if m.Path("error", "code") != "-32041" || m.Path("error", "data", "holder", "name") != "laptop" || !strings.Contains(string(m.Error), "laptop:") {
			t.Errorf("%s from another device gave %s", what, m)
		}
	}
	for _, line := range sim.Heard()[heard:] {
		if strings.Contains(string(line), `"other-`) || strings.Contains(string(line), "future/method") {
			t.Errorf("the app-server was sent %s", line)
		}
	}
	phone.MustCall("session/read", fmt.Sprintf(`{"sessionId":%q}`, session))
	ask := phone.WantNotice("interaction/requestPermission", session)
	phone.Say(`{"id":` + ask.ID + `,"result":` + allowOnce + `}`)
	phone.WantNotice("hub/answer", `"accepted"`)
	laptop.WantTurnEnd(0, session)

	second := h.Connect("second window", hubtest.As{Device: "dev-laptop"})
	second.Prompt(session, "help")
	other := phone.Create("/work")
	phone.Prompt(other, "help")
	if m := control(phone, session, "release"); m.Path("error", "code") != "-32041" {
		t.Errorf("a stranger's release gave %s", m)
	}
	control(laptop, session, "release")
	n := laptop.Received()
	phone.MustCall("v4/command", sendText(session, "cmd-phone", "help"))
	laptop.WantNoticeAfter(n, "hub/control", "dev-phone")
}

func TestSharedControlIsNobodys(t *testing.T) {
	h, _ := simulated(t)
	a, b := h.Connect("a", hubtest.As{}), h.Connect("b", hubtest.As{})
	session := a.Create("/work")
	a.Subscribe(session, "")
	if !strings.Contains(string(a.Messages()[0].Text), `"control":"shared"`) {
		t.Errorf("hub/hello does not say it: %s", a.Messages()[0])
	}
	a.Prompt(session, "help")
	a.WantTurnEnd(0, session)
	b.Prompt(session, "help")
	if m := control(b, session, "take"); m.Path("error", "code") != "-32040" || m.Path("error", "data", "reason") != "controlShared" {
		t.Errorf("take gave %s", m)
	}
	if m := control(b, session, "state"); m.Path("result", "mode") != "shared" || m.Path("result", "holder") != "null" {
		t.Errorf("state gave %s", m)
	}
	if told := a.All("hub/control"); len(told) > 0 {
		t.Errorf("a was told %s", told[0])
	}
}

// Control goes by request: taken when it is free or when the holder has not
// steered for long, at once by an admin, handed to whoever may have it.
func TestControlIsTakenReleasedAndHandedOver(t *testing.T) {
	h, _ := simulated(t, leased, func(o *hub.Options) { o.LeaseIdle = time.Hour })
	laptop := h.Connect("laptop", hubtest.As{Device: "dev-laptop"})
	phone := h.Connect("phone", hubtest.As{Device: "dev-phone"})
	viewer := h.Connect("viewer", hubtest.As{Device: "dev-viewer", Role: auth.RoleViewer})
	guest := h.Connect("guest", hubtest.As{Device: "dev-guest", Sessions: []string{"another"}})
	admin := h.Connect("admin", hubtest.As{Device: "dev-admin", Role: auth.RoleAdmin})
	session := laptop.Create("/work")
	holder := func(m hubtest.Message) string { return m.Path("result", "holder", "device") }
	to := func(c *hubtest.Client, device string) hubtest.Message {
		return c.Call("hub/control", fmt.Sprintf(`{"sessionId":%q,"action":"handOver","to":%q}`, session, device))
	}
	if m := control(laptop, session, "take"); holder(m) != "dev-laptop" {
		t.Errorf("take gave %s", m)
	}
	if m := control(phone, session, "take"); m.Path("error", "code") != "-32041" {
		t.Errorf("take of what is held gave %s", m)
	}
	if m := to(phone, "dev-phone"); m.Path("error", "code") != "-32041" {
		t.Errorf("a stranger's hand-over gave %s", m)
	}
	for _, device := range []string{"dev-viewer", "dev-guest", "dev-nobody", ""} {
		if m := to(laptop, device); m.Path("error", "code") != "-32602" {
			t.Errorf("handing over to %q gave %s", device, m)
		}
	}
	if m := to(laptop, "dev-phone"); holder(m) != "dev-phone" {
		t.Errorf("the hand-over gave %s", m)
	}
	if m := control(admin, session, "take"); holder(m) != "dev-admin" {
		t.Errorf("an admin's take gave %s", m)
	}
	if m := control(admin, session, "release"); m.Path("result", "holder") != "null" {
		t.Errorf("release gave %s", m)
	}
	for action, code := range map[string]string{"take": "-32040", "release": "-32040", "handOver": "-32040", "steal": "-32602"} {
		if m := control(viewer, session, action); m.Path("error", "code") != code {
			t.Errorf("a viewer's %s gave %s", action, m)
		}
	}
	if m := control(viewer, session, "state"); m.Path("result", "mode") != "lease" {
		t.Errorf("a viewer's state gave %s", m)
	}
	if outside, nothing := control(guest, session, "state"), control(guest, "sess_x", "state"); outside.Path("error", "code") != nothing.Path("error", "code") || outside.Error == nil {
		t.Errorf("a guest learnt %s", outside)
	}
}

func TestControlCanBeTakenFromWhoDoesNotSteer(t *testing.T) {
	h, _ := simulated(t, leased, func(o *hub.Options) { o.LeaseIdle = time.Nanosecond })
	laptop, phone := h.Connect("laptop", hubtest.As{}), h.Connect("phone", hubtest.As{})
	session := laptop.Create("/work")
	laptop.Subscribe(session, "")
	laptop.Prompt(session, "help")
	if m := phone.Call("session/send", fmt.Sprintf(`{"sessionId":%q,"content":"help"}`, session)); m.Path("error", "code") != "-32041" {
		t.Errorf("steering took control by itself: %s", m)
	}
	if m := control(phone, session, "take"); m.Path("result", "holder", "device") != "phone" {
		t.Errorf("take gave %s", m)
	}
	laptop.WantNotice("hub/activity", `"control"`, `"taken"`, `"summary":"laptop"`)
}

// A device that goes away keeps control for the grace and no longer, so that no
// session is locked; one that comes back in time keeps it, and one that is
// revoked loses it at once.
func TestControlNeverOutlivesItsHolder(t *testing.T) {
	const grace = 500 * time.Millisecond
	h, _ := simulated(t, leased, func(o *hub.Options) { o.LeaseGrace = grace })
	watcher := h.Connect("watcher", hubtest.As{})
	laptop := h.Connect("laptop", hubtest.As{Device: "dev-laptop"})
	session := laptop.Create("/work")
	watcher.Subscribe(session, "")
	laptop.Prompt(session, "help")
	left := time.Now()
	laptop.Leave()
	if m := watcher.Call("session/stop", fmt.Sprintf(`{"sessionId":%q}`, session)); m.Path("error", "code") != "-32041" && time.Since(left) < grace {
		t.Errorf("within the grace: %s", m)
	}
	watcher.WantNotice("hub/activity", `"control"`, `"ended"`, "dev-laptop")
	watcher.WantNotice("hub/control", `"holder":null`)
	// It was the watcher's if its stop came late.
	control(watcher, session, "release")

	laptop = h.Connect("laptop", hubtest.As{Device: "dev-laptop"})
	laptop.Prompt(session, "help")
	window := h.Connect("window", hubtest.As{Device: "dev-laptop"})
	laptop.Leave()
	back := h.Connect("laptop", hubtest.As{Device: "dev-laptop"})
	window.Leave()
	time.Sleep(2 * grace) // whatever the machine does, the device is here all the time
	if m := control(watcher, session, "state"); m.Path("result", "holder", "device") != "dev-laptop" {
		t.Errorf("the device has a connection and lost control: %s", m)
	}
	h.Revoke("dev-laptop")
	back.WantClosed(4403)
	if m := control(watcher, session, "take"); m.Path("result", "holder", "device") != "watcher" {
		t.Errorf("after the revocation: %s", m)
	}
}

// What the app-server refuses gives nobody control, and a device cannot hold
// sessions without end.
func TestRefusedSteeringTakesNoControl(t *testing.T) {
	h, _ := simulated(t, leased)
	a, b := h.Connect("a", hubtest.As{}), h.Connect("b", hubtest.As{})
	const nobody = "sess_00000000-0000-0000-0000-000000000000"
	if m := a.Call("session/send", fmt.Sprintf(`{"sessionId":%q,"content":"x"}`, nobody)); m.Error == nil {
		t.Fatalf("a session that does not exist took %s", m)
	}
	a.MustCall("v4/command", sendText(nobody, "cmd-1", "x"))
	if m := control(b, nobody, "state"); m.Path("result", "holder") != "null" {
		t.Errorf("after refused calls: %s", m)
	}
	if m := control(b, nobody, "take"); m.Path("result", "holder", "device") != "b" {
		t.Errorf("after refused calls b cannot take it: %s", m)
	}
	var last hubtest.Message
	for i := range 300 {
		last = control(a, fmt.Sprint("sess_", i), "take")
	}
	if last.Path("error", "code") != "-32042" || last.Path("error", "data", "reason") != "leases" {
		t.Errorf("session 300 gave %s", last)
	}
}

// Of many who steer a free session in the same instant one gets it, and its call
// alone reaches the app-server.
func TestOneOfManyTakesControl(t *testing.T) {
	h, script, p := scripted(t, leased)
	script.Answer("session/send", func(hubtest.Line) string { return `{"accepted":true}` })
	clients := make([]*hubtest.Client, 20)
	for i := range clients {
		clients[i] = h.Connect(fmt.Sprint("c", i), hubtest.As{})
	}
	replies := make([]hubtest.Message, len(clients))
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() { replies[i] = c.Call("session/send", `{"sessionId":"s1","content":"x"}`) })
	}
	all.Wait()
	won := 0
	for _, m := range replies {
		if m.Error == nil {
			won++
		} else if m.Path("error", "code") != "-32041" {
			t.Errorf("one got %s", m)
		}
	}
	if sent := p.Count("session/send"); won != 1 || sent != 1 {
		t.Errorf("%d calls succeeded, %d reached the app-server", won, sent)
	}
}
