package hub_test

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"zcodehub/hub"
	"zcodehub/internal/hubtest"
)

// bare is the snapshot object in a snapshot's payload.
func bare(payload string) []byte {
	return []byte(strings.TrimSuffix(strings.TrimPrefix(payload, `{"kind":"snapshot","snapshot":`), "}"))
}

// fragmented is a frame as fragments of size bytes.
func (u *upstreamTopic) fragmented(size int, deltas ...string) (lines []string) {
	u.ordinal++
	u.seq++
	logical := fmt.Sprintf(`{"topic":%q,"subscriptionId":%q,"sentAt":1,"fromSeq":%d,"toSeq":%d,"payload":%s}`, u.topic, u.id, u.seq-1, u.seq, deltasPayload(deltas...))
	count := (len(logical) + size - 1) / size
	for i := range count {
		part := logical[i*size : min((i+1)*size, len(logical))]
		lines = append(lines, fmt.Sprintf(`{"method":"v4/conversation/frame","params":{"wireVersion":3,"kind":"fragment","deliveryKind":"online","logicalFrameId":"%s-lf-%d","logicalFrameOrdinal":%d,"topic":%q,"subscriptionId":%q,"fragmentIndex":%d,"fragmentCount":%d,"logicalBytes":%d,"checksum":{"algorithm":"crc32","value":"%08x"},"dataBase64":%q}}`,
			u.id, u.ordinal, u.ordinal, u.topic, u.id, i, count, len(logical), crc32.ChecksumIEEE([]byte(logical)), base64.StdEncoding.EncodeToString([]byte(part))))
	}
	return lines
}

// Whatever breaks upstream (a gap, a frame that cannot be put together, an
// operation that is not known, an ordinal out of nowhere), the hub asks for a
// snapshot once, everybody has the app-server's state after it, and nobody saw a
// wrong one on the way.
func TestWhatBreaksUpstreamEndsInASnapshotForAll(t *testing.T) {
	for name, breakIt := range map[string]func(u *upstreamTopic) []string{
		"a gap": func(u *upstreamTopic) []string {
			u.next(appended(textRow(2, "lost")))
			return []string{u.next(piece(2, "text", " more"))}
		},
		"a fragment with a wrong checksum": func(u *upstreamTopic) []string {
			lines := u.fragmented(100, appended(textRow(2, "lost")))
			lines[1] = strings.Replace(lines[1], `"value":"`, `"value":"0`, 1)
			lines[1] = lines[1][:strings.Index(lines[1], `"value":"0`)] + `"value":"00000000` + lines[1][strings.Index(lines[1], `"},"dataBase64`):]
			return append(lines, u.next(piece(2, "text", " more")))
		},
		"a fragment that is missing": func(u *upstreamTopic) []string {
			lines := u.fragmented(100, appended(textRow(2, "lost")))
			return append(lines[:1], u.next(piece(2, "text", " more")))
		},
		"bad base64": func(u *upstreamTopic) []string {
			lines := u.fragmented(100, appended(textRow(2, "lost")))
			lines[0] = strings.Replace(lines[0], `"dataBase64":"`, `"dataBase64":"!`, 1)
			return append(lines, u.next(piece(2, "text", " more")))
		},
		"an operation that is not known": func(u *upstreamTopic) []string {
			return []string{u.next(appended(textRow(2, "lost")), `{"op":"row.turned","rowId":2}`), u.next(piece(2, "text", " more"))}
		},
		"an ordinal out of nowhere": func(u *upstreamTopic) []string {
			u.next(appended(textRow(2, "lost")))
			return []string{u.physical("online", 1000, 7, 6, `{}`), u.next(piece(2, "text", " more"))}
		},
		"no logical frame": func(u *upstreamTopic) []string {
			u.next(appended(textRow(2, "lost")))
			return []string{u.physical("online", u.ordinal, u.seq-1, u.seq, `[]`), u.next(piece(2, "text", " more"))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			metrics, withMetrics := withCounters()
			h, _, u := scriptedTopic(t, withMetrics)
			var all []*follower
			for i := range 4 {
				all = append(all, follow(t, h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)}), conversationOne))
			}
			u.p.Print(u.next(appended(textRow(1, "a"))))
			for _, f := range all {
				f.wantSeq(1)
			}
			u.p.Print(breakIt(u)...)
			ask := u.p.WantRequest("v4/conversation/resync", 1)
			if !strings.Contains(ask.Params, `"forceSnapshot":true`) || !strings.Contains(ask.Params, u.id) {
				t.Errorf("the hub asked %s", ask.Params)
			}
			u.p.Print(u.next(piece(1, "text", " unread"))) // the app-server has not read the request yet
			u.recover(ask, textRow(1, "a unread"), textRow(2, "lost more"))
			u.p.Print(u.next(piece(2, "text", "!")))
			want := bare(u.snapshot(textRow(1, "a unread"), textRow(2, "lost more!")))
			for _, f := range all {
				f.wantSeq(uint64(u.seq))
				f.wantState(want)
			}
			if n := u.p.Count("v4/conversation/resync"); n != 1 {
				t.Errorf("%d resyncs, want one", n)
			}
			if n := metrics.value("hub_topic_mismatches_total"); n != 0 {
				t.Errorf("%v mismatches of a state that was only behind", n)
			}
			late := follow(t, h.Connect("late", hubtest.As{}), conversationOne)
			late.wantSeq(uint64(u.seq))
			late.wantState(want)
		})
	}
}

// Frames in fragments, in any order and repeated, are frames like any other.
func TestFragmentsUpstreamInAnyOrder(t *testing.T) {
	h, _, u := scriptedTopic(t)
	a, b := follow(t, h.Connect("a", hubtest.As{}), conversationOne), follow(t, h.Connect("b", hubtest.As{Profile: profileOf(1)}), conversationOne)
	u.p.Print(u.next(appended(textRow(1, "a"))))
	lines := u.fragmented(50, piece(1, "text", "höchst "), piece(1, "text", "eigenartig"))
	for i := len(lines) - 1; i >= 0; i-- {
		u.p.Print(lines[i], lines[i])
	}
	u.p.Print(u.next(piece(1, "text", "!")))
	for _, f := range []*follower{a, b} {
		f.wantSeq(3)
		f.wantState(bare(u.snapshot(textRow(1, "ahöchst eigenartig!"))))
	}
	if n := u.p.Count("v4/conversation/resync"); n != 0 {
		t.Errorf("%d resyncs", n)
	}
}

// A snapshot that comes unasked, because too much came together upstream, is a
// frame of the lanes like any other.
func TestOnlineSnapshotReachesAll(t *testing.T) {
	h, _, u := scriptedTopic(t)
	var all []*follower
	for i := range 2 {
		all = append(all, follow(t, h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)}), conversationOne))
	}
	u.p.Print(u.next(appended(textRow(1, "a"))))
	u.seq, u.ordinal = 800, u.ordinal+1
	u.p.Print(u.physical("online", u.ordinal, 0, 800, u.snapshot(textRow(1, "ab"), textRow(2, "c"))), u.next(piece(2, "text", "d")))
	for _, f := range all {
		f.wantSeq(801)
		f.wantState(bare(u.snapshot(textRow(1, "ab"), textRow(2, "cd"))))
	}
	// Who resumes over it gets a snapshot, not deltas across it.
	c := h.Connect("back", hubtest.As{})
	if m := c.Call("v4/conversation/subscribe", `{"topic":"conversation/s1","base":{"logEpoch":"e1","seq":1}}`); m.Path("result", "ack", "mode") != "snapshot" {
		t.Errorf("resume over a snapshot gave %s", m)
	}
	if n := u.p.Count("v4/conversation/resync"); n != 0 {
		t.Errorf("%d resyncs", n)
	}
}

// A new epoch upstream, without a break of the subscription, is a new beginning
// for all: no mismatch, no gap, ordinals rise.
func TestNewEpochUpstream(t *testing.T) {
	metrics, withMetrics := withCounters()
	h, _, u := scriptedTopic(t, withMetrics)
	var all []*follower
	for i := range 2 {
		all = append(all, follow(t, h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)}), conversationOne))
	}
	u.p.Print(u.next(appended(textRow(1, "a"))))
	for _, f := range all {
		f.wantSeq(1)
	}
	u.epoch, u.ordinal = "e2", u.ordinal+1 // at the same number
	u.p.Print(u.physical("online", u.ordinal, 0, u.seq, u.snapshot(textRow(1, "rehydrated"))), u.next(piece(1, "text", "!")))
	for _, f := range all {
		f.wantSeq(2)
		f.wantState(bare(u.snapshot(textRow(1, "rehydrated!"))))
		if f.state.Epoch() != "e2" {
			t.Errorf("%s is in epoch %s", f.client.Name, f.state.Epoch())
		}
	}
	if n := metrics.value("hub_topic_mismatches_total"); n != 0 {
		t.Errorf("%v mismatches", n)
	}
}

// The sampled check: where the app-server's snapshot is what was folded, nobody
// notices; where it is not, it is counted, and all get the app-server's.
func TestSampledCheckComparesAndHeals(t *testing.T) {
	metrics, withMetrics := withCounters()
	h, _, u := scriptedTopic(t, withMetrics)
	var all []*follower
	for i := range 2 {
		all = append(all, follow(t, h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)}), conversationOne))
	}
	u.p.Print(u.next(appended(textRow(1, "a"))))
	for _, f := range all {
		f.wantSeq(1)
	}
	for check, row := range []string{textRow(1, "a"), textRow(1, "otherwise")} {
		h.CheckTopics()
		u.recover(u.p.WantRequest("v4/conversation/resync", check+1), row)
		u.p.Print(u.next(piece(1, "text", "!"))) // of the check before, this is a part of
		for _, f := range all {
			f.wantSeq(uint64(u.seq))
		}
		if n := metrics.value("hub_topic_mismatches_total"); check == 0 && n != 0 {
			t.Errorf("%v mismatches after a check that found none", n)
		}
		if check == 0 {
			for _, f := range all {
				if got := strings.Join(f.kinds, ","); got != "initial snapshot,online deltas,online deltas" {
					t.Errorf("%s noticed a check that found nothing: %s", f.client.Name, got)
				}
			}
		}
	}
	if n := metrics.value("hub_topic_mismatches_total"); n != 1 {
		t.Errorf("%v mismatches, want 1", n)
	}
	for _, f := range all {
		f.wantState(bare(u.snapshot(textRow(1, "otherwise!"))))
	}
}

// A rewind to before what the hub or a client has is made good by a snapshot
// that reaches everybody, and is no mismatch.
func TestRewindBeyondTheWindow(t *testing.T) {
	metrics, withMetrics := withCounters()
	h, script, p := scripted(t, withMetrics)
	u := &upstreamTopic{p: p, topic: conversationOne, id: "sub-e1-1", epoch: "e1", ordinal: 1}
	var rows []string
	for id := 41; id <= 100; id++ {
		rows = append(rows, textRow(id, "x"))
	}
	hundred := strings.NewReplacer(`"totalCount":60`, `"totalCount":100`)
	script.Answer("v4/conversation/subscribe", func(hubtest.Line) string {
		return u.ack() + "}\n" + strings.TrimSuffix(u.physical("initial", 1, 0, 0, hundred.Replace(u.snapshot(rows...))), "}")
	})
	var all []*follower
	for i := range 2 {
		all = append(all, follow(t, h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)}), conversationOne))
	}
	u.p.Print(u.next(`{"op":"row.removed","fromRowId":31}`))
	ask := u.p.WantRequest("v4/conversation/resync", 1)
	var left []string
	for id := 1; id <= 30; id++ {
		left = append(left, textRow(id, "y"))
	}
	u.recover(ask, left...) // at the number that the hub is at
	want := bare(u.snapshot(left...))
	for _, f := range all {
		hubtest.Want(t, f.client.Name+" to have the rows", func() bool {
			f.catchUp()
			return strings.Contains(string(f.state.Snapshot()), `"totalCount":30`)
		})
		f.wantState(want)
	}
	if n := metrics.value("hub_topic_mismatches_total"); n != 0 {
		t.Errorf("%v mismatches", n)
	}
}

// Frames of a subscription that is over go to nobody.
func TestFramesOfAnOldSubscriptionAreDropped(t *testing.T) {
	h, _, u := scriptedTopic(t)
	f := follow(t, h.Connect("client", hubtest.As{}), conversationOne)
	stale := *u
	stale.id = "sub-old-1"
	u.p.Print(stale.next(appended(textRow(9, "old"))), u.next(appended(textRow(1, "a"))))
	f.wantSeq(1)
	f.wantState(bare(u.snapshot(textRow(1, "a"))))
	if n := u.p.Count("v4/conversation/resync"); n != 0 {
		t.Errorf("%d resyncs", n)
	}
}

// A resync of a subscription that the app-server does not know begins it anew.
func TestForgottenSubscriptionIsSubscribedAnew(t *testing.T) {
	h, _, u := scriptedTopic(t)
	f := follow(t, h.Connect("client", hubtest.As{}), conversationOne)
	f.wantSeq(0)
	u.next()
	u.id, u.epoch = "sub-e2-1", "e2" // what the next subscribe gives
	u.seq = 5
	old := *u
	old.id = "sub-e1-1"
	u.p.Print(old.physical("online", 9, 8, 9, deltasPayload()))
	u.p.ReplyError(u.p.WantRequest("v4/conversation/resync", 1), `{"code":-32603,"message":"fault.subscription.notOwned"}`)
	u.p.WantRequest("v4/conversation/subscribe", 2)
	f.wantSeq(5)
	u.p.Print(u.next(appended(textRow(1, "a"))))
	f.wantSeq(6)
	f.wantState(bare(u.snapshot(textRow(1, "a"))))
}

// The app-server is killed: topics come back under a new epoch, clients keep
// their subscription, ordinals go on; a topic whose session is gone is told as
// lost, and whoever asks meanwhile is answered.
func TestTopicsOutliveTheAppServer(t *testing.T) {
	h, script, u := scriptedTopic(t)
	var all []*follower
	for i := range 2 {
		all = append(all, follow(t, h.Connect(fmt.Sprint("client", i), hubtest.As{Profile: profileOf(i)}), conversationOne))
	}
	u.p.Print(u.next(appended(textRow(1, "a"))), u.next(piece(1, "text", "b")))
	ids := map[*follower]string{}
	for _, f := range all {
		f.wantSeq(2)
		ids[f] = f.id
	}
	for generation := 2; generation <= 3; generation++ {
		u.p.Exit(137)
		u.p.WantGone()
		next := script.Next()
		*u = *serveTopic(script, next, conversationOne, fmt.Sprint("e", generation))
		script.Answer("v4/conversation/subscribe", func(hubtest.Line) string {
			u.ordinal = 1
			return u.ack() + "}\n" + strings.TrimSuffix(u.physical("initial", 1, 0, u.seq, u.snapshot(textRow(1, "again"))), "}")
		})
		meanwhile := h.Connect(fmt.Sprint("meanwhile", generation), hubtest.As{})
		asked := meanwhile.Request("v4/conversation/subscribe", `{"topic":"conversation/s1"}`)
		for _, f := range all {
			hubtest.Want(t, f.client.Name+" to have the new epoch", func() bool { f.catchUp(); return f.state.Epoch() == u.epoch })
		}
		meanwhile.WantReply(asked)
		u.p.Print(u.next(piece(1, "text", "!")))
		for _, f := range all {
			f.wantSeq(1)
			f.wantState(bare(u.snapshot(textRow(1, "again!"))))
			if f.id != ids[f] {
				t.Errorf("%s has subscription %s, before %s", f.client.Name, f.id, ids[f])
			}
		}
	}
	u.p.Exit(137)
	u.p.WantGone()
	script.Answer("v4/conversation/subscribe", nil)
	next := script.Next()
	next.ReplyError(next.WantRequest("v4/conversation/subscribe", 1), `{"code":-32603,"message":"Session not found: s1"}`)
	for _, f := range all {
		m := f.client.WantNotice("hub/topicLost", conversationOne, "Session not found")
		if m.Path("params", "subscriptionId") != f.id {
			t.Errorf("%s was told %s", f.client.Name, m)
		}
	}
	hubtest.Want(t, "the topic to be forgotten", func() bool { return !h.HasTopic(conversationOne) })
}

// A topic is kept for TopicLinger after its last follower: who comes back before
// resumes; after it the app-server is told to let go, and the next one begins
// anew. The time counts from the last leave.
func TestTopicLingers(t *testing.T) {
	t.Parallel()
	const linger = 3 * time.Second // much longer than a busy machine needs to come back
	h, _, u := scriptedTopic(t, func(o *hub.Options) { o.TopicLinger = linger })
	f := follow(t, h.Connect("phone", hubtest.As{}), conversationOne)
	u.p.Print(u.next(appended(textRow(1, "a"))))
	f.wantSeq(1)
	for i := range 5 { // away and back, for longer than the linger in all
		f.client.Leave()
		u.p.Print(u.next(piece(1, "text", "b")))
		left := time.Now()
		time.Sleep(linger / 4)
		f.resume(h.Connect(fmt.Sprint("phone", i), hubtest.As{Profile: profileOf(i)}), f.base())
		if f.mode != "resume" {
			t.Fatalf("after %v away: mode %s", time.Since(left), f.mode)
		}
		f.wantSeq(uint64(u.seq))
		f.wantHealthy()
	}
	if n := u.p.Count("v4/conversation/unsubscribe") + u.p.Count("v4/conversation/subscribe"); n != 1 {
		t.Errorf("%d subscribes and unsubscribes upstream, want one", n)
	}
	left := time.Now()
	f.client.MustCall("v4/conversation/unsubscribe", fmt.Sprintf(`{"topic":"conversation/s1","subscriptionId":%q}`, f.id))
	l := u.p.WantRequest("v4/conversation/unsubscribe", 1)
	if after := time.Since(left); after < linger {
		t.Errorf("left upstream after %v", after)
	}
	if !strings.Contains(l.Params, u.id) {
		t.Errorf("left %s", l.Params)
	}
	u.p.Reply(l, `{}`)
	u.id = "sub-e1-2"
	f.subscribe(f.base())
	f.wantSeq(uint64(u.seq))
	if n := u.p.Count("v4/conversation/subscribe"); n != 2 {
		t.Errorf("%d subscribes, want a second one", n)
	}
}

// Clients that come and go while the linger ends always have a topic that lives:
// the next frame reaches each.
func TestEnteringATopicThatIsBeingLeft(t *testing.T) {
	h, script, p := scripted(t, func(o *hub.Options) { o.TopicLinger = time.Millisecond })
	script.Answer("v4/conversation/unsubscribe", func(hubtest.Line) string { return `{}` })
	n := 0
	u := &upstreamTopic{p: p, topic: conversationOne}
	script.Answer("v4/conversation/subscribe", func(hubtest.Line) string {
		n++
		u.id, u.epoch, u.ordinal, u.seq = fmt.Sprint("sub-", n), fmt.Sprint("e", n), 1, 0
		return u.ack() + "}\n" + strings.TrimSuffix(u.physical("initial", 1, 0, 0, u.snapshot()), "}")
	})
	c := h.Connect("client", hubtest.As{})
	for i := range 60 {
		f := follow(t, c, conversationOne)
		f.wantSeq(0)
		p.Print(u.next(appended(textRow(1, "a"))))
		f.wantSeq(1)
		f.wantHealthy()
		c.MustCall("v4/conversation/unsubscribe", fmt.Sprintf(`{"topic":"conversation/s1","subscriptionId":%q}`, f.id))
		if i%3 == 0 {
			time.Sleep(time.Duration(i%7) * 400 * time.Microsecond) // about as long as the linger
		}
	}
}

// A client that does not read goes down the ladder: it ends with the state that
// all have, from a snapshot of the hub's own.
func TestLagLadderOnATopic(t *testing.T) {
	for i := range 2 {
		t.Run(profileOf(i).Delivery(), func(t *testing.T) {
			h, _, u := scriptedTopic(t)
			frozen := follow(t, h.Connect("frozen", hubtest.As{Profile: profileOf(i)}), conversationOne)
			other := follow(t, h.Connect("other", hubtest.As{Profile: profileOf(i)}), conversationOne)
			frozen.wantSeq(0)
			u.p.Print(u.next(appended(textRow(1, ""))))
			frozen.wantSeq(1)
			before := len(u.p.Lines())
			frozen.client.Freeze()
			big := strings.Repeat("y", 16<<10)
			for range 11 {
				var lines []string
				for range 60 { // 10 MiB in all, as rows that replace each other
					lines = append(lines, u.next(appended(textRow(u.seq+1, big)), `{"op":"row.removed","fromRowId":`+fmt.Sprint(u.seq+1)+`}`))
				}
				u.p.Print(lines...)
				other.wantSeq(uint64(u.seq)) // it reads, and would not be slow if the machine were
			}
			frozen.client.Thaw()
			frozen.client.WantNotice("hub/lagged", `"snapshot"`, conversationOne)
			u.p.Print(u.next(piece(1, "text", "end")))
			want := bare(u.snapshot(textRow(1, "end")))
			for _, f := range []*follower{other, frozen} {
				f.wantSeq(uint64(u.seq))
				f.wantState(want)
			}
			if n := len(u.p.Lines()); n != before {
				t.Errorf("upstream was asked: %q", u.p.Lines()[before:])
			}
			if n := len(other.client.All("hub/lagged")); n != 0 {
				t.Errorf("the other was told %d times that it lags", n)
			}
		})
	}
}
