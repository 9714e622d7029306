package simulator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSameTurnInBothSurfaces(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		s.result("session/subscribe", `{"sessionId":"`+id+`","deliveryKind":"desktop-continuous"}`)
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		r := s.follow("conversation/"+id, "b", "web-remote-replayable", "")
		a, said := s.command(id, "sendText", `{"text":"ask"}`)
		wantStatus(t, a, "accepted", "")
		c.take(said)
		r.take(said)
		s.sync(c, r)
		if !strings.Contains(strings.Join(eventNames(said), " "), "turn.completed") {
			t.Errorf("no legacy turn: %v", eventNames(said))
		}
		wantSame(t, "continuous fold", c.canonical(), c.fresh())
		wantSame(t, "replayable fold", r.canonical(), c.fresh())
		said = s.prompt(id, "todo")
		c.take(said)
		s.sync(c)
		wantSame(t, "fold after a legacy turn", c.canonical(), c.fresh())
	})
}

func TestAcknowledgementComesBeforeTheFrame(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		_, said := s.call("v4/conversation/subscribe", fmt.Sprintf(`{"topic":"conversation/%s","connectionId":"a","clientMode":"desktop-continuous"}`, id))
		if len(said) != 2 || at(said[0], "result.ack") == nil || at(said[1], "params.deliveryKind") != "initial" {
			t.Errorf("got %s", show(said))
		}
	})
}

func TestWindowsOfTheProfiles(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		fast := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		slow := s.follow("conversation/"+id, "b", "web-remote-replayable", "")
		_, said := s.command(id, "setFollowupMode", `{"mode":"queue"}`, `"baseRevision":0`)
		counts := func() string {
			fast.take(said)
			slow.take(said)
			return fmt.Sprint(len(fast.kinds), len(slow.kinds))
		}
		steps := []string{counts()}
		for _, d := range []time.Duration{29, 1, 119, 1} {
			time.Sleep(d * time.Millisecond)
			said = s.settle()
			steps = append(steps, counts())
		}
		if want := []string{"1 1", "1 1", "2 1", "2 1", "2 2"}; !slices.Equal(steps, want) {
			t.Errorf("frames after 0, 29, 30, 149 and 150 ms: %v, want %v", steps, want)
		}
		if fast.kinds[1] != "online deltas" || len(fast.ops) != 0 || fast.seq != 1 {
			t.Errorf("an event without effect: %v %v, seq %v", fast.kinds, fast.ops, fast.seq)
		}
	})
}

func TestResume(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		early, epoch := c.seq, c.state["logEpoch"]
		s.command(id, "sendText", `{"text":"hello"}`)
		s.sync(c)
		base := func(epoch any, seq float64) string {
			return fmt.Sprintf(`,"base":{"logEpoch":%q,"seq":%v}`, epoch, seq)
		}
		resubscribe := func(base string) (string, []string) {
			n := len(c.kinds)
			ack := c.subscribe(base)
			return ack["mode"].(string), c.kinds[n:]
		}
		c.seq = float64(0)
		c.s.result("v4/conversation/unsubscribe", fmt.Sprintf(`{"topic":%q,"connectionId":"a","subscriptionId":%q}`, c.topic, c.id))
		c2 := s.follow("conversation/"+id, "b", "desktop-continuous", "")
		for name, test := range map[string]struct {
			base string
			seq  float64
			want string
		}{
			"nothing missed":  {base(epoch, c2.seq), c2.seq, "resume []"},
			"everything":      {base(epoch, early), early, "resume [initial deltas]"},
			"another epoch":   {base("old-epoch", early), early, "snapshot [initial snapshot]"},
			"from the future": {base(epoch, c2.seq+1), early, "snapshot [initial snapshot]"},
		} {
			c.seq = test.seq
			if name == "everything" { // fold from the draft on
				c.state["rows"] = map[string]any{"window": []any{}, "totalCount": 0.0, "firstRowId": nil}
			}
			mode, kinds := resubscribe(test.base)
			if got := fmt.Sprint(mode, " ", kinds); got != test.want {
				t.Errorf("%s: %s, want %s", name, got, test.want)
			}
			wantSame(t, name, c.canonical(), c.fresh())
		}
	})
}

func TestRetentionOf2000Events(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		s.command(id, "sendText", `{"text":"burst 2500"}`)
		s.sync(c)
		for back, want := range map[float64]string{2000: "resume", 2001: "snapshot"} {
			other := &v4Client{s: s, topic: c.topic, connection: "b", profile: "desktop-continuous", paths: map[string]int{},
				seq: c.seq - back, state: map[string]any{"rows": map[string]any{"window": []any{}, "totalCount": 0.0, "firstRowId": nil}}}
			ack := other.subscribe(fmt.Sprintf(`,"base":{"logEpoch":%q,"seq":%v}`, c.state["logEpoch"], c.seq-back))
			if ack["mode"] != want {
				t.Errorf("%v events back: %s, want %s", back, ack["mode"], want)
			}
		}
	})
}

func TestOwnership(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		topic := "conversation/" + id
		c := s.follow(topic, "a", "desktop-continuous", "")
		first := c.id
		params := func(connection, subscription string) string {
			return fmt.Sprintf(`{"topic":%q,"connectionId":%q,"subscriptionId":%q,"base":null}`, topic, connection, subscription)
		}
		s.fails("v4/conversation/resync", params("b", first), -32603, "fault.subscription.notOwned")
		s.fails("v4/conversation/resync", params("a", "sub-x-1"), -32603, "fault.subscription.notOwned")
		s.result("v4/conversation/unsubscribe", strings.Replace(params("b", first), `,"base":null`, "", 1))
		s.result("v4/conversation/resync", params("a", first))

		c.subscribe("") // replaces
		if c.id == first {
			t.Error("the subscription id was used again")
		}
		s.fails("v4/conversation/resync", params("a", first), -32603, "fault.subscription.notOwned")
		s.command(id, "sendText", `{"text":"hello"}`)
		for _, m := range only(s.flushed(), "v4/conversation/frame") {
			if at(m, "params.subscriptionId") == first {
				t.Errorf("a frame for the replaced subscription: %s", show(m))
			}
		}
	})
}

func TestFlow(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		other := s.follow("conversation/"+id, "b", "desktop-continuous", "")
		flow := func(state string) []msg {
			_, said := s.call("v4/connection/flow", `{"connectionId":"a","state":"`+state+`"}`)
			return said
		}
		flow("saturated")
		s.command(id, "sendText", `{"text":"hello"}`)
		s.sync(c, other)
		if len(c.kinds) != 1 || len(other.kinds) < 2 {
			t.Errorf("frames while saturated: %v, the other connection %v", c.kinds, other.kinds)
		}
		said := flow("drained")
		if len(only(said, "v4/conversation/frame")) != 1 || at(said[0], "id") == nil {
			t.Errorf("drained said %s", show(said))
		}
		c.take(said)
		wantSame(t, "after draining", c.canonical(), c.fresh())

		flow("saturated") // more than a buffer holds
		for range 15 {
			s.command(id, "sendText", `{"text":"todo"}`)
			s.flushed()
		}
		c.take(flow("drained"))
		if last := c.kinds[len(c.kinds)-1]; last != "online snapshot" {
			t.Errorf("after too much: %v", c.kinds)
		}
		wantSame(t, "after the overflow", c.canonical(), c.fresh())

		flow("saturated")
		s.command(id, "sendText", `{"text":"hello"}`)
		flow("closed") // forgets the pause, not the subscription
		s.command(id, "sendText", `{"text":"hello"}`)
		s.sync(c)
		wantSame(t, "after closing", c.canonical(), c.fresh())
	})
}

func TestLargeFramesComeInFragments(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		s.command(id, "sendText", `{"text":"burst 120000"}`)
		said := s.flushed()
		c.take(said)
		fragments := 0
		for _, m := range only(said, "v4/conversation/frame") {
			if at(m, "params.kind") == "fragment" {
				fragments++
			}
		}
		if fragments < 3 {
			t.Errorf("%d fragments", fragments)
		}
		wantSame(t, "a text of several MB", c.canonical(), c.fresh())
	})
}

func TestColdOpenShowsTheStoredConversation(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		for _, text := range []string{"hello", "ask", "fail", "todo", "evict"} {
			s.command(id, "sendText", fmt.Sprintf(`{"text":%q}`, text))
			s.sync(c)
		}
		before := outline(c.state)
		s.result("v4/conversation/unsubscribe", fmt.Sprintf(`{"topic":%q,"connectionId":"a","subscriptionId":%q}`, c.topic, c.id))
		s.fails("session/read", `{"sessionId":"`+id+`"}`, -32004, "")
		ack := c.subscribe("")
		if at(ack, "openTiming.sessionRuntimeState") != "cold" || ack["mode"] != "snapshot" {
			t.Errorf("cold open: %s", show(ack))
		}
		wantSame(t, "stored rows", outline(c.state), before)
	})
}

// outline is what rows say, without their numbers and times.
func outline(state map[string]any) string {
	var b strings.Builder
	for _, r := range at(state, "rows.window").([]any) {
		fmt.Fprintln(&b, at(r, "kind"), at(r, "turnId"), at(r, "entityId"), at(r, "text"), at(r, "state"), at(r, "status"), at(r, "inputText"),
			at(r, "output.text"), at(r, "sourceCommandId"), at(r, "actions"))
	}
	return b.String()
}

func TestRehydrationTellsSubscribersTheNewEpoch(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		s.command(id, "sendText", `{"text":"evict"}`)
		s.sync(c)
		epoch := c.state["logEpoch"]
		_, said := s.call("session/resume", `{"sessionId":"`+id+`"}`)
		c.take(said)
		s.sync(c)
		if c.kinds[len(c.kinds)-1] != "online snapshot" || c.state["logEpoch"] == epoch {
			t.Errorf("after resume: %v, epoch %v, before %v", c.kinds, c.state["logEpoch"], epoch)
		}
		s.command(id, "sendText", `{"text":"hello"}`)
		s.sync(c)
		wantSame(t, "in the new epoch", c.canonical(), c.fresh())
	})
}

func TestSubscribersKeepASessionInMemory(t *testing.T) {
	inBubble(t, Options{IdleEviction: time.Second}, func(s *sim) {
		id := s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		s.command(id, "sendText", `{"text":"hello"}`)
		time.Sleep(5 * time.Second)
		s.settle()
		s.result("v4/conversation/unsubscribe", fmt.Sprintf(`{"topic":%q,"connectionId":"a","subscriptionId":%q}`, c.topic, c.id))
		time.Sleep(5 * time.Second)
		s.settle()
		s.fails("session/read", `{"sessionId":"`+id+`"}`, -32004, "")
	})
}

func TestHelperAgentsHaveATopicOfTheirOwn(t *testing.T) {
	inBubble(t, Options{Speed: 1}, func(s *sim) { // at real pace, so that the words come in frames of their own
		id := s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		s.command(id, "sendText", `{"text":"subagent ask"}`)
		c.take(s.pass(20 * time.Second))
		child := at(c.state, "subagents.childSessionIds").([]any)[0].(string)
		own := s.follow("conversation/"+child, "a", "desktop-continuous", "")
		if got := outline(own.state); !strings.Contains(got, "toolCall") || !strings.Contains(got, "abc1234 First commit") {
			t.Errorf("the helper's rows:\n%s", got)
		}
		if got := outline(c.state); strings.Contains(got, "abc1234") || c.paths["summaryText"] == 0 {
			t.Errorf("the parent's rows:\n%s\n%v", got, c.paths)
		}
		a, _ := s.command(child, "sendText", `{"text":"hello"}`)
		wantStatus(t, a, "rejected", "guard.subagentReadOnly")
	})
}

func TestBadV4ParamsAreInternalErrors(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		for _, params := range []string{`{}`, `{"topic":"x","connectionId":"a","clientMode":"desktop-continuous"}`,
			`{"topic":"conversation/` + id + `","connectionId":"` + strings.Repeat("x", 257) + `","clientMode":"desktop-continuous"}`,
			`{"topic":"conversation/` + id + `","connectionId":"a","clientMode":"desktop-continuous","more":1}`} {
			m := s.fails("v4/conversation/subscribe", params, -32603, "")
			if at(m, "error.data.name") != "ZodError" {
				t.Errorf("%s: %s", params, show(m))
			}
		}
		s.fails("v4/conversation/subscribe", `{"topic":"conversation/none","connectionId":"a","clientMode":"desktop-continuous"}`, -32004, "none")
	})
}
