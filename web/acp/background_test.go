package acp

import (
	"encoding/json"
	"testing"
)

func task(more string) string { return ev("session.updated", `{"taskId":"k",`+more+`}`) }

func TestBackgroundCommands(t *testing.T) {
	launch := []string{ev("turn.started", started), called("c", "Bash", `{"command":"make watch","run_in_background":true}`), tool("scheduled", omitted), tool("started", ""),
		task(`"toolCallId":"c","toolName":"Bash","status":"running","description":"Watch"`),
		tool("result", `"background":true,"result":{"success":true,"content":"Command running in background with ID: k."}`),
		ev("tool.updated", `{"kind":"batch","toolCallIds":["c"],"successCount":1}`), ev("turn.completed", answered)}
	running := func(tail string) string {
		return task(`"toolCallId":"c","toolName":"Bash","status":"running","outputTail":"` + tail + `"`)
	}
	ended := func(status string) string {
		return task(`"toolCallId":"c","toolName":"Bash","status":"` + status + `","outputPath":"/tmp/k"`)
	}
	const meta = `backgroundTask={"outputPath":"/tmp/k","sourceToolCallId":"c","taskId":"k"}`
	const cancelled = `backgroundTask={"cancelled":true,"outputPath":"/tmp/k","sourceToolCallId":"c","taskId":"k"}`
	testRows(t, TranslatorOptions{}, []row{
		{"the launch leaves its card open, beyond its turn", launch[:3], launch[3:], "more c in_progress"},
		{"output is shown in it", launch, []string{running("a\\n"), running("a\\nb\\n"), running("a\\nb\\n")},
			"more c [\"```console\\na\\n```\"]\nmore c [\"```console\\na\\nb\\n```\"]"},
		{"its end ends the card, once", launch, []string{ended("completed"), ended("completed"), running("late")}, "more c completed " + meta},
		{"a failure fails it", launch, []string{ended("failed")}, "more c failed " + meta},
		{"a cancellation says so", launch, []string{ended("cancelled")}, "more c failed " + cancelled},
		{"a command whose launch was not seen has a card", nil, []string{task(`"toolCallId":"c","toolName":"Bash","status":"running","description":"Watch"`), ended("completed")},
			"card c pending execute Bash: Watch in={\"description\":\"Watch\"}\nmore c in_progress\nmore c completed " + meta},
		{"a launch that failed is no background work", launch[:4], []string{tool("result", `"result":{"success":false,"content":"no"}`)}, "more c failed [\"```\\nno\\n```\"]"},
		{"nor one that was denied", launch[:3], []string{ev("tool.updated", `{"kind":"batch","toolCallIds":["c"],"errorCount":1}`)}, "more c failed"},
	})
	testRows(t, TranslatorOptions{Terminal: true}, []row{
		{"a terminal gets what is new, and its exit", launch, []string{running("a\\n"), running("a\\nb\\n"), ended("completed")},
			`more c terminal_output={"data":"a\n","terminal_id":"c"}
more c terminal_output={"data":"b\n","terminal_id":"c"}
more c completed [terminal c] ` + meta + ` terminal_exit={"exit_code":0,"signal":null,"terminal_id":"c"}`},
		{"a failed one exits with 1", launch, []string{ended("cancelled")},
			`more c failed [terminal c] ` + cancelled + ` terminal_exit={"exit_code":1,"signal":null,"terminal_id":"c"}`},
	})
}

func TestBackgroundAgents(t *testing.T) {
	launch := []string{called("c", "Task", `{"description":"Explore","run_in_background":true}`), tool("scheduled", `"toolName":"Task"`), tool("started", ""),
		tool("result", `"result":{"success":true,"content":"started"}`)}
	state := func(status string) string {
		return task(`"toolCallId":"c","toolName":"Task","agentId":"agent_1","description":"Explore","status":"` + status + `"`)
	}
	const meta = `backgroundTask={"agentId":"agent_1","sourceToolCallId":"c","taskId":"k"}`
	testRows(t, TranslatorOptions{}, []row{
		{"an agent in the background has a card of its own", launch, []string{state("running"), state("running")},
			"card bg_k in_progress other [background] Explore " + meta},
		{"which ends with it", append(launch, state("running")), []string{state("completed"), state("completed")}, "more bg_k completed " + meta},
		{"and not with the turn", append(launch, state("running")), []string{ev("turn.completed", answered)}, ""},
		{"one that has ended already", nil, []string{state("failed")}, "card bg_k failed other [background] Explore " + meta},
		{"one that is waited for has its own card already", launch[:3], []string{state("running")}, ""},
		{"its output is shown", append(launch, state("running")), []string{task(`"status":"running","outputTail":"so far"`)}, "more bg_k [\"```console\\nso far\\n```\"]"},
	})
}

func TestNothingSpinsAfterTheAgentIsGone(t *testing.T) {
	tr := NewTranslator(TranslatorOptions{})
	updates := feed(tr, ev("turn.started", started), called("c", "Bash", `{"command":"x","run_in_background":true}`), tool("scheduled", omitted),
		tool("result", `"result":{"success":true,"content":"started"}`), task(`"status":"running","description":"Explore"`),
		ev("tool.updated", `{"kind":"started","toolCallId":"d","toolName":"Read"}`))
	closed := tr.CloseOpen()
	if open := valid(t, append(updates, closed...)).open(); len(open) > 0 {
		t.Errorf("open: %v after %s", open, show(closed))
	}
	if again := tr.CloseOpen(); len(again) > 0 {
		t.Errorf("closed twice: %s", show(again))
	}
}

func TestBackgroundWorkThatWasReplayedGoesOn(t *testing.T) {
	tr := NewTranslator(TranslatorOptions{Terminal: true})
	updates := tr.History([]json.RawMessage{json.RawMessage(`{"info":{"id":"m","role":"assistant"},"parts":[
		{"type":"tool","callID":"c","tool":"Bash","state":{"status":"completed","input":{"command":"x"},"output":"Command running in background"}}]}`)})
	jobs := []json.RawMessage{json.RawMessage(`{"taskId":"k","toolCallId":"c","toolName":"Bash","status":"running","outputTail":"line\n"}`)}
	live := tr.Tasks(jobs)
	live = append(live, feed(tr, task(`"toolCallId":"c","toolName":"Bash","status":"completed"`))...)
	valid(t, append(updates, live...))
	const want = "more c in_progress\nmore c [\"```console\\nline\\n```\"]\nmore c completed backgroundTask={\"sourceToolCallId\":\"c\",\"taskId\":\"k\"}"
	if got := brief(live); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
