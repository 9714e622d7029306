//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// startPaced is a hub whose simulated agent takes so many times its usual pauses: 0 is at once, 0.25 four times as fast.
// Its clients may send as quickly as they like.
func startPaced(t *testing.T, speed string) *demo {
	t.Helper()
	data, err := os.MkdirTemp("", "hub-e2e-data-") // short: a socket path holds 103 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	ready := filepath.Join(data, "ready.json")
	d := &demo{t: t, data: data, cmd: exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--data-dir", data, "--ready-file", ready,
		"--rate-limit", "5000", "--rate-burst", "5000", "--app-server", program+" simulate --seed 7 --speed "+speed)}
	d.cmd.Stderr = &d.stderr
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.stop)
	var where struct{ URL string }
	for limit := time.Now().Add(patience); where.URL == ""; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(ready)
		if json.Unmarshal(text, &where) != nil && time.Now().After(limit) {
			t.Fatal("hub serve is not ready")
		}
	}
	d.url = where.URL
	d.desk, d.phone = d.link("desk", "admin"), d.link("phone", "operator")
	return d
}

// turn sends a prompt and waits for the end of its turn.
func (r *remote) turn(session, text string) {
	r.t.Helper()
	r.mu.Lock()
	before := len(r.messages)
	r.mu.Unlock()
	r.prompt(session, text)
	seen := 0
	r.want("the end of the turn", func(m message) bool {
		seen++
		return seen > before && m.Method == "session/event" && (strings.Contains(string(m.Params), `"turn.completed"`) || strings.Contains(string(m.Params), `"turn.failed"`))
	})
}

// number is the value of a JavaScript expression that is a number.
func (p *page) number(expression string) float64 {
	p.t.Helper()
	var n float64
	if _, err := fmt.Sscan(p.evaluate("String("+expression+")"), &n); err != nil {
		p.t.Fatalf("%s: %s is no number: %v", p.name, expression, err)
	}
	return n
}

func (p *page) resize(width, height int64) {
	p.t.Helper()
	command(p, "take another size", emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: true})
	p.wantTrue("the window has its size", fmt.Sprintf("innerHeight === %d", height))
}

// scrollBy moves the transcript as a reader does, as fast as a quick swipe.
func (p *page) scrollBy(y int) {
	p.t.Helper()
	p.evaluateAsync(fmt.Sprintf(`(async () => {
		const log = document.querySelector(".log");
		for (let left = %d; left !== 0; ) {
			const step = Math.sign(left) * Math.min(Math.abs(left), 75);
			log.scrollTop += step;
			left -= step;
			await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
		}
		// Until the page takes the movement for ended: its own timer is shorter, so it comes before this one however slow all is.
		await new Promise((r) => setTimeout(r, 400));
		return "";
	})()`, y))
}

const atEnd = `(() => { const l = document.querySelector(".log"); return l.scrollHeight - l.clientHeight - l.scrollTop < 2; })()`

func TestReaderKeepsTheirPlaceWhateverHappens(t *testing.T) {
	d := startPaced(t, "0.1")
	r := d.connect("script", "operator")
	s := r.session("/demo")
	for i := range 14 { // more than the 60 rows that a page gets at first
		r.turn(s, fmt.Sprintf("hello number %d", i))
	}
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	p.wantText(".log", "hello number 13")
	p.wantTrue("the end is shown", atEnd)

	// Older rows come when the page lets them.
	p.evaluate(`(() => {
		const send = WebSocket.prototype.send, held = [];
		WebSocket.prototype.send = function (text) { text.includes("rowsRange") && window.hold ? held.push(() => send.call(this, text)) : send.call(this, text); };
		window.hold = true;
		window.release = () => { window.hold = false; held.splice(0).forEach((f) => f()); return ""; };
		return "";
	})()`)
	// A mark is the row at the top of the window, and where it is.
	mark := func() {
		t.Helper()
		p.evaluate(`(() => {
			const top = document.querySelector(".log").getBoundingClientRect().top;
			window.mark = [...document.querySelectorAll(".item")].find((e) => e.getBoundingClientRect().bottom > top + 40);
			window.markAt = mark.getBoundingClientRect().top;
			return "";
		})()`)
	}
	wantPlace := func(what string) {
		t.Helper()
		p.wantTrue("two frames were drawn", `new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))`)
		if moved := p.number(`mark.isConnected ? Math.abs(mark.getBoundingClientRect().top - markAt) : 9999`); moved > 2 {
			t.Errorf("%s: the reader's place moved by %v px", what, moved)
		}
	}
	p.scrollBy(-900)
	mark()
	r.turn(s, "todo")
	p.wantText(".way", "new")
	wantPlace("rows came below")
	r.turn(s, "burst 500")
	wantPlace("text streamed below")
	p.resize(844, 390)
	p.resize(390, 844)
	wantPlace("the window changed its size")
	p.evaluate(`mark.previousElementSibling.firstElementChild.style.minHeight = "500px", ""`)
	wantPlace("a row grew above")

	p.scrollBy(-20_000)
	mark()
	height := p.number(`document.querySelector(".log").scrollHeight`)
	p.evaluate("release()")
	p.wantTrue("older rows are there", fmt.Sprintf(`document.querySelector(".log").scrollHeight > %v + 300`, height))
	wantPlace("older rows came above")
	p.wantTrue("the first prompt comes", `(() => { const l = document.querySelector(".log"); if (l.innerText.includes("hello number 0")) return true; l.scrollTop = Math.max(0, l.scrollTop - 400); return false; })()`)

	p.do("go to the end", chromedp.Click(".way:last-child"))
	p.wantTrue("the end is shown", atEnd)
	r.turn(s, "burst 500")
	p.wantText(".log", "word 500 of 500")
	p.wantTrue("the end is still shown", atEnd)
	p.wantAccessible("a transcript", ".transcript")
}

func TestQuestionOutOfSightIsOneTapAway(t *testing.T) {
	d := startPaced(t, "0.1")
	r := d.connect("script", "operator")
	s := r.session("/demo")
	for i := range 8 {
		r.turn(s, fmt.Sprintf("hello number %d", i))
	}
	p := openSession(t, d, laptopSize, "Wall", "viewer", s) // who may not answer has no sheet over the transcript
	p.wantText(".log", "hello number 7")
	p.scrollBy(-2000)
	r.prompt(s, "ask make all")
	r.asked(s, 1)
	p.do("go to the question", chromedp.WaitVisible(".way.waits"), chromedp.Click(".way.waits"))
	p.wantTrue("the call that waits is in the window", `(() => {
		const call = document.querySelector(".tool.pendingApproval")?.getBoundingClientRect(), log = document.querySelector(".log").getBoundingClientRect();
		return call && call.top >= log.top && call.top < log.bottom && document.querySelector(".tool.pendingApproval").innerText.includes("make all");
	})()`)
}

func TestTextOfOthersDoesNothingInTheTranscript(t *testing.T) {
	d := startPaced(t, "0")
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, laptopSize, "Desk", "operator", s)
	for _, text := range []string{
		"<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">",
		"[click](javascript:document.title='owned') ![x](https://elsewhere.example/pixel.png) <https://elsewhere.example>",
		"invoice\u202efdp.exe \x1b[31mred\x1b[0m a\x00b",
		"```html\n<script>document.title = 'owned'</script>\n```",
		strings.Repeat("x", 2<<20),
	} {
		r.turn(s, "reply with exactly: "+text)
	}
	r.turn(s, "unicode")
	r.turn(s, "big 2MB")
	p.wantText(".log", "bytes.")
	for range 40 { // over all of it
		p.evaluate(`(document.querySelector(".log").scrollTop -= 500, document.querySelectorAll(".head[aria-expanded=false]").forEach((e) => e.click()), "")`)
		time.Sleep(30 * time.Millisecond)
		if found := p.evaluate(`[...document.querySelectorAll(".log :is(script, img, iframe, object, embed, style, link, form, base)")].map((e) => e.outerHTML).join()`); found != "" {
			t.Fatalf("text became elements: %s", found)
		}
		if found := p.evaluate(`[...document.querySelectorAll(".log a[href]")].map((e) => e.getAttribute("href")).filter((h) => !/^(https?:|mailto:|#)/.test(h)).join()`); found != "" {
			t.Fatalf("a link leads to %s", found)
		}
		if shown := p.number(`document.querySelector(".log").textContent.length`); shown > 400_000 {
			t.Fatalf("%v characters are in the document at once", shown)
		}
	}
	if title := p.evaluate("document.title"); strings.Contains(title, "owned") {
		t.Errorf("a script ran: the title is %q", title)
	}
	if asked := p.evaluate(`performance.getEntriesByType("resource").map((e) => e.name).filter((n) => !n.startsWith(location.origin)).join()`); asked != "" {
		t.Errorf("the page asked for %s", asked)
	}
}

// figures tells whether to measure for as long as docs/page.md says; otherwise a moment has to do.
func figures() bool { return os.Getenv("E2E_FIGURES") != "" }

// A trace is what the page's main thread did.
type trace struct {
	wall, cpu []time.Duration // of its tasks, shortest first
}

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	return d[min(int(q*float64(len(d))), len(d)-1)].Round(100 * time.Microsecond)
}

// traced runs f and gives the tasks of the page's main thread in that time.
func (p *page) traced(f func()) trace {
	p.t.Helper()
	var mu sync.Mutex
	var events []json.RawMessage
	done := make(chan struct{})
	if err := chromedp.Listen(p.ctx, func(ev any) {
		switch ev := ev.(type) {
		case *tracing.EventDataCollected:
			mu.Lock()
			for _, e := range ev.Value {
				events = append(events, json.RawMessage(e))
			}
			mu.Unlock()
		case *tracing.EventTracingComplete:
			close(done)
		}
	}); err != nil {
		p.t.Fatal(err)
	}
	command(p, "trace", tracing.Start, tracing.StartParams{TransferMode: tracing.StartTransferModeReportEvents,
		TraceConfig: &tracing.TraceConfig{IncludedCategories: []string{"toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"}}})
	f()
	command(p, "stop tracing", tracing.End, cdp.Empty{})
	select {
	case <-done:
	case <-time.After(patience):
		p.t.Fatal("the trace does not end")
	}
	return tasks(events)
}

func tasks(events []json.RawMessage) (found trace) {
	type event struct {
		Name, Ph            string
		Pid, Tid, Dur, Tdur int64
		Args                struct{ Name string }
	}
	type thread struct{ pid, tid int64 }
	main := map[thread]bool{}
	var all []event
	for _, raw := range events {
		var e event
		if json.Unmarshal(raw, &e) != nil {
			continue
		}
		if e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
			main[thread{e.Pid, e.Tid}] = true
		}
		if e.Name == "RunTask" && e.Ph == "X" {
			all = append(all, e)
		}
	}
	for _, e := range all {
		if main[thread{e.Pid, e.Tid}] && e.Dur > 1000 { // shorter ones are the browser's own book-keeping, and would flatter the rest
			found.wall = append(found.wall, time.Duration(e.Dur)*time.Microsecond)
			found.cpu = append(found.cpu, time.Duration(e.Tdur)*time.Microsecond)
		}
	}
	slices.Sort(found.wall)
	slices.Sort(found.cpu)
	return found
}

func (tr trace) log(t *testing.T, what string) {
	t.Helper()
	t.Logf("%s: %d tasks over 1 ms; wall p50 %v, p95 %v, p99 %v, max %v; CPU p99 %v, max %v", what, len(tr.wall), quantile(tr.wall, 0.5),
		quantile(tr.wall, 0.95), quantile(tr.wall, 0.99), quantile(tr.wall, 1), quantile(tr.cpu, 0.99), quantile(tr.cpu, 1))
}

// longTask is what a person begins to feel.
const longTask = 50 * time.Millisecond

// bar is what a time may be: a machine that does other work as well, of which nobody asked for figures, may take three
// times as long. That is still far from what a page takes that lays out everything anew.
func bar(figure time.Duration) time.Duration {
	if figures() {
		return figure
	}
	return 3 * figure
}

func TestStreamingKeepsTheMainThreadFree(t *testing.T) {
	d := startPaced(t, "0.25") // a word every 25 ms: 40 deltas a second
	r := d.connect("script", "operator")
	s := r.session("/demo")
	r.turn(s, "help")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	p.wantText(".log", "Any other text gets a short answer")
	length := 8 * time.Second
	if figures() {
		length = time.Minute
	}
	p.slowDown(4)
	time.Sleep(2 * time.Second) // what the page does once it is open is not the subject
	tr := p.traced(func() {
		r.prompt(s, fmt.Sprintf("slow %v", 4*length))
		time.Sleep(length)
	})
	p.slowDown(1)
	tr.log(t, fmt.Sprintf("40 deltas a second for %v, CPU ×4", length))
	// What the machine's other work takes from it says nothing about the page: the time that the thread itself used counts.
	if p99 := quantile(tr.cpu, 0.99); p99 > bar(longTask) {
		t.Errorf("the 99th percentile of tasks is %v, more than %v", p99, bar(longTask))
	}
}

func TestLongSessionOpensAndScrolls(t *testing.T) {
	rows := 1_000
	if figures() {
		rows = 10_000
	}
	d := startPaced(t, "0")
	r := d.connect("script", "operator")
	s := r.session("/demo")
	for i := range (rows + 6) / 7 { // each such turn has seven rows
		r.turn(s, fmt.Sprintf("hello number %d", i))
	}
	p := openPageAt(t, phoneSize, "Phone", d.link("Phone", "operator"))
	p.wantTrue("the page is live", `document.querySelector(".shell")?.dataset.live === "true"`)
	p.slowDown(4)
	opened := p.evaluateAsync(fmt.Sprintf(`(async () => {
		const began = performance.now();
		location.hash = "/s/" + encodeURIComponent(%q);
		while (!document.querySelector(".log")?.innerText.includes("hello number")) await new Promise((r) => requestAnimationFrame(r));
		await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
		return String(Math.round(performance.now() - began));
	})()`, s))
	t.Logf("%d rows, CPU ×4: from the tap to the last rows on the screen %s ms", rows, opened)
	p.slowDown(1)
	p.wantTrue("all rows are there", `(() => { const l = document.querySelector(".log"); if (l.innerText.includes("hello number 0\n")) return true; l.scrollTop = 0; return false; })()`)
	p.slowDown(4)
	tr := p.traced(func() { p.scrollBy(9_000) })
	p.slowDown(1)
	tr.log(t, fmt.Sprintf("scrolling through %d rows, CPU ×4", rows))
	if laid := p.number(`document.querySelectorAll(".item").length`); laid > 150 {
		t.Errorf("%v items are laid out at once", laid)
	}
	// The browser scrolls without the main thread; that one only has to be ready with the rows beyond the edge, a window ahead.
	if p95 := quantile(tr.cpu, 0.95); p95 > bar(2*longTask) {
		t.Errorf("while scrolling, the 95th percentile of tasks is %v, more than %v", p95, bar(2*longTask))
	}
}

// held is how much memory the page's scripts hold, in MiB, and how many nodes its document has, once what is garbage is gone.
func (p *page) held() (heap float64, nodes float64) {
	p.t.Helper()
	command(p, "collect garbage", heapprofiler.CollectGarbage, cdp.Empty{})
	p.do("read the metrics", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := cdp.Call(ctx, t, performance.Enable, performance.EnableParams{}); err != nil {
			return err
		}
		got, err := cdp.Call(ctx, t, performance.GetMetrics, cdp.Empty{})
		for _, m := range got.Metrics {
			switch m.Name {
			case "JSHeapUsedSize":
				heap = m.Value / (1 << 20)
			case "Nodes":
				nodes = m.Value
			}
		}
		return err
	}))
	return heap, nodes
}

func TestOpenPageDoesNotGrow(t *testing.T) {
	parts, turns := 4, 4
	if figures() {
		turns = 72 // with 500 deltas each it is an hour at 40 a second
	}
	d := startPaced(t, "0")
	r := d.connect("script", "operator")
	s := r.session("/demo")
	p := openSession(t, d, phoneSize, "Phone", "operator", s)
	var heaps, nodes []float64
	for part := range parts {
		for n := range turns {
			r.turn(s, fmt.Sprintf("burst %d", 500+n%2))
			r.turn(s, fmt.Sprintf("hello %d.%d", part, n))
		}
		p.wantText(".log", fmt.Sprintf("hello %d.%d", part, turns-1))
		p.wantTrue("the turn is over", `document.querySelector(".log .icon.i-busy") === null`)
		heap, count := p.held()
		heaps, nodes = append(heaps, heap), append(nodes, count)
	}
	t.Logf("%d deltas in %d turns, in quarters: heap %.1f MiB, nodes %.0f", parts*turns*500, 2*parts*turns, heaps, nodes)
	// The text of the rows that stay loaded is all that may come on top.
	if last := heaps[parts-1]; last > heaps[0]+8 {
		t.Errorf("the heap grew from %.1f to %.1f MiB", heaps[0], last)
	}
	if last := nodes[parts-1]; last > 2*nodes[0]+2000 {
		t.Errorf("the document grew from %.0f to %.0f nodes", nodes[0], last)
	}
}
