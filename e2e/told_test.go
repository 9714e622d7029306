//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/backgroundservice"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"
)

// worker waits for the page's worker and returns its registration.
func (p *page) worker(address string) serviceworker.RegistrationID {
	p.t.Helper()
	p.wantTrue("the worker takes messages", `navigator.serviceWorker.controller?.state === "activated"`)
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	ours := func(e serviceworker.EventWorkerRegistrationUpdated) bool {
		return slices.ContainsFunc(e.Registrations, func(r *serviceworker.Registration) bool { return r.ScopeURL == address+"/" })
	}
	told, err := chromedp.Run(ctx, chromedp.WaitEvent(serviceworker.WorkerRegistrationUpdated, ours, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, serviceworker.Enable, cdp.Empty{})
		return err
	})))
	if err != nil {
		p.t.Fatalf("%s: the worker: %v", p.name, err)
	}
	for _, r := range told.Registrations {
		if r.ScopeURL == address+"/" {
			return r.RegistrationID
		}
	}
	return ""
}

// wantShown does something and waits until the browser has shown a notification for it. Looking at the list meanwhile
// is no way to wait: Chromium takes a notification that is just being shown for a left-over then, and forgets it.
func (p *page) wantShown(cause chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	shown := func(e backgroundservice.EventBackgroundServiceEventReceived) bool {
		return e.BackgroundServiceEvent.EventName == "Notification displayed"
	}
	if _, err := chromedp.Run(ctx, chromedp.WaitEvent(backgroundservice.BackgroundServiceEventReceived, shown, cause)); err != nil {
		p.t.Fatalf("%s: no notification was shown: %v", p.name, err)
	}
}

// wantNotified waits until the notifications shown are these, as JSON.
func (p *page) wantNotified(want string) {
	p.t.Helper()
	p.wantTrue("the notifications are "+want, fmt.Sprintf(`(navigator.serviceWorker.ready
		.then((r) => r.getNotifications())
		.then((all) => { window.notified = JSON.stringify(all.map((n) => [n.title, n.body, n.actions.map((a) => a.action)])); }),
		window.notified === %q)`, want))
}

// A message of the hub's shows the question with its two buttons, or none where a yes or no is no answer, and the next
// one takes it away. The messages are handed to the browser as its push service would.
func TestNotificationShowsTheQuestionAndGoesWithIt(t *testing.T) {
	d := startDemo(t)
	p := openPageAt(t, phoneSize, "phone", d.link("phone", "operator"))
	p.wantTrue("the page is live", `document.querySelector(".shell")?.dataset.live === "true"`)
	command(p, "allow notifications", browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "notifications"}, Setting: browser.PermissionSettingGranted, Origin: d.url})
	registration := p.worker(d.url)
	command(p, "watch notifications", backgroundservice.StartObserving, backgroundservice.StartObservingParams{Service: backgroundservice.ServiceNameNotifications})
	command(p, "record notifications", backgroundservice.SetRecording, backgroundservice.SetRecordingParams{Service: backgroundservice.ServiceNameNotifications, ShouldRecord: true})
	deliver := func(messages ...string) chromedp.Action[chromedp.Void] {
		return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			var failed error
			for _, m := range messages {
				_, err := cdp.Call(ctx, t, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: d.url, RegistrationID: registration, Data: m})
				failed = errors.Join(failed, err)
			}
			return failed
		})
	}
	p.wantShown(deliver(`{"kind":"ask","sessionId":"s1","requestId":"r1","title":"Build the page","body":"Bash: rm -rf build","askKind":"permission","toolName":"Bash","openedAt":"2030-01-01T00:00:00Z","language":"en","allow":"A","deny":"D"}`))
	p.wantNotified(`[["Build the page","Bash: rm -rf build",["allow","deny"]]]`)
	p.wantShown(deliver(
		`{"kind":"ask","sessionId":"s1","requestId":"r2","title":"Build the page","body":"Which color?","askKind":"userInput","openedAt":"2030-01-01T00:00:00Z"}`,
		`{"kind":"settled","sessionId":"s1","requestId":"r1","outcome":"deny","by":"desk"}`))
	p.wantNotified(`[["Build the page","Which color?",[]]]`)
	p.do("deliver", deliver(`{"kind":"settled","sessionId":"s1","requestId":"r2","outcome":"accept","by":"desk"}`))
	p.wantNotified(`[]`)
}
