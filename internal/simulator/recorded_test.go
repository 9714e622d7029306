package simulator

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// recorded is one line of published traffic of a real app-server.
type recorded struct {
	Dir   string   `json:"dir"`
	Msg   msg      `json:"msg"`
	Lost  []string `json:"lost"`
	CutAt int      `json:"cutAt"`
	Probe string   `json:"probe"`
}

// whole reports whether the recording has everything the line had.
func (r recorded) whole() bool {
	return r.CutAt == 0 && !slices.ContainsFunc(r.Lost, func(path string) bool { return path != "id" })
}

// TestRecordedTraffic makes the requests of published recordings and compares the shapes of what comes back: members
// and their JSON types. It reads the reference data beside the repository and is skipped where that is missing.
// Lines about V4 have a test of their own.
func TestRecordedTraffic(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "shared", "recorded", "ndjson")
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the recordings are not here: %v", err)
	}
	for _, name := range []string{
		"wzclaw-edit2-permission", "wzclaw-sync2-minimal-turn", "wzclaw-sync3-messages-paging", "bridge-s04-create-list",
		"bridge-background-subagents-responses", "notes-3.7.5-singles", "notes-3.7.5-telemetry", "notes-3.11.2-frames",
	} {
		t.Run(name, func(t *testing.T) {
			lines := readRecording(t, filepath.Join(folder, name+".ndjson"))
			inBubble(t, Options{}, func(s *sim) {
				r := &replay{sim: s, t: t, answers: map[any]msg{}}
				r.run(lines)
			})
		})
	}
}

func readRecording(t *testing.T, path string) []recorded {
	var lines []recorded
	for _, line := range readAll(t, path) {
		if method, _ := line.Msg["method"].(string); strings.HasPrefix(method, "v4/") && method != "v4/telemetry/event" {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

func readAll(t *testing.T, path string) []recorded {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []recorded
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var line recorded
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// replay plays the client's side of a recording.
type replay struct {
	*sim
	t        *testing.T
	session  string
	draft    string
	said     []msg       // everything the simulator said
	answers  map[any]msg // its responses by the recorded id
	open     string      // id of the interaction that is not answered yet
	firstIDs []string    // recorded message ids, in order, and ours
	ownIDs   []string
}

func (r *replay) run(lines []recorded) {
	if !slices.ContainsFunc(lines, func(line recorded) bool { return line.Msg["method"] == "session/send" }) {
		r.someTurns()
	}
	r.decide = func(m msg) string { r.open = m["id"].(string); return "" }
	for _, line := range lines {
		switch {
		case line.Dir == "C" && line.Msg["method"] != nil:
			r.request(line)
		case line.Dir == "C":
			r.answerOpen(line)
		case line.Probe != "":
			r.probe(line)
		case line.Msg["method"] == nil:
			r.compareAnswer(line)
		}
	}
	r.compareNotifications(lines)
	r.compareOrder(lines)
}

// request repeats a recorded request, on the session of ours that stands for the recorded one.
func (r *replay) request(line recorded) {
	method := line.Msg["method"].(string)
	params := maps.Clone(line.Msg["params"].(map[string]any))
	_, named := params["sessionId"]
	if strings.HasPrefix(method, "session/") && method != "session/create" && method != "session/list" && (named || slices.Contains(line.Lost, "params.sessionId")) {
		if r.session == "" {
			r.session = r.sim.open()
		}
		params["sessionId"] = r.session
		if method == "session/resume" { // recorded from another process, which does not know the session
			params["sessionId"] = "sess_unknown"
		}
	}
	if slices.Contains(line.Lost, "params.sessionId") && method != "session/resume" {
		params["sessionId"] = r.session
	}
	if i := slices.Index(r.firstIDs, fmt.Sprint(params["afterMessageId"])); i >= 0 {
		params["afterMessageId"] = r.ownIDs[i]
	}
	if model, ok := params["model"].(map[string]any); ok && method == "session/create" { // the recorded provider's model
		model["providerId"], model["modelId"] = "demo", "demo-flash"
	}
	answer, said := r.sim.call(method, string(encode(params)))
	r.said = append(r.said, said...)
	r.answers[line.Msg["id"]] = answer
	if id, ok := at(answer, "result.session.sessionId").(string); ok && method == "session/create" {
		r.session = id
	}
}

// answerOpen gives the recorded answer to the interaction that is open here. The recorded model asked more often than
// the scripts do; answers without a question are left out.
func (r *replay) answerOpen(line recorded) {
	if r.open == "" {
		return
	}
	answer := maps.Clone(line.Msg)
	answer["id"] = r.open
	r.open = ""
	r.send(string(encode(answer)))
	r.said = append(r.said, r.settle()...)
}

// probe makes the request for a response that was recorded without it.
func (r *replay) probe(line recorded) {
	if r.session == "" {
		r.session = r.sim.create()
		r.draft = at(r.sim.result("session/create", `{"workspace":`+demoWorkspace+`,"persistence":"deferred"}`), "session.sessionId").(string)
	}
	requests := map[string][2]string{
		"subagentsEmpty":             {"session/subagents", r.session},
		"subagentsDraft":             {"session/subagents", r.draft},
		"subagentsUnknownSession":    {"session/subagents", "sess_unknown"},
		"cancelUnknownTaskLegacy":    {"session/cancelBackgroundTask", r.session},
		"cancelUnknownSessionLegacy": {"session/cancelBackgroundTask", "sess_unknown"},
	}
	q, ok := requests[line.Probe]
	if !ok { // V4
		return
	}
	params := `{"sessionId":"` + q[1] + `"`
	if q[0] == "session/cancelBackgroundTask" {
		params += `,"taskId":"subagents-never-created"`
	}
	answer, _ := r.sim.call(q[0], params+`}`)
	r.answers[line.Msg["id"]] = answer
	r.compareAnswer(line)
}

// someTurns makes sessions and events for recordings without a turn of their own.
func (r *replay) someTurns() {
	r.decide = allowAll
	id := r.sim.open()
	for _, input := range []string{"hello", "ask", "fail"} {
		r.said = append(r.said, r.sim.prompt(id, input)...)
	}
	r.said = append(r.said, r.pass(61*time.Second)...) // process/resourceSample comes once a minute
}

func (r *replay) compareAnswer(line recorded) {
	got, ok := r.answers[line.Msg["id"]]
	if !ok {
		return
	}
	if at(line.Msg, "result.accepted") == true && at(got, "error.code") == -32010.0 {
		return // recorded with a build that queued inputs while a turn ran; since 3.12 they are refused
	}
	if code := at(line.Msg, "error.code"); code != nil && code != at(got, "error.code") {
		r.t.Errorf("recorded error %v, got %s", code, show(got))
		return
	}
	if text, ok := at(line.Msg, "error.message").(string); ok && firstWord(text) != firstWord(fmt.Sprint(at(got, "error.message"))) {
		r.t.Errorf("recorded %q, got %s", text, show(got))
	}
	for _, problem := range compare(line, line.Msg, got) {
		r.t.Errorf("answer %v: %s", line.Msg["id"], problem)
	}
	if list, ok := at(line.Msg, "result.messages").([]any); ok && len(r.firstIDs) == 0 && len(list) > 0 {
		r.pairMessages(list, at(got, "result.messages").([]any))
	}
	r.comparePage(line, got)
}

// pairMessages notes which of our messages stands for which recorded one. The scripts make more assistant messages in
// a turn than the recorded model, so only the last of each turn counts.
func (r *replay) pairMessages(want, got []any) {
	var own []string
	for i, m := range got {
		last := i+1 == len(got) || at(got[i+1], "info.role") == "user"
		if at(m, "info.role") == "user" || last {
			own = append(own, at(m, "info.id").(string))
		}
	}
	for i, m := range want[:min(len(want), len(own))] {
		r.firstIDs, r.ownIDs = append(r.firstIDs, at(m, "info.id").(string)), append(r.ownIDs, own[i])
	}
}

// comparePage checks that a page ends with the message that the recorded one ends with.
func (r *replay) comparePage(line recorded, got msg) {
	want, ok := at(line.Msg, "result.messages").([]any)
	if !ok {
		return
	}
	page, _ := at(got, "result.messages").([]any)
	if len(want) == 0 || len(page) == 0 {
		if len(want) != len(page) {
			r.t.Errorf("answer %v: recorded page of %d messages, got %d", line.Msg["id"], len(want), len(page))
		}
		return
	}
	i := slices.Index(r.firstIDs, at(want[len(want)-1], "info.id").(string))
	if i >= 0 && at(page[len(page)-1], "info.id") != r.ownIDs[i] {
		r.t.Errorf("answer %v: the page ends with %s", line.Msg["id"], show(page[len(page)-1]))
	}
}

// compareNotifications finds for each recorded notification and reverse request one of ours with the same name whose
// shape agrees.
func (r *replay) compareNotifications(lines []recorded) {
	for _, line := range lines {
		name := messageName(line.Msg)
		if line.Dir != "A" || name == "" {
			continue
		}
		var problems []string
		found := false
		for _, m := range r.said {
			if messageName(m) != name {
				continue
			}
			if problems = compare(line, line.Msg, m); len(problems) == 0 {
				found = true
				break
			}
		}
		if !found {
			r.t.Errorf("nothing like the recorded %s: %s", name, strings.Join(problems, "; "))
		}
	}
}

// compareOrder checks that the kinds of events first appear in the recorded order.
func (r *replay) compareOrder(lines []recorded) {
	var want, got []string
	for _, line := range lines {
		want = appendEventName(want, line.Msg)
	}
	for _, m := range r.said {
		got = appendEventName(got, m)
	}
	got = slices.DeleteFunc(got, func(name string) bool { return !slices.Contains(want, name) })
	if !slices.Equal(want, got) && len(want) > 1 {
		r.t.Errorf("events first appear in the order\n%v, recorded\n%v", got, want)
	}
}

func appendEventName(list []string, m msg) []string {
	name := messageName(m)
	if m["method"] != "session/event" || name == "" || slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// messageName tells kinds of notifications and reverse requests apart; "" is what is not compared.
func messageName(m msg) string {
	method, _ := m["method"].(string)
	switch method {
	case "":
		return ""
	case "session/event":
		kind, _ := at(m, "params.type").(string)
		p, _ := at(m, "params.payload").(map[string]any)
		switch {
		case kind == "turn.steerQueued": // since 3.12 a busy session refuses
			return ""
		case p["resultType"] != nil || p["tokenCount"] != nil:
			return "turn.completed"
		case p["source"] == "generated" || p["source"] == "first_input":
			return "session.titleUpdated " + fmt.Sprint(p["source"])
		case p["requestId"] != nil && p["baseURL"] != nil:
			return "session.updated request"
		case p["suggestedPermissionUpdates"] != nil:
			return "permission.requested"
		case p["cacheHit"] != nil:
			return "session.updated commit"
		case p["messageCount"] != nil:
			return "session.updated iteration"
		case kind == "":
			return ""
		}
		return strings.TrimSpace(kind + " " + fmt.Sprint(orEmpty(p["kind"])))
	case "v4/telemetry/event":
		return strings.TrimSpace(fmt.Sprint(method, " ", at(m, "params.kind"), " ", orEmpty(at(m, "params.channel")), orEmpty(at(m, "params.phase")), orEmpty(at(m, "params.status"))))
	case "state.updated":
		if at(m, "params.reason") == nil { // cut: only the patch is left
			return "state.updated prompt_completed"
		}
		return fmt.Sprint(method, " ", at(m, "params.reason"))
	}
	return method
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}
