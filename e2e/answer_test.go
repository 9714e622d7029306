//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// follow opens the page of a session as somebody who is signed in.
func (p *page) follow(d *demo, session string) {
	p.t.Helper()
	p.wantLive()
	p.evaluate(fmt.Sprintf("location.hash = '/s/' + encodeURIComponent(%q)", session))
	p.wantTrue("the session is there", `document.querySelector(".session[data-state=live]") !== null`)
}

// openSession opens a browser of somebody and in it a session.
func openSession(t *testing.T, d *demo, size viewport, name, role, session string) *page {
	t.Helper()
	p := openPageAt(t, size, name, d.link(name, role))
	p.follow(d, session)
	return p
}

const openSheet = ".answer-sheet[data-armed=true]"

// wantSheet waits until a question that says this may be answered.
func (p *page) wantSheet(text string) {
	p.t.Helper()
	p.wantText(openSheet, text)
}

func (p *page) wantNoSheet() {
	p.t.Helper()
	p.wantTrue("no question is shown", `document.querySelector(".answer-sheet") === null`)
}

// tap presses the button in the sheet whose text starts like this, as a finger or a mouse does.
func (p *page) tap(text string) {
	p.t.Helper()
	button := fmt.Sprintf(`//*[contains(@class, "answer-sheet") and @data-armed="true"]//*[self::button or self::summary or self::label][starts-with(normalize-space(.), %q)]`, text)
	p.do("tap "+text, chromedp.WaitVisible(button), chromedp.Click(button))
}

// listen counts what the page sends and what its sheet does, from now on.
func (p *page) listen() {
	p.t.Helper()
	p.evaluate(`(() => {
		window.sent = [];
		const send = WebSocket.prototype.send;
		WebSocket.prototype.send = function (text) { window.sent.push(text); return send.call(this, text); };
		return "";
	})()`)
}

// answersSent are the replies to questions that the page has sent since listen.
func (p *page) answersSent() int {
	p.t.Helper()
	var n int
	_, _ = fmt.Sscan(p.evaluate(`String(sent.filter((text) => !JSON.parse(text).method).length)`), &n)
	return n
}

func TestFirstAnswerWinsAndTheOtherScreenIsTold(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	laptop := openSession(t, d, laptopSize, "Laptop", "operator", s)
	phone := openSession(t, d, phoneSize, "Phone", "operator", s)

	r.prompt(s, "ask make all")
	laptop.wantSheet("make all")
	phone.wantSheet("make all")
	phone.wantTrue("the title counts", `document.title.startsWith("(1) ")`)
	laptop.tap("Reject")
	phone.wantText(".answer-told", "Laptop rejected Bash make all")
	phone.do("dismiss", chromedp.Click(".answer-told button")) // first of all: the line goes by itself after 12 s
	phone.wantTrue("the line is gone", `!document.querySelector(".answer-told").innerText.trim()`)
	phone.wantNoSheet()
	laptop.wantNoSheet()
	phone.wantTrue("nothing is counted", `!document.title.startsWith("(")`)
	if outcome, by := r.settled(r.asked(s, 1)); outcome != "deny" || by != "Laptop" {
		t.Errorf("the question ended as %s by %s", outcome, by)
	}
	phone.wantText(".transcript .answer-line", "Laptop rejected Bash make all")
	laptop.wantText(".transcript .answer-line", "You rejected Bash make all")
	late := openSession(t, d, phoneSize, "Late", "viewer", s)
	late.wantText(".transcript .answer-line", "Laptop rejected Bash make all")
}

func TestReloadedPageShowsTheQuestionAgain(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	r.prompt(s, "ask make all")
	p.wantSheet("make all")
	p.do("reload", chromedp.Reload())
	p.wantSheet("make all")
	p.tap("Allow once")
	p.wantNoSheet()
	if outcome, by := r.settled(r.asked(s, 1)); outcome != "allow" || by != "Phone" {
		t.Errorf("the question ended as %s by %s", outcome, by)
	}
}

func TestRejectionInWordsReachesTheAgent(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	r.prompt(s, "ask make all")
	p.tap("Reject and say why")
	p.wantTrue("the field has the focus", `document.activeElement?.tagName === "TEXTAREA"`)
	p.do("write", chromedp.SendKeys(".answer-words textarea", "use make test instead", chromedp.NodeVisible))
	p.tap("Reject with these words")
	p.wantNoSheet()
	r.want("the agent's report of the reason", func(m message) bool {
		return m.Method == "session/event" && strings.Contains(string(m.Params), "use make test instead")
	})
}

func TestDoubleTapAnswersOnce(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	p.listen()
	r.prompt(s, "ask make all")
	p.wantSheet("make all")
	p.do("tap twice", chromedp.DoubleClick(openSheet+" .answer-button.yes"))
	p.wantNoSheet()
	if outcome, _ := r.settled(r.asked(s, 1)); outcome != "allow" {
		t.Errorf("the question ended as %s", outcome)
	}
	if n := p.answersSent(); n != 1 {
		t.Errorf("the page sent %d answers", n)
	}
}

// A sheet that comes up under a thumb must not take its tap for an answer.
func TestNewSheetDoesNotReactForAMoment(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	p.listen()
	p.evaluate(`(() => {
		new MutationObserver((_, observer) => {
			const button = document.querySelector(".answer-sheet .answer-button.yes");
			if (!button) return;
			observer.disconnect();
			button.dispatchEvent(new PointerEvent("pointerdown", {bubbles: true}));
			button.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, detail: 1}));
			window.tapped = true;
		}).observe(document.body, {childList: true, subtree: true});
		return "";
	})()`)
	r.prompt(s, "ask make all")
	p.wantTrue("the sheet was tapped as it came", "window.tapped === true")
	p.wantSheet("make all")
	if n := p.answersSent(); n != 0 {
		t.Errorf("the page sent %d answers", n)
	}
	p.tap("Allow once")
	p.wantNoSheet()
}

func TestQuestionsAreAnsweredOrSkipped(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	said := func(text string) {
		t.Helper()
		r.want("the agent to say "+text, func(m message) bool { return strings.Contains(string(m.Params), text) })
	}

	r.prompt(s, "question")
	p.wantSheet("Which colour should the button have?")
	p.tap("Answer")
	p.wantText(openSheet+" .answer-refused", "Choose or write an answer first")
	p.tap("Red")
	p.tap("Tests")
	p.tap("Lint")
	p.tap("Answer")
	p.wantNoSheet()
	said(`\"Which colour should the button have?\"=\"Red\", \"Which checks should run?\"=\"Tests, Lint\"`)

	r.prompt(s, "question")
	p.wantSheet("Which colour should the button have?")
	p.tap("Something else")
	p.do("write", chromedp.SendKeys(".answer-own", "green", chromedp.NodeVisible))
	p.tap("Answer, 1 skipped")
	p.wantNoSheet()
	said(`The user answered: \"Which colour should the button have?\"=\"green\".`)

	r.prompt(s, "question")
	p.wantSheet("Which colour should the button have?")
	p.tap("Skip")
	p.wantNoSheet()
	said("The user continued without answering")

	r.prompt(s, "question")
	p.wantSheet("Which colour should the button have?")
	p.tap("Refuse and say why")
	p.do("write", chromedp.SendKeys(".answer-words textarea", "ask me later", chromedp.NodeVisible))
	p.tap("Refuse to answer")
	p.wantNoSheet()
	said("ask me later")
}

func TestPlanIsSentBackAndApproved(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, laptopSize, "Laptop", "operator", s)
	r.prompt(s, "plan")
	p.wantSheet("Approve this plan?")
	p.wantText(openSheet+" .md li", "Change the button colour")
	p.tap("Send back with what should change")
	p.do("write", chromedp.SendKeys(".answer-words textarea", "split step 2", chromedp.NodeVisible))
	p.do("send", chromedp.Click(openSheet+" .answer-more .answer-button"))
	p.wantNoSheet()
	r.want("the agent to read the feedback", func(m message) bool { return strings.Contains(string(m.Params), "Feedback: split step 2") })

	r.prompt(s, "plan")
	p.wantSheet("Approve this plan?")
	p.tap("Approve")
	p.wantNoSheet()
	r.want("the agent to start", func(m message) bool { return strings.Contains(string(m.Params), "The plan is approved") })
}

func TestAnswerWhileCutIsKeptAndSentOnReturn(t *testing.T) {
	d := startDemo(t)
	way := startFaultProxy(t, d.url)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openPageAt(t, phoneSize, "Phone", way.url(d.link("Phone", "operator")))
	p.follow(d, s)
	r.prompt(s, "ask make all")
	p.wantSheet("make all")
	way.goDown()
	p.wantText(openSheet+" .answer-note", "One answer is kept")
	p.tap("Allow once")
	p.wantText(openSheet+" .answer-button.yes", "Allow once: kept")
	way.comeUp()
	p.wantNoSheet()
	if outcome, by := r.settled(r.asked(s, 1)); outcome != "allow" || by != "Phone" {
		t.Errorf("the question ended as %s by %s", outcome, by)
	}
}

func TestKeptAnswerIsNotSentIfSomebodyElseWasFaster(t *testing.T) {
	d := startDemo(t)
	way := startFaultProxy(t, d.url)
	r := d.connect("Laptop", "operator")
	s := r.session("/demo")
	p := openPageAt(t, phoneSize, "Phone", way.url(d.link("Phone", "operator")))
	p.follow(d, s)
	p.listen()
	r.prompt(s, "ask make all")
	p.wantSheet("make all")
	way.goDown()
	p.wantText(openSheet+" .answer-note", "One answer is kept")
	p.tap("Allow once")
	p.wantText(openSheet+" .answer-button.yes", "Allow once: kept")
	q := r.asked(s, 1)
	r.answer(q, deny)
	if outcome, by := r.settled(q); outcome != "deny" || by != "Laptop" {
		t.Errorf("the question ended as %s by %s", outcome, by)
	}
	way.comeUp()
	p.wantText(".answer-told", "Laptop rejected Bash make all")
	p.wantNoSheet()
	if n := p.answersSent(); n != 0 {
		t.Errorf("the page sent %d answers", n)
	}
}

func TestWhatWaitsIsCountedAndOneTapJumpsToIt(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	first, second := r.session("/demo/first"), r.session("/demo/second")
	p := openPageAt(t, phoneSize, "Phone", d.link("Phone", "operator"))
	p.wantTrue("the page is live", `document.querySelector(".shell")?.dataset.live === "true"`)
	r.prompt(first, "ask make first")
	p.wantText(".answer-bar", "1 question waits")
	r.prompt(second, "ask make second")
	p.wantText(".answer-bar", "2 questions wait")
	p.wantText(".answer-bar", "make first")
	p.wantTrue("the title counts", `document.title === "(2) hub"`)
	p.wantTrue("the icon has a dot", `document.querySelector("link[rel=icon]").getAttribute("href") === "icon-waiting.svg"`)

	p.do("jump", chromedp.Click(".answer-bar"))
	p.wantSheet("make first")
	p.tap("Next")
	p.wantSheet("make second")
	p.tap("Allow once")
	p.wantText(".answer-bar", "make first")
	p.do("jump", chromedp.Click(".answer-bar"))
	p.wantSheet("make first")
	p.tap("Reject")
	p.wantNoSheet()
	p.wantTrue("nothing is counted", `document.title === "hub" && document.querySelector("link[rel=icon]").getAttribute("href") === "icon.svg"`)
}

func TestRightsDecideWhatIsOffered(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	r.prompt(s, "ask make all")
	operator := openSession(t, d, phoneSize, "Operator", "operator", s)
	operator.wantSheet("make all")
	operator.tap("Allow for longer")
	operator.wantText(openSheet+" .answer-rule", "Bash with make all")
	operator.wantText(openSheet+" .answer-rule .answer-button", "Always allow in this project")

	approver := openSession(t, d, phoneSize, "Approver", "approver", s)
	approver.wantSheet("make all")
	if text := approver.text(openSheet); strings.Contains(text, "longer") || !strings.Contains(text, "Allow once") {
		t.Errorf("an approver is offered:\n%s", text)
	}
	viewer := openSession(t, d, phoneSize, "Viewer", "viewer", s)
	viewer.wantSheet("You may look here, but not answer.")
	if n := viewer.evaluate(`String(document.querySelectorAll(".answer-button").length)`); n != "0" {
		t.Errorf("a viewer has %s buttons to answer", n)
	}
	approver.tap("Reject")
	for _, p := range []*page{operator, viewer} {
		p.wantText(".answer-told", "Approver rejected Bash make all")
	}
}

func TestSheetTakesNoFocusFromWhoTypes(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, laptopSize, "Laptop", "operator", s)
	p.do("type", chromedp.SendKeys(".composer textarea", "half a word", chromedp.NodeVisible))
	r.prompt(s, "ask make all")
	p.wantSheet("make all")
	if at := p.evaluate(`document.activeElement.closest(".composer") ? "prompt" : document.activeElement.outerHTML.slice(0, 100)`); at != "prompt" {
		t.Errorf("the focus went to %s", at)
	}
	p.wantText(".answer-spoken", "1 question waits. Allow Bash? Bash make all")

	// Who asks for it by its key gets it, and gets back by Escape.
	press := func(key, code string, alt bool) {
		t.Helper()
		p.evaluate(fmt.Sprintf(`(document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: %q, code: %q, altKey: %t, bubbles: true, cancelable: true})), "")`, key, code, alt))
	}
	press("q", "KeyQ", true)
	p.wantTrue("the sheet has the focus", `document.activeElement.closest(".answer-sheet") !== null`)
	press("Escape", "Escape", false)
	p.wantNoSheet()
	p.wantTrue("the focus is back", `document.activeElement.closest(".composer") !== null`)
	p.wantText(".answer-bar", "make all")
	press("q", "KeyQ", true)
	p.wantSheet("make all")
	press("a", "KeyA", false)
	p.wantNoSheet()
	if outcome, _ := r.settled(r.asked(s, 1)); outcome != "allow" {
		t.Errorf("the question ended as %s", outcome)
	}
}

func TestSheetWaitsUntilWhoTypesOnAPhoneIsDone(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	p.do("type", chromedp.SendKeys(".composer textarea", "half a word", chromedp.NodeVisible))
	r.prompt(s, "ask make all")
	p.wantText(".answer-bar", "make all")
	if text := p.evaluate(`document.activeElement.value`); text != "half a word" {
		t.Errorf("the focus is lost, or the text: %q", text)
	}
	p.evaluate(`(document.activeElement.blur(), "")`)
	p.wantSheet("make all")
	p.tap("Reject")
	p.wantNoSheet()
	p.wantTrue("what was typed is still there", `document.querySelector(".composer textarea").value === "half a word"`)
}

func TestRestartOfTheAgentEndsItsQuestion(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "admin")
	s := r.session("/demo")
	r.prompt(s, "hello") // the session is then in the store
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	r.prompt(s, "ask make all")
	p.wantSheet("make all")
	r.call("hub/restartAppServer", map[string]any{})
	p.wantText(".answer-told", "The agent restarted before Bash make all was answered")
	p.wantNoSheet()
}

func TestHostileQuestionIsShownInertAndWhole(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	end := "; rm -rf /the-end"
	hostile := "echo <img src=x onerror='window.hit=1'><script>window.hit=1</script> \x1b[31mred \u202egnp.exe\u2066 a\u200bb" + strings.Repeat("\n: filler line", 60_000) + end
	r.prompt(s, "ask "+hostile)
	p.wantSheet("onerror=")
	p.wantTrue("what is invisible is marked", `["␛", "RLO", "LRI", "ZWSP"].every((mark) => [...document.querySelectorAll(".answer-text .ctl")].some((e) => e.innerText.includes(mark)))`)
	p.wantText(openSheet+" .answer-size", "60001 lines")
	p.wantFits()
	// All of it can be reached by scrolling.
	p.wantTrue("the end is there", fmt.Sprintf(`(() => {
		const box = document.querySelector(".answer-text");
		box.scrollTop = box.scrollHeight;
		return box.textContent.endsWith(%q);
	})()`, end))
	if hit := p.evaluate("String(window.hit)"); hit != "undefined" {
		t.Error("something in the question ran")
	}
	p.tap("Reject")
	p.wantNoSheet()
}

func TestAnsweringIsAccessibleAtEverySize(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	atEverySize(t, func(t *testing.T, size viewport) {
		s := r.session("/demo")
		p := openSession(t, d, size, "eyes-"+size.name, "operator", s)
		look := func(screen string) {
			t.Helper()
			p.wantFits()
			p.wantTouchable()
			p.wantAccessible(screen, ".asking")
		}
		for n, prompt := range []string{"ask make all", "edit", "question", "plan"} {
			r.prompt(s, prompt)
			q := r.asked(s, n+1)
			p.wantTrue("the question is shown", fmt.Sprintf(`document.querySelector('%s[data-request=%q]') !== null`, openSheet, q.Params.RequestID))
			p.evaluate(`(document.querySelectorAll(".answer-more details").forEach((e) => (e.open = true)), "")`)
			look(prompt)
			if n == 0 {
				p.do("minimise", chromedp.Click(".answer-minimise"))
				look("minimised")
				p.do("back", chromedp.Click(".answer-bar"))
			}
			p.wantTrue("the question is shown", `document.querySelector(".answer-sheet[data-armed=true]") !== null`)
			p.do("refuse", chromedp.Click(openSheet+" .answer-pair [data-shortcut=R]"))
			p.wantNoSheet()
		}
	})
}

// What a second screen sees of an approval, and how soon. The figures are in docs/page.md.
func TestApprovalsAreOnTheSecondScreenAtOnce(t *testing.T) {
	const rounds = 30
	most := time.Second // no page that asks again and again is that quick
	if figures() {
		most = 100 * time.Millisecond
	}
	d := startPaced(t, "0.1")
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	// Times are taken when the frame with the change is handed to the screen.
	p.evaluate(`(() => {
		window.seen = {};
		const stamp = (key) => { if (!(key in seen)) { seen[key] = 0; requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => (seen[key] = performance.timeOrigin + performance.now()); c.port2.postMessage(0); }); } };
		let shown = "";
		new MutationObserver(() => {
			const now = document.querySelector(".answer-sheet")?.dataset.request ?? "";
			if (now === shown) return;
			if (shown) stamp("gone " + shown);
			if (now) stamp("here " + now);
			shown = now;
		}).observe(document.body, {childList: true, subtree: true, attributes: true, attributeFilter: ["data-request"]});
		return "";
	})()`)
	at := func(what string, q question) time.Time {
		t.Helper()
		key := what + " " + q.Params.RequestID
		p.wantTrue(key, fmt.Sprintf("seen[%q] > 0", key))
		var ms float64
		_, _ = fmt.Sscan(p.evaluate(fmt.Sprintf("String(seen[%q])", key)), &ms)
		return time.UnixMicro(int64(ms * 1000))
	}
	var here, gone []time.Duration
	for n := range rounds {
		r.prompt(s, "ask make all")
		q := r.asked(s, n+1)
		raised := r.openedAt(q)
		here = append(here, at("here", q).Sub(raised))
		answered := time.Now()
		r.answer(q, allowOnce)
		gone = append(gone, at("gone", q).Sub(answered))
		r.settled(q)
	}
	for what, times := range map[string][]time.Duration{"raised → card on a second screen": here, "answered elsewhere → card gone": gone} {
		slices.Sort(times)
		p50, p95 := times[len(times)/2], times[len(times)*95/100]
		t.Logf("%s: p50 %v, p95 %v, max %v (%d rounds)", what, p50.Round(time.Millisecond), p95.Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond), len(times))
		if p50 > most {
			t.Errorf("%s takes %v at the median, more than %v", what, p50, most)
		}
	}
}

// openedAt is when the hub had a question.
func (r *remote) openedAt(q question) time.Time {
	r.t.Helper()
	var list struct {
		Pending []struct {
			RequestID string
			OpenedAt  time.Time
		}
	}
	if err := json.Unmarshal(r.call("hub/pendingInteractions", map[string]any{}), &list); err != nil {
		r.t.Fatal(err)
	}
	for _, p := range list.Pending {
		if p.RequestID == q.Params.RequestID {
			return p.OpenedAt
		}
	}
	r.t.Fatalf("%s is not open", q.Params.RequestID)
	return time.Time{}
}
