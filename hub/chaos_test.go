package hub_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
)

// Devices come, go, resume, change their lane and prompt, while the app-server
// talks and is killed now and then: no device ever sees a gap or a repeat that
// no snapshot explains, and in the end all have the same state.
func TestNoGapWhateverHappens(t *testing.T) {
	sim := hubtest.NewSimulator(t, hubtest.SimulatorOptions{StateFile: filepath.Join(t.TempDir(), "state.json")})
	h := hubtest.Start(t, sim)
	owner := h.Connect("owner", hubtest.As{})
	id := owner.Create("/work")
	owner.Prompt(id, "help") // so that it is stored
	var devices []*lifetime
	var all sync.WaitGroup
	for i := range 6 {
		l := &lifetime{t: t, h: h, name: fmt.Sprint("device", i), session: id}
		devices = append(devices, l)
		random := rand.New(rand.NewPCG(7, uint64(i)))
		all.Go(func() {
			for range 40 {
				l.live(random)
			}
		})
	}
	for generation := 2; generation <= 4; generation++ {
		h.WantState("ready", generation-1)
		owner.Call("session/send", fmt.Sprintf(`{"sessionId":%q,"content":"burst 300"}`, id))
		h.Kill()
	}
	all.Wait()
	h.WantState("ready", 4)
	hubtest.Want(t, "the last prompt to be taken", func() bool {
		return owner.Call("session/send", fmt.Sprintf(`{"sessionId":%q,"content":"help"}`, id)).Kind == wire.Response
	})
	end := h.Connect("end", hubtest.As{}).Subscribe(id, "")
	for _, l := range devices {
		for l.client == nil {
			l.live(rand.New(rand.NewPCG(1, 1)))
		}
		hubtest.Want(t, l.name+" to be where the session is", func() bool {
			l.catchUp()
			return l.cursor.Epoch == end.Epoch && l.cursor.Seq >= end.EventSeq
		})
		wantChain(t, l.name, &l.cursor)
	}
}

// live does one thing that devices do.
func (l *lifetime) live(random *rand.Rand) {
	if l.client == nil {
		l.number++
		l.client, l.seen = l.h.Connect(fmt.Sprint(l.name, "-", l.number), hubtest.As{Device: l.name, Profile: profileOf(random.IntN(2))}), 0
		more := ""
		if l.cursor.Epoch != "" && random.IntN(4) > 0 {
			more = l.cursor.More()
		}
		if l.client.Call("session/subscribe", fmt.Sprintf(`{"sessionId":%q%s}`, l.session, more)).Kind != wire.Response {
			l.client.Leave() // the app-server was gone for too long
			l.client = nil
		}
		return
	}
	switch random.IntN(5) {
	case 0:
		l.drop()
		l.client = nil
	case 1:
		l.client.Call("hub/setProfile", fmt.Sprintf(`{"profile":%q}`, profileOf(random.IntN(2))))
	case 2:
		l.client.Call("session/send", fmt.Sprintf(`{"sessionId":%q,"content":"burst %d"}`, l.session, 1+random.IntN(200)))
	case 3:
		l.client.Call("session/messages", fmt.Sprintf(`{"sessionId":%q,"limit":1}`, l.session))
	case 4:
		l.catchUp()
	}
}
