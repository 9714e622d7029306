//go:build e2e

package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// What the simulated agent says once the command of the prompt "ask" was allowed.
const allowedText = "The command ran"

func TestLinkSignsInAndLeavesTheAddressBar(t *testing.T) {
	d := startDemo(t)
	p := openPage(t, "desk", d.desk)
	p.wantConnected()
	address := p.evaluate("location.href")
	stored := p.evaluate("document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
	if address != d.url+"/" {
		t.Errorf("address bar: got %s, want %s/", address, d.url)
	}
	if stored != "{}{}" {
		t.Errorf("a script can read credentials: %s", stored)
	}
	p.do("reload", chromedp.Reload())
	p.wantConnected()
}

func TestTurnWithAPermissionInTheBrowser(t *testing.T) {
	d := startDemo(t)
	p := openPage(t, "desk", d.desk)
	p.createSession("/demo")
	p.prompt("ask")
	p.wantText(".card", "Bash")
	p.press("cards", "Allow once")
	p.wantText("#log .fate", "Bash echo hi: allow by desk")
	p.wantText("#log", allowedText)
	p.wantText("#session-state", "idle")
}

func TestSecondBrowserSeesTheTurnAndWhoAnswered(t *testing.T) {
	d := startDemo(t)
	desk := openPage(t, "desk", d.desk)
	desk.createSession("/demo")
	phone := openPage(t, "phone", d.phone)
	phone.do("follow the session", chromedp.Click("#session-list button", chromedp.NodeVisible))
	phone.wantSession()

	desk.prompt("ask")
	for _, p := range []*page{desk, phone} {
		p.wantText(".card", "Bash")
	}
	phone.press("cards", "Allow once")
	for _, p := range []*page{desk, phone} {
		p.wantText(".card .fate", "allow by phone")
		p.wantText("#log", allowedText)
	}
}

func TestReloadedPageSeesTheOpenQuestionAgain(t *testing.T) {
	d := startDemo(t)
	p := openPage(t, "desk", d.desk)
	p.createSession("/demo")
	p.prompt("ask")
	p.wantText(".card", "Bash")
	p.do("reload", chromedp.Reload())
	p.wantText(".card", "Bash")
	p.press("cards", "Deny")
	p.wantText("#log .fate", "deny by desk")
	p.wantText("#log summary", "Bash – denied")
	p.wantText("#log", "I could not do it")
}

func TestSessionOfAnotherDeviceIsListedByItself(t *testing.T) {
	d := startDemo(t)
	desk, phone := openPage(t, "desk", d.desk), openPage(t, "phone", d.phone)
	phone.wantConnected()
	desk.createSession("/demo")
	desk.prompt("ask")
	phone.wantText("#session-list", "/demo")
	phone.wantText(".card", "Request: ask · demo")
	phone.press("cards", "Allow once")
	phone.wantText("#elsewhere", "allow by phone")
}

func TestQuestionIsNotAnsweredWithNothing(t *testing.T) {
	d := startDemo(t)
	p := openPage(t, "desk", d.desk)
	p.createSession("/demo")
	p.prompt("question")
	p.press("cards", "Answer")
	p.wantText(".card .fate", "Choose or write an answer first")
	p.press("cards", "Decline")
	p.wantText("#log .fate", "decline by desk")
}

func TestLostSessionIsCalledGone(t *testing.T) {
	d := startDemo(t)
	p := openPage(t, "desk", d.desk)
	p.createSession("/demo")
	p.prompt("crash")
	p.wantText("#notice", "This session is gone")
	p.wantTrue("the session is closed", `document.getElementById("session").hidden && !location.hash`)
}

func TestReloadedPageOpensItsSessionAgain(t *testing.T) {
	d := startDemo(t)
	p := openPage(t, "desk", d.desk)
	p.createSession("/demo")
	p.prompt("hello")
	p.wantText("#session-state", "idle")
	p.do("reload", chromedp.Reload())
	p.wantText("#log", "hello")
}
