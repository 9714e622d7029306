//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

func TestRevokedPageSaysSoAndStaysOut(t *testing.T) {
	d := startDemo(t)
	desk := openPage(t, "desk", d.desk)
	desk.createSession("/demo")
	desk.prompt("ask")
	phone := openPage(t, "phone", d.phone)
	phone.wantConnected()
	phone.open("ask")
	phone.tap("Allow once")
	desk.wantText(told, "phone allowed")

	phone.evaluate(`(() => { // notes when the notice comes, in the page itself: this test polls more slowly
		new MutationObserver(() => { if (document.querySelector(".door [role=alert]")) window.toldAt ??= Date.now() }).observe(document.body, { childList: true, subtree: true });
		return "";
	})()`)
	asked := time.Now()
	d.hub("devices", "revoke", "phone")
	revoked := time.Now()
	phone.wantText(".door", "This device was revoked")
	phone.wantTrue("the notice was seen to come", "window.toldAt > 0")
	var at int64
	if _, err := fmt.Sscan(phone.evaluate("String(window.toldAt)"), &at); err != nil {
		t.Fatal(err)
	}
	if at := time.UnixMilli(at); at.Sub(revoked) > bar(5*time.Second) { // it is told, and does not find out when it asks next
		t.Errorf("the page said so %s after the revocation, which took %s", at.Sub(revoked), revoked.Sub(asked))
	}
	phone.do("reload", chromedp.Reload())
	phone.do("see the sign-in", chromedp.WaitVisible(".sign-in"))
	phone.do("use the link again", chromedp.Navigate(d.phone))
	phone.do("go in", chromedp.Click(".pair-form .primary", chromedp.NodeVisible))
	phone.wantText(".door", "used already")
	desk.wantLive()
	if out := d.hub("audit", "verify"); !strings.Contains(out, "whole") {
		t.Errorf("audit: %s", out)
	}
	record := d.hub("audit", "show")
	for _, want := range []string{`device.paired         name="phone"`, `prompt.sent           name="desk"`, `interaction.settled   name="phone"`, `device.revoked        name="phone"`} {
		if !strings.Contains(record, want) {
			t.Errorf("the audit lacks %s:\n%s", want, record)
		}
	}
}

func TestAdminPairsAndRevokesOnThePage(t *testing.T) {
	d := startDemo(t)
	desk := openPage(t, "desk", d.desk)
	desk.wantConnected()
	desk.evaluate(`location.hash = "/settings"`)
	desk.do("say for whom", chromedp.WaitVisible(".setting select"), chromedp.SetValue(".setting select", "approver"))
	desk.evaluate(`(document.querySelector(".setting select").dispatchEvent(new Event("change", { bubbles: true })), "")`)
	desk.fill(".setting .field input", "tablet")
	desk.press("setting", "Make a link")
	desk.wantTrue("the QR code is drawn", `document.querySelector(".qr path[fill='#000']")?.getBBox().width > 20`)
	link := desk.text(".pairing-link")
	if !strings.HasPrefix(link, d.url+"/#pair=") {
		t.Fatalf("link %q", link)
	}
	tablet := openPage(t, "tablet", link)
	tablet.wantConnected()
	tablet.evaluate(`location.hash = "/settings"`)
	tablet.wantText(".settings", "May watch, answer")
	tablet.wantTrue("an approver sees no devices", `document.querySelector(".devices") === null && !document.querySelector(".settings").innerText.includes("Pair a device")`)
	desk.evaluate(`location.hash = "/"`)
	desk.evaluate(`location.hash = "/settings"`)
	desk.wantText(".device", "tablet")
	revoke := `//li[contains(@class, "device")][.//strong[text()="tablet"]]//button[text()="Revoke"]`
	desk.do("revoke", chromedp.Click(revoke), chromedp.WaitVisible(`//li[contains(., "Revoke tablet?")]`), chromedp.Click(revoke))
	tablet.wantText(".door", "This device was revoked")
	desk.wantTrue("the device is gone from the list", `![...document.querySelectorAll(".device strong")].some((e) => e.innerText === "tablet")`)
}

func TestPageWhoseTokenRanOutRenewsItself(t *testing.T) {
	d := startDemo(t)
	p := openPage(t, "desk", d.desk)
	p.wantConnected()
	before := p.cookies(d.url + "/api/token")
	for name := range p.cookies(d.url + "/") {
		p.forget(name, d.url+"/") // as the browser does when it ends
	}
	p.do("reload", chromedp.Reload())
	p.wantConnected()
	after := p.cookies(d.url + "/api/token")
	if len(before) != 2 || len(after) != 2 {
		t.Fatalf("cookies before %d, after %d; want 2", len(before), len(after))
	}
	for name := range before {
		if before[name] == after[name] {
			t.Errorf("the cookie %s is still the old one", name)
		}
	}
}

// cookies are those that the browser would send to an address.
func (p *page) cookies(address string) map[string]string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	got, err := chromedp.Call(ctx, network.GetCookies, network.GetCookiesParams{URLs: []string{address}})
	if err != nil {
		p.t.Fatalf("%s: cookies: %v", p.name, err)
	}
	found := map[string]string{}
	for _, c := range got.Cookies {
		found[c.Name] = c.Value
		if !c.HTTPOnly || c.SameSite != network.CookieSameSiteStrict {
			p.t.Errorf("cookie %s: HttpOnly %v, SameSite %s", c.Name, c.HTTPOnly, c.SameSite)
		}
	}
	return found
}

func (p *page) forget(cookie, address string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, network.DeleteCookies, network.DeleteCookiesParams{Name: cookie, URL: address}); err != nil {
		p.t.Fatalf("%s: delete a cookie: %v", p.name, err)
	}
}

// hostile is what a page on another origin tries. It reads every answer that the browser lets it read.
const hostile = `<!doctype html><title>hostile</title><body><script>
const hub = %q, got = [];
const attempt = async (what, how) => { try { const r = await how(); if (r) got.push(what + ": " + r); } catch {} };
const read = (path, options) => async () => { const r = await fetch(hub + path, { credentials: "include", ...options }); return r.type === "opaque" ? "" : r.status + " " + await r.text(); };
const text = { headers: { "Content-Type": "text/plain" } };
const socket = (query) => () => new Promise((done) => {
  const s = new WebSocket(hub.replace("http", "ws") + "/ws" + query);
  s.onopen = () => done("opened"); s.onmessage = (e) => done(e.data); s.onerror = s.onclose = () => done("");
});
const load = (tag, attributes) => () => new Promise((done) => {
  const e = Object.assign(document.createElement(tag), attributes);
  e.onload = () => done(tag === "iframe" ? (() => { try { return e.contentDocument?.body?.innerText } catch { return "" } })() : "loaded"); e.onerror = () => done("");
  document.body.append(e); setTimeout(() => done(""), 3000);
});
(async () => {
  for (const path of ["/", "/api/status", "/api/devices", "/api/pairings", "/metrics", "/readyz"]) await attempt("GET " + path, read(path));
  for (const path of ["/api/tickets", "/api/token", "/api/pair", "/api/pairings", "/api/login", "/api/logout", "/api/token/create", "/api/keys/rotate", "/api/devices/phone/revoke", "/api/devices/desk/revoke"]) {
    const body = JSON.stringify({ code: "x", role: "admin", name: "evil" });
    await attempt("POST " + path, read(path, { method: "POST", body, ...text }));
    await attempt("blind POST " + path, read(path, { method: "POST", body, mode: "no-cors", ...text }));
    await attempt("POST with a bearer " + path, read(path, { method: "POST", body, headers: { Authorization: "Bearer x" } }));
  }
  await attempt("socket", socket(""));
  await attempt("socket with a ticket", socket("?ticket=x"));
  await attempt("script", load("script", { src: hub + "/api/status" }));
  await attempt("module", load("script", { src: hub + "/app.js", type: "module" }));
  await attempt("image", load("img", { src: hub + "/icon.svg" }));
  await attempt("frame", load("iframe", { src: hub + "/" }));
  const form = Object.assign(document.createElement("form"), { method: "POST", action: hub + "/api/devices/phone/revoke", target: "sink" });
  document.body.append(Object.assign(document.createElement("iframe"), { name: "sink" }), form);
  form.submit();
  await new Promise((done) => setTimeout(done, 500));
  window.result = got.join("\n");
  document.title = "done";
})();
</script>`

// TestHostilePagesGetNothing opens foreign pages in a browser that is signed in as an admin: one on another port of the
// same host, for which SameSite is no obstacle, and one on another site.
func TestHostilePagesGetNothing(t *testing.T) {
	d := startDemo(t)
	phone := openPage(t, "phone", d.phone)
	phone.wantConnected()
	desk := openPage(t, "desk", d.desk)
	desk.wantConnected()
	before := d.hub("devices", "list", "--all")

	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, hostile, d.url)
	}))
	defer evil.Close()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(evil.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for site, address := range map[string]string{"another port": "http://127.0.0.1:" + port, "another site": "http://localhost:" + port} {
		desk.do("visit "+site, chromedp.Navigate(address))
		desk.wantTrue("the hostile page has tried everything", `document.title === "done"`)
		if got := desk.evaluate("window.result"); got != "" {
			t.Errorf("from %s the hostile page got:\n%s", site, got)
		}
	}
	after := d.hub("devices", "list", "--all")
	if count := func(list string) int { return strings.Count(list, "\n") }; count(after) != count(before) || strings.Contains(after, "evil") || strings.Contains(after, "revoked") {
		t.Errorf("the devices were\n%sand are\n%s", before, after)
	}
	if out := d.hub("pair", "list"); strings.Count(out, "\n") != 1 {
		t.Errorf("a pairing was opened: %s", out)
	}
	phone.wantLive()
	desk.do("go home", chromedp.Navigate(d.url))
	desk.wantConnected()
}
