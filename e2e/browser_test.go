//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// page is one window of a browser of its own, with the hub's page in it.
type page struct {
	t    *testing.T
	name string
	ctx  context.Context
}

// openPage starts a browser with an empty profile and opens an address in it.
func openPage(t *testing.T, name, address string) *page {
	t.Helper()
	temporary, err := os.MkdirTemp("", "hub-e2e-browser-") // short: a browser puts sockets there, and leaves them
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // tests run as root, in containers
		chromedp.DisableGPU,
		chromedp.WindowSize(1000, 900),
		chromedp.Env("TMPDIR="+temporary),
		chromedp.WSURLReadTimeout(patience),
		// Nothing but the hub is to be talked to.
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("no-proxy-server", true),
	)
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stopBrowser := chromedp.NewContext(allocator)
	p := &page{t: t, name: name, ctx: ctx}
	var listening sync.WaitGroup
	t.Cleanup(func() {
		p.keepEvidence()
		stopBrowser()
		stopAllocator() // also ends what the browser started, and removes the profile
		listening.Wait()
		_ = os.RemoveAll(temporary)
	})
	console := chromedp.Console(ctx) // starts the browser
	listening.Go(func() {
		for message, err := range console {
			if err != nil {
				return // the browser ended
			}
			if message.IsException() {
				t.Errorf("%s: the page threw: %s", name, message)
			}
		}
	})
	p.do("open the page", chromedp.Navigate(address))
	return p
}

// screenshots is the folder for pictures of how a page looks, if somebody wants them.
var screenshots = os.Getenv("E2E_SCREENSHOTS")

// keepEvidence saves a picture of a window whose test failed.
func (p *page) keepEvidence() {
	switch {
	case screenshots != "":
		p.savePicture(screenshots, "end")
	case p.t.Failed():
		p.savePicture(os.TempDir(), "end")
	}
}

// picture saves how the page looks at a moment that is worth seeing, if somebody wants pictures.
func (p *page) picture(moment string) {
	p.t.Helper()
	if screenshots != "" {
		p.savePicture(screenshots, moment)
	}
}

func (p *page) savePicture(dir, moment string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Logf("%s: no screenshot: %v", p.name, err)
		return
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%s-%s.png", strings.ReplaceAll(p.t.Name(), "/", "-"), p.name, moment))
	if err := os.WriteFile(path, picture, 0o644); err == nil {
		p.t.Logf("%s: screenshot in %s", p.name, path)
	}
}

func (p *page) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("%s: %s: %v\nthe page shows:\n%s", p.name, what, err, p.text("body"))
	}
}

// evaluate is the value of a JavaScript expression that makes a string.
func (p *page) evaluate(expression string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		p.t.Errorf("%s: evaluate %s: %v", p.name, expression, err)
	}
	return value
}

// text is what a person reads in an element, or nothing.
func (p *page) text(selector string) string {
	return p.evaluate(fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// wantText waits until an element shows this text.
func (p *page) wantText(selector, text string) {
	p.t.Helper()
	p.wantTrue(fmt.Sprintf("%s shows %q", selector, text),
		fmt.Sprintf("[...document.querySelectorAll(%q)].some((e) => e.innerText.includes(%q))", selector, text))
}

// wantTrue waits until a JavaScript expression is true.
func (p *page) wantTrue(what, expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(patience))); err != nil {
		p.t.Fatalf("%s: waited in vain until %s: %v\nthe page shows:\n%s", p.name, what, err, p.text("body"))
	}
}

// wantConnected goes through the door to which a pairing link leads, and waits until what is shown is what the hub knows.
func (p *page) wantConnected() {
	p.t.Helper()
	p.wantTrue("the door or the page is there", `document.querySelector(".pair-form, .shell[data-live=true]") !== null`)
	if p.evaluate(`String(document.querySelector(".pair-form") !== null)`) == "true" {
		p.do("go in", chromedp.Click(".pair-form .primary", chromedp.NodeVisible))
	}
	p.wantLive()
}

func (p *page) wantLive() {
	p.t.Helper()
	p.wantTrue("the page is live", `document.querySelector(".shell")?.dataset.live === "true"`)
}

// press clicks the button or link that is named like this, or begins like this, inside elements of a class.
func (p *page) press(inside, text string) {
	p.t.Helper()
	within := fmt.Sprintf(`//*[contains(concat(" ", normalize-space(@class), " "), %q)]//*[self::button or self::a or self::summary]`, " "+inside+" ")
	button := fmt.Sprintf(`%s[starts-with(normalize-space(.), %q) or @aria-label=%q]`, within, text, text)
	p.do("press "+text, chromedp.WaitVisible(button), chromedp.WaitEnabled(button), chromedp.Click(button))
}

// fill puts text into a field as somebody who types it.
func (p *page) fill(selector, text string) {
	p.t.Helper()
	p.do("fill in "+selector, chromedp.WaitVisible(selector), chromedp.Click(selector), chromedp.SendKeys(selector, text))
}

// replace puts text in place of what a field holds.
func (p *page) replace(selector, text string) {
	p.t.Helper()
	p.do("find "+selector, chromedp.WaitVisible(selector))
	p.evaluate(fmt.Sprintf("(document.querySelector(%q).select(), '')", selector))
	p.do("fill in "+selector, chromedp.SendKeys(selector, text))
}

// createSession makes a session in a folder and waits until it is on the screen.
func (p *page) createSession(folder string) {
	p.t.Helper()
	p.wantConnected()
	p.evaluate(`location.hash = "/new"`)
	p.wantTrue("another folder can be named", `(() => {
		const select = document.querySelector(".new-session select");
		if (select?.value) { select.value = ""; select.dispatchEvent(new Event("change", { bubbles: true })); }
		return document.querySelector(".new-session input") !== null;
	})()`)
	p.fill(".new-session input[placeholder='/']", folder)
	p.press("new-session", "Start")
	p.wantSession()
}

// open follows the session with this title from the list.
func (p *page) open(title string) {
	p.t.Helper()
	link := fmt.Sprintf(`//*[contains(@class, "session-item")]/a[contains(., %q)]`, title)
	p.do("open "+title, chromedp.WaitVisible(link), chromedp.Click(link))
	p.wantSession()
}

// wantSession waits until a session is followed.
func (p *page) wantSession() {
	p.t.Helper()
	p.wantTrue("the session is followed", `document.querySelector(".session[data-state=live] textarea") !== null`)
}

// prompt types a prompt and sends it.
func (p *page) prompt(text string) {
	p.t.Helper()
	p.fill(".session textarea", text)
	p.press("session", "Send")
}

// told is what the transcript says, wherever the reader is in it.
const told = ".session .log"
