//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// write types into the composer.
func (p *page) write(text string) {
	p.t.Helper()
	p.do("write "+text, chromedp.SendKeys(".writer .editor textarea", text, chromedp.NodeVisible))
}

// enter presses the Enter key: one event that makes a new line only if nobody takes it, as a keyboard does.
func (p *page) enter() {
	p.t.Helper()
	command(p, "press Enter", input.DispatchKeyEvent, input.DispatchKeyEventParams{
		Type: "keyDown", Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13})
}

// hit presses the button, link or line of a menu in an element whose text or name starts like this.
func (p *page) hit(inside, label string) {
	p.t.Helper()
	p.wantTrue(inside+" has "+label, fmt.Sprintf(`(() => {
		document.querySelectorAll("[data-hit]").forEach((e) => e.removeAttribute("data-hit"));
		const fits = (e) => e.checkVisibility() && !e.disabled && [e.innerText.trim(), e.getAttribute("aria-label") ?? ""].some((s) => s.startsWith(%[2]q));
		const found = [...document.querySelectorAll(%[1]q)].flatMap((i) => [...i.querySelectorAll("button, a, [role=option]")]).find(fits);
		found?.setAttribute("data-hit", "");
		return !!found;
	})()`, inside, label))
	p.do("press "+label, chromedp.Click("[data-hit]"))
}

// wantWaiting waits until the queue holds these prompts in this order.
func (p *page) wantWaiting(texts ...string) {
	p.t.Helper()
	p.wantTrue("the queue is "+strings.Join(texts, ", "), fmt.Sprintf(
		`[...document.querySelectorAll(".waiting-text")].map((e) => e.firstChild.textContent).join("|") === %q`, strings.Join(texts, "|")))
}

// prompted is how often an input of this text stands in the agent's own record of a session.
func (r *remote) prompted(session, text string) int {
	r.t.Helper()
	return strings.Count(string(r.call("session/messages", map[string]any{"sessionId": session})), fmt.Sprintf(`"text":%q`, text))
}

// wantAnswered waits until the agent has answered a prompt and does nothing more.
func (p *page) wantAnswered(prompt string) {
	p.t.Helper()
	p.wantText(".session", fmt.Sprintf("You asked: %q", prompt))
	p.wantTrue("the turn is over", `!document.querySelector(".stop-button")`)
}

// working makes the session busy for as long as a test may need.
func (r *remote) working(session string, p *page) {
	r.t.Helper()
	r.prompt(session, "slow 10m")
	p.wantText(".composer", "Stop")
}

func TestQueuedPromptsAreEditedMovedAndDeleted(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, laptopSize, "Laptop", "operator", s)
	r.working(s, p)
	for _, text := range []string{"one", "two", "three"} {
		p.write(text)
		p.hit(".sender", "Queue")
		p.wantText(".queue", text)
	}
	p.wantWaiting("one", "two", "three")
	p.hit(".waiting:nth-child(3)", "Move up")
	p.wantWaiting("one", "three", "two")
	p.hit(".waiting:nth-child(1)", "Edit")
	p.do("write over it", chromedp.SendKeys(".editing textarea", " and a half", chromedp.NodeVisible))
	p.hit(".editing", "Save")
	p.wantWaiting("one and a half", "three", "two")
	p.hit(".waiting:nth-child(2)", "Delete")
	p.wantWaiting("one and a half", "two")
	p.do("move by keys", chromedp.Focus(".waiting:nth-child(2) button"), chromedp.KeyEvent(kb.ArrowUp, chromedp.KeyModifiers(1)))
	p.wantWaiting("two", "one and a half")
	p.hit(".queue", "Hold")
	p.wantText(".queue", "on hold")
	p.hit(".queue", "Run")
	p.wantTrue("the queue runs", `!document.querySelector(".queue").innerText.includes("on hold")`)
	p.wantAccessible("the queue")
}

func TestEditedPromptWhoseTurnComesIsNotLost(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, laptopSize, "Laptop", "operator", s)
	r.prompt(s, "slow 10m")
	p.wantText(".composer", "Stop")
	p.write("as it was")
	p.hit(".sender", "Queue")
	p.wantWaiting("as it was")
	p.hit(".waiting", "Edit")
	p.do("write over it", chromedp.SendKeys(".editing textarea", ", and more", chromedp.NodeVisible))
	r.call("session/stop", map[string]any{"sessionId": s})
	p.wantText(".queue", "on hold since the turn was stopped")
	p.hit(".queue", "Run")
	p.wantAnswered("as it was")
	p.wantTrue("what was written is in the composer", `document.querySelector(".composer textarea").value === "as it was, and more"`)
}

func TestQueueOnAPhoneIsBehindAMenuOfThumbSize(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	r.working(s, p)
	for _, text := range []string{"one", "two"} {
		p.write(text)
		p.hit(".sender", "Queue")
		p.wantText(".queue", text)
	}
	p.wantFits()
	p.wantTouchable()
	p.hit(".queue", "What to do with prompt 2")
	p.wantText(".menu-panel", "Move up")
	p.wantTouchable()
	p.hit(".menu-panel", "Move up")
	p.wantWaiting("two", "one")
}

func TestWaitingPromptJoinsTheRunningTurn(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, laptopSize, "Laptop", "operator", s)
	r.working(s, p)
	p.write("look at the tests as well")
	p.hit(".sender", "Send in another way")
	p.hit(".menu-panel", "Guide")
	p.wantText(".waiting", "joins the turn")
	p.write("and this later")
	p.hit(".sender", "Queue")
	p.wantWaiting("look at the tests as well", "and this later")
	p.hit(".waiting:nth-child(2)", "Send now")
	p.wantTrue("both join", `document.querySelectorAll(".waiting").length === 2 && [...document.querySelectorAll(".waiting")].every((e) => e.innerText.includes("joins the turn"))`)
}

func TestStopHoldsTheQueueAndTheNextPromptSaysWhatBecomesOfIt(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	r.working(s, p)
	p.write("waits")
	p.hit(".sender", "Queue")
	p.wantWaiting("waits")
	p.hit(".composer", "Stop")
	p.wantText(".queue", "on hold since the turn was stopped")
	p.wantTrue("nothing runs", `!document.querySelector(".stop-button")`)

	p.write("first this")
	p.hit(".sender", "Send")
	p.wantText(".held-choice", "1 prompt waits in the queue. What becomes of it?")
	p.wantAccessible("the choice about the queue")
	p.hit(".held-choice", "Cancel")
	p.wantTrue("the text is still there", `document.querySelector(".composer textarea").value === "first this"`)
	p.hit(".sender", "Send")
	p.hit(".held-choice", "Send, keep them")
	p.wantAnswered("first this")
	p.wantWaiting("waits")
	p.write("only this")
	p.hit(".sender", "Send")
	p.hit(".held-choice", "Send, delete them")
	p.wantTrue("the queue is empty", `!document.querySelector(".queue")`)
	p.wantAnswered("only this")
	for text, n := range map[string]int{"waits": 0, "first this": 1, "only this": 1} {
		if got := r.prompted(s, text); got != n {
			t.Errorf("the agent got %q %d times, want %d", text, got, n)
		}
	}
}

func TestSlashCommandsWorkByKeyboardAndTheOtherBrowserSeesTheMode(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	laptop := openSession(t, d, laptopSize, "Laptop", "operator", s)
	phone := openSession(t, d, phoneSize, "Phone", "operator", s)
	laptop.write("/")
	laptop.wantText(".slash", "/goal")
	laptop.wantAccessible("the list of commands")
	laptop.write("mo\t")
	laptop.wantTrue("the command is chosen", `document.querySelector(".composer textarea").value === "/mode "`)
	laptop.write("plan")
	laptop.enter()
	phone.wantText(".composer .pick", "Plan")
	phone.hit(".composer .tools", "Mode")
	phone.wantTouchable()
	phone.hit(".menu-panel", "Edit")
	laptop.wantText(".composer .pick", "Edit")
	phone.hit(".composer .tools", "Model")
	phone.wantText(".menu-panel", "demo-pro")
	phone.wantAccessible("the models")
	phone.hit(".menu-panel", "demo-pro")
	laptop.wantText(".composer .tools", "demo-pro")
	laptop.write("/mode nonsense")
	laptop.enter()
	laptop.wantText(".composer", "There is no mode nonsense")
	laptop.wantTrue("the text is still there", `document.querySelector(".composer textarea").value === "/mode nonsense"`)
}

func TestInputMethodsChooseWithEnterAndSendNothing(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, laptopSize, "Laptop", "operator", s)
	p.write("你好")
	p.evaluate(`(() => {
		const e = document.querySelector(".composer textarea");
		e.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", isComposing: true, bubbles: true, cancelable: true}));
		e.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", keyCode: 229, bubbles: true, cancelable: true}));
		return "";
	})()`)
	p.wantTrue("the text is still there", `document.querySelector(".composer textarea").value === "你好"`)
	p.enter()
	p.wantAnswered("你好")
	if n := r.prompted(s, "你好"); n != 1 {
		t.Errorf("the agent got it %d times", n)
	}
}

// pastePicture puts a picture of so many random pixels a side into the composer, as the clipboard does.
func (p *page) pastePicture(side int) {
	p.t.Helper()
	p.evaluateAsync(fmt.Sprintf(`(async () => {
		const canvas = new OffscreenCanvas(%[1]d, %[1]d), c = canvas.getContext("2d"), image = c.createImageData(%[1]d, %[1]d);
		for (let i = 0; i < image.data.length; i += 65536) crypto.getRandomValues(image.data.subarray(i, i + 65536));
		c.putImageData(image, 0, 0);
		const data = new DataTransfer();
		data.items.add(new File([await canvas.convertToBlob()], "photo.png", {type: "image/png"}));
		document.querySelector(".composer textarea").dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
		return "";
	})()`, side))
}

func TestPictureGoesWithThePromptAndSurvivesAReload(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	p.pastePicture(500) // a megabyte: several pieces
	p.write("what is on it?")
	p.wantText(".upload", "ready")
	p.wantText(".composer-problem", "demo-flash does not read pictures")
	p.wantAccessible("a picture in the composer")
	p.wantTouchable()
	p.do("reload", chromedp.Reload())
	p.wantText(".upload", "photo.png")
	p.wantTrue("the text is still there", `document.querySelector(".composer textarea").value === "what is on it?"`)
	p.hit(".sender", "Send")
	p.wantAnswered("what is on it?")
	p.wantTrue("the composer is empty", `!document.querySelector(".upload") && document.querySelector(".composer textarea").value === ""`)
	if got := string(r.call("session/messages", map[string]any{"sessionId": s})); !strings.Contains(got, "photo.png") || !strings.Contains(got, "zcode-artifact://"+s) {
		t.Errorf("the agent got no picture: %.2000s", got)
	}
}

func TestUploadGoesOnAfterACut(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	f := startFaultProxy(t, d.url)
	p := openPageAt(t, phoneSize, "Phone", f.url(d.link("Phone", "operator")))
	p.follow(d, s)
	f.delay(0, 50<<10) // so that the megabyte takes 20 s: long enough to be cut in the middle
	p.pastePicture(500)
	p.wantTrue("a part is there", `parseInt(document.querySelector(".upload small")?.innerText) > 10`)
	f.goDown()
	p.wantText(".upload", "waits for the connection")
	f.delay(0, 0)
	f.comeUp()
	p.wantText(".upload", "ready")
	p.write("look")
	p.hit(".sender", "Send")
	p.wantAnswered("look")
	if n := r.prompted(s, "look"); n != 1 {
		t.Errorf("the agent got it %d times", n)
	}
}

func TestDraftSurvivesAReload(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s, other := r.session("/demo"), r.session("/demo")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	p.write("half a thought")
	p.do("reload", chromedp.Reload())
	p.wantTrue("the draft is there", `document.querySelector(".composer textarea")?.value === "half a thought"`)
	p.follow(d, other)
	p.wantTrue("another session has its own", `document.querySelector(".composer textarea")?.value === ""`)
}

func TestPromptSentWithoutAConnectionArrivesOnce(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	f := startFaultProxy(t, d.url)
	p := openPageAt(t, phoneSize, "Phone", f.url(d.link("Phone", "operator")))
	p.follow(d, s)
	f.goDown()
	p.wantTrue("the page knows that it is cut off", `document.querySelector(".shell").dataset.live === "false"`)
	p.write("from the tunnel")
	p.hit(".sender", "Send")
	p.wantText(".outgoing", "Not sent yet: no connection")
	p.write("taken back")
	p.hit(".sender", "Send")
	p.wantText(".outgoing:nth-child(2)", "Not sent yet")
	p.wantAccessible("prompts that wait for a connection")
	p.hit(".outgoing:nth-child(2)", "Take back")
	p.wantTrue("it is in the composer again", `document.querySelector(".composer textarea").value === "taken back"`)
	f.comeUp()
	p.wantAnswered("from the tunnel")
	p.wantTrue("nothing is on its way", `!document.querySelector(".outgoing")`)
	for text, n := range map[string]int{"from the tunnel": 1, "taken back": 0} {
		if got := r.prompted(s, text); got != n {
			t.Errorf("the agent got %q %d times, want %d", text, got, n)
		}
	}
}

func TestPromptOnItsWayWhenTheLineBreaksArrivesOnceEvenOverAReload(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	f := startFaultProxy(t, d.url)
	p := openPageAt(t, laptopSize, "Laptop", f.url(d.link("Laptop", "operator")))
	p.follow(d, s)
	f.stall()
	p.write("into the void")
	p.hit(".sender", "Send")
	p.wantText(".outgoing", "Sending")
	f.goDown()
	p.wantText(".outgoing", "Asking what became of it")
	f.comeUp()
	p.wantAnswered("into the void")
	p.wantTrue("it is known what became of it", `!document.querySelector(".outgoing")`)

	f.stall()
	p.write("into the void again")
	p.hit(".sender", "Send")
	p.wantText(".outgoing", "Sending")
	f.cut() // whatever stood in the line is lost
	p.do("reload", chromedp.Reload())
	p.wantAnswered("into the void again")
	p.wantTrue("it is known what became of it", `!document.querySelector(".outgoing")`)
	for _, text := range []string{"into the void", "into the void again"} {
		if n := r.prompted(s, text); n != 1 {
			t.Errorf("the agent got %q %d times", text, n)
		}
	}
}

func TestRefusedPromptSaysWhyAndCanBeEdited(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	r.working(s, p)
	p.write("/goal tidy up")
	p.hit(".sender", "Queue")
	p.wantText(".outgoing", "The agent is busy with another prompt.")
	p.wantAccessible("a refused prompt")
	p.wantTouchable()
	p.do("reload", chromedp.Reload())
	p.wantText(".outgoing", "/goal tidy up")
	p.hit(".outgoing", "Edit")
	p.wantTrue("it is in the composer again", `!document.querySelector(".outgoing") && document.querySelector(".composer textarea").value === "/goal tidy up"`)
}

func TestPeopleSeeEachOtherAndWhoWrote(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	laptop := openSession(t, d, laptopSize, "Laptop", "operator", s)
	phone := openSession(t, d, phoneSize, "Phone", "viewer", s)
	phone.wantText(".composer", "You are watching. This device may look, not write.")
	phone.wantTrue("there is nothing to write in", `!document.querySelector(".composer textarea")`)
	for _, p := range []*page{laptop, phone} {
		p.hit(".session-head", "3 people are here")
		p.wantText(".people", "Laptop")
		p.wantText(".people", "Phone")
		p.wantText(".people", "watches")
		p.wantAccessible("who is here")
		p.wantTouchable()
		p.do("close", chromedp.KeyEvent(kb.Escape))
	}
	r.working(s, laptop)
	laptop.write("from the laptop")
	laptop.hit(".sender", "Queue")
	phone.wantText(".waiting", "Laptop")
	laptop.wantText(".waiting", "from the laptop")
	laptop.wantTrue("one's own name is no news", `!document.querySelector(".waiting").innerText.includes("Laptop")`)
}

func TestControlIsTakenHandedOverAndReleased(t *testing.T) {
	d := startDemo(t, "--control", "lease")
	r := d.connect("script", "operator")
	s := r.session("/demo")
	laptop := openSession(t, d, laptopSize, "Laptop", "operator", s)
	phone := openSession(t, d, phoneSize, "Phone", "admin", s)
	laptop.wantText(".control-bar", "Nobody has control yet")
	laptop.write("slow 10m")
	laptop.hit(".sender", "Send")
	laptop.wantText(".control-bar", "You have control.")
	phone.wantText(".control-bar", "Laptop has control. What you write is kept.")
	phone.wantAccessible("somebody else has control")
	phone.write("mine")
	phone.wantText(".composer", "Laptop steers this session now.")
	phone.wantTrue("it cannot be sent", `document.querySelector(".send").disabled`)
	laptop.hit(".control-bar", "Hand over")
	laptop.hit(".menu-panel", "Hand over to Phone")
	phone.wantText(".control-bar", "You have control.")
	phone.hit(".sender", "Queue")
	laptop.wantText(".waiting", "mine")
	laptop.wantText(".control-bar", "Phone has control")
	phone.hit(".control-bar", "Release")
	laptop.hit(".control-bar", "Take control")
	phone.hit(".control-bar", "Take over from Laptop")
	laptop.wantText(".control-bar", "Phone has control")
	laptop.wantText(".control-bar", "You can take it if they do nothing for 5 min.")
}

func TestNewSessionBeginsWithItsPrompt(t *testing.T) {
	d := startDemo(t)
	p := openPageAt(t, phoneSize, "Phone", d.link("Phone", "operator"))
	p.hit(".sessions", "Start the first")
	p.write("hello from the form")
	p.do("name the folder", chromedp.SendKeys(".new-session .field input", "/demo", chromedp.NodeVisible))
	p.wantAccessible("the form for a new session")
	p.wantTouchable()
	p.wantFits()
	p.hit(".new-session", "Start")
	p.wantAnswered("hello from the form")
}

func TestPromptOfARevokedDeviceWaitsUntilSomebodySendsItAgain(t *testing.T) {
	d := startDemo(t)
	r := d.connect("script", "operator")
	s := r.session("/demo")
	f := startFaultProxy(t, d.url)
	p := openPageAt(t, phoneSize, "Phone", f.url(d.link("Phone", "operator")))
	p.follow(d, s)
	f.goDown()
	p.write("written too late")
	p.hit(".sender", "Send")
	p.wantText(".outgoing", "Not sent yet")
	d.hub("devices", "revoke", "Phone")
	f.comeUp()
	p.wantTrue("the page is shut out", `!document.querySelector(".shell")`)
	p.do("come back as another device", chromedp.Navigate("about:blank"), chromedp.Navigate(f.url(d.link("Phone again", "operator"))))
	p.follow(d, s)
	p.wantText(".outgoing", "This was written before this browser was paired anew.")
	if n := r.prompted(s, "written too late"); n != 0 {
		t.Fatalf("the agent got it %d times", n)
	}
	p.hit(".outgoing", "Try again")
	p.wantAnswered("written too late")
	p.wantTrue("nothing is on its way", `!document.querySelector(".outgoing")`)
}
