//go:build e2e

package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// One person's way through the page, at each size: in by a link, a session begun, a turn watched, a question answered, a
// prompt queued and a turn stopped, somebody else beside them, cut off and back, and what they look at is accessible and
// fits. What each part has to do in full stands in the tests of the parts.
func TestWholeWayThroughThePage(t *testing.T) {
	atEverySize(t, func(t *testing.T, size viewport) {
		d := startDemo(t)
		f := startFaultProxy(t, d.url)
		p := openPageAt(t, size, "me", f.url(d.phone))
		p.wantConnected()
		p.createSession("/demo")

		p.prompt("edit")
		p.putAwayTheKeyboard()
		p.tap("Allow once")
		p.wantText(".transcript", "edit")
		p.wantTrue("the turn is over", `!document.querySelector(".stop-button")`)
		p.hit(".says", "Good answer")
		p.wantTrue("the answer is called good", `document.querySelector(".says [aria-label='Good answer'][aria-pressed=true]") !== null`)
		p.picture("turn")
		p.wantAccessible("a turn", ".session")
		p.wantFits()
		p.wantTouchable()

		p.prompt("ask")
		p.putAwayTheKeyboard()
		p.wantSheet("Bash")
		p.picture("question")
		p.wantAccessible("a question")
		p.wantFits()
		p.tap("Allow once")
		p.wantText(".transcript", allowedText)
		p.wantTrue("the turn is over", `!document.querySelector(".stop-button")`)

		p.prompt("slow 600s")
		p.do("see that it works", chromedp.WaitVisible(".stop-button"))
		p.write("help")
		p.hit(".writer", "Queue")
		p.wantWaiting("help")
		p.picture("queue")
		p.wantAccessible("a queue", ".composer")
		p.wantFits()
		p.hit(".composer", "Stop")
		p.wantTrue("the turn is over", `!document.querySelector(".stop-button")`)

		desk := d.connect("Laptop", "operator")
		session := p.evaluate(`decodeURIComponent(location.hash.slice("#/s/".length))`)
		desk.request("session/subscribe", map[string]any{"sessionId": session})
		p.wantTrue("somebody else is there", `document.querySelector(".session-head .face[data-initials^='L']") !== null`)

		f.goDown()
		p.wantText(".strip", "No connection")
		p.picture("cut")
		p.wantFits()
		f.comeUp()
		p.tryNow()
		p.wantLive()
		p.wantOnce("slow 600s")
	})
}

// putAwayTheKeyboard leaves the composer: while somebody types, a question waits as a bar.
func (p *page) putAwayTheKeyboard() {
	p.t.Helper()
	p.evaluate(`(document.activeElement?.blur(), "")`)
}
