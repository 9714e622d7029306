package simulator

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func seqs(said []msg) []float64 {
	var list []float64
	for _, m := range only(said, "session/event") {
		list = append(list, at(m, "params.seq").(float64))
	}
	return list
}

func TestNothingIsStreamedWithoutASubscription(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.create()
		said := s.prompt(id, "hello")
		if n := len(only(said, "session/event")); n != 0 {
			t.Errorf("%d events", n)
		}
		if reasons(said) != "prompt_started prompt_completed" || len(only(said, "v4/telemetry/event")) == 0 {
			t.Errorf("state and telemetry need no subscription, got %q", reasons(said))
		}
		events := s.result("session/events", `{"sessionId":"`+id+`"}`)["events"].([]any)
		if len(events) == 0 || at(events[0], "deliveryKind") != nil || at(events[0], "seq") != 1.0 {
			t.Errorf("events without a subscription: %s", show(events))
		}
	})
}

func TestSeqIsContiguousFromOneAndStable(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		var all []msg
		for _, input := range []string{"ask", "todo", "burst 50", "question"} {
			all = append(all, s.prompt(id, input)...)
		}
		for i, seq := range seqs(all) {
			if seq != float64(i+1) {
				t.Fatalf("event %d has seq %v", i+1, seq)
			}
		}
		live := only(all, "session/event")
		last := live[len(live)-1]
		replay := s.result("session/subscribe", fmt.Sprintf(`{"sessionId":%q,"deliveryKind":"desktop-continuous","afterSeq":%v}`, id, at(last, "params.seq").(float64)-3))
		events := replay["events"].([]any)
		if len(events) != 3 || replay["eventSeq"] != at(last, "params.seq") || !reflect.DeepEqual(events[2], last["params"]) {
			t.Errorf("replay: %s, live: %s", show(events), show(last))
		}
		if got := s.result("session/events", `{"sessionId":"`+id+`","limit":2}`)["events"].([]any); len(got) != 2 || !reflect.DeepEqual(got[1], last["params"]) {
			t.Errorf("session/events with a limit: %s", show(got))
		}
	})
}

func TestSubscribingTwiceDoesNotDuplicate(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		again := s.result("session/subscribe", `{"sessionId":"`+id+`","deliveryKind":"desktop-continuous","includeSnapshot":true}`)
		if again["eventSeq"] != 0.0 || len(again["events"].([]any)) != 0 || at(again, "snapshot.runtime.deliveryKind") != "desktop-continuous" {
			t.Errorf("second subscribe: %s", show(again))
		}
		said := s.prompt(id, "hello")
		seen := map[any]bool{}
		for _, m := range only(said, "session/event") {
			if seen[at(m, "params.eventId")] {
				t.Errorf("event twice: %s", show(m))
			}
			seen[at(m, "params.eventId")] = true
		}
	})
}

func TestDeliveryKindIsASwitchWithItsOwnSeqSpace(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		s.prompt(id, "hello")
		s.prompt(id, "hello")
		s.prompt(id, "hello") // forgets the deltas of the first turn
		before := s.result("session/subscribe", `{"sessionId":"`+id+`","deliveryKind":"desktop-continuous"}`)["eventSeq"].(float64)
		other := s.result("session/read", `{"sessionId":"`+id+`","deliveryKind":"web-remote-replayable"}`)
		switched := at(other, "runtime.eventSeq").(float64)
		if at(other, "runtime.deliveryKind") != "web-remote-replayable" || switched >= before {
			t.Errorf("switched from seq %v to %v", before, switched)
		}
		said := s.prompt(id, "hello")
		for i, m := range only(said, "session/event") {
			if at(m, "params.deliveryKind") != "web-remote-replayable" || at(m, "params.seq") != switched+float64(i+1) {
				t.Fatalf("after the switch: %s", show(m))
			}
		}
		back := s.result("session/subscribe", `{"sessionId":"`+id+`","deliveryKind":"desktop-continuous"}`)["eventSeq"].(float64)
		if grown := back - before; grown != float64(len(only(said, "session/event"))) {
			t.Errorf("the first space went from %v to %v", before, back)
		}
	})
}

func TestSubscribingMidTurnReplaysTheTurn(t *testing.T) {
	inBubble(t, Options{Speed: 1}, func(s *sim) {
		id := s.create()
		s.prompt(id, "slow 3s")
		s.pass(1500 * time.Millisecond)
		result, said := s.call("session/subscribe", `{"sessionId":"`+id+`","deliveryKind":"desktop-continuous","afterSeq":0}`)
		if n := len(only(said, "session/event")); n != 0 {
			t.Errorf("%d events before the answer", n)
		}
		replayed := at(result, "result.events").([]any)
		text := ""
		collect := func(payload any) {
			if at(payload, "kind") == "text_delta" {
				text += at(payload, "delta").(string)
			}
		}
		for i, e := range replayed {
			if at(e, "seq") != float64(i+1) {
				t.Fatalf("replayed event %d: %s", i, show(e))
			}
			collect(at(e, "payload"))
		}
		rest := s.pass(5 * time.Second)
		for i, m := range only(rest, "session/event") {
			if at(m, "params.seq") != float64(len(replayed)+i+1) {
				t.Fatalf("live event: %s", show(m))
			}
			collect(at(m, "params.payload"))
		}
		if done := at(findEvent(t, rest, "turn.completed"), "payload.response"); text != done {
			t.Errorf("folded text %q, want %q", text, done)
		}
	})
}

// TestDeltasFoldToTheMessages compares what a client builds from the stream with what the conversation holds.
func TestDeltasFoldToTheMessages(t *testing.T) {
	for _, input := range []string{"help", "hello there", "burst 300", "slow 2s", "unicode"} {
		inBubble(t, Options{}, func(s *sim) {
			id := s.open()
			said := s.prompt(id, input)
			streamed := map[any]string{}
			for _, m := range only(said, "session/event") {
				if kind := at(m, "params.payload.kind"); kind == "text_delta" || kind == "reasoning_delta" {
					key := fmt.Sprint(at(m, "params.payload.assistantMessageId"), kind)
					streamed[key] += at(m, "params.payload.delta").(string)
				}
			}
			snapshot := s.result("session/read", `{"sessionId":"`+id+`"}`)
			kept := map[any]string{}
			for _, m := range snapshot["messages"].([]any) {
				if at(m, "info.role") != "assistant" {
					continue
				}
				for _, p := range at(m, "parts").([]any) {
					if kind := at(p, "type"); kind == "text" || kind == "reasoning" {
						kept[fmt.Sprint(at(m, "info.messageId"), kind, "_delta")] += at(p, "text").(string)
					}
				}
			}
			if input == "unicode" { // Go cannot join the halves of a surrogate pair that came in two strings
				for key, text := range kept {
					kept[key] = strings.Replace(text, "split \U0001F600 pair", "split \ufffd\ufffd pair", 1)
				}
			}
			if len(streamed) == 0 || !reflect.DeepEqual(streamed, kept) {
				t.Errorf("%s: streamed %q, kept %q", input, streamed, kept)
			}
		})
	}
}

func TestBurstIsNotBatched(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		n := 0
		for _, name := range eventNames(s.prompt(id, "burst 1234")) {
			if name == "model.streaming:text_delta" {
				n++
			}
		}
		if n != 1234 {
			t.Errorf("%d lines", n)
		}
	})
}

func TestBatching(t *testing.T) {
	text := func(kind, message, call, text string, at int64) source {
		return source{kind: "model.streaming", at: at, delta: &delta{streamKey: streamKey{kind, message, call}, text: text}}
	}
	other := source{kind: "tool.updated", payload: object{}}
	long := strings.Repeat("x", 2048)
	emoji := strings.Repeat("\U0001F600", 1024) // 2048 UTF-16 units
	for name, test := range map[string]struct {
		in   []source
		want string // texts in order of going out; | separates events, . is another event
	}{
		"first at once":           {[]source{text("text_delta", "m", "", "a", 0)}, "a"},
		"later ones wait":         {[]source{text("text_delta", "m", "", "a", 0), text("text_delta", "m", "", "b", 100)}, "a"},
		"250 ms":                  {[]source{text("text_delta", "m", "", "a", 0), text("text_delta", "m", "", "b", 249), text("text_delta", "m", "", "c", 250)}, "a|bc"},
		"window restarts":         {[]source{text("text_delta", "m", "", "a", 0), text("text_delta", "m", "", "b", 250), text("text_delta", "m", "", "c", 499)}, "a|b"},
		"2048 characters":         {[]source{text("text_delta", "m", "", "a", 0), text("text_delta", "m", "", long, 1)}, "a|" + long},
		"UTF-16 units":            {[]source{text("text_delta", "m", "", "a", 0), text("text_delta", "m", "", emoji, 1)}, "a|" + emoji},
		"another event flushes":   {[]source{text("text_delta", "m", "", "a", 0), text("text_delta", "m", "", "b", 1), other}, "a|b|."},
		"another stream flushes":  {[]source{text("text_delta", "m", "", "a", 0), text("text_delta", "m", "", "b", 1), text("reasoning_delta", "m", "", "c", 2)}, "a|b|c"},
		"tool input waits longer": {[]source{text("tool_input_delta", "m", "c", "a", 0), text("tool_input_delta", "m", "c", "b", 700), text("tool_input_delta", "m", "c", "c", 750)}, "a|bc"},
		"tool input of 4096":      {[]source{text("tool_input_delta", "m", "c", "a", 0), text("tool_input_delta", "m", "c", long, 1), text("tool_input_delta", "m", "c", long, 2)}, "a|" + long + long},
	} {
		t.Run(name, func(t *testing.T) {
			var b batcher
			var got []string
			for _, src := range test.in {
				for _, out := range b.add(src) {
					if out.delta == nil {
						got = append(got, ".")
					} else {
						got = append(got, out.delta.text)
					}
				}
			}
			if strings.Join(got, "|") != test.want {
				t.Errorf("got %.80q, want %.80q", got, test.want)
			}
		})
	}
}

func TestStateUpdatedNumbersEveryChange(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		revision := 0.0
		step := func(want string, said []msg) {
			t.Helper()
			if got := reasons(said); got != want {
				t.Errorf("reasons %q, want %q", got, want)
			}
			for _, m := range only(said, "state.updated") {
				revision++
				if at(m, "params.revision") != revision || at(m, "params.sessionId") != id || at(m, "params.scope") != "session" {
					t.Errorf("state.updated: %s, want revision %v", show(m), revision)
				}
			}
		}
		do := func(method, more string) []msg {
			_, said := s.call(method, `{"sessionId":"`+id+`"`+more+`}`)
			return said
		}
		step("prompt_started prompt_completed", do("session/send", `,"content":"hello"`))
		step("prompt_started prompt_failed", do("session/send", `,"content":"fail"`))
		step("mode_changed", do("session/setMode", `,"mode":"edit"`))
		step("model_changed", do("session/setModel", `,"model":{"providerId":"demo","modelId":"demo-pro"}`))
		step("thought_level_changed", do("session/setThoughtLevel", `,"thoughtLevel":"low"`))
		step("compact_started session_compacted", do("session/compact", ``))
		step("goal_set goal_continuation_completed", do("session/goal", `,"action":"set","objective":"make it blue"`))
		step("goal_replaced goal_continuation_failed", do("session/goal", `,"action":"replace","objective":"fail"`))
		step("goal_paused", do("session/goal", `,"action":"pause"`))
		step("goal_resumed goal_continuation_failed", do("session/goal", `,"action":"resume"`))
		step("goal_cleared", do("session/goal", `,"action":"clear"`))
		snapshot := s.result("session/read", `{"sessionId":"`+id+`"}`)
		if at(snapshot, "runtime.stateRevision") != revision {
			t.Errorf("stateRevision %v, want %v", at(snapshot, "runtime.stateRevision"), revision)
		}
		s.fails("session/setMode", `{"sessionId":"`+id+`","mode":"plan","expectedRevision":1}`, -32009, "Session state revision mismatch")
		s.result("session/setMode", fmt.Sprintf(`{"sessionId":%q,"mode":"plan","expectedRevision":%v}`, id, revision))
	})
}

func TestTelemetrySharesIdsWithEvents(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		said := s.prompt(id, "ask")
		ids := map[any]bool{}
		for _, m := range only(said, "session/event") {
			ids[at(m, "params.eventId")] = true
		}
		kinds := map[any]int{}
		var last float64
		for _, m := range only(said, "v4/telemetry/event") {
			kind := at(m, "params.kind")
			kinds[kind]++
			if seq := at(m, "params.eventSeq").(float64); seq < last {
				t.Errorf("eventSeq goes back: %s", show(m))
			} else {
				last = seq
			}
			if kind != "usage.delta" && at(m, "params.querySource") != "session_title" && !ids[at(m, "params.eventId")] {
				t.Errorf("no event for %s", show(m))
			}
		}
		for _, kind := range []string{"turn.started", "model.request.status", "stream.chunk", "usage.delta", "tool.lifecycle", "permission.lifecycle", "turn.terminal"} {
			if kinds[kind] == 0 {
				t.Errorf("no telemetry of kind %s", kind)
			}
		}
	})
}
