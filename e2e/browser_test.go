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
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // tests run as root, in containers
		chromedp.DisableGPU,
		chromedp.WindowSize(1000, 900),
		chromedp.UserDataDir(t.TempDir()),
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
		stopAllocator()
		listening.Wait()
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

// keepEvidence saves a picture of a window whose test failed.
func (p *page) keepEvidence() {
	dir := os.Getenv("E2E_SCREENSHOTS")
	if !p.t.Failed() && dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Logf("%s: no screenshot: %v", p.name, err)
		return
	}
	if dir == "" {
		dir = os.TempDir()
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%s.png", strings.ReplaceAll(p.t.Name(), "/", "-"), p.name))
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

// wantConnected waits for what the page shows only after the hub's first message.
func (p *page) wantConnected() {
	p.t.Helper()
	p.do("wait for the connection", chromedp.WaitVisible("#main"))
}

// press clicks the button whose text starts like this inside an element.
func (p *page) press(inside, text string) {
	p.t.Helper()
	button := fmt.Sprintf(`//*[@id=%q]//button[starts-with(normalize-space(.), %q)]`, inside, text)
	p.do("press "+text, chromedp.WaitVisible(button), chromedp.WaitEnabled(button), chromedp.Click(button))
}

// createSession makes a session through the form and waits until it is on the screen.
func (p *page) createSession(folder string) {
	p.t.Helper()
	p.do("fill in the folder", chromedp.WaitVisible("#workspace"), chromedp.SetValue("#workspace", folder))
	p.press("create", "Create")
	p.wantSession()
}

// wantSession waits until a session is followed: the page then moves the focus to its title, which would take the
// focus away from whatever a quick hand has begun to type.
func (p *page) wantSession() {
	p.t.Helper()
	p.wantTrue("the session is followed", `document.activeElement?.id === "session-title"`)
	p.wantText("#session-state", "idle")
}

// prompt types a prompt and sends it.
func (p *page) prompt(text string) {
	p.t.Helper()
	p.do("type a prompt", chromedp.WaitVisible("#prompt"), chromedp.SendKeys("#prompt", text))
	p.press("send", "Send")
}
