//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A viewport is what somebody holds in the hand or has on the desk.
type viewport struct {
	name          string
	width, height int64
	touch         bool
}

// The three sizes at which every story has to work: a phone, a tablet held upright, a laptop.
var (
	phoneSize  = viewport{"phone", 390, 844, true}
	tabletSize = viewport{"tablet", 820, 1180, true}
	laptopSize = viewport{"laptop", 1440, 900, false}
	viewports  = []viewport{phoneSize, tabletSize, laptopSize}
)

// atEverySize runs a story at each size.
func atEverySize(t *testing.T, story func(t *testing.T, size viewport)) {
	t.Helper()
	for _, size := range viewports {
		t.Run(size.name, func(t *testing.T) { story(t, size) })
	}
}

// openPageAt is openPage in a window of this size.
func openPageAt(t *testing.T, size viewport, name, address string) *page {
	t.Helper()
	p := openPage(t, name, "about:blank")
	command(p, "take the size of a "+size.name, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: size.width, Height: size.height, DeviceScaleFactor: 1, Mobile: size.touch})
	command(p, "have fingers", emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: size.touch})
	p.do("open the page", chromedp.Navigate(address))
	return p
}

// command gives the browser a command of its protocol that answers nothing.
func command[P any](p *page, what string, cmd cdp.Command[P, cdp.Empty], params P) {
	p.t.Helper()
	p.do(what, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cmd, params)
		return err
	}))
}

// prefer sets a media feature, such as prefers-color-scheme to dark.
func (p *page) prefer(feature, value string) {
	p.t.Helper()
	command(p, "prefer "+value, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: feature, Value: value}}})
}

// slowDown makes scripts and layout take so many times as long.
func (p *page) slowDown(times float64) {
	p.t.Helper()
	command(p, "slow down", emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: times})
}

// wantFits wants nothing to stand beyond the right edge of the window.
func (p *page) wantFits() {
	p.t.Helper()
	const wide = `(() => {
		const edge = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= edge) return "";
		return [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > edge + 1)
			.map((e) => e.tagName + "." + e.className).slice(0, 5).join(" ") || "the document";
	})()`
	if found := strings.TrimSpace(p.evaluate(wide)); found != "" {
		p.t.Errorf("%s: wider than the window: %s", p.name, found)
	}
}

// wantTouchable wants what can be pressed to be as large as a thumb needs: 44 px, WCAG 2.2 target size (enhanced), less
// what is inline in text.
func (p *page) wantTouchable() {
	p.t.Helper()
	const small = `(() => [...document.querySelectorAll("button, [role=button], select, input, summary, a[href]")]
		.filter((e) => e.checkVisibility() && getComputedStyle(e).display !== "inline")
		.map((e) => [e, e.getBoundingClientRect()])
		.filter(([e, r]) => r.width > 1 && r.height > 1 && (r.height < 43.5 || r.width < 43.5) && !(e.labels?.[0]?.getBoundingClientRect().height >= 43.5))
		.map(([e, r]) => (e.getAttribute("aria-label") || e.innerText || e.tagName).trim().slice(0, 30) + " " + Math.round(r.width) + "x" + Math.round(r.height))
		.slice(0, 8).join("; "))()`
	if found := p.evaluate(small); found != "" {
		p.t.Errorf("%s: too small for a thumb: %s", p.name, found)
	}
}
