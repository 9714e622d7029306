//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// What the simulated agent says once the command of the prompt "ask" was allowed.
const allowedText = "The command ran"

func TestNewDeviceNamesItselfAndIsIn(t *testing.T) {
	atEverySize(t, func(t *testing.T, size viewport) {
		d := startDemo(t)
		p := openPageAt(t, size, "phone", d.phone)
		p.wantText(".door", "Pair this device")
		if address := p.evaluate("location.href"); address != d.url+"/" {
			t.Errorf("address bar: got %s, want %s/", address, d.url)
		}
		p.wantAccessible("door")
		p.fill(".pair-form input", "Zoë's phone")
		p.press("pair-form", "Pair")
		p.wantLive()
		p.wantText(".sessions", "Start the first session")
		p.wantAccessible("no sessions yet")
		p.wantFits()
		p.wantTouchable()
		if list := d.hub("devices", "list"); !strings.Contains(list, "Zoë's phone") {
			t.Errorf("devices:\n%s", list)
		}
		if cookies := p.evaluate("document.cookie"); cookies != "" {
			t.Errorf("a script can read a cookie: %s", cookies)
		}
		if stored := p.evaluate("JSON.stringify(localStorage) + JSON.stringify(sessionStorage)"); secrets.MatchString(stored) {
			t.Errorf("a script can read credentials: %s", stored)
		}
		p.do("reload", chromedp.Reload())
		p.wantLive()
	})
}

func TestWhoHasNoCredentialIsToldHowToGetIn(t *testing.T) {
	d := startDemo(t)
	p := openPageAt(t, phoneSize, "stranger", d.url)
	p.wantText(".sign-in", "hub pair")
	p.wantAccessible("sign in")
	p.wantFits()
	p.fill(".sign-in input", "nonsense")
	p.press("sign-in", "Sign in")
	p.wantText(".door", "not valid")
	p.replace(".sign-in input", d.phone)
	p.press("sign-in", "Sign in")
	p.wantConnected()
}

func TestListOfSessionsIsLive(t *testing.T) {
	atEverySize(t, func(t *testing.T, size viewport) {
		d := startDemo(t)
		p := openPageAt(t, size, "phone", d.link("phone", "operator"))
		p.wantLive()
		r := d.connect("script", "operator")
		first, second := r.session("/src/first"), r.session("/src/second")
		r.prompt(first, "hello")
		r.prompt(second, "ask make test")
		p.wantText(".workspace", "first")
		p.wantText(".workspace", "second")
		p.wantText(".session-waits", "Waits for you")
		p.wantText(".session-waits .session-badge", "1")
		p.wantText(".session-done", "Done")
		p.wantAccessible("sessions")
		p.wantFits()
		p.wantTouchable()

		p.press("session-done", "More about Request: hello")
		p.replace(".dialog input", "A better name")
		p.wantAccessible("manage")
		p.press("dialog", "Rename")
		p.wantText(".session-title", "A better name")
		p.press("session-done", "More about A better name")
		p.press("dialog", "Close session")
		p.press("dialog", "Yes, close it")
		p.wantTrue("the closed session has left the list", `![...document.querySelectorAll(".session-title")].some((e) => e.innerText === "A better name")`)
	})
}

func TestReloadedPageOpensItsSessionAgainAndGoesBackToTheList(t *testing.T) {
	d := startDemo(t)
	p := openPageAt(t, phoneSize, "phone", d.phone)
	p.createSession("/demo")
	p.prompt("hello")
	p.wantText(told, "hello")
	p.wantAccessible("session")
	p.wantFits()
	p.do("reload", chromedp.Reload())
	p.wantText(told, "hello")
	p.press("session-head", "Back")
	p.wantText(".session-item", "hello")
}

func TestLostSessionIsCalledGone(t *testing.T) {
	d := startDemo(t)
	p := openPage(t, "desk", d.desk)
	p.createSession("/demo")
	p.prompt("crash")
	p.wantText(".session", "does not exist any more")
	p.press("session", "To the list")
	p.wantTrue("the list is shown", `location.hash === "#/"`)
}

// wantOnce wants a text in the transcript exactly once.
func (p *page) wantOnce(text string) {
	p.t.Helper()
	p.wantText(told, text)
	if n := p.evaluate(fmt.Sprintf(`String(document.querySelector(%q).innerText.split(%q).length - 1)`, told, text)); n != "1" {
		p.t.Errorf("%s: %q stands there %s times", p.name, text, n)
	}
}

// tryNow presses the button that makes a page that is cut off come back at once, in one step: the page may come back by
// itself at any moment, and then there is none.
func (p *page) tryNow() {
	p.t.Helper()
	p.evaluate(`([...document.querySelectorAll(".strip button")].find((e) => e.innerText === "Try now")?.click(), "")`)
	p.wantLive()
}

func TestPageThatWasCutOffSaysSoAndGoesOn(t *testing.T) {
	d := startDemo(t)
	f := startFaultProxy(t, d.url)
	p := openPageAt(t, phoneSize, "phone", f.url(d.link("phone", "operator")))
	p.wantLive()
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p.follow(d, s)
	laptop := openSession(t, d, laptopSize, "laptop", "operator", s)
	r.prompt(s, "slow 5s")
	p.wantText(told, "tick1 ")
	f.goDown()
	p.wantText(".strip", "No connection")
	p.wantTrue("all looks stale", `document.querySelector(".shell").dataset.live === "false"`)
	p.wantAccessible("cut off")
	p.wantFits()
	laptop.wantText(told, "tick50")
	f.comeUp()
	p.tryNow()
	p.wantText(".strip", "Live")
	p.wantOnce("tick50")
	p.wantOnce("slow 5s")
}

func TestStalledLineIsFoundOutWhenThePageComesBack(t *testing.T) {
	d := startDemo(t)
	f := startFaultProxy(t, d.url)
	p := openPageAt(t, phoneSize, "phone", f.url(d.link("phone", "operator")))
	p.wantLive()
	f.stall()
	start := time.Now()
	p.evaluate(`(dispatchEvent(new Event("pageshow")), "")`)
	p.wantText(".strip", "No connection")
	if took := time.Since(start); took > 20*time.Second { // a page to which nobody comes back finds it out after 33 s
		t.Errorf("a dead line was found out after %s", took)
	}
	f.cut()
	p.wantLive()
}

func TestEverythingWorksWithThreeSecondsOfLatency(t *testing.T) {
	d := startDemo(t)
	f := startFaultProxy(t, d.url)
	p := openPageAt(t, phoneSize, "phone", f.url(d.link("phone", "operator")))
	p.wantLive()
	s := d.connect("script", "operator").session("/demo")
	p.follow(d, s)
	f.delay(1500*time.Millisecond, 0)
	p.evaluate(`(dispatchEvent(new Event("pageshow")), "")`) // a probe that is answered late
	p.prompt("ask")
	p.putAwayTheKeyboard()
	p.tap("Allow once")
	p.wantText(told, allowedText)
	p.wantTrue("the prompt was taken once", `document.querySelectorAll(".log article.input").length === 1`)
	p.wantText(".strip", "every second") // the page has chosen less by itself
}

func TestHubThatComesBackFindsThePageWaiting(t *testing.T) {
	d := startDemo(t)
	f := startFaultProxy(t, d.url)
	p := openPageAt(t, phoneSize, "phone", f.url(d.link("phone", "operator")))
	p.wantLive()
	p.wantTrue("the page is kept for later", `navigator.serviceWorker.controller?.state === "activated"`)
	f.goDown()
	p.do("open the page without a network", chromedp.Reload())
	p.wantText(".strip", "No connection")
	f.comeUp()
	p.wantLive()
}

func TestExpiredDeviceIsToldSo(t *testing.T) {
	d := startDemo(t)
	p := openPageAt(t, phoneSize, "guest", d.url)
	p.wantText(".sign-in", "hub pair") // the browser has started and has the page: the time of the device is for the rest
	token := strings.TrimSpace(d.hub("token", "create", "--role", "viewer", "--name", "guest", "--ttl", "30s"))
	p.replace(".sign-in input", d.url+"/#token="+token)
	p.press("sign-in", "Sign in")
	p.wantLive()
	p.wantText(".door", "The time of this device is over")
}

func TestSettingsAreKeptAndSigningOutIsFinal(t *testing.T) {
	atEverySize(t, func(t *testing.T, size viewport) {
		d := startDemo(t)
		p := openPageAt(t, size, "desk", d.desk)
		p.wantConnected()
		p.evaluate(`location.hash = "/settings"`)
		p.wantText(".device", "this one")
		p.wantAccessible("settings")
		p.wantFits()
		p.wantTouchable()
		p.do("choose", chromedp.Click(`//label[contains(., "Dark")]`), chromedp.Click(`//label[contains(., "Larger")]`), chromedp.Click(`//label[contains(., "简体中文")]`))
		p.wantText(".settings", "设置")
		p.do("reload", chromedp.Reload())
		p.wantText(".settings", "设置")
		p.wantTrue("theme and size are kept", `document.documentElement.dataset.theme === "dark" && document.documentElement.style.getPropertyValue("--text-scale") === "1.3" && document.documentElement.lang === "zh-Hans"`)
		p.wantFits()
		p.do("go back to English", chromedp.Click(`//label[contains(., "English")]`))
		p.press("setting", "Sign out")
		p.press("setting", "Yes, sign out")
		p.do("see the door", chromedp.WaitVisible(".sign-in"))
		p.do("reload", chromedp.Reload())
		p.do("see the door", chromedp.WaitVisible(".sign-in"))
		if list := d.hub("devices", "list"); strings.Contains(list, "desk") {
			t.Errorf("the device is still paired:\n%s", list)
		}
	})
}

// The line of the target: 1.6 Mbit/s and 150 ms there and back.
func TestFirstVisitIsUsableSoonOnASlowLine(t *testing.T) {
	d := startDemo(t)
	f := startFaultProxy(t, d.url)
	f.delay(75*time.Millisecond, 200_000)
	p := openPageAt(t, phoneSize, "phone", "about:blank")
	p.do("arrive", chromedp.Navigate(f.url(d.phone)))
	p.wantTrue("the device can be named", `document.activeElement?.matches(".pair-form input")`)
	var ms float64
	if _, err := fmt.Sscan(p.evaluate(`String(performance.getEntriesByName("usable")[0]?.startTime ?? performance.now())`), &ms); err != nil {
		t.Fatal(err)
	}
	t.Logf("usable after %.0f ms", ms)
	// The target is 1000 on a machine that does nothing else; docs/page.md has what was measured.
	if took := time.Duration(ms) * time.Millisecond; took > bar(3*time.Second) {
		t.Errorf("a first visit was usable after %v", took)
	}
	// What it loads until then says more, whatever else the machine does: half a second of this line, from files that are all
	// named in the first.
	loaded := p.number(`performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation"))
		.filter((e) => e.responseEnd <= (performance.getEntriesByName("usable")[0]?.startTime ?? performance.now())).reduce((sum, e) => sum + e.transferSize, 0)`)
	t.Logf("usable with %.0f bytes", loaded)
	if loaded > 100_000 {
		t.Errorf("a first visit loads %.0f bytes until it is usable", loaded)
	}
}
