package hub_test

import (
	"fmt"
	"strings"
	"testing"

	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
)

// createIn makes a session with a turn in a workspace, so that its list has it.
func createIn(c *hubtest.Client, workspace string) string {
	id := c.Create(workspace)
	n := c.Received()
	c.Subscribe(id, "")
	c.Prompt(id, "help")
	c.WantTurnEnd(n, id)
	return id
}

// A list of sessions shows the holder of a limited token what is in its scope
// only: in the snapshot and frame by frame; and the frames stay a chain.
func TestIndexTopicsAreFiltered(t *testing.T) {
	h, sim := simulated(t)
	owner := h.Connect("owner", hubtest.As{})
	mine, other, secret := createIn(owner, "/work"), createIn(owner, "/work"), createIn(owner, "/secret")
	const work, hidden = "sessions-index//work", "sessions-index//secret"
	everything := follow(t, owner, work)
	all := map[string][]*follower{
		"by session":   {follow(t, h.Connect("by session", hubtest.As{Sessions: []string{mine}}), work), follow(t, h.Connect("by session, replayable", hubtest.As{Sessions: []string{mine}, Profile: profileOf(1)}), work)},
		"by workspace": {follow(t, h.Connect("by workspace", hubtest.As{Workspaces: []string{"/work"}}), work)},
	}
	blind := []*follower{
		follow(t, h.Connect("by session, elsewhere", hubtest.As{Sessions: []string{mine}}), hidden),
		follow(t, h.Connect("by workspace, elsewhere", hubtest.As{Workspaces: []string{"/work"}}), hidden),
	}
	for _, id := range []string{mine, other, secret} { // frames about each
		n := owner.Received()
		owner.Prompt(id, "help")
		owner.WantTurnEnd(n, id)
	}
	last := createIn(owner, "/work")
	hubtest.Want(t, "the owner to see the last session", func() bool {
		everything.catchUp()
		return strings.Contains(string(everything.state.Snapshot()), last) && strings.Contains(string(everything.state.Snapshot()), `"completedSuccess"`)
	})
	if n := len(everything.kinds); n < 3 {
		t.Errorf("the list came in %d frames: that proves nothing", n)
	}
	for name, followers := range all {
		for _, f := range followers {
			f.wantSeq(everything.state.Seq())
			f.wantHealthy()
			list := string(f.state.Snapshot())
			if !strings.Contains(list, mine) || strings.Contains(list, secret) || strings.Contains(list, other) != (name == "by workspace") {
				t.Errorf("%s: the list is %s", f.client.Name, list)
			}
		}
	}
	for _, f := range blind {
		if f.wantSeq(0); strings.Contains(string(f.state.Snapshot()), "sess_") {
			t.Errorf("%s: the list is %s", f.client.Name, f.state.Snapshot())
		}
		all["elsewhere"] = append(all["elsewhere"], f)
	}
	for name, followers := range all {
		for _, f := range followers {
			f.client.MustCall("hub/ping", "{}")
			for _, m := range f.client.Messages() {
				if strings.Contains(string(m.Text), secret) || name != "by workspace" && (strings.Contains(string(m.Text), other) || strings.Contains(string(m.Text), last)) {
					t.Errorf("%s learned of %s", f.client.Name, m)
				}
			}
			f.resync("null") // and what it asks for itself is filtered too
			f.wantHealthy()
			if strings.Contains(string(f.state.Snapshot()), secret) {
				t.Errorf("%s: after a resync the list is %s", f.client.Name, f.state.Snapshot())
			}
		}
	}
	if n := sim.Count("v4/conversation/subscribe"); n != 2 {
		t.Errorf("%d subscribes upstream for two topics", n)
	}
}

// A conversation outside the scope is answered letter for letter as one that
// does not exist, and so are settings.
func TestConversationTopicsOutsideTheScope(t *testing.T) {
	h, sim := simulated(t)
	owner := h.Connect("owner", hubtest.As{})
	mine, other := createIn(owner, "/work"), createIn(owner, "/secret")
	const nobody = "sess_00000000-0000-0000-0000-000000000000"
	for name, as := range map[string]hubtest.As{"by session": {Sessions: []string{mine}}, "by workspace": {Workspaces: []string{"/work"}}} {
		c := h.Connect(name, as)
		follow(t, c, "conversation/"+mine).wantSeq(1)
		before := sim.Count("v4/conversation/subscribe")
		answers := map[string]string{}
		for _, id := range []string{other, nobody} {
			m := c.Call("v4/conversation/subscribe", fmt.Sprintf(`{"topic":"conversation/%s"}`, id))
			if m.Kind != wire.Error {
				t.Errorf("%s: subscribe to %s gave %s", name, id, m)
			}
			answers[id] = strings.ReplaceAll(string(m.Error), id, "ID")
		}
		if answers[other] != answers[nobody] {
			t.Errorf("%s: outside the scope %s, of nobody %s", name, answers[other], answers[nobody])
		}
		if m := c.Call("v4/conversation/subscribe", `{"topic":"workspace-config//secret"}`); m.Path("error", "message") != "fault.subscription.unknownTopic" {
			t.Errorf("%s: settings elsewhere gave %s", name, m)
		}
		if n := sim.Count("v4/conversation/subscribe"); n != before {
			t.Errorf("%s: %d of these came upstream", name, n-before)
		}
		for _, call := range []string{"v4/conversation/resync", "v4/conversation/unsubscribe"} {
			c.Call(call, fmt.Sprintf(`{"topic":"conversation/%s","subscriptionId":"x"}`, other))
		}
	}
}
