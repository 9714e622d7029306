package acp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkEvent is what one event costs for one connection.
func BenchmarkEvent(b *testing.B) {
	ls := ev("tool.updated", `{"kind":"scheduled","toolCallId":"%d","toolName":"Bash","input":{"command":"ls -l","description":"List"}}`)
	for _, c := range []struct{ name, event string }{
		{"delta", text("msg_musegvto_b5ed0b22-b371-474d-b342-02cc1586af60", "a few words of an answer ")},
		{"delta-of-64KiB", text("msg_musegvto_b5ed0b22-b371-474d-b342-02cc1586af60", strings.Repeat("words of an answer ", 3450))},
		{"scheduled", ls},
		{"progress", tool("progress", `"stdoutTail":"`+strings.Repeat("one line of output\\n", 100)+`"`)},
		{"usage", ev("session.updated", `{"content":"x","contextWindow":200000,"usage":{"inputTokens":1200,"outputTokens":30}}`)},
		{"unseen", ev("streamRecovery.updated", `{"anchorId":"a","attemptId":"b","kind":"tool_result"}`)},
	} {
		b.Run(c.name, func(b *testing.B) {
			tr := NewTranslator(TranslatorOptions{SessionID: "s", Terminal: true, Window: 200000})
			feed(tr, ev("turn.started", started), called("c", "Bash", `{"command":"ls"}`), tool("scheduled", omitted))
			b.SetBytes(int64(len(c.event)))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				event := c.event
				if c.name == "scheduled" {
					event = fmt.Sprintf(event, i)
					i++
				}
				tr.Event([]byte(event))
			}
		})
	}
}

// BenchmarkLoad is a session/load of a history of 2,000 messages, its last 30 and all of it.
func BenchmarkLoad(b *testing.B) {
	var messages []json.RawMessage
	for i := range 500 {
		messages = append(messages,
			json.RawMessage(storedMessage(fmt.Sprint("u", i), `{"type":"text","text":"please go on"}`)),
			json.RawMessage(storedMessage(fmt.Sprint("a", i), `{"type":"reasoning","text":"`+strings.Repeat("thought ", 40)+`"}`,
				fmt.Sprintf(`{"type":"tool","callID":"c%d","tool":"Bash","state":{"status":"completed","input":{"command":"ls"},"output":%q}}`, i, strings.Repeat("line\n", 400)))),
			json.RawMessage(storedMessage(fmt.Sprint("b", i), `{"type":"text","text":"`+strings.Repeat("answer ", 60)+`"}`)),
			json.RawMessage(storedMessage(fmt.Sprint("h", i), `{"type":"text","text":"a note to the model"}`)))
	}
	for name, page := range map[string]func(*Log) Page{"tail": func(l *Log) Page { return l.Tail(30) }, "all": (*Log).All} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewTranslator(TranslatorOptions{}).History(page(ReadLog(messages)).Messages)
			}
		})
	}
}
