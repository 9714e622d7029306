//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/chromedp/chromedp"
)

// axe is axe-core, which `npm ci` in web/ui brings.
var axe = sync.OnceValues(func() (string, error) {
	script, err := os.ReadFile("../web/ui/node_modules/axe-core/axe.min.js")
	return string(script), err
})

// wantAccessible runs axe-core on what the page shows, in both colour schemes: no rule of WCAG 2.2 A and AA and of its best
// practices may be violated. within narrows it to a part of the page.
func (p *page) wantAccessible(screen string, within ...string) {
	p.t.Helper()
	script, err := axe()
	if err != nil {
		p.t.Fatalf("axe-core is missing; npm ci in web/ui brings it: %v", err)
	}
	p.evaluate(script + "; 'loaded'")
	part := "document"
	if len(within) > 0 {
		part = fmt.Sprintf("%q", within[0])
	}
	for _, scheme := range []string{"light", "dark"} {
		p.prefer("prefers-color-scheme", scheme)
		found := p.evaluateAsync(`axe.run(` + part + `, {resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations.map((v) =>
			({rule: v.id, help: v.help, at: v.nodes.slice(0, 3).map((n) => n.target.join(" ") + ": " + (n.any[0]?.message ?? ""))}))))`)
		var violations []struct {
			Rule, Help string
			At         []string
		}
		if err := json.Unmarshal([]byte(found), &violations); err != nil {
			p.t.Fatalf("axe-core answered %q", found)
		}
		for _, v := range violations {
			p.t.Errorf("%s, %s, %s: %s (%s)\n\t%s", p.name, screen, scheme, v.Help, v.Rule, strings.Join(v.At, "\n\t"))
		}
	}
}

// evaluateAsync is evaluate for a promise of a string.
func (p *page) evaluateAsync(expression string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Errorf("%s: evaluate %s: %v", p.name, expression, err)
	}
	return value
}
