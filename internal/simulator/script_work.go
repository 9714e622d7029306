package simulator

import (
	"strconv"
	"strings"
)

func playTodo(t *turn) {
	for i, state := range todoStates() {
		write := todoWrite(state)
		t.step(func(m *step) {
			if i == 0 {
				m.say("I keep a list of what there is to do. ")
			}
			m.call(write)
		})
	}
	t.step(func(m *step) { m.say("All three tasks are done.") })
}

func playBackground(t *turn) {
	d := duration("for "+t.prompt, "for", defaultTaskTime)
	start := backgroundCommand("make watch", "Watch and rebuild", d)
	t.step(func(m *step) {
		m.say("This takes a while, I start it in the background. ")
		m.call(start)
	})
	t.step(func(m *step) { m.say("It runs; I will report when it has finished.") })
}

// demoDiff is what the edit of playEdit shows.
const demoDiff = "--- a/button.css\n+++ b/button.css\n@@ -1,3 +1,3 @@\n .button {\n-  color: red;\n+  color: blue;\n }\n"

func playEdit(t *turn) {
	path := t.x.Workspace.WorkspacePath + "/button.css"
	if name := firstWord(t.prompt); name != "" {
		path = t.x.Workspace.WorkspacePath + "/" + name
	}
	edit := editFile(path, "  color: red;", "  color: blue;", demoDiff)
	t.step(func(m *step) {
		m.think("The colour is in one place only. ")
		m.call(edit)
	})
	t.step(func(m *step) { m.say(reportOn(edit, "The button is blue now.")) })
}

// editFile is an Edit call; no file is touched.
func editFile(path, before, after, diff string) *toolCall {
	c := &toolCall{name: "Edit", title: path, risk: "medium", rule: path, edits: true,
		input: object{"file_path": path, "old_string": before, "new_string": after}}
	c.work = func() toolResult {
		x := c.t.x
		point := checkpoint{ID: "checkpoint_" + x.ids.uuid(), MessageID: c.t.user.ID, CreatedAt: x.s.clock.now()}
		x.Checkpoints = append(x.Checkpoints, point)
		x.emit("checkpoint.created", object{"checkpointId": point.ID, "messageId": point.MessageID})
		c.t.pause(readDelay)
		return toolResult{content: "The file " + path + " has been updated.",
			display: object{"kind": "diff", "filePath": path, "diff": diff, "additions": 1, "deletions": 1}}
	}
	return c
}

func playSubagent(t *turn) {
	calls := []*toolCall{readFile(t.x.Workspace.WorkspacePath+"/README.md", "     1\t# Demo\n")}
	if strings.EqualFold(firstWord(t.prompt), "ask") {
		calls = append(calls, bash("git log -1", "Show the last commit", "abc1234 First commit"))
	}
	task := delegate("Explore the project", calls...)
	t.step(func(m *step) {
		m.say("A helper looks at the project. ")
		m.call(task)
	})
	t.step(func(m *step) { m.say("The helper says: " + task.result.content) })
}

// demoUnicode holds what breaks readers: line separators that are not LF, CR inside strings, characters beyond the
// basic plane, combining marks, right-to-left text, control characters.
const demoUnicode = "Line\u2028separator, paragraph\u2029separator, CR\rand CRLF\r\ninside, tab\t, null \x00, escape \x1b[31m, " +
	"emoji \U0001F600 \U0001F469\u200d\U0001F4BB, combining e\u0301, 中文, العربية, quote \" backslash \\u2028 <b>&amp;</b> \u0085\ufeff "

func playUnicode(t *turn) {
	read := readFile(t.x.Workspace.WorkspacePath+"/\u2028\U0001F4C4.txt", demoUnicode)
	t.step(func(m *step) {
		m.think(demoUnicode)
		m.call(read)
	})
	t.step(func(m *step) {
		m.say(demoUnicode)
		part := m.open("text")
		// A provider may cut its stream inside a surrogate pair; JavaScript passes the halves on as they are.
		for _, half := range []string{`"split \ud83d"`, `"\ude00 pair"`} {
			t.x.emitted(source{kind: "model.streaming", delta: &delta{
				streamKey: streamKey{"text_delta", m.message.ID, ""}, raw: raw(half)}})
		}
		m.grow(part, "split \U0001F600 pair")
		m.close(part)
	})
}

func playEvict(t *turn) {
	t.x.evicting = true
	t.step(func(m *step) { m.say("This session leaves memory now; resume it to go on.") })
}

const requestHeaders = "interaction/requestProviderRuntimeHeaders"

// playReverse asks the client everything else that an agent may ask; a client without a user has to answer by itself.
func playReverse(t *turn) {
	x := t.x
	requests := []struct {
		method string
		params object
	}{
		{requestHeaders, object{"requestId": x.ID + ":provider-runtime-headers:" + x.ids.uuid(),
			"sessionId": x.ID, "turnId": t.id, "workspace": x.Workspace, "modelSelection": x.Model.ref(), "providerId": x.Model.ProviderID,
			"accountAccess": nil, "reason": "model-request"}},
		{"interaction/requestOfficialMcpAuthHeaders", object{"requestId": x.ids.uuid(), "workspace": x.Workspace, "pluginId": "demo",
			"mcpKey": "demo", "targetOrigin": "https://mcp.invalid"}},
		{"interaction/browserList", object{"requestId": x.ids.uuid(), "sessionId": x.ID, "workspaceKey": x.Workspace.WorkspaceKey,
			"clientMode": "desktop-continuous", "sessionContext": "live"}},
		{"automation/list", object{}},
		{"offPeak/list", object{}},
		{"no/suchMethod", object{"sessionId": x.ID}},
	}
	var report strings.Builder
	for _, q := range requests {
		c := newCall(q.method, q.params)
		x.s.put(c)
		a := x.s.await(t.ctx, c, preferencesTimeout)
		if a.fault != nil && q.method == requestHeaders {
			x.s.notify("interaction/providerRuntimeHeadersCancelled", object{
				"requestId": q.params["requestId"], "sessionId": x.ID, "workspace": x.Workspace})
		}
		report.WriteString("- " + q.method + ": " + describeAnswer(a) + "\n")
	}
	t.step(func(m *step) { m.say("The client answered:\n" + report.String()) })
}

func describeAnswer(a answer) string {
	switch {
	case a.fault != nil:
		return "no answer"
	case a.failed != nil:
		return "error " + strconv.Itoa(a.failed.Code)
	}
	return clip(string(a.result), 100)
}
