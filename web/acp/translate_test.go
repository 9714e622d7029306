package acp

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"
)

// ev is the params of a session/event of turn t1.
func ev(kind, payload string) string { return evOf("t1", kind, payload) }

func evOf(turn, kind, payload string) string {
	return fmt.Sprintf(`{"eventId":"e","sessionId":"s","turnId":%q,"seq":1,"timestamp":1791032434000,"type":%q,"payload":%s}`, turn, kind, payload)
}

func text(message, delta string) string {
	return ev("model.streaming", fmt.Sprintf(`{"kind":"text_delta","assistantMessageId":%q,"delta":%q}`, message, delta))
}

func thought(message, delta string) string {
	return ev("model.streaming", fmt.Sprintf(`{"kind":"reasoning_delta","assistantMessageId":%q,"delta":%q}`, message, delta))
}

func called(id, tool, input string) string {
	return ev("model.streaming", fmt.Sprintf(`{"kind":"tool_call","toolCallId":%q,"toolName":%q,"input":%s}`, id, tool, input))
}

// tool is a tool.updated of kind for the call c.
func tool(kind, more string) string {
	if more != "" {
		more = "," + more
	}
	return ev("tool.updated", fmt.Sprintf(`{"kind":%q,"toolCallId":"c"%s}`, kind, more))
}

const (
	started  = `{"turnNumber":0,"input":"hi","messageId":"u1","inputId":"i1"}`
	omitted  = `"toolName":"Bash","input":{"inputOmitted":true,"inputByteLength":9,"inputRef":"model_stream"}`
	answered = `{"resultType":"success","tokenCount":9,"usage":{"totalTokens":9}}`
)

// feed gives events to a translator.
func feed(tr *Translator, events ...string) (updates []Update) {
	for _, e := range events {
		updates = append(updates, tr.Event([]byte(e))...)
	}
	return updates
}

// brief is updates as people read them, one a line.
func brief(updates []Update) string {
	var lines []string
	for _, u := range updates {
		lines = append(lines, briefly(u))
	}
	return strings.Join(lines, "\n")
}

func briefly(u Update) string {
	var m struct {
		Content                                    json.RawMessage
		MessageID, ToolCallID, Title, Kind, Status string
		RawInput, RawOutput                        json.RawMessage
		Locations                                  []location
		Entries                                    []planEntry
		Used, Size                                 int
		UpdatedAt, CurrentModeID                   string
		ConfigOptions                              []configOption
		Meta                                       map[string]any `json:"_meta"`
	}
	_ = json.Unmarshal(u.JSON, &m)
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch u.Kind {
	case updateUser, updateAgent, updateThought:
		add("%s %s %s", strings.TrimSuffix(u.Kind, "_message_chunk"), m.MessageID, briefBlock(m.Content))
	case updateTool, updateToolMore:
		add("%s %s", map[string]string{updateTool: "card", updateToolMore: "more"}[u.Kind], m.ToolCallID)
		for _, s := range []string{m.Status, m.Kind, m.Title} {
			if s != "" {
				add("%s", s)
			}
		}
		var content []json.RawMessage
		_ = json.Unmarshal(m.Content, &content)
		for _, c := range content {
			add("[%s]", briefContent(c))
		}
		for _, l := range m.Locations {
			add("@%s:%d", l.Path, l.Line)
		}
		if m.RawInput != nil {
			add("in=%s", m.RawInput)
		}
		if m.RawOutput != nil {
			add("out=%s", m.RawOutput)
		}
		add("%s", briefMeta(m.Meta))
	case updatePlan:
		add("plan")
		for _, e := range m.Entries {
			add("%s:%s:%s", e.Content, e.Priority, e.Status)
		}
	case updateUsage:
		add("usage %d/%d", m.Used, m.Size)
	case updateInfo:
		add("title %s %s", m.Title, m.UpdatedAt)
	case updateMode:
		add("mode %s", m.CurrentModeID)
	case updateOptions:
		add("options")
		for _, o := range m.ConfigOptions {
			add("%s=%s", o.ID, o.CurrentValue)
		}
	default:
		add("%s", u.JSON)
	}
	return strings.TrimRight(strings.Join(parts, " "), " ")
}

func briefBlock(raw []byte) string {
	var b block
	_ = json.Unmarshal(raw, &b)
	if b.Type == "text" {
		return fmt.Sprintf("%q", b.Text)
	}
	return strings.Join(strings.Fields(strings.Join([]string{b.Type, b.Name, b.URI, b.MimeType, b.Data}, " ")), " ")
}

func briefContent(raw []byte) string {
	var c struct {
		Type, Path, NewText, TerminalID string
		OldText                         *string
		Content                         json.RawMessage
	}
	_ = json.Unmarshal(raw, &c)
	switch c.Type {
	case "diff":
		if c.OldText == nil {
			return fmt.Sprintf("new %s %q", c.Path, c.NewText)
		}
		return fmt.Sprintf("diff %s %q %q", c.Path, *c.OldText, c.NewText)
	case "terminal":
		return "terminal " + c.TerminalID
	}
	return briefBlock(c.Content)
}

// briefMeta leaves out the tool's name, which the title has as well.
func briefMeta(meta map[string]any) string {
	var parts []string
	for key, value := range meta {
		if key == "claudeCode" {
			names, _ := value.(map[string]any)
			delete(names, "toolName")
			if len(names) == 0 {
				continue
			}
		}
		parts = append(parts, fmt.Sprintf("%s=%s", key, encode(value)))
	}
	sort.Strings(parts)
	return strings.Join(parts, " ")
}

// row is one row of the mapping: what is heard before, what is heard, and what is told of it.
type row struct {
	name   string
	before []string
	hear   []string
	want   string
}

func testRows(t *testing.T, o TranslatorOptions, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			tr := NewTranslator(o)
			before := feed(tr, r.before...)
			got := feed(tr, r.hear...)
			valid(t, append(before, got...))
			if text := brief(got); text != strings.TrimSpace(r.want) {
				t.Errorf("got\n%s\nwant\n%s", text, strings.TrimSpace(r.want))
			}
		})
	}
}

func TestMessages(t *testing.T) {
	testRows(t, TranslatorOptions{Window: 100}, []row{
		{"a text has its message's id", nil, []string{text("m1", "Hel"), text("m1", "lo")},
			"agent m1 \"Hel\"\nagent m1 \"lo\""},
		{"a thought is a message of its own", nil, []string{thought("m1", "Hm"), text("m1", "Yes"), text("m2", "No")},
			"agent_thought_chunk thought_m1 \"Hm\"\nagent m1 \"Yes\"\nagent m2 \"No\""},
		{"without an id it has that of its turn", nil, []string{
			ev("model.streaming", `{"kind":"text_delta","delta":"a"}`), ev("model.streaming", `{"kind":"reasoning_delta","delta":"b"}`),
			evOf("", "model.streaming", `{"kind":"text_delta","delta":"c"}`)},
			"agent t1 \"a\"\nagent_thought_chunk thought_t1 \"b\"\nagent turn \"c\""},
		{"an empty delta is nothing", nil, []string{text("m1", ""), ev("model.streaming", `{"kind":"text_delta","delta":null}`)}, ""},
		{"arguments on their way are nothing", nil, []string{
			ev("model.streaming", `{"kind":"tool_input_start","toolCallId":"c","toolName":"Bash"}`),
			ev("model.streaming", `{"kind":"tool_input_delta","toolCallId":"c","delta":"{"}`),
			ev("model.streaming", `{"kind":"tool_input_end","toolCallId":"c"}`), called("c", "Bash", `{"command":"ls"}`)}, ""},
		{"what a helper agent says is for the agent", nil, []string{
			ev("model.streaming", `{"kind":"text_delta","assistantMessageId":"m","parentToolUseId":"c","delta":"inner"}`)}, ""},
		{"a pair of surrogates is put together", nil, []string{
			ev("model.streaming", `{"kind":"text_delta","assistantMessageId":"m1","delta":"a \ud83d"}`),
			ev("session.updated", `{"messageCount":3}`),
			ev("model.streaming", `{"kind":"text_delta","assistantMessageId":"m1","delta":"\ude00 b"}`)},
			"agent m1 \"a \"\nagent m1 \"😀 b\""},
		{"half a pair alone is shown as what it is", nil, []string{
			ev("model.streaming", `{"kind":"text_delta","assistantMessageId":"m1","delta":"\uD83D"}`), text("m2", "b")},
			"agent m1 \"\ufffd\"\nagent m2 \"b\""},
		{"an escaped backslash begins no pair", nil, []string{
			ev("model.streaming", `{"kind":"text_delta","assistantMessageId":"m1","delta":"\\ud83d"}`)},
			`agent m1 "\\ud83d"`},
		{"half a pair is not lost at the end of a turn", []string{
			ev("turn.started", started), ev("model.streaming", `{"kind":"text_delta","assistantMessageId":"m1","delta":"\ud83d"}`)},
			[]string{ev("turn.completed", `{"resultType":"success"}`)}, "agent m1 \"\ufffd\"\nusage 0/100"},
	})
}

func TestTurns(t *testing.T) {
	testRows(t, TranslatorOptions{Window: 100}, []row{
		{"what was typed is shown", nil, []string{ev("turn.started", started)}, `user u1 "hi"`},
		{"with what came along", nil, []string{ev("turn.started", `{"input":"look","messageId":"u1","attachments":[
			{"kind":"image","filename":"a.png","mimeType":"image/png","dataBase64":"AAAA"},{"mime":"text/plain","filename":"b.txt","url":"attachment:b.txt"}]}`)},
			"user u1 \"look\"\nuser u1 image image/png AAAA\nuser u1 resource_link b.txt attachment:b.txt text/plain"},
		{"notes to the model are not", nil, []string{ev("turn.started", `{"input":"hi\n<system-reminder>be nice</system-reminder>","messageId":"u1"}`)}, `user u1 "hi"`},
		{"nor what nobody typed", nil, []string{ev("turn.started", `{"input":"go on","messageId":"u1","inputSource":"goal","inputVisibility":"model-only"}`)}, ""},
		{"an input that joins a turn is shown", []string{ev("turn.started", started)}, []string{
			ev("turn.steerQueued", `{"pendingInputId":"p","input":"quick"}`),
			ev("turn.steerDrained", `{"pendingInputIds":["p"],"drainedInputs":[{"input":"quick","messageId":"u2","inputId":"i2"}]}`)},
			`user u2 "quick"`},
		{"the end of a turn tells how full the context is", []string{ev("turn.started", started)}, []string{ev("turn.completed", answered)}, "usage 9/100"},
		{"what still comes of an older turn is not shown",
			[]string{ev("turn.started", started), ev("turn.completed", answered), evOf("t2", "turn.started", `{"input":"again","messageId":"u2"}`)},
			[]string{text("m1", "late"), tool("scheduled", omitted), evOf("t2", "model.streaming", `{"kind":"text_delta","assistantMessageId":"m2","delta":"new"}`)},
			`agent m2 "new"`},
		{"nor of one that was never seen", []string{evOf("t2", "turn.started", started)}, []string{text("m1", "old")}, ""},
		{"the end of an older turn ends nothing of this one",
			[]string{evOf("t2", "turn.started", started), evOf("t2", "tool.updated", `{"kind":"scheduled","toolCallId":"c","toolName":"Read","input":{"file_path":"/a"}}`)},
			[]string{ev("turn.completed", answered), evOf("t2", "tool.updated", `{"kind":"started","toolCallId":"c"}`)},
			"usage 9/100\nmore c in_progress"},
		{"a turn in the middle of which one comes is taken as it is", nil, []string{text("m1", "and so"), ev("turn.completed", answered), text("m1", "on")},
			"agent m1 \"and so\"\nusage 9/100"},
		{"a turn whose end got lost ends with the next", []string{ev("turn.started", started), tool("scheduled", `"toolName":"Read"`)},
			[]string{evOf("t2", "turn.started", `{"input":"again","messageId":"u2"}`)}, "more c failed\nuser u2 \"again\""},
		{"a turn for what finished in the background has ids of its own",
			[]string{ev("turn.started", `{"input":"done","messageId":"u1","inputSource":"background_task","inputVisibility":"model-only"}`)},
			[]string{text("msg_9", "It is done."), thought("msg_9", "So")}, "agent bg_msg_9 \"It is done.\"\nagent_thought_chunk thought_bg_msg_9 \"So\""},
		{"a generated title is shown", nil, []string{ev("session.titleUpdated", `{"title":"A title","source":"generated","previousTitle":""}`)},
			"title A title 2026-10-03T13:00:34.000Z"},
		{"the usage of a step is shown", nil, []string{
			ev("session.updated", `{"content":"x","contextWindow":200000,"querySource":"main_turn","usage":{"inputTokens":1200,"outputTokens":30}}`)}, "usage 1200/200000"},
		{"that of a helper's or of the title's is not", nil, []string{
			ev("session.updated", `{"contextWindow":200000,"querySource":"session_title","usage":{"inputTokens":7}}`),
			ev("session.updated", `{"type":"model_request_completed","usage":{"inputTokens":7}}`)}, ""},
		{"the context holds what was said when the turn ends",
			[]string{ev("turn.started", started), ev("session.updated", `{"contextWindow":200000,"usage":{"inputTokens":1200,"outputTokens":30}}`)},
			[]string{ev("turn.completed", `{"resultType":"success","usage":{"totalTokens":99999,"modelRequestCount":5}}`)}, "usage 1230/200000"},
	})
}

func TestAnUnknownWindowIsNotTold(t *testing.T) {
	tr := NewTranslator(TranslatorOptions{})
	if got := feed(tr, ev("turn.completed", answered)); len(got) > 0 {
		t.Errorf("got %s", show(got))
	}
	if got := brief(tr.Usage(9, 200)); got != "usage 9/200" {
		t.Errorf("got %s", got)
	}
	if got := brief(tr.Usage(10, 0)); got != "usage 10/200" {
		t.Errorf("size 0: got %s", got)
	}
}

func TestAPinnedTitleStays(t *testing.T) {
	tr := NewTranslator(TranslatorOptions{Pinned: true})
	title := ev("session.titleUpdated", `{"title":"A title"}`)
	if got := feed(tr, title); len(got) > 0 {
		t.Errorf("got %s", show(got))
	}
	tr.Pin(false)
	if got := feed(tr, title); len(got) != 1 {
		t.Errorf("after Pin(false) got %s", show(got))
	}
}

func TestAnInputIsShownOnce(t *testing.T) {
	tr := NewTranslator(TranslatorOptions{})
	tr.Shown("i1")
	if got := feed(tr, ev("turn.started", started)); len(got) > 0 {
		t.Errorf("an input of this connection's own came back: %s", show(got))
	}
	stored := []json.RawMessage{json.RawMessage(`{"info":{"id":"u1","role":"user"},"parts":[{"type":"text","text":"hi"}]}`)}
	if got := tr.Reconcile(stored); len(got) > 0 {
		t.Errorf("and again: %s", show(got))
	}
}

func TestAfterACancelNothingMoreIsShownOfTheTurn(t *testing.T) {
	tr := NewTranslator(TranslatorOptions{Window: 100})
	feed(tr, ev("turn.started", started), tool("scheduled", `"toolName":"Read","input":{"file_path":"/a"}`))
	if got := brief(tr.Cancel()); got != "more c failed" {
		t.Errorf("Cancel gave %q", got)
	}
	if got := feed(tr, tool("result", `"result":{"success":true,"content":"x"}`), text("m", "late"), ev("turn.completed", `{"resultType":"cancelled"}`)); len(got) > 0 {
		t.Errorf("late: %s", show(got))
	}
	if got := brief(feed(tr, evOf("t2", "turn.started", `{"input":"next","messageId":"u2"}`))); got != `user u2 "next"` {
		t.Errorf("the next turn gave %q", got)
	}
}

func TestACancelWithNoTurnIsNothing(t *testing.T) {
	tr := NewTranslator(TranslatorOptions{Window: 100})
	if got := tr.Cancel(); len(got) > 0 {
		t.Errorf("got %s", show(got))
	}
	if got := brief(feed(tr, ev("turn.started", started), text("m", "hello"))); got != "user u1 \"hi\"\nagent m \"hello\"" {
		t.Errorf("the next turn gave %q", got)
	}
}

func TestUnknownEventsAreCounted(t *testing.T) {
	tr := NewTranslator(TranslatorOptions{})
	updates := feed(tr, ev("plugin.sparkled", `{}`), ev("hub.advanced", `{}`), `{}`, `{"type":7}`, ev("checkpoint.created", `{}`), ev("", `null`))
	if len(updates) > 0 || tr.Ignored() != 4 {
		t.Errorf("ignored %d of 6, told %s; want 4 and nothing", tr.Ignored(), show(updates))
	}
}

func TestARingForgetsTheOldestOnly(t *testing.T) {
	var r ring[int]
	for i := range 3 * maxRemembered {
		r.put(fmt.Sprint(i), i)
		if len(r.order) > maxRemembered+1 || len(r.byKey) != len(r.order) {
			t.Fatalf("after %d entries it holds %d and %d", i+1, len(r.order), len(r.byKey))
		}
	}
	if _, ok := r.get(fmt.Sprint(3*maxRemembered - maxRemembered/4)); !ok {
		t.Error("a recent entry is gone")
	}
	if _, ok := r.get("0"); ok {
		t.Error("the first entry is still there")
	}
}
