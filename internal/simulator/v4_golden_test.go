package simulator

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestV4TranscriptsAreRepeatable compares whole conversations in V4, byte for byte, with those kept under testdata.
func TestV4TranscriptsAreRepeatable(t *testing.T) {
	play := func(prompt string) func(*sim, queueClient) {
		return func(s *sim, q queueClient) { q.do("sendText", fmt.Sprintf(`{"text":%q}`, prompt)) }
	}
	whileWaiting := func(act func(queueClient)) func(*sim, queueClient) {
		return func(s *sim, q queueClient) {
			s.decide = nobody
			q.do("sendText", `{"text":"ask"}`)
			act(q)
			s.decide = allowAll
			q.do("resolveInteraction", fmt.Sprintf(`{"interactionId":%q,"answer":{"optionId":"allowOnce"}}`, pendingID(q.v4Client)))
		}
	}
	afterTwo := func(kind, rowKind, more string) func(*sim, queueClient) {
		return func(s *sim, q queueClient) {
			q.do("sendText", `{"text":"Reply with exactly: one"}`)
			q.do("sendText", `{"text":"Reply with exactly: two"}`)
			for _, r := range at(q.state, "rows.window").([]any) {
				if at(r, "kind") == rowKind && strings.Contains(fmt.Sprint(at(r, "text")), "two") {
					q.do(kind, fmt.Sprintf(`{"target":{"rowId":%v,"entityId":%q}%s}`, at(r, "rowId"), at(r, "entityId"), more))
					return
				}
			}
		}
	}
	for name, scene := range map[string]func(*sim, queueClient){
		"permission": play("ask ls -l"),
		"question":   play("question"),
		"plan":       play("plan"),
		"todo":       play("todo"),
		"fail":       play("fail"),
		"subagent":   play("subagent"),
		"huge":       play("big 70000"),
		"queue":      whileWaiting(func(q queueClient) { q.do("sendText", `{"text":"Reply with exactly: later"}`) }),
		"guide": whileWaiting(func(q queueClient) {
			q.do("sendText", `{"text":"be quick","requestedDelivery":"guide"}`)
		}),
		"stop": whileWaiting(func(q queueClient) {
			q.do("sendText", `{"text":"Reply with exactly: later"}`)
			q.do("stop", `{}`)
			q.do("sendText", `{"text":"ask","heldQueueDisposition":"clearQueueAndSend"}`)
		}),
		"edit":    afterTwo("editUserQuery", rowUserInput, `,"newText":"Reply with exactly: three"`),
		"retry":   afterTwo("retryTurn", rowAssistantText, ""),
		"fork":    afterTwo("forkAssistant", rowAssistantText, ""),
		"compact": func(s *sim, q queueClient) { play("help")(s, q); q.do("compact", `{}`) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{Seed: 7}, func(s *sim) {
				id := s.draft()
				c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
				if name != "huge" {
					s.follow("conversation/"+id, "b", "web-remote-replayable", "")
				}
				scene(s, queueClient{c, id})
				compareGolden(t, filepath.Join("testdata", "v4", name+".ndjson"), strings.Join(s.log, "\n")+"\n")
			})
		})
	}
}
