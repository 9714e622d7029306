package simulator

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSessionsThatAreNotThere covers -32004 in its two forms.
func TestSessionsThatAreNotThere(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		for method, more := range map[string]string{
			"session/read": ``, "session/events": ``, "session/subscribe": `,"deliveryKind":"desktop-continuous"`, "session/send": `,"content":"x"`,
			"session/stop": ``, "session/setMode": `,"mode":"plan"`, "session/setModel": `,"model":{"providerId":"demo","modelId":"demo-pro"}`,
			"session/setThoughtLevel": `,"thoughtLevel":"max"`, "session/close": ``, "session/compact": ``, "session/goal": `,"action":"show"`,
			"session/fork": `,"target":{"kind":"turn","turnIndex":0}`, "session/cancelBackgroundTask": `,"taskId":"x"`, "session/debug": ``,
		} {
			s.fails(method, `{"sessionId":"sess_gone"`+more+`}`, -32004, "Session is not active: sess_gone")
		}
		for _, method := range []string{"session/resume", "session/messages", "session/subagents"} {
			s.fails(method, `{"sessionId":"sess_gone"}`, -32004, "Session not found: sess_gone")
		}
		if got := s.result("session/usage", `{"sessionId":"sess_gone"}`); got["totalTokens"] != 0.0 {
			t.Errorf("usage of an unknown session: %s", show(got))
		}
		s.fails("session/debug", `{}`, -32603, "sessionId")
	})
}

func TestBusySessionRefuses(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		s.decide = nobody
		s.prompt(id, "ask")
		sess := `{"sessionId":"` + id + `"`
		s.fails("session/send", sess+`,"content":"again"}`, -32010, "A prompt is already running for this session")
		s.fails("session/compact", sess+`}`, -32010, "Cannot compact while a prompt is running")
		s.fails("session/goal", sess+`,"action":"set","objective":"x"}`, -32010, "Cannot manage goals while a prompt is running")
		s.fails("session/fork", sess+`,"target":{"kind":"latestCheckpoint"}}`, -32010, "Cannot fork while a prompt is running")
		s.result("session/read", sess+`}`)
		s.result("session/setMode", sess+`,"mode":"edit"}`)
		other := s.open()
		s.decide = allowAll
		if got := reasons(s.prompt(other, "hello")); got != "prompt_started prompt_completed" {
			t.Errorf("another session: %s", got)
		}
	})
}

func TestUnknownModelsAndLevelsAreNamed(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		s.fails("session/setModel", `{"sessionId":"`+id+`","model":{"providerId":"x","modelId":"y"}}`, -32603,
			"Unsupported model: x/y. Available models: main, demo/demo-flash, lite, demo/demo-pro.")
		s.fails("session/setThoughtLevel", `{"sessionId":"`+id+`","thoughtLevel":"x"}`, -32603, "Unsupported thought level")
		s.fails("session/create", `{"workspace":`+demoWorkspace+`,"model":{"providerId":"x","modelId":"y"}}`, -32603, "Unsupported model")
		s.fails("session/send", `{"sessionId":"`+id+`","content":"x","modelSelection":{"providerId":"x","modelId":"y"}}`, -32603, "Unsupported model")
		got := s.result("session/setModel", `{"sessionId":"`+id+`","model":{"providerId":"demo","modelId":"demo-pro","options":{"reasoningLevel":"low"}}}`)
		if at(got, "settings.model.current.modelId") != "demo-pro" || at(got, "settings.thoughtLevel.current") != "low" || at(got, "session.model.modelId") != "demo-pro" {
			t.Errorf("after setModel: %s", show(got))
		}
	})
}

func TestMessagesArePagedAsRecorded(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		for range 3 {
			s.prompt(id, "burst 1")
		}
		page := func(more string) []string {
			t.Helper()
			var ids []string
			for _, m := range s.result("session/messages", `{"sessionId":"`+id+`"`+more+`}`)["messages"].([]any) {
				ids = append(ids, at(m, "info.id").(string))
			}
			return ids
		}
		all := page(`,"limit":1000`)
		if len(all) != 6 {
			t.Fatalf("%d messages", len(all))
		}
		for _, test := range []struct {
			more string
			want []string
		}{
			{``, all}, {`,"limit":2`, all[4:]}, {`,"afterMessageId":"` + all[0] + `","limit":1000`, all[1:]},
			{`,"afterMessageId":"` + all[0] + `","limit":2`, all[4:]}, {`,"afterMessageId":"` + all[3] + `"`, all[4:]},
			{`,"afterMessageId":"` + all[5] + `"`, nil}, {`,"afterMessageId":"msg_nonexistent","limit":5`, all[1:]},
		} {
			if got := page(test.more); strings.Join(got, " ") != strings.Join(test.want, " ") {
				t.Errorf("%s: got %v, want %v", test.more, got, test.want)
			}
		}
	})
}

func TestListMergesLiveSessionsBeyondTheLimit(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		ids := []string{s.create(), s.create(), s.create()}
		deferred := s.result("session/create", `{"workspace":`+demoWorkspace+`,"persistence":"deferred"}`)
		draft := at(deferred, "session.sessionId").(string)
		list := func(params string) []any { return s.result("session/list", params)["sessions"].([]any) }
		if got := list(`{"limit":2}`); len(got) != 3 {
			t.Errorf("limit 2 gave %d sessions", len(got))
		}
		for _, row := range list(`{}`) {
			if _, has := row.(map[string]any)["target"]; has || at(row, "createdAt") != at(row, "updatedAt") {
				t.Errorf("live row: %s", show(row))
			}
			if at(row, "sessionId") == draft {
				t.Error("a draft is listed")
			}
		}
		s.prompt(draft, "hello")
		if got := list(`{"sessionIds":["` + draft + `","` + ids[0] + `"]}`); len(got) != 2 {
			t.Errorf("by id: %s", show(got))
		}
		for _, id := range ids {
			s.prompt(id, "evict")
		}
		if got := list(`{"limit":2}`); len(got) != 3 { // two of the store, and the one in memory on top
			t.Errorf("limit 2 of three stored sessions and a live one: %d", len(got))
		}
		if got := list(`{"workspace":{"workspacePath":"/elsewhere","workspaceKey":"demo"}}`); len(got) != 0 {
			t.Errorf("another workspace lists %d", len(got))
		}
	})
}

func TestCloseChecksThePersistence(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		if got := s.result("session/close", `{"sessionId":"`+id+`","expectedPersistence":"deferred"}`); got["closed"] != false {
			t.Errorf("close: %s", show(got))
		}
		s.decide = nobody
		s.prompt(id, "ask")
		closed, said := s.call("session/close", `{"sessionId":"`+id+`"}`)
		if at(closed, "result.closed") != true || at(findEvent(t, said, "turn.completed"), "payload.resultType") != "cancelled" {
			t.Errorf("close of a busy session: %s", show(said))
		}
		s.fails("session/read", `{"sessionId":"`+id+`"}`, -32004, "Session is not active")
		s.result("session/resume", `{"sessionId":"`+id+`"}`)
	})
}

func TestForkTakesTheConversationUpToItsTarget(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		s.prompt(id, "burst 1")
		s.prompt(id, "edit")
		s.prompt(id, "burst 2")
		messages := s.result("session/read", `{"sessionId":"`+id+`"}`)["messages"].([]any)
		fork := func(target string) msg {
			t.Helper()
			return s.result("session/fork", `{"sessionId":"`+id+`","target":`+target+`}`)
		}
		size := func(m msg) int { return len(at(m, "snapshot.messages").([]any)) }
		byMessage := fork(`{"kind":"message","messageId":"` + at(messages[1], "info.messageId").(string) + `"}`)
		if size(byMessage) != 2 || at(byMessage, "snapshot.session.sessionKind") != "fork" || byMessage["parentSessionId"] != id {
			t.Errorf("by message: %s", show(byMessage))
		}
		if got := at(at(byMessage, "snapshot.messages").([]any)[0], "info.messageId"); got == at(messages[0], "info.messageId") {
			t.Error("the fork reuses message ids")
		}
		if n := size(fork(`{"kind":"turn","turnIndex":0}`)); n != 2 {
			t.Errorf("by turn: %d messages", n)
		}
		latest := fork(`{"kind":"latestCheckpoint"}`)
		if size(latest) != 3 || latest["targetCheckpointId"] == nil {
			t.Errorf("by latest checkpoint: %s", show(latest))
		}
		if n := size(fork(fmt.Sprintf(`{"kind":"checkpoint","checkpointId":%q}`, latest["targetCheckpointId"]))); n != 3 {
			t.Errorf("by checkpoint: %d messages", n)
		}
		for _, target := range []string{`{"kind":"message","messageId":"x"}`, `{"kind":"turn","turnIndex":9}`, `{"kind":"checkpoint","checkpointId":"x"}`} {
			s.fails("session/fork", `{"sessionId":"`+id+`","target":`+target+`}`, -32603, "not found")
		}
		forked := byMessage["forkedSessionId"].(string)
		if got := reasons(s.prompt(forked, "hello")); got != "prompt_started prompt_completed" {
			t.Errorf("prompting the fork: %s", got)
		}
	})
}

func TestCompactRunsInTheBackground(t *testing.T) {
	inBubble(t, Options{Speed: 1}, func(s *sim) {
		id := s.open()
		s.prompt(id, "burst 3")
		s.pass(5 * time.Second)
		sess := `{"sessionId":"` + id + `"`
		first := s.result("session/compact", sess+`,"inputId":"c"}`)
		if at(first, "compact.state") != "accepted" || at(first, "compact.inputId") != "c" || at(first, "snapshot.runtime.activeTurnKind") != "compact" {
			t.Errorf("compact: %s", show(first))
		}
		if again := s.result("session/compact", sess+`}`); at(again, "compact.state") != "already_running" {
			t.Errorf("compact again: %s", show(again))
		}
		s.fails("session/send", sess+`,"content":"x"}`, -32010, "A prompt is already running")
		if got := reasons(s.pass(5 * time.Second)); got != "session_compacted" {
			t.Errorf("reasons: %s", got)
		}
		s.result("session/compact", sess+`}`)
		_, said := s.call("session/stop", sess+`}`)
		if got := reasons(said); got != "session_compacted_cancelled" {
			t.Errorf("stopped compaction: %s", got)
		}
	})
}

func TestGoal(t *testing.T) {
	inBubble(t, Options{Speed: 1}, func(s *sim) {
		id := s.open()
		goal := func(more string) msg {
			t.Helper()
			return s.result("session/goal", `{"sessionId":"`+id+`",`+more+`}`)
		}
		if got := goal(`"action":"show"`); got["response"] != "No goal is set." {
			t.Errorf("show: %s", show(got))
		}
		s.fails("session/goal", `{"sessionId":"`+id+`","action":"pause"}`, -32603, "No active goal")
		s.fails("session/goal", `{"sessionId":"`+id+`","action":"set"}`, -32603, "must not be empty")
		answer, said := s.call("session/goal", `{"sessionId":"`+id+`","action":"set","objective":"slow 1h","inputId":"g1"}`)
		set := at(answer, "result").(map[string]any)
		if set["startedTurn"] != true || at(set, "snapshot.session.target.status") != "active" || at(set, "snapshot.goalStats.iteration") != 0.0 {
			t.Errorf("set: %s", show(set))
		}
		started := findEvent(t, said, "turn.started")
		if at(started, "payload.targetId") != at(set, "snapshot.session.target.targetId") || at(started, "payload.inputVisibility") != "model-only" {
			t.Errorf("goal turn: %s", show(started))
		}
		_, said = s.call("session/stop", `{"sessionId":"`+id+`"}`)
		if got := reasons(said); !strings.Contains(got, "session_stop_goal_paused") {
			t.Errorf("stop: %s", got)
		}
		if got := goal(`"action":"show"`); at(got, "snapshot.projection.target.status") != "paused" || at(got, "snapshot.session.status") != "paused" {
			t.Errorf("after the stop: %s", show(got))
		}
	})
}

func TestBackgroundTaskOutlivesItsTurnAndReportsBack(t *testing.T) {
	inBubble(t, Options{Speed: 1}, func(s *sim) {
		id := s.open()
		s.prompt(id, "background 3s")
		said := s.pass(4 * time.Second)
		findEvent(t, said, "turn.completed")
		jobs := at(s.result("session/read", `{"sessionId":"`+id+`"}`), "projection.backgroundJobs").([]any)
		if len(jobs) != 1 || at(jobs[0], "status") != "running" {
			t.Fatalf("jobs: %s", show(jobs))
		}
		said = s.pass(10 * time.Second)
		started := findEvent(t, said, "turn.started")
		if at(started, "payload.inputSource") != "background_task" || at(started, "payload.inputVisibility") != "model-only" {
			t.Errorf("turn after the task: %s", show(started))
		}
		if got := reasons(said); got != "" {
			t.Errorf("a turn that nobody typed changed the state: %s", got)
		}
		taskID := at(jobs[0], "taskId").(string)
		if got := s.result("session/cancelBackgroundTask", `{"sessionId":"`+id+`","taskId":"`+taskID+`"}`); got["cancelled"] != false || got["status"] != "completed" {
			t.Errorf("cancelling a finished task: %s", show(got))
		}
	})
}

func TestBackgroundTaskWaitsForAFreeSession(t *testing.T) {
	inBubble(t, Options{Speed: 1}, func(s *sim) {
		id := s.open()
		s.prompt(id, "background 5s")
		findEvent(t, s.pass(5*time.Second), "turn.completed")
		said := s.prompt(id, "slow 30s")
		said = append(said, s.pass(40*time.Second)...)
		var turns []string
		for _, m := range only(said, "session/event") {
			if name := at(m, "params.type"); name == "turn.started" || name == "turn.completed" {
				turns = append(turns, name.(string))
			}
		}
		if got := strings.Join(turns, " "); got != "turn.started turn.completed turn.started turn.completed" {
			t.Errorf("turns: %s", got)
		}
	})
}

func TestCancelBackgroundTask(t *testing.T) {
	inBubble(t, Options{Speed: 1}, func(s *sim) {
		id := s.open()
		s.prompt(id, "background 1h")
		s.pass(10 * time.Second)
		sess := `{"sessionId":"` + id + `"`
		jobs := at(s.result("session/read", sess+`}`), "projection.backgroundJobs").([]any)
		got, said := s.call("session/cancelBackgroundTask", fmt.Sprintf(`%s,"taskId":%q}`, sess, at(jobs[0], "taskId")))
		if at(got, "result.cancelled") != true || at(got, "result.snapshot") == nil || reasons(said) != "background_task_cancelled" {
			t.Errorf("cancel: %s", show(said))
		}
		if p := findEvent(t, said, "session.updated"); at(p, "payload.status") != "cancelled" {
			t.Errorf("event: %s", show(p))
		}
		unknown := s.result("session/cancelBackgroundTask", sess+`,"taskId":"x"}`)
		if unknown["cancelled"] != false || unknown["reason"] != "background_task_not_found" || unknown["status"] != "lost" {
			t.Errorf("unknown task: %s", show(unknown))
		}
		if said := s.pass(time.Minute); len(only(said, "session/event")) > 0 {
			t.Errorf("a cancelled task goes on: %v", eventNames(said))
		}
	})
}

func TestTodosAreInTheSnapshot(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		s.prompt(id, "todo")
		snapshot := s.result("session/read", `{"sessionId":"`+id+`"}`)
		todos := snapshot["todos"].([]any)
		if len(todos) != 3 || at(todos[2], "status") != "completed" || len(snapshot["todoGroups"].([]any)) != 1 {
			t.Errorf("todos: %s", show(todos))
		}
	})
}

func TestBigResultIsOneLine(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		result := findEvent(t, s.prompt(id, "big 2MB"), "tool.updated:result")
		content := at(result, "payload.result.content").(string)
		if len(content) != 2<<20 || at(result, "payload.result.returnedBytes") != float64(len(content)) {
			t.Errorf("%d bytes", len(content))
		}
	})
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int{"500": 500, "64kb": 64 << 10, "2MB": 2 << 20, "1MiB": 1 << 20, "3k": 3 << 10, "10b": 10,
		"": 7, "-5": 7, "x": 7, "1GB": 512 << 20, "99999999999999": 512 << 20} {
		if got := parseSize(text, 7); got != want {
			t.Errorf("parseSize(%q) = %d, want %d", text, got, want)
		}
	}
}
