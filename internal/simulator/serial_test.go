package simulator

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func responseIDs(said []msg) string {
	var ids []string
	for _, m := range said {
		if m["method"] == nil {
			ids = append(ids, fmt.Sprint(m["id"]))
		}
	}
	return strings.Join(ids, " ")
}

func TestRequestsRunOneAfterTheOther(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		s.settle()
		s.preferences = ""
		s.request("session/create", `{"workspace":`+demoWorkspace+`}`)
		s.request("runtime/capabilities", `{}`)
		s.request("no/such", `{}`)
		said := s.settle()
		if ids := responseIDs(said); ids != "" || len(said) != 1 {
			t.Fatalf("while create waits for the client, %s was said", show(said))
		}
		s.send(`{"id":"server-1","result":{"nativeSearchEnhancementsEnabled":false}}`)
		if ids := responseIDs(s.settle()); ids != "1 2 3" {
			t.Errorf("answered in the order %q", ids)
		}
	})
}

func TestCreateFailsWithoutPreferences(t *testing.T) {
	create := func(s *sim) { s.request("session/create", `{"workspace":`+demoWorkspace+`}`) }
	t.Run("timeout", func(t *testing.T) {
		inBubble(t, Options{}, func(s *sim) {
			s.preferences = ""
			create(s)
			said := s.pass(14 * time.Second)
			if responseIDs(said) != "" {
				t.Fatalf("answered early: %s", show(said))
			}
			said = s.pass(2 * time.Second)
			if len(said) != 1 || at(said[0], "error.code") != -32022.0 || at(said[0], "error.data.timeoutMs") != 15000.0 {
				t.Errorf("got %s", show(said))
			}
			if n := len(s.result("session/list", `{}`)["sessions"].([]any)); n != 0 {
				t.Errorf("%d sessions are left behind", n)
			}
		})
	})
	for name, test := range map[string]struct {
		answer string
		code   float64 // 0: the session is made
	}{
		"method not found":  {`"error":{"code":-32601,"message":"Method not found"}`, 0},
		"no client":         {`"error":{"code":-32020,"message":"no client"}`, 0},
		"other error":       {`"error":{"code":-32000,"message":"no"}`, -32603},
		"invalid answer":    {`"result":{}`, -32603},
		"answer with extra": {`"result":{"nativeSearchEnhancementsEnabled":true,"x":1}`, -32603},
		"full answer": {`"result":{"nativeSearchEnhancementsEnabled":true,"memoryEnabled":true,"askUserQuestionAutoResolutionEnabled":false,` +
			`"integratedTerminalShell":{"mode":"auto"},"modelContextBudgetStrategy":"preflight-v1","subagentRuntimeConfigEnabled":false}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(s *sim) {
				s.preferences = test.answer
				create(s)
				said := s.settle()
				last := said[len(said)-1]
				if code, _ := at(last, "error.code").(float64); code != test.code {
					t.Errorf("got %s", show(last))
				}
			})
		})
	}
}

func TestPreferencesAreAskedOncePerResidency(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		scopes := func(said []msg) string {
			var list []string
			for _, m := range only(said, "session/requestRuntimePreferences") {
				list = append(list, at(m, "params.scope").(string))
			}
			return strings.Join(list, " ")
		}
		created, said := s.call("session/create", `{"workspace":`+demoWorkspace+`}`)
		if got := scopes(said); got != "runtime-materialization" {
			t.Errorf("create asked for %q", got)
		}
		id := at(created, "result.session.sessionId").(string)
		if got := scopes(s.prompt(id, "hello")); got != "user-execution" {
			t.Errorf("the first send asked for %q", got)
		}
		if got := scopes(s.prompt(id, "evict")); got != "" {
			t.Errorf("the second send asked for %q", got)
		}
		_, said = s.call("session/resume", `{"sessionId":"`+id+`"}`)
		if got := scopes(said); got != "runtime-materialization user-execution" {
			t.Errorf("resume asked for %q", got)
		}
		_, said = s.call("session/resume", `{"sessionId":"`+id+`"}`)
		if got := scopes(said) + scopes(s.prompt(id, "hello")); got != "" {
			t.Errorf("a resident session asked for %q", got)
		}
	})
}

func TestStopBypassesTheQueue(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		s.decide = nobody
		s.prompt(id, "ask")
		s.preferences = ""
		create := s.request("session/create", `{"workspace":`+demoWorkspace+`}`)
		waiting := s.request("runtime/capabilities", `{}`)
		stop := s.request("session/stop", `{"sessionId":"`+id+`"}`)
		said := s.settle()
		// The request queued last has not started, so the stop has to wait.
		if ids := responseIDs(said); ids != "" {
			t.Fatalf("answered: %s", ids)
		}
		s.send(`{"id":"server-4","result":{"nativeSearchEnhancementsEnabled":false}}`)
		said = s.settle()
		if ids, want := responseIDs(said), fmt.Sprintf("%d %d %d", create, waiting, stop); ids != want {
			t.Errorf("answered %s, want %s", ids, want)
		}

		s.prompt(id, "ask")
		s.request("session/create", `{"workspace":`+demoWorkspace+`}`)
		s.settle()
		stop = s.request("session/stop", `{"sessionId":"`+id+`"}`)
		said = s.settle()
		if ids := responseIDs(said); ids != fmt.Sprint(stop) {
			t.Fatalf("while create waits for the client, answered: %q", ids)
		}
		if got := at(findEvent(t, said, "turn.completed"), "payload.resultType"); got != "cancelled" {
			t.Errorf("the turn ended as %v", got)
		}
	})
}

func TestCancelGenerateTextBypassesTheQueue(t *testing.T) {
	inBubble(t, Options{Speed: 1}, func(s *sim) {
		s.settle()
		params := `{"workspace":` + demoWorkspace + `,"selection":{"providerId":"demo","modelId":"demo-flash"},"prompt":"slow 1h","querySource":"test","operationId":"op1"}`
		generate := s.request("workspace/generateText", params)
		s.pass(time.Minute)
		cancel := s.request("workspace/cancelGenerateText", `{"operationId":"op1"}`)
		said := s.settle()
		if ids, want := responseIDs(said), fmt.Sprintf("%d %d", cancel, generate); ids != want {
			t.Fatalf("answered %s, want %s: %s", ids, want, show(said))
		}
		if at(said[0], "result.cancelled") != true || at(said[1], "error.code") != -32603.0 {
			t.Errorf("got %s", show(said))
		}
		if got := s.result("workspace/cancelGenerateText", `{"operationId":"op1"}`); got["cancelled"] != false {
			t.Errorf("cancelling twice: %s", show(got))
		}
	})
}

func TestSendReturnsBeforeTheTurnRuns(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		_, said := s.call("session/send", `{"sessionId":"`+id+`","content":"hello"}`)
		var order []string
		for _, m := range said {
			switch {
			case m["method"] == "state.updated":
				order = append(order, at(m, "params.reason").(string))
			case m["method"] == nil:
				order = append(order, "response")
			case m["method"] == "session/event":
				order = append(order, at(m, "params.type").(string))
			}
		}
		got := strings.Join(order, " ")
		if !strings.HasPrefix(got, "prompt_started response session.titleUpdated turn.started session.updated") ||
			!strings.HasSuffix(got, "turn.completed prompt_completed") {
			t.Errorf("order: %s", got)
		}
	})
}
