package hub_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"zcodehub/internal/hubtest"
)

// Clients come, go, resync, change their profile and stop reading at any moment
// of a burst, in which the app-server also sends snapshots unasked: each of them
// sees a chain without a gap or a repeat, and ends with the same state.
func TestTopicChangesHandsDuringABurst(t *testing.T) {
	h, _, u := scriptedTopic(t)
	lead := follow(t, h.Connect("lead", hubtest.As{}), conversationOne)
	lead.wantSeq(0)
	const rounds, each = 40, 50
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		text := ""
		for round := range rounds {
			var lines []string
			for i := range each {
				if i == 0 && round == 0 {
					lines = append(lines, u.next(appended(textRow(1, ""))))
					continue
				}
				word := fmt.Sprint(u.seq, " ")
				text += word
				if i == 7 && round%8 == 3 { // in place of the deltas
					u.seq++
					u.ordinal++
					lines = append(lines, u.physical("online", u.ordinal, 0, u.seq, u.snapshot(textRow(1, text))))
					continue
				}
				lines = append(lines, u.next(piece(1, "text", word)))
			}
			u.p.Print(lines...)
		}
	}()
	var busy sync.WaitGroup
	all := []*follower{lead}
	var mu sync.Mutex
	for i := range 8 {
		busy.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 5))
			f := follow(t, h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)}), conversationOne)
			for n := range 25 {
				switch f.catchUp(); random.IntN(5) {
				case 0:
					f.client.Leave()
					f.catchUp()
					f.resume(h.Connect(fmt.Sprint("client", i, "-", n), hubtest.As{Profile: profileOf(random.IntN(2))}), f.base())
				case 1:
					f.client.MustCall("hub/setProfile", fmt.Sprintf(`{"profile":%q}`, profileOf(random.IntN(2))))
				case 2:
					f.resync("null")
				case 3:
					f.resync(fmt.Sprintf(`{"logEpoch":%q,"seq":%d}`, f.state.Epoch(), f.state.Seq()))
				case 4:
					f.client.Freeze()
					h.Status()
					f.client.Thaw()
				}
			}
			mu.Lock()
			all = append(all, f)
			mu.Unlock()
		})
	}
	busy.Wait()
	<-printed
	u.p.Print(u.next(piece(1, "text", "end")))
	lead.wantSeq(rounds*each + 1)
	for _, f := range all {
		f.wantSeq(rounds*each + 1)
		f.wantState(lead.state.Snapshot())
	}
	if n := u.p.Count("v4/conversation/subscribe") + u.p.Count("v4/conversation/resync"); n != 1 {
		t.Errorf("the app-server was asked %d times", n)
	}
}
