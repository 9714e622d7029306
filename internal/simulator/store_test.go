package simulator

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSessionsSurviveTheProcessInTheStateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	var id string
	var before any
	inBubble(t, Options{StateFile: path}, func(s *sim) {
		id = s.open()
		s.decide = func(m msg) string {
			return `"result":` + string(encode(at(at(m, "params.options").([]any)[1], "response")))
		}
		s.prompt(id, "ask make")
		s.prompt(id, "hello")
		before = s.result("session/read", `{"sessionId":"`+id+`"}`)["messages"]
	})
	inBubble(t, Options{StateFile: path}, func(s *sim) {
		s.settle()
		s.fails("session/read", `{"sessionId":"`+id+`"}`, -32004, "Session is not active")
		s.fails("session/subscribe", `{"sessionId":"`+id+`","deliveryKind":"desktop-continuous"}`, -32004, "Session is not active")
		if n := len(s.result("session/list", `{}`)["sessions"].([]any)); n != 1 {
			t.Errorf("%d sessions are listed", n)
		}
		resumed := s.result("session/resume", `{"sessionId":"`+id+`"}`)
		if !reflect.DeepEqual(resumed["messages"], before) {
			t.Errorf("messages after the restart: %s\nbefore: %s", show(resumed["messages"]), show(before))
		}
		if at(resumed, "runtime.stateRevision") != 0.0 || at(resumed, "runtime.eventSeq") != 1.0 {
			t.Errorf("counters after the restart: %s", show(resumed["runtime"]))
		}
		if fresh := s.create(); fresh == id {
			t.Error("the seed made the same session id twice")
		}
		if n := len(only(s.prompt(id, "ask make"), "interaction/requestPermission")); n != 0 {
			t.Error("the project's rule is gone")
		}
	})
}

func TestCreatedSessionIsInTheStateFileBeforeItsAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	inBubble(t, Options{StateFile: path}, func(s *sim) {
		id := s.create()
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), id) {
			t.Errorf("state file: %s, %v", text, err)
		}
	})
}

func TestKilledToolCallIsClosedOnResume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	var id string
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{StateFile: path})
		id = s.open()
		s.request("session/send", `{"sessionId":"`+id+`","content":"crash"}`)
		s.settle()
		<-s.ended
	})
	inBubble(t, Options{StateFile: path}, func(s *sim) {
		s.settle()
		s.result("session/resume", `{"sessionId":"`+id+`"}`)
		events := s.result("session/events", `{"sessionId":"`+id+`"}`)["events"].([]any)
		if at(events[0], "type") != "session.resumed" || at(events[0], "payload.interruptedToolCount") != 1.0 {
			t.Errorf("first event: %s", show(events[0]))
		}
		s.prompt(id, "hello")
	})
}

func TestUnreadableStateFileIsAClearError(t *testing.T) {
	for text, want := range map[string]string{`{`: "not readable", `{"version":99}`: "version 99", `{"version":1,"sessions":[1]}`: "bad session"} {
		path := filepath.Join(t.TempDir(), "state.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Run(t.Context(), Options{In: strings.NewReader(""), Out: &recorder{}, StateFile: path})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestEvictPromptTakesTheSessionOutOfMemory(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		s.prompt(id, "evict")
		s.fails("session/send", `{"sessionId":"`+id+`","content":"x"}`, -32004, "Session is not active: "+id)
		if n := len(s.result("session/messages", `{"sessionId":"`+id+`"}`)["messages"].([]any)); n == 0 {
			t.Error("the store does not have its messages")
		}
		s.result("session/resume", `{"sessionId":"`+id+`"}`)
		if n := len(only(s.prompt(id, "hello"), "session/event")); n != 0 {
			t.Error("the subscription survived the eviction")
		}
	})
}

func TestEvictionEndsBackgroundTasks(t *testing.T) {
	inBubble(t, Options{Speed: 1}, func(s *sim) {
		id := s.open()
		s.prompt(id, "background 1h")
		s.pass(10 * time.Second)
		s.prompt(id, "evict")
		s.pass(10 * time.Second)
		if said := s.pass(10 * time.Second); len(only(said, "session/event")) > 0 {
			t.Errorf("an evicted session goes on: %v", eventNames(said))
		}
	})
}

func TestIdleSessionsAreEvicted(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		busy := s.open()
		s.decide = nobody
		s.prompt(busy, "ask")
		s.pass(9 * time.Minute)
		s.result("session/read", `{"sessionId":"`+id+`"}`)
		s.pass(9 * time.Minute)
		s.result("session/read", `{"sessionId":"`+id+`"}`)
		s.pass(12 * time.Minute)
		s.fails("session/read", `{"sessionId":"`+id+`"}`, -32004, "Session is not active")
		s.result("session/read", `{"sessionId":"`+busy+`"}`)
	})
}

func TestIdleEvictionCanBeHurried(t *testing.T) {
	inBubble(t, Options{IdleEviction: time.Second}, func(s *sim) {
		id := s.open()
		s.pass(3 * time.Second)
		s.fails("session/read", `{"sessionId":"`+id+`"}`, -32004, "Session is not active")
	})
}

func TestFullPoolEvictsTheLeastRecentlyUsed(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		var ids []string
		for range 17 {
			ids = append(ids, s.create())
			s.pass(time.Second)
		}
		s.fails("session/read", `{"sessionId":"`+ids[0]+`"}`, -32004, "Session is not active")
		s.result("session/read", `{"sessionId":"`+ids[16]+`"}`)
		if n := len(s.result("session/list", `{}`)["sessions"].([]any)); n != 17 {
			t.Errorf("%d sessions are listed", n)
		}
	})
}
