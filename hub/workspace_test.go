package hub_test

import (
	"testing"

	"zcodehub/auth"
	"zcodehub/internal/hubtest"
)

// Whoever shows lists learns of a workspace when somebody first works in it, and
// nobody learns of one outside their scope.
func TestNewWorkspaceIsToldOnceToThoseWhoSeeIt(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.NewSimulator(t, hubtest.SimulatorOptions{}))
	maker := h.Connect("maker", hubtest.As{})
	watcher := h.Connect("watcher", hubtest.As{Role: auth.RoleViewer})
	insider := h.Connect("insider", hubtest.As{Workspaces: []string{"/src/alpha"}})
	outsider := h.Connect("outsider", hubtest.As{Workspaces: []string{"/src/beta"}})
	for range 2 {
		id := maker.Create("/src/alpha")
		maker.Subscribe(id, "")
		n := maker.Received()
		maker.Prompt(id, "help")
		maker.WantTurnEnd(n, id)
	}
	for _, c := range []*hubtest.Client{maker, watcher, insider} {
		c.MustCall("hub/ping", "{}")
		if n := len(c.All("hub/workspace")); n != 1 {
			t.Errorf("%s was told %d times, want once", c.Name, n)
		}
	}
	outsider.MustCall("hub/ping", "{}")
	if n := len(outsider.All("hub/workspace")); n != 0 {
		t.Errorf("an outsider was told %d times", n)
	}
}
