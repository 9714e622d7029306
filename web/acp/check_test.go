package acp

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// checkUpdate says what a strict client would find wrong with an update; the faults that lenient ones drop without a word
// are faults here as well.
func checkUpdate(raw []byte) []string {
	c := &checker{}
	u := c.object("update", raw)
	if u == nil {
		return c.faults
	}
	switch kind, _ := u["sessionUpdate"].(string); kind {
	case updateUser, updateAgent, updateThought:
		c.block("content", u["content"])
		c.optionalText("messageId", u["messageId"])
	case updateTool:
		c.text("title", u["title"])
		c.toolCall(u)
	case updateToolMore:
		c.optionalText("title", u["title"])
		c.toolCall(u)
	case updatePlan:
		c.each("entries", u["entries"], func(at string, e map[string]any) {
			c.text(at+".content", e["content"])
			c.oneOf(at+".priority", e["priority"], "high", "medium", "low")
			c.oneOf(at+".status", e["status"], "pending", "in_progress", "completed")
		})
	case updateUsage:
		c.count("used", u["used"])
		c.count("size", u["size"])
	case updateOptions:
		c.options(u["configOptions"])
	case updateMode:
		c.text("currentModeId", u["currentModeId"])
	case updateInfo:
		c.text("title", u["title"])
		c.optionalText("updatedAt", u["updatedAt"])
	case updateCommands:
		c.each("availableCommands", u["availableCommands"], func(at string, e map[string]any) {
			c.text(at+".name", e["name"])
			c.text(at+".description", e["description"])
			if input, ok := e["input"]; ok {
				m, _ := input.(map[string]any)
				c.text(at+".input.hint", m["hint"])
			}
		})
	default:
		c.fault("sessionUpdate %q is unknown", u["sessionUpdate"])
	}
	return c.faults
}

// checkRequest does the same for the params of a request to a client.
func checkRequest(method string, raw []byte) []string {
	c := &checker{}
	p := c.object("params", raw)
	c.text("sessionId", p["sessionId"])
	switch method {
	case methodAskPermission:
		call, _ := p["toolCall"].(map[string]any)
		c.toolCall(call)
		c.each("options", p["options"], func(at string, o map[string]any) {
			c.text(at+".optionId", o["optionId"])
			c.text(at+".name", o["name"])
			c.oneOf(at+".kind", o["kind"], allowOnce, allowAlways, rejectOnce, rejectEver)
		})
	case methodElicit:
		c.oneOf("mode", p["mode"], "form")
		c.text("message", p["message"])
		c.form(p["requestedSchema"])
	default:
		c.fault("%q is no question", method)
	}
	return c.faults
}

type checker struct{ faults []string }

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *checker) object(at string, raw []byte) (m map[string]any) {
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		c.fault("%s is no object: %v", at, err)
	}
	return m
}

func (c *checker) text(at string, v any) {
	if s, ok := v.(string); !ok || s == "" {
		c.fault("%s must be a text that is not empty, is %v", at, v)
	}
}

func (c *checker) optionalText(at string, v any) {
	if v != nil {
		c.text(at, v)
	}
}

func (c *checker) oneOf(at string, v any, values ...string) {
	if s, _ := v.(string); !slices.Contains(values, s) {
		c.fault("%s must be one of %v, is %v", at, values, v)
	}
}

func (c *checker) count(at string, v any) {
	if n, ok := v.(float64); !ok || n < 0 || n != math.Trunc(n) {
		c.fault("%s must be a whole number of at least 0, is %v", at, v)
	}
}

func (c *checker) each(at string, v any, check func(at string, element map[string]any)) {
	list, ok := v.([]any)
	if !ok {
		c.fault("%s must be a list, is %v", at, v)
	}
	for i, element := range list {
		m, ok := element.(map[string]any)
		if !ok {
			c.fault("%s[%d] must be an object", at, i)
			continue
		}
		check(fmt.Sprintf("%s[%d]", at, i), m)
	}
}

func (c *checker) block(at string, v any) {
	b, ok := v.(map[string]any)
	if !ok {
		c.fault("%s must be one content block", at)
		return
	}
	switch b["type"] {
	case "text":
		c.text(at+".text", b["text"])
	case "image":
		c.text(at+".data", b["data"])
		c.text(at+".mimeType", b["mimeType"])
	case "resource_link":
		c.text(at+".uri", b["uri"])
		c.text(at+".name", b["name"])
	case "resource":
		inside, _ := b["resource"].(map[string]any)
		c.text(at+".resource.uri", inside["uri"])
	default:
		c.fault("%s.type %v is unknown", at, b["type"])
	}
}

func (c *checker) toolCall(u map[string]any) {
	c.text("toolCallId", u["toolCallId"])
	if kind, ok := u["kind"]; ok {
		c.oneOf("kind", kind, "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other")
	}
	if status, ok := u["status"]; ok {
		c.oneOf("status", status, statusPending, statusRunning, statusCompleted, statusFailed)
	}
	if content, ok := u["content"]; ok {
		c.each("content", content, c.toolContent)
	}
	if places, ok := u["locations"]; ok {
		c.each("locations", places, func(at string, l map[string]any) {
			c.text(at+".path", l["path"])
			if line, ok := l["line"]; ok {
				c.count(at+".line", line)
			}
		})
	}
	if meta, ok := u["_meta"]; ok {
		if _, ok := meta.(map[string]any); !ok {
			c.fault("_meta must be an object")
		}
	}
	if out, ok := u["rawOutput"].(string); ok && len([]rune(out)) > maxRawOutput {
		c.fault("rawOutput has %d characters", len([]rune(out)))
	}
}

func (c *checker) toolContent(at string, e map[string]any) {
	switch e["type"] {
	case "content":
		c.block(at+".content", e["content"])
	case "diff":
		c.text(at+".path", e["path"])
		if _, ok := e["newText"].(string); !ok {
			c.fault("%s.newText must be a text", at)
		}
		if old, ok := e["oldText"]; ok && old != nil {
			if _, ok := old.(string); !ok {
				c.fault("%s.oldText must be a text or null", at)
			}
		}
	case "terminal":
		c.text(at+".terminalId", e["terminalId"])
	default:
		c.fault("%s.type %v is unknown", at, e["type"])
	}
}

func (c *checker) options(v any) {
	c.each("configOptions", v, func(at string, o map[string]any) {
		c.text(at+".id", o["id"])
		c.text(at+".name", o["name"])
		c.oneOf(at+".type", o["type"], "select")
		current, found := o["currentValue"], false
		c.text(at+".currentValue", current)
		c.each(at+".options", o["options"], func(at string, choice map[string]any) {
			c.text(at+".value", choice["value"])
			c.text(at+".name", choice["name"])
			found = found || choice["value"] == current
		})
		if !found {
			c.fault("%s: the current value %v is not among the options", at, current)
		}
	})
}

func (c *checker) form(v any) {
	schema, _ := v.(map[string]any)
	c.oneOf("requestedSchema.type", schema["type"], "object")
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		c.fault("requestedSchema.properties must be an object")
	}
	for name, value := range properties {
		field, _ := value.(map[string]any)
		c.oneOf(name+".type", field["type"], "string", "array", "number", "integer", "boolean")
		if list, ok := field["oneOf"]; ok {
			c.choices(name+".oneOf", list)
		}
		if items, ok := field["items"].(map[string]any); ok {
			c.choices(name+".items.anyOf", items["anyOf"])
		}
	}
}

func (c *checker) choices(at string, v any) {
	seen := map[any]bool{}
	c.each(at, v, func(at string, choice map[string]any) {
		c.text(at+".const", choice["const"])
		c.text(at+".title", choice["title"])
		if seen[choice["const"]] {
			c.fault("%s: %v is there twice", at, choice["const"])
		}
		seen[choice["const"]] = true
	})
}

// story follows updates as a client does and says where they make no sense one after the other.
type story struct {
	cards    map[string]string // status by id
	messages map[string]string // kind by messageId
	exited   map[string]bool   // terminals that are closed
}

func newStory() *story {
	return &story{map[string]string{}, map[string]string{}, map[string]bool{}}
}

func (s *story) add(u Update) []string {
	faults := checkUpdate(u.JSON)
	var m struct {
		SessionUpdate, ToolCallID, Status, MessageID string
		RawOutput                                    *string
		Meta                                         struct {
			Output *json.RawMessage `json:"terminal_output"`
			Exit   *json.RawMessage `json:"terminal_exit"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(u.JSON, &m)
	if u.Kind != m.SessionUpdate {
		faults = append(faults, "Kind and sessionUpdate differ")
	}
	switch u.Kind {
	case updateTool:
		if before, known := s.cards[m.ToolCallID]; known && (before == statusCompleted || before == statusFailed) {
			faults = append(faults, "a final card is begun again: "+m.ToolCallID)
		}
		s.cards[m.ToolCallID] = m.Status
	case updateToolMore:
		before, known := s.cards[m.ToolCallID]
		if !known {
			faults = append(faults, "an update of a card that was never begun: "+m.ToolCallID)
		}
		if before == statusFailed && m.Status == statusRunning {
			faults = append(faults, "a card that failed goes on: "+m.ToolCallID)
		}
		if m.Status != "" {
			s.cards[m.ToolCallID] = m.Status
		}
		output, exit := m.Meta.Output != nil, m.Meta.Exit != nil
		switch {
		case output && exit:
			faults = append(faults, "output and exit in one update")
		case (output || exit) && s.exited[m.ToolCallID]:
			faults = append(faults, "a terminal goes on after its exit")
		case (output || exit) && m.RawOutput != nil:
			faults = append(faults, "rawOutput beside a terminal")
		}
		s.exited[m.ToolCallID] = s.exited[m.ToolCallID] || exit
	case updateUser, updateAgent, updateThought:
		if before, known := s.messages[m.MessageID]; known && before != u.Kind {
			faults = append(faults, "one message id for "+before+" and "+u.Kind)
		}
		s.messages[m.MessageID] = u.Kind
		if m.MessageID == "" {
			faults = append(faults, "a chunk without a message id")
		}
	}
	return faults
}

// open are the cards that are not final.
func (s *story) open() (ids []string) {
	for id, status := range s.cards {
		if status != statusCompleted && status != statusFailed {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// valid fails the test for updates that no client would take.
func valid(t testing.TB, updates []Update) *story {
	t.Helper()
	s := newStory()
	for _, u := range updates {
		if faults := s.add(u); len(faults) > 0 {
			t.Errorf("%s\n  in %s", strings.Join(faults, "; "), u.JSON)
		}
	}
	return s
}

func TestTheCheckerFindsWhatClientsReject(t *testing.T) {
	for raw, want := range map[string]string{
		`{"sessionUpdate":"compaction"}`: "is unknown",
		`{"sessionUpdate":"agent_message_chunk","content":[{"type":"text","text":"x"}]}`:                                                    "one content block",
		`{"sessionUpdate":"tool_call","toolCallId":"c"}`:                                                                                    "title",
		`{"sessionUpdate":"usage_update","used":1.5,"size":null}`:                                                                           "whole number",
		`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"running"}`:                                                          "status",
		`{"sessionUpdate":"tool_call_update","toolCallId":"c","content":[{"type":"text","text":"x"}]}`:                                      "type text is unknown",
		`{"sessionUpdate":"plan","entries":[{"content":"x","status":"pending"}]}`:                                                           "priority",
		`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"x"}]}`:                                                  "description",
		`{"sessionUpdate":"config_option_update","configOptions":[{"id":"a","name":"A","type":"boolean","currentValue":"x","options":[]}]}`: "type",
		`{"sessionUpdate":"config_option_update","configOptions":[{"id":"a","name":"A","type":"select","currentValue":"x","options":[]}]}`:  "not among",
	} {
		if got := strings.Join(checkUpdate([]byte(raw)), "; "); !strings.Contains(got, want) {
			t.Errorf("checkUpdate(%s) = %q, want a fault with %q", raw, got, want)
		}
	}
}
