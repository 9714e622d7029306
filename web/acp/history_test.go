package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// stored makes messages of the store's form: u1 is a user's, a1 the agent's, h1 hidden.
func stored(ids ...string) (list []json.RawMessage) {
	for _, id := range ids {
		list = append(list, json.RawMessage(storedMessage(id, fmt.Sprintf(`{"type":"text","text":"text of %s"}`, id))))
	}
	return list
}

func storedMessage(id string, parts ...string) string {
	role, more := roleAssistant, ""
	switch id[0] {
	case 'u':
		role = roleUser
	case 'h':
		role, more = roleUser, `,"semantics":{"kind":"user_prompt","transcriptVisibility":"hidden"}`
	}
	return fmt.Sprintf(`{"info":{"id":%q,"role":%q%s},"parts":[%s]}`, id, role, more, strings.Join(parts, ","))
}

// ids names the messages of a page.
func ids(p Page) string {
	var list []string
	for _, raw := range p.Messages {
		list = append(list, textOf(memberOf(raw, "info"), "id"))
	}
	return strings.Join(list, " ")
}

func TestATailBeginsWithItsTurn(t *testing.T) {
	l := ReadLog(stored("a0", "u1", "a1", "h1", "a2", "u2", "a3", "a4"))
	for _, c := range []struct {
		limit int
		want  string
		turns int
		more  bool
	}{
		{0, "", 0, true}, {1, "u2 a3 a4", 1, true}, {3, "u2 a3 a4", 1, true}, {4, "u1 a1 a2 u2 a3 a4", 2, true},
		{7, "a0 u1 a1 a2 u2 a3 a4", 2, false}, {500, "a0 u1 a1 a2 u2 a3 a4", 2, false},
	} {
		p := l.Tail(c.limit)
		if got := ids(p); got != c.want || p.Meta.ReplayedTurns != c.turns || p.Meta.HasMore != c.more || (p.Meta.Cursor != nil) != c.more {
			t.Errorf("Tail(%d) = %s with %s; want %s, %d turns, more %v", c.limit, got, encode(p.Meta), c.want, c.turns, c.more)
		}
		if p.Meta.TotalMessages != 7 || p.Meta.TotalTurns != 2 || p.Meta.ReplayedMessages != len(p.Messages) {
			t.Errorf("Tail(%d) counts %s", c.limit, encode(p.Meta))
		}
	}
	if got := ids(l.All()); got != "a0 u1 a1 a2 u2 a3 a4" {
		t.Errorf("All() = %s", got)
	}
}

func TestEmptyHistory(t *testing.T) {
	p := ReadLog(nil).Tail(30)
	if len(p.Messages) > 0 || p.Meta.HasMore || p.Meta.Cursor != nil {
		t.Errorf("got %s", encode(p.Meta))
	}
	if got := string(encode(p.Meta)); got != `{"cursor":null,"hasMore":false,"replayedMessages":0,"replayedTurns":0,"totalMessages":0,"totalTurns":0}` {
		t.Errorf("got %s", got)
	}
}

// Whatever the sizes of pages: together they are the history, each message once, in order, and no page begins in the
// middle of a turn.
func TestPagesMakeTheWholeHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"u", "a", "a", "h"}), 0, 40).Draw(t, "kinds")
		var names []string
		for i, kind := range kinds {
			names = append(names, fmt.Sprint(kind, i))
		}
		messages := stored(names...)
		l := ReadLog(messages)
		p := l.Tail(rapid.IntRange(0, 45).Draw(t, "limit"))
		all := ids(p)
		for p.Meta.HasMore {
			grown := ReadLog(append(messages, stored("u98", "a99")...)) // turns that came since leave the cursor valid
			next, err := grown.Before(*p.Meta.Cursor, rapid.IntRange(0, 9).Draw(t, "page"))
			if err != nil || len(next.Messages) == 0 {
				t.Fatalf("Before gave %d messages, %v", len(next.Messages), err)
			}
			p = next
			all = strings.TrimSpace(ids(p) + " " + all)
		}
		if want := ids(l.All()); all != want {
			t.Fatalf("pages: %s\nwant:  %s", all, want)
		}
	})
}

func TestACursorExpiresWhenTheHistoryShrinks(t *testing.T) {
	l := ReadLog(stored("u1", "a1", "u2", "a2", "u3", "a3"))
	cursor := *l.Tail(2).Meta.Cursor
	for name, c := range map[string]struct {
		log    *Log
		cursor string
	}{
		"shorter":          {ReadLog(stored("u1", "a1", "u2")), cursor},
		"compacted":        {ReadLog(stored("u9", "a9", "u2", "a9", "u3", "a3")), cursor},
		"fewer turns":      {ReadLog(stored("a0", "a1", "u2", "a2", "a3", "a4", "a5")), cursor},
		"empty":            {l, ""},
		"garbage":          {l, "1.x"},
		"another version":  {l, "2" + cursor[1:]},
		"no object":        {l, cursorVersion + "bnVsbA"},
		"negative":         {l, cursorOf(-1, 0, "")},
		"beyond the end":   {l, cursorOf(99, 0, "")},
		"another message":  {l, cursorOf(2, 0, "a2")},
		"turns to come":    {l, cursorOf(2, 99, "a1")},
		"a number too big": {l, cursorVersion + "eyJpIjoxZTk5fQ"},
	} {
		if _, err := c.log.Before(c.cursor, 5); !errors.Is(err, ErrCursorExpired) || !strings.Contains(err.Error(), "cursor expired") {
			t.Errorf("%s: %v, want cursor expired", name, err)
		}
	}
	if p, err := l.Before(cursor, 1); err != nil || ids(p) != "u2 a2" {
		t.Errorf("the cursor itself: %s, %v", ids(p), err)
	}
	if p, err := l.Before(cursorOf(0, 0, ""), 1); err != nil || len(p.Messages) > 0 || p.Meta.HasMore {
		t.Errorf("before the first: %s, %v", ids(p), err)
	}
}

func cursorOf(index, turns int, id string) string { return cursor{index, turns, id}.encode() }

func TestLimits(t *testing.T) {
	for raw, want := range map[string]string{
		`{"zcode":{"limit":30}}`: "30", `{"zcode":{"limit":0}}`: "0", `{"zcode":{"limit":9999}}`: "500", `{"zcode":{"limit":2.7}}`: "2",
		`{"zcode":{"limit":-1}}`: "all", `{"zcode":{"limit":null}}`: "all", `{"zcode":{"limit":"30"}}`: "all", `{"zcode":{"limit":1e999}}`: "all",
		`{"zcode":{}}`: "all", `{}`: "all", `null`: "all", ``: "all", `{"zcode":[]}`: "all",
	} {
		limit, all := ReadLimit([]byte(raw))
		got := fmt.Sprint(limit)
		if all {
			got = "all"
		}
		if got != want {
			t.Errorf("ReadLimit(%s) = %s, want %s", raw, got, want)
		}
	}
	for raw, want := range map[string]int{``: 50, `null`: 50, `0`: 50, `-3`: 50, `7`: 7, `1e9`: 500, `"7"`: 50} {
		if got := ReadEarlierLimit([]byte(raw)); got != want {
			t.Errorf("ReadEarlierLimit(%s) = %d, want %d", raw, got, want)
		}
	}
}

func TestReplay(t *testing.T) {
	toolPart := func(name, state string) string {
		return fmt.Sprintf(`{"type":"tool","callID":"c","tool":%q,"state":%s}`, name, state)
	}
	for _, c := range []struct{ name, message, want string }{
		{"what was typed", storedMessage("u1", `{"type":"text","text":"hi"}`), `user u1 "hi"`},
		{"the form of snapshots", `{"info":{"messageId":"m1","role":"assistant"},"parts":[{"partId":"p","type":"reasoning","text":"Hm"},{"partId":"p","type":"text","text":"Yes"},
			{"type":"tool","callId":"c","tool":"Bash","state":{"status":"completed","input":{"command":"ls"},"output":"x","title":"List files"}}]}`,
			"agent_thought_chunk thought_m1 \"Hm\"\nagent m1 \"Yes\"\n" +
				"card c completed execute List files [\"```json\\n{\\n  \\\"command\\\": \\\"ls\\\"\\n}\\n```\"] [\"```console\\nx\\n```\"] in={\"command\":\"ls\"} out=\"x\""},
		{"one chunk for each part", storedMessage("a1", `{"type":"step-start"}`, `{"type":"text","text":"one"}`, `{"type":"text","text":"two"}`, `{"type":"step-finish"}`),
			"agent a1 \"one\"\nagent a1 \"two\""},
		{"a thought may be called content", storedMessage("a1", `{"type":"reasoning","content":"Hm"}`), `agent_thought_chunk thought_a1 "Hm"`},
		{"pictures are pictures", storedMessage("u1", `{"type":"text","text":"look"}`, `{"type":"file","mime":"image/png","filename":"a.png","url":"data:image/png;base64,AAAA"}`),
			"user u1 \"look\"\nuser u1 image image/png AAAA"},
		{"files are links", storedMessage("u1", `{"type":"file","mime":"application/pdf","filename":"a b.pdf","url":"file:///tmp/a.pdf"}`, `{"type":"file","mime":"text/plain","filename":"c d","url":"data:text/plain;base64,AAAA"}`),
			"user u1 resource_link a b.pdf file:///tmp/a.pdf application/pdf\nuser u1 resource_link c d attachment:c%20d text/plain"},
		{"what is hidden is not there", storedMessage("h1", `{"type":"text","text":"secret"}`), ""},
		{"nor what only the model sees", `{"info":{"messageId":"m1","role":"user","visibility":"model-only"},"parts":[{"type":"text","text":"x"}]}`, ""},
		{"nor what the runtime wrote", `{"info":{"id":"m1","role":"user","semantics":{"origin":"agent_runtime","kind":"user_prompt"}},"parts":[{"type":"text","text":"x"}]}`, ""},
		{"nor a reminder", `{"info":{"id":"m1","role":"user","semantics":{"kind":"todo_reminder","transcriptVisibility":"visible"}},"parts":[{"type":"text","text":"x"}]}`, ""},
		{"nor what is nothing but a note to the model", storedMessage("u1", `{"type":"text","text":"<system-reminder>\nx\n</system-reminder>\n"}`), ""},
		{"nor a nudge of old versions", storedMessage("u1", `{"type":"text","text":"The TodoWrite tool hasn't been used recently. If you"}`), ""},
		{"of the rest the note is taken out", storedMessage("u1", `{"type":"text","text":"do it\n<system-reminder>x</system-reminder>"}`), `user u1 "do it"`},
		{"the agent's words are left alone", storedMessage("a1", `{"type":"text","text":"write <system-reminder>x</system-reminder>"}`), `agent a1 "write <system-reminder>x</system-reminder>"`},
		{"a summary is folded", `{"info":{"id":"m1","role":"user","semantics":{"kind":"compact_summary","origin":"agent_runtime","transcriptVisibility":"visible"}},"parts":[{"type":"text","text":"We did"}]}`,
			`card histfold_m1 completed other Summary of the conversation so far ["We did"] zcode={"collapsed":true,"kind":"compact-summary"}`},
		{"a hand-over as well", `{"info":{"id":"m1","role":"user","semantics":{"kind":"shared_context"}},"parts":[{"type":"text","text":"x"}]}`,
			`card histfold_m1 completed other Context from another session ["x"] zcode={"collapsed":true,"kind":"context-handoff"}`},
		{"and what finished in the background", storedMessage("u1", `{"type":"text","text":"<task-notification>done</task-notification>"}`),
			`card histfold_u1 completed other Background task finished ["<task-notification>done</task-notification>"] zcode={"collapsed":true,"kind":"task-notification"}`},
		{"a change shows its diff", storedMessage("a1", toolPart("Edit", `{"status":"completed","input":{"file_path":"/a","old_string":"x","new_string":"y"},"output":"ok","title":"/a",
			"metadata":{"display":{"kind":"file_diff","filePath":"/a","structuredPatch":[{"oldStart":4,"newStart":4,"lines":["-x","+y"]}]}}}`)),
			`card c completed edit /a [diff /a "x\n" "y\n"] @/a:4 in={"file_path":"/a","old_string":"x","new_string":"y"} out="ok"`},
		{"an error", storedMessage("a1", toolPart("Read", `{"status":"error","input":{},"error":"no such file"}`)),
			"card c failed read Read [\"```\\nno such file\\n```\"] in={}"},
		{"what was running is over", storedMessage("a1", toolPart("Read", `{"status":"running","input":{}}`)),
			"card c failed read Read [\"```\\nThis did not finish.\\n```\"] in={}"},
		{"a call without an id", storedMessage("a1", `{"type":"text","text":"x"}`, `{"type":"tool","tool":"Read","state":{"status":"completed","output":"y"}}`),
			"agent a1 \"x\"\ncard a1_1 completed read Read [\"y\"] out=\"y\""},
		{"a part of an unknown type", storedMessage("a1", `{"type":"snapshot"}`, `7`, `null`), ""},
		{"no message", `7`, ""},
		{"no parts", `{"info":{"id":"m","role":"user"},"parts":null}`, ""},
	} {
		got := NewTranslator(TranslatorOptions{}).History([]json.RawMessage{json.RawMessage(c.message)})
		valid(t, got)
		if text := brief(got); text != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, text, c.want)
		}
	}
}

func TestAMessageThatIsStoredTwiceIsToldOnce(t *testing.T) {
	first := storedMessage("a1", `{"type":"text","text":"old"}`)
	last := storedMessage("a1", `{"type":"text","text":"new"}`)
	list := append([]json.RawMessage{json.RawMessage(first)}, append(stored("u2"), json.RawMessage(last))...)
	if got := brief(NewTranslator(TranslatorOptions{}).History(list)); got != "agent a1 \"new\"\nuser u2 \"text of u2\"" {
		t.Errorf("got\n%s", got)
	}
}

func TestInARunningTurnCallsAreOpen(t *testing.T) {
	messages := append(stored("u1"),
		json.RawMessage(storedMessage("a1", `{"type":"tool","callID":"old","tool":"Read","state":{"status":"running","input":{}}}`)),
		stored("u2")[0],
		json.RawMessage(storedMessage("a2", `{"type":"tool","callID":"c","tool":"Bash","state":{"status":"running","input":{"command":"ls"}}}`,
			`{"type":"tool","callID":"d","tool":"Read","state":{"status":"pending","input":{}}}`)))
	tr := NewTranslator(TranslatorOptions{Terminal: true})
	tr.Running("t1")
	updates := tr.History(messages)
	live := feed(tr, tool("progress", `"stdoutTail":"x"`), tool("result", `"result":{"success":true,"content":"xy"}`), ev("turn.completed", `{"resultType":"cancelled"}`))
	if open := valid(t, append(updates, live...)).open(); len(open) > 0 {
		t.Errorf("open: %v", open)
	}
	if got := newStory(); true {
		for _, u := range updates {
			got.add(u)
		}
		if fmt.Sprint(got.open()) != "[c d]" {
			t.Errorf("open after the replay: %v, want c and d", got.open())
		}
	}
	const want = "more c in_progress [\"```console\\nx\\n```\"]\nmore c completed [\"```console\\nxy\\n```\"] out=\"xy\"\nmore d failed"
	if got := brief(live); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A history in several pieces is the same story as in one.
func TestAHistoryMayComeInPieces(t *testing.T) {
	running := `{"type":"tool","callID":"%s","tool":"Read","state":{"status":"running","input":{}}}`
	messages := append(stored("u1"), json.RawMessage(storedMessage("a1", fmt.Sprintf(running, "old"))), stored("u2")[0],
		json.RawMessage(storedMessage("a2", fmt.Sprintf(running, "new"))))
	for at := range len(messages) {
		tr := NewTranslator(TranslatorOptions{})
		tr.Running("t1")
		updates := append(tr.History(messages[:at]), tr.History(messages[at:])...)
		if open := valid(t, updates).open(); fmt.Sprint(open) != "[new]" {
			t.Errorf("in pieces of %d and %d: open are %v\n%s", at, len(messages)-at, open, brief(updates))
		}
	}
}

func TestEarlierPagesAreMarkedAndChangeNothing(t *testing.T) {
	tr := NewTranslator(TranslatorOptions{})
	tr.History(stored("u2", "a2"))
	page := tr.Earlier(append(stored("u1", "a1"), json.RawMessage(storedMessage("a0", `{"type":"tool","callID":"c","tool":"Read","state":{"status":"running"}}`))))
	valid(t, page)
	for _, u := range page {
		if string(memberOf(memberOf(memberOf(u.JSON, "_meta"), "zcode"), "earlierPage")) != "true" {
			t.Errorf("not marked: %s", u.JSON)
		}
	}
	if len(page) != 3 {
		t.Errorf("got\n%s", brief(page))
	}
	if got := feed(tr, tool("started", `"toolName":"Read"`)); !strings.HasPrefix(brief(got), "card c pending") {
		t.Errorf("a call of a page is taken for a live one: %s", brief(got))
	}
}

func TestReconcile(t *testing.T) {
	both := storedMessage("a1", `{"type":"reasoning","text":"All my thoughts"}`, `{"type":"text","text":"The whole answer"}`)
	call := storedMessage("a2", `{"type":"tool","callID":"c","tool":"Read","state":{"status":"completed","input":{"file_path":"/a"},"output":"x"}}`)
	list := func(messages ...string) (raw []json.RawMessage) {
		for _, m := range append([]string{storedMessage("u0", `{"type":"text","text":"long ago"}`), storedMessage("u1", `{"type":"text","text":"hi"}`)}, messages...) {
			raw = append(raw, json.RawMessage(m))
		}
		return raw
	}
	for _, c := range []struct {
		name   string
		hear   []string
		stored []json.RawMessage
		want   string
	}{
		{"all was streamed", []string{ev("turn.started", started), thought("a1", "All my "), thought("a1", "thoughts"), text("a1", "The whole answer")}, list(both), ""},
		{"nothing was", []string{ev("turn.started", started)}, list(both), "agent_thought_chunk thought_a1 \"All my thoughts\"\nagent a1 \"The whole answer\""},
		{"no thoughts were", []string{ev("turn.started", started), text("a1", "The whole answer")}, list(both), `agent_thought_chunk thought_a1 "All my thoughts"`},
		{"the end got lost", []string{ev("turn.started", started), thought("a1", "All my thoughts"), text("a1", "The who")}, list(both), `agent a1 "le answer"`},
		{"another form was stored", []string{ev("turn.started", started), thought("a1", "All"), text("a1", "\nThe whole answer")}, list(both), `agent_thought_chunk thought_a1 " my thoughts"`},
		{"no ids were streamed", []string{ev("turn.started", started), ev("model.streaming", `{"kind":"text_delta","delta":"The whole answer"}`)}, list(both),
			`agent_thought_chunk thought_a1 "All my thoughts"`},
		{"a call's end got lost", []string{ev("turn.started", started), tool("scheduled", `"toolName":"Read","input":{"file_path":"/a"}`), ev("turn.completed", answered)}, list(call),
			`more c completed ["x"] out="x"`},
		{"a call got lost", []string{ev("turn.started", started)}, list(call),
			"card c completed read Read: /a [\"```json\\n{\\n  \\\"file_path\\\": \\\"/a\\\"\\n}\\n```\"] [\"x\"] @/a:0 in={\"file_path\":\"/a\"} out=\"x\""},
		{"nothing at all was heard", nil, list(both), "agent_thought_chunk thought_a1 \"All my thoughts\"\nagent a1 \"The whole answer\""},
		{"an input that was not heard of", []string{ev("turn.started", started), text("a1", "The whole answer"), thought("a1", "All my thoughts")}, list(both, storedMessage("u2", `{"type":"text","text":"and?"}`)),
			`user u2 "and?"`},
		{"what is stored is not told twice", []string{ev("turn.started", started)}, nil, ""},
	} {
		tr := NewTranslator(TranslatorOptions{})
		heard := feed(tr, c.hear...)
		got := tr.Reconcile(c.stored)
		valid(t, append(heard, got...))
		if text := brief(got); text != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, text, c.want)
		}
		if again := tr.Reconcile(c.stored); len(again) > 0 {
			t.Errorf("%s: and again\n%s", c.name, brief(again))
		}
	}
}
