package acp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"zcodehub/internal/hubtest"
)

func TestWhatIsNoMessageIsAnsweredAndClosesNothing(t *testing.T) {
	s := serve(t, simulated(t))
	s.WantReady()
	a := s.connect("a", as{silent: true})
	a.calls = 100 // its own ids are others than those here
	for _, c := range []struct{ frame, id, code string }{
		{`{"id":`, "null", "-32700"},
		{`nonsense`, "null", "-32700"},
		{`[]`, "null", "-32600"},
		{`[{"jsonrpc":"2.0","id":1,"method":"initialize"}]`, "null", "-32600"},
		{`"text"`, "null", "-32600"},
		{`{"jsonrpc":"2.0"}`, "null", "-32600"},
		{`{"jsonrpc":"2.0","id":1}`, "null", "-32600"},
		{`{"jsonrpc":"2.0","id":null,"method":"initialize"}`, "null", "-32600"},
		{`{"jsonrpc":"2.0","id":{},"method":"initialize"}`, "null", "-32600"},
		{`{"jsonrpc":"2.0","id":0,"method":"session/list"}`, "0", "-32600"}, // before initialize
		{`{"jsonrpc":"2.0","id":"","method":"initialize","params":` + remoteClient + `}`, `""`, ""},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"initialize","params":` + remoteClient + `}`, "9007199254740993", ""},
		{`{"jsonrpc":"2.0","id":"x","method":"initialize","params":{"protocolVersion":"1"}}`, `"x"`, "-32602"},
		{`{"jsonrpc":"2.0","id":-1,"method":"initialize","params":{"protocolVersion":99}}`, "-1", ""},
		{`{"jsonrpc":"2.0","id":2,"method":"no/such"}`, "2", "-32601"},
		{`{"jsonrpc":"2.0","id":3,"method":"session/load","params":[]}`, "3", "-32602"},
		{`{"jsonrpc":"2.0","id":4,"method":"session/load","params":{}}`, "4", "-32602"},
		{`{"jsonrpc":"2.0","id":5,"method":"session/load","params":{"sessionId":7}}`, "5", "-32602"},
		{`{"jsonrpc":"2.0","id":6,"method":"session/new","params":{"cwd":"relative","mcpServers":[]}}`, "6", "-32602"},
		{`{"jsonrpc":"2.0","id":7,"method":"authenticate","params":{"methodId":"x"}}`, "7", ""},
		{`{"jsonrpc":"2.0","id":8,"method":"session/list","params":{"cursor":"garbage"}}`, "8", "-32602"},
	} {
		n := a.mark()
		a.say(c.frame)
		m, _ := a.wantAfter(n, "an answer to "+c.frame, func(m incomingMessage) bool { return m.method == "" })
		if m.id != c.id || m.path("error", "code") != c.code {
			t.Errorf("%s was answered %s", c.frame, m)
		}
	}
	a.notify("no/such", `{}`)
	a.say(`{"jsonrpc":"2.0","id":77,"result":{}}`) // an answer to nothing
	a.must("session/list", `{}`)
	if a.closeCode() != 0 {
		t.Error("the connection was closed")
	}
}

func TestSessionsAreListedInPagesOfTheirWorkspace(t *testing.T) {
	s := serve(t, simulated(t))
	a := s.connect("a", as{})
	empty := a.newSession()
	used := map[string]bool{}
	for range listPage + 3 {
		id := a.newSession()
		a.prompt(id, "reply with exactly: x")
		used[id] = true
	}
	seen := map[string]bool{}
	cursor := ""
	for range 5 {
		result := a.must("session/list", `{"cwd":"/w/demo"`+cursor+`}`)
		rows, _ := elementsOf(result, "sessions")
		for _, row := range rows {
			if stringIn(row, "cwd") != "/w/demo" || !strings.HasSuffix(stringIn(row, "updatedAt"), "Z") || seen[stringIn(row, "sessionId")] {
				t.Errorf("row %s", row)
			}
			seen[stringIn(row, "sessionId")] = true
		}
		next := stringIn(result, "nextCursor")
		if next == "" {
			break
		}
		cursor = `,"cursor":` + quoted(next)
	}
	for id := range used {
		if !seen[id] {
			t.Errorf("%s is not listed", id)
		}
	}
	if seen[empty] {
		t.Error("an empty session is listed")
	}
	if rows, _ := elementsOf(a.must("session/list", `{"cwd":"/elsewhere"}`), "sessions"); len(rows) > 0 {
		t.Errorf("elsewhere are %d sessions", len(rows))
	}
}

// A history of two thousand messages: its end comes in one round trip, pages lead to its beginning, and the whole of it
// passes in small pieces.
func TestALongHistory(t *testing.T) {
	const messages = 2000
	s, p := scripted(t)
	s.script.Answer("session/read", func(hubtest.Line) string { return longSnapshot(messages) })
	s.script.Answer("session/messages", func(hubtest.Line) string {
		return fmt.Sprintf(`{"messages":[{"info":{"id":"m%d","role":"assistant"},"parts":[]}]}`, messages-1)
	})
	a := s.connect("a", as{})
	result := a.load("s1", 30)
	if n := p.Count("session/read"); n != 1 {
		t.Errorf("the app-server was asked for the history %d times", n)
	}
	if got := stringIn(result, "replayMeta", "lastMessageId"); got != fmt.Sprint("m", messages-1) {
		t.Errorf("the replay ends with %s", got)
	}
	if n := a.count("session/update", "_chunk"); n != 30 {
		t.Errorf("%d messages were replayed", n)
	}
	cursor, pages, n := stringIn(result, "replayMeta", "cursor"), 0, a.mark()
	for cursor != "" {
		result = a.must("session/load_earlier", `{"sessionId":"s1","before":`+quoted(cursor)+`,"limit":500}`)
		cursor = stringIn(result, "replayMeta", "cursor")
		pages++
	}
	seen := map[string]bool{}
	for _, m := range a.all()[n:] {
		if id := m.path("params", "update", "messageId"); id != "" {
			seen[id] = true
		}
	}
	if pages != 4 || len(seen) != messages-30 {
		t.Errorf("%d pages brought %d messages", pages, len(seen))
	}
	if m := a.call("session/load_earlier", `{"sessionId":"s1","before":"garbage"}`); m.path("error", "code") != "-32602" || !strings.Contains(m.path("error", "message"), "cursor expired") {
		t.Errorf("a bad cursor was answered %s", m)
	}
	b := s.connect("b", as{})
	if m := b.call("session/load_earlier", `{"sessionId":"s1","before":"garbage"}`); m.path("error", "code") != "-32602" || !strings.Contains(m.path("error", "message"), "load it first") {
		t.Errorf("without a load: %s", m)
	}
	b.load("s1", -1)
	if n := b.count("session/update", "_chunk"); n != messages {
		t.Errorf("%d messages were replayed", n)
	}
	if b.widest > 2*gatherBytes {
		t.Errorf("%d bytes were written at once", b.widest)
	}
	if m := b.call("session/load", loadParams("s1", 0)); m.result == nil || m.path("result", "replayMeta", "replayedMessages") != "0" {
		t.Errorf("a load of nothing: %s", m)
	}
}

// longSnapshot is a session with n messages: a question and an answer in turn.
func longSnapshot(n int) string {
	var list []string
	for i := range n {
		role := []string{"user", "assistant"}[i%2]
		list = append(list, fmt.Sprintf(`{"info":{"messageId":"m%d","role":%q},"parts":[{"type":"text","text":"message %d %s"}]}`, i, role, i, strings.Repeat("x", 500)))
	}
	return strings.Replace(idleSnapshot, `"messages":[]`, `"messages":[`+strings.Join(list, ",")+`]`, 1)
}

// Just after the app-server took a session out of its store the history may be a growing beginning: it is waited for.
func TestALoadWaitsForTheWholeHistory(t *testing.T) {
	s, _ := scripted(t)
	reads := 0
	s.script.Answer("session/read", func(hubtest.Line) string { reads++; return longSnapshot(min(reads*3, 10)) })
	s.script.Answer("session/messages", func(hubtest.Line) string {
		return `{"messages":[{"info":{"id":"m9","role":"assistant"},"parts":[]}]}`
	})
	a := s.connect("a", as{})
	a.load("s1", -1)
	if n := a.count("session/update", "_chunk"); n != 10 {
		t.Errorf("%d messages were replayed", n)
	}
}

func TestResumeBringsNoHistory(t *testing.T) {
	s := serve(t, simulated(t))
	a, b := s.connect("a", as{}), s.connect("b", as{params: plainEditor})
	id := a.newSession()
	a.prompt(id, "hello")
	result := b.must("session/resume", `{"sessionId":`+quoted(id)+`,"cwd":"/w/demo","mcpServers":[]}`)
	if !strings.Contains(string(result), `"configOptions"`) {
		t.Errorf("it was answered %s", result)
	}
	b.wantMethod(0, "session/update", updateCommands)
	if got := b.transcript(id, 0); got != "" {
		t.Errorf("it brought %s", got)
	}
	if m := b.prompt(id, "reply with exactly: on"); ended(m) != "end_turn" {
		t.Errorf("a prompt was answered %s", m)
	}
}

// Closing cancels the turn that runs, tells the others, and takes the session off the list until its next use.
func TestCloseAndDelete(t *testing.T) {
	s := serve(t, paced(t, 0.2))
	s.adapter.silence = time.Hour // nothing here is found out only because nobody speaks
	a, b := s.connect("a", as{}), s.connect("b", as{})
	id := a.newSession()
	b.load(id, 30)
	prompt := a.request("session/prompt", promptParams(id, "slow 600s"))
	a.wantMethod(0, "session/update", "tick1 ")
	b.must("session/close", session(id))
	if m := a.wantAnswer(prompt); ended(m) != "cancelled" {
		t.Errorf("the prompt was answered %s", m)
	}
	a.wantMethod(0, "$/zcode/session_closed", id)
	if strings.Contains(string(a.must("session/list", `{}`)), id) {
		t.Error("the closed session is listed")
	}
	if m := a.prompt(id, "reply with exactly: back"); ended(m) != "end_turn" {
		t.Errorf("a prompt to the closed session was answered %s", m)
	}
	if !strings.Contains(string(a.must("session/list", `{}`)), id) {
		t.Error("the session is not listed after its next use")
	}
	if m := a.call("session/close", session("sess_unknown")); m.path("error", "code") != "-32002" || m.path("error", "data", "sessionId") != "sess_unknown" {
		t.Errorf("closing what is not there: %s", m)
	}
	a.must("session/delete", session(id))
	a.must("session/delete", session(id))
	a.must("session/delete", session("sess_unknown"))
	if strings.Contains(string(a.must("session/list", `{}`)), id) {
		t.Error("the deleted session is listed")
	}
}

func TestForkBeginsWithTheConversation(t *testing.T) {
	s := serve(t, simulated(t))
	a := s.connect("a", as{})
	id := a.newSession()
	a.prompt(id, "reply with exactly: the root")
	a.prompt(id, "todo")
	fork := stringIn(a.must("session/fork", `{"sessionId":`+quoted(id)+`,"cwd":"/w/demo"}`), "sessionId")
	if fork == "" || fork == id {
		t.Fatalf("the fork is %q", fork)
	}
	a.load(fork, -1)
	if got := a.transcript(fork, 0); !strings.Contains(got, "the root") {
		t.Errorf("it has %s", got)
	}
}

// A setting that one client changes is told to all, and resets no other.
func TestSettingsAreToldToAll(t *testing.T) {
	s := serve(t, simulated(t))
	a, b := s.connect("a", as{}), s.connect("b", as{})
	id := a.newSession()
	b.load(id, 30)
	for _, c := range []struct{ method, params, want string }{
		{"session/set_config_option", `"configId":"mode","value":"plan"`, `"plan"`},
		{"session/set_mode", `"modeId":"edit"`, `"edit"`},
		{"session/set_config_option", `"configId":"thought","value":"low"`, `"low"`},
		{"session/set_config_option", `"configId":"model","value":"demo\\demo-pro"`, `demo-pro`},
		{"session/setMode", `"mode":"build"`, `"build"`},
	} {
		nA, nB := a.mark(), b.mark()
		result := a.must(c.method, `{"sessionId":`+quoted(id)+`,`+c.params+`}`)
		if strings.HasSuffix(c.method, "option") && !strings.Contains(string(result), `"currentValue":`+strings.ReplaceAll(c.want, "demo-pro", `"demo\\demo-pro"`)) {
			t.Errorf("%s was answered %s", c.params, result)
		}
		a.wantMethod(nA, "session/update", updateOptions, c.want)
		b.wantMethod(nB, "session/update", updateOptions, c.want)
	}
	for _, params := range []string{`"configId":"no","value":"x"`, `"configId":"mode","value":"no"`, `"configId":"mode","value":true`} {
		if m := a.call("session/set_config_option", `{"sessionId":`+quoted(id)+`,`+params+`}`); m.path("error", "code") != "-32602" {
			t.Errorf("%s was answered %s", params, m)
		}
	}
}

// Known commands are commands, anything else that begins with a slash is text for the model.
func TestSlashCommandsAndPaths(t *testing.T) {
	sim := hubtest.NewSimulator(t, hubtest.SimulatorOptions{})
	s := serve(t, hubtest.Start(t, sim))
	a := s.connect("a", as{})
	id := a.newSession()
	a.prompt(id, "/mode plan")
	a.wantMethod(0, "session/update", updateMode, `"plan"`)
	a.prompt(id, "/model")
	a.wantMethod(0, "session/update", updateAgent, "demo-pro")
	if sim.Count("session/send") != 0 {
		t.Error("a command was sent to the model")
	}
	a.prompt(id, "/Users/me/file is what I mean")
	if !strings.Contains(string(lastSent(sim)), `\u200b/Users/me`) && !strings.Contains(string(lastSent(sim)), "\u200b/Users/me") {
		t.Errorf("a path was sent as %s", lastSent(sim))
	}
}

func lastSent(sim *hubtest.Simulator) (line []byte) {
	for _, l := range sim.Heard() {
		if strings.Contains(string(l), `"session/send"`) {
			line = l
		}
	}
	return line
}

// Images, links and embedded files reach the app-server; what is too much or of no use is refused.
func TestBlocksOfAPrompt(t *testing.T) {
	sim := hubtest.NewSimulator(t, hubtest.SimulatorOptions{})
	s := serve(t, hubtest.Start(t, sim))
	a, b := s.connect("a", as{}), s.connect("b", as{})
	id := a.newSession()
	b.load(id, 30)
	prompt := func(blocks string) incomingMessage {
		return a.call("session/prompt", `{"sessionId":`+quoted(id)+`,"prompt":[`+blocks+`]}`)
	}
	image := `{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}`
	m := prompt(`{"type":"text","text":"look"},` + image + `,{"type":"resource_link","name":"a.go","uri":"file:///w/a.go"},{"type":"resource","resource":{"uri":"file:///w/b.txt","text":"inside"}}`)
	if ended(m) != "end_turn" {
		t.Fatal(m)
	}
	sent := string(lastSent(sim))
	for _, part := range []string{`"kind":"image"`, `"sizeBytes":8`, "@/w/a.go", "inside"} {
		if !strings.Contains(sent, part) {
			t.Errorf("%s is not in %s", part, sent)
		}
	}
	hubtest.Want(t, "the other client to be shown four blocks", func() bool { return b.count("session/update", updateUser, "uprompt_") == 4 })
	if m := prompt(image); ended(m) != "end_turn" {
		t.Errorf("an image alone was answered %s", m)
	}
	for _, blocks := range []string{``, `{"type":"text","text":"  "}`, `{"type":"audio","mimeType":"audio/wav","data":"AAAA"}`, `{"type":"image","mimeType":"image/png","data":"***"}`,
		`{"type":"image","data":"AAAA"}`, `7`, strings.Repeat(`{"type":"text","text":"x"},`, maxBlocks) + `{"type":"text","text":"x"}`,
		`{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("AAAA", maxImageBytes/3+1) + `"}`} {
		if m := prompt(blocks); m.path("error", "code") != "-32602" {
			t.Errorf("%.80s was answered %s", blocks, m)
		}
	}
}

// A client that does not read holds up nobody else, and has all of the turn in the end, or is told to come again.
func TestASlowClientHoldsUpNobody(t *testing.T) {
	s := serve(t, simulated(t))
	a, slow := s.connect("a", as{}), s.connect("slow", as{})
	id := a.newSession()
	slow.load(id, 30)
	slow.freeze()
	if m := a.prompt(id, "burst 30000"); ended(m) != "end_turn" {
		t.Fatal(m)
	}
	if m := a.prompt(id, "reply with exactly: done"); ended(m) != "end_turn" {
		t.Fatal(m)
	}
	slow.thaw()
	slow.wantMethod(0, "session/update", updateAgent, "done")
	if got := strings.ReplaceAll(slow.transcript(id, 0), "\n", ""); strings.Count(got, "word 29999 of") != 1 || strings.Count(got, "word 1 of") != 1 {
		t.Errorf("it shows %d of the last word and %d of the first", strings.Count(got, "word 29999 of"), strings.Count(got, "word 1 of"))
	}
}

func FuzzIncoming(f *testing.F) {
	for _, frame := range []string{`{"id":1,"method":"a","params":{}}`, `{"id":null,"method":"a"}`, `[]`, `{"id":1,"result":null}`, `{`, `{"method":1}`, `{"id":1,"id":{},"method":"x"}`} {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		in, fault := parseIncoming(frame)
		switch {
		case fault != nil:
			if fault.Code != codeParse && fault.Code != codeRequest {
				t.Errorf("%q: %v", frame, fault)
			}
		case in.method == "" && in.result == nil && in.failed == nil:
			t.Errorf("%q is neither a call nor an answer", frame)
		case in.method != "" && in.id != nil && !isID(in.id):
			t.Errorf("%q has the id %s", frame, in.id)
		}
	})
}

// A client that takes in a long replay slowly holds up nobody, and what happens meanwhile comes behind its answer.
func TestALongReplayHoldsUpNobody(t *testing.T) {
	s := serve(t, simulated(t))
	a, slow := s.connect("a", as{}), s.connect("slow", as{})
	id := a.newSession()
	for range 3 {
		a.prompt(id, "burst 2000")
	}
	slow.freeze()
	load := slow.request("session/load", loadParams(id, -1))
	if m := a.prompt(id, "reply with exactly: meanwhile"); ended(m) != "end_turn" {
		t.Errorf("the prompt was answered %s", m)
	}
	slow.thaw()
	slow.wantAnswer(load)
	slow.wantMethod(0, "session/update", updateAgent, "meanwhile")
	got := slow.transcript(id, 0)
	if strings.Count(got, "user: ") != 4 || strings.Count(got, "word 2000 of") != 3 || strings.Count(got, "agent: meanwhile") != 1 {
		t.Errorf("it shows %d prompts: %.200s … %s", strings.Count(got, "user: "), got, got[max(0, len(got)-200):])
	}
}
