package hub_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"zcodehub/internal/hubtest"
)

// The app-server is killed in the middle of a turn, again and again: every topic
// comes back under a new epoch, clients keep their subscription, ordinals go on
// rising, and all end with what a fresh snapshot says.
func TestTopicsSurviveKill(t *testing.T) {
	sim := hubtest.NewSimulator(t, hubtest.SimulatorOptions{StateFile: filepath.Join(t.TempDir(), "state"), Speed: 0.001}) // at speed 0 each run has the same epochs
	h := hubtest.Start(t, sim)
	owner := h.Connect("owner", hubtest.As{})
	session := createIn(owner, "/work")
	var all []*follower
	for i := range 4 {
		all = append(all, follow(t, h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)}), "conversation/"+session))
	}
	id := all[0].id
	for generation := 1; generation <= 3; generation++ {
		all[0].wantSeq(1)
		epoch := all[0].state.Epoch()
		n := owner.Received()
		owner.Prompt(session, "ask")
		owner.WantNoticeAfter(n, "interaction/requestPermission", session)
		h.Kill()
		h.WantState("ready", generation+1)
		for _, f := range all {
			hubtest.Want(t, f.client.Name+" to have a new epoch", func() bool {
				f.catchUp()
				if lost := f.client.All("hub/topicLost"); len(lost) > 0 {
					t.Fatalf("%s was told %s", f.client.Name, lost[0])
				}
				return f.state.Epoch() != epoch
			})
		}
		n = owner.Received()
		owner.Prompt(session, "help")
		owner.WantTurnEnd(n, session)
		// A heartbeat or the end of the turn may still be on its way to a client.
		fresh := follow(t, h.Connect(fmt.Sprint("fresh", generation), hubtest.As{}), all[0].topic)
		fresh.wantSeq(1)
		last := uint64(0)
		hubtest.Want(t, "the turn to have ended in the conversation", func() bool {
			fresh.catchUp()
			last = fresh.state.Seq()
			return fresh.control() == "completedSuccess"
		})
		for _, f := range all {
			f.wantSeq(last)
			hubtest.Want(t, f.client.Name+" and a fresh client to be at one number", func() bool {
				fresh.catchUp()
				f.catchUp()
				return f.state.Seq() == fresh.state.Seq()
			})
			f.wantState(fresh.state.Snapshot())
			if f.id != id {
				t.Errorf("%s has subscription %s, before %s", f.client.Name, f.id, id)
			}
		}
	}
}

// A topic whose session did not survive is told as lost.
func TestTopicOfASessionThatIsGone(t *testing.T) {
	h, _ := simulated(t) // without a state file nothing outlives the process
	owner := h.Connect("owner", hubtest.As{})
	session := createIn(owner, "/work")
	f := follow(t, h.Connect("client", hubtest.As{}), "conversation/"+session)
	f.wantSeq(1)
	h.Kill()
	m := f.client.WantNotice("hub/topicLost", session)
	if m.Path("params", "subscriptionId") != f.id || m.Path("params", "error", "message") == "" {
		t.Errorf("told %s", m)
	}
	if m := f.client.Call("v4/conversation/resync", fmt.Sprintf(`{"topic":%q,"subscriptionId":%q,"base":null}`, f.topic, f.id)); m.Path("error", "message") != "fault.subscription.notOwned" {
		t.Errorf("a resync of it gave %s", m)
	}
}
