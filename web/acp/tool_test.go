package acp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestToolCards(t *testing.T) {
	ls := called("c", "Bash", `{"command":"ls -l","description":"List"}`)
	card := `card c pending execute Bash: ls -l in={"command":"ls -l","description":"List"}`
	read := tool("scheduled", `"toolName":"Read","input":{"file_path":"/w/a.go","offset":7}`)
	testRows(t, TranslatorOptions{}, []row{
		{"the arguments come from the call where the schedule leaves them out", []string{ls}, []string{tool("scheduled", omitted)}, card},
		{"a schedule with arguments needs no call", nil, []string{read},
			`card c pending read Read: /w/a.go @/w/a.go:7 in={"file_path":"/w/a.go","offset":7}`},
		{"a card is begun once", []string{ls, tool("scheduled", omitted)}, []string{tool("scheduled", omitted), ls}, ""},
		{"it runs", []string{ls, tool("scheduled", omitted)}, []string{tool("started", `"startedAt":1`), tool("started", `"startedAt":1`)}, "more c in_progress"},
		{"an event of an unknown call begins its card", nil, []string{tool("started", `"toolName":"Read"`)}, "card c pending read Read\nmore c in_progress"},
		{"even its result", nil, []string{tool("result", `"result":{"success":true,"content":"x"}`)},
			"card c pending other Tool\nmore c completed [\"x\"] out=\"x\""},
		{"what a command printed stands in a fence", []string{ls, tool("scheduled", omitted)}, []string{tool("result", `"result":{"success":true,"content":"a\nb\n"}`)},
			`more c completed ["` + "```console\\na\\nb\\n```" + `"] out="a\nb\n"`},
		{"the fence is longer than those in the text", []string{ls, tool("scheduled", omitted)}, []string{tool("result", `"result":{"success":true,"content":"`+"````"+`"}`)},
			`more c completed ["` + "`````console\\n````\\n`````" + `"] out="` + "````" + `"`},
		{"what was read is shown as it is", []string{read}, []string{tool("result", `"result":{"success":true,"content":"     1\tpackage a"}`)},
			`more c completed ["     1\tpackage a"] out="     1\tpackage a"`},
		{"notes to the model are taken out", []string{read}, []string{tool("result", `"result":{"success":true,"content":"text\n<system-reminder>x\ny</system-reminder>"}`)},
			`more c completed ["text"] out="text"`},
		{"a result may be a text or a list of blocks", []string{read}, []string{tool("result", `"result":{"success":true,"content":[
			{"type":"text","text":"a"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"text","text":"b"}]}`)},
			`more c completed ["a\nb"] [image image/png AAAA] out="a\nb"`},
		{"a result that says nothing", []string{read}, []string{tool("result", `"result":null`)}, "more c completed"},
		{"a result that failed", []string{read}, []string{tool("result", `"result":{"success":false,"content":"","error":"no such file"}`)},
			"more c failed [\"```\\nno such file\\n```\"]"},
		{"an error", []string{read}, []string{tool("error", `"error":{"type":"E","message":"broken \u001b[31mred\u001b[0m"}`)},
			"more c failed [\"```\\nbroken red\\n```\"]"},
		{"a final card stays final", []string{read, tool("result", `"result":{"success":true,"content":"x"}`)}, []string{
			tool("started", ""), tool("progress", `"stdoutTail":"x"`), tool("error", `"error":"late"`), ev("tool.updated", `{"kind":"batch","toolCallIds":["c"],"errorCount":1}`), ev("turn.completed", answered)}, ""},
		{"a denied call ends with its batch and says why", []string{ls, tool("scheduled", omitted), ev("permission.resolved", `{"toolCallId":"c","decision":"deny","reason":"not now"}`)},
			[]string{ev("tool.updated", `{"kind":"batch","toolCallIds":["c","other"],"successCount":0,"errorCount":1}`)}, "more c failed [\"```\\nnot now\\n```\"]"},
		{"a batch that went well ends what had no end", []string{ls, tool("scheduled", omitted)},
			[]string{ev("tool.updated", `{"kind":"batch","toolCallIds":["c"],"successCount":1,"errorCount":0}`)}, "more c completed"},
		{"no card runs on after its turn", []string{ls, tool("scheduled", omitted), tool("started", "")}, []string{ev("turn.completed", answered)}, "more c completed"},
		{"nor after one that failed", []string{ls, tool("scheduled", omitted), tool("started", "")}, []string{ev("turn.failed", `{"error":{"message":"x"}}`)}, "more c failed"},
		{"nor after one that was stopped", []string{ls, tool("scheduled", omitted)}, []string{ev("turn.completed", `{"resultType":"cancelled"}`)}, "more c failed"},
		{"the call of a helper names its parent", nil, []string{tool("scheduled", `"toolName":"Read","input":{"file_path":"/a"},"source":"subagent","parentToolCallId":"p"`)},
			`card c pending read Read: /a @/a:0 in={"file_path":"/a"} claudeCode={"parentToolUseId":"p"}`},
		{"what a helper does in the background is not shown", nil, []string{tool("scheduled", `"toolName":"Read","source":"subagent","background":true`), tool("result", `"source":"subagent","background":true,"result":{"content":"x"}`)}, ""},
		{"a helper agent's card says so", nil, []string{tool("scheduled", `"toolName":"Task","input":{"description":"Look around","prompt":"x"}`)},
			`card c pending other Task: Look around in={"description":"Look around","prompt":"x"} subagent=true`},
		{"a plan stays in its card", []string{tool("scheduled", `"toolName":"ExitPlanMode","input":{"plan":"1. do"}`)}, []string{tool("result", `"result":{"success":true,"content":"approved"}`)},
			`more c completed ["1. do"] ["approved"] out="approved"`},
	})
}

func TestPlansOfTodos(t *testing.T) {
	write := func(id, status string) []string {
		return []string{called(id, "TodoWrite", fmt.Sprintf(`{"todos":[{"content":"Read","status":%q,"activeForm":"Reading","priority":"high"}]}`, status)),
			ev("tool.updated", fmt.Sprintf(`{"kind":"scheduled","toolCallId":%q,"toolName":"TodoWrite"}`, id))}
	}
	done := func(id string) string {
		return ev("tool.updated", fmt.Sprintf(`{"kind":"result","toolCallId":%q,"result":{"success":true,"content":"ok"}}`, id))
	}
	testRows(t, TranslatorOptions{}, []row{
		{"todos are the plan once they are written", write("a", "in_progress"), []string{done("a")},
			"more a completed [\"ok\"] out=\"ok\"\nplan Read:high:in_progress"},
		{"the same todos are told once", append(append(write("a", "pending"), done("a")), write("b", "pending")...), []string{done("b")},
			"more b completed [\"ok\"] out=\"ok\""},
		{"todos that were refused are no plan", write("a", "pending"), []string{ev("tool.updated", `{"kind":"result","toolCallId":"a","result":{"success":false,"error":"no"}}`)},
			"more a failed [\"```\\nno\\n```\"]"},
	})
	tr := NewTranslator(TranslatorOptions{})
	todos := []byte(`[{"content":"A","status":"inProgress"},{"content":"B","status":"done","priority":"low"},{"content":"","activeForm":"C","status":"odd"},{}]`)
	const want = "plan A:medium:in_progress B:low:completed C:medium:pending …:medium:pending"
	for range 2 {
		if got := brief(tr.Plan(todos)); got != want {
			t.Errorf("Plan gave %q, want %q each time", got, want)
		}
	}
	if got := tr.StateUpdated([]byte(`{"patch":{"todos":` + string(todos) + `}}`)); len(got) > 0 {
		t.Errorf("todos that were told came again: %s", show(got))
	}
	for _, bad := range []string{``, `null`, `{}`, `"x"`} {
		if got := tr.Plan([]byte(bad)); got != nil {
			t.Errorf("Plan(%q) gave %s", bad, show(got))
		}
	}
	if got := brief(tr.Plan([]byte(`[]`))); got != "plan" {
		t.Errorf("no todos are %q, want an empty plan", got)
	}
}

func TestDiffs(t *testing.T) {
	edit := tool("scheduled", `"toolName":"Edit","input":{"file_path":"/w/a","old_string":"x","new_string":"y"}`)
	write := tool("scheduled", `"toolName":"Write","input":{"file_path":"/w/new","content":"hello"}`)
	result := func(display string) string {
		return tool("result", `"result":{"success":true,"content":"ok","display":`+display+`}`)
	}
	testRows(t, TranslatorOptions{}, []row{
		{"hunks of a file", []string{edit}, []string{result(`{"kind":"file_diff","filePath":"/w/b","structuredPatch":[
			{"oldStart":3,"oldLines":2,"newStart":3,"newLines":2,"lines":[" a","-x","+y",""]},{"oldStart":9,"oldLines":0,"newStart":10,"newLines":1,"lines":["+z"]}]}`)},
			`more c completed [diff /w/b "a\nx\n\n" "a\ny\n\n"] [diff /w/b "" "z\n"] @/w/b:3 @/w/b:10 out="ok"`},
		{"several files", []string{edit}, []string{result(`{"kind":"file_diffs","files":[
			{"filePath":"/w/b","structuredPatch":[{"oldStart":1,"newStart":1,"lines":["-x","+y"]}]},{"structuredPatch":[{"lines":["-x"]}]},
			{"filePath":"/w/c","structuredPatch":[{"oldStart":0,"newStart":1,"lines":["+y"]}]}]}`)},
			`more c completed [diff /w/b "x\n" "y\n"] [new /w/c "y\n"] @/w/b:1 @/w/c:1 out="ok"`},
		{"the text of a unified diff", []string{edit}, []string{result(`{"kind":"diff","filePath":"/w/b","diff":"--- a/b\n+++ b/b\n@@ -1,3 +1,3 @@ func\n a\n-x\n+y\n\\ No newline at end of file\n@@ odd @@\n"}`)},
			`more c completed [diff /w/b "a\nx\n" "a\ny\n"] @/w/b:1 out="ok"`},
		{"without a display the arguments tell", []string{edit}, []string{tool("result", `"result":{"success":true,"content":"ok"}`)},
			`more c completed [diff /w/a "x" "y"] @/w/a:0 out="ok"`},
		{"a written file is new", []string{write}, []string{tool("result", `"result":{"success":true,"content":"ok"}`)},
			`more c completed [new /w/new "hello"] @/w/new:0 out="ok"`},
		{"a failed edit changed nothing", []string{edit}, []string{tool("result", `"result":{"success":false,"content":"not found"}`)},
			"more c failed [\"```\\nnot found\\n```\"]"},
		{"a display that is none", []string{edit}, []string{result(`{"structuredPatch":"x","diff":7,"files":[[]]}`)}, `more c completed [diff /w/a "x" "y"] @/w/a:0 out="ok"`},
		{"a tool that changes no files has no diff", []string{tool("scheduled", `"toolName":"Read"`)}, []string{result(`{"kind":"file_diff","filePath":"/w/b","structuredPatch":[{"lines":["+z"]}]}`)},
			`more c completed ["ok"] out="ok"`},
	})
}

func TestTitlesAndKinds(t *testing.T) {
	long := strings.Repeat("ä", 80)
	path := "/w/" + strings.Repeat("deep/", 20) + "file.go"
	for _, c := range []struct{ tool, input, title, kind string }{
		{"Bash", `{"command":"` + long + `","description":"d"}`, "Bash: " + long, "execute"},
		{"Read", `{"file_path":"` + path + `"}`, "Read: …" + path[len(path)-59:], "read"},
		{"Edit", `{"file_path":"/a"}`, "Edit: /a", "edit"},
		{"Write", `{"file_path":"/a","content":"x"}`, "Write: /a", "edit"},
		{"NotebookEdit", `{"notebook_path":"/a.ipynb"}`, "NotebookEdit: /a.ipynb", "edit"},
		{"Grep", `{"pattern":"` + long + `","path":"/w"}`, "Grep: " + strings.Repeat("ä", 59) + "…", "search"},
		{"Glob", `{"pattern":"*.go"}`, "Glob: *.go", "search"},
		{"WebFetch", `{"url":"https://a.invalid/b","prompt":"read it"}`, "WebFetch: read it", "fetch"},
		{"WebSearch", `{"query":"go 1.26"}`, "WebSearch: go 1.26", "fetch"},
		{"Task", `{"prompt":"Do\n  this  now"}`, "Task: Do this now", "other"},
		{"TodoWrite", `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"pending"}]}`, "TodoWrite: 1 of 2 done", "other"},
		{"AskUserQuestion", `{"questions":[{"question":"Why?"}]}`, "AskUserQuestion: Why?", "other"},
		{"ExitPlanMode", `{"plan":"x"}`, "ExitPlanMode", "switch_mode"},
		{"mcp__server__tool", `{}`, "mcp__server__tool", "other"},
		{"", ``, "Tool", "other"},
		{"Bash", `{"command":7}`, "Bash", "execute"},
		{"Read", `[]`, "Read", "read"},
	} {
		if got := toolTitle(c.tool, json.RawMessage(c.input)); got != c.title {
			t.Errorf("toolTitle(%s, %.60s) = %q, want %q", c.tool, c.input, got, c.title)
		}
		if got := toolKind(c.tool); got != c.kind {
			t.Errorf("toolKind(%s) = %q, want %q", c.tool, got, c.kind)
		}
	}
}

func TestHugeValuesAreCut(t *testing.T) {
	huge := strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB
	quoted := string(encode(huge))
	tr := NewTranslator(TranslatorOptions{})
	updates := feed(tr, called("c", "Write", `{"file_path":"/a","content":`+quoted+`}`), tool("scheduled", `"toolName":"Write"`),
		tool("result", `"result":{"success":true,"content":`+quoted+`}`), text("m", "x"))
	updates = append(updates, feed(tr, ev("tool.updated", `{"kind":"error","toolCallId":"d","toolName":"Bash","error":`+quoted+`}`))...)
	valid(t, updates)
	for _, u := range updates {
		if len(u.JSON) > 3*maxOutput {
			t.Errorf("an update has %d bytes: %.100s", len(u.JSON), u.JSON)
		}
	}
	if last := string(updates[1].JSON); !strings.Contains(last, "…") || !strings.Contains(last, `"status":"completed"`) {
		t.Errorf("the end of the call is %.200s", last)
	}
}

func TestBrokenTextStaysValid(t *testing.T) {
	tr := NewTranslator(TranslatorOptions{})
	broken := ev("model.streaming", "{\"kind\":\"tool_call\",\"toolCallId\":\"c\",\"toolName\":\"mcp\xff\",\"input\":{\"a\":\"\xff\xc3\",\"b\":\"\\ud83d\"}}")
	updates := feed(tr, broken, tool("scheduled", ""), tool("result", "\"result\":{\"success\":true,\"content\":\"\\ud83d \\u0000 \\u001b[2J x\"}"))
	valid(t, updates)
	if got := brief(updates[1:]); got != `more c completed ["� \x00  x"] out="� \u0000  x"` {
		t.Errorf("got %s", got)
	}
}

func TestIntroduceBeginsACardOnce(t *testing.T) {
	tr := NewTranslator(TranslatorOptions{})
	a, _ := ReadAsk(methodPermission, []byte(`{"requestId":"r","sessionId":"s","toolCallId":"c","toolName":"Bash","input":{"command":"ls"},"options":[]}`))
	if got := brief(tr.Introduce(a)); got != `card c pending execute Bash: ls in={"command":"ls"}` {
		t.Errorf("got %s", got)
	}
	if got := tr.Introduce(a); len(got) > 0 {
		t.Errorf("and again: %s", show(got))
	}
	if got := feed(tr, tool("scheduled", omitted)); len(got) > 0 {
		t.Errorf("its event begins it again: %s", show(got))
	}
	late := NewTranslator(TranslatorOptions{})
	feed(late, tool("scheduled", omitted))
	if got := brief(late.Introduce(a)); got != `more c Bash: ls in={"command":"ls"}` {
		t.Errorf("a card without arguments: %s", got)
	}
	if got := tr.Introduce(&Ask{RequestID: "r"}); len(got) > 0 {
		t.Errorf("a question without a call has a card: %s", show(got))
	}
}
