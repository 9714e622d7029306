package hub_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"zcodehub/internal/hubtest"
)

// More sessions are followed than an app-server keeps loaded: after its restart
// each is heard again, also those that it evicted while others were loaded.
func TestMoreSessionsThanTheAppServerKeepsComeBackAfterARestart(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.NewSimulator(t, hubtest.SimulatorOptions{StateFile: filepath.Join(t.TempDir(), "state.json")}))
	c := h.Connect("client", hubtest.As{})
	const many = 40 // the simulated pool trims itself to 8 at 16
	var ids []string
	for range many {
		id := c.Create("/work")
		c.Subscribe(id, "")
		n := c.Received()
		c.Prompt(id, "help")
		c.WantTurnEnd(n, id)
		ids = append(ids, id)
	}
	n := c.Received()
	h.Connect("root", hubtest.As{Role: "admin"}).MustCall("hub/restartAppServer", "{}")
	h.WantState("ready", 2)
	for _, id := range ids {
		c.WantNoticeAfter(n, "hub/snapshot", fmt.Sprintf("%q", id), `"resumed"`)
	}
	if gone := c.All("hub/snapshot", `"gone"`); len(gone) > 0 {
		t.Errorf("%d sessions were called gone, such as %s", len(gone), gone[0])
	}
}
