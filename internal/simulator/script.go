package simulator

import (
	"strconv"
	"strings"
	"time"
)

// prompt is one entry of the list that "help" prints.
type prompt struct {
	name, args, about string
	play              script
}

// prompts is filled in init, because "help" prints it.
var prompts []prompt

func init() {
	prompts = []prompt{
		{"help", "", "this list", playHelp},
		{"ask", "[COMMAND]", "a Bash call that needs a permission", playAsk},
		{"question", "", "AskUserQuestion: one question with one answer, one with several", playQuestion},
		{"plan", "", "a plan to approve; approving leaves plan mode", playPlan},
		{"burst", "[N]", "N small text deltas as fast as possible, each a line of its own", playBurst},
		{"big", "[SIZE]", "a tool result of SIZE bytes on one line, for example 2MB", playBig},
		{"slow", "[DURATION]", "a word every 100 ms for that long, for example 30s", playSlow},
		{"fail", "", "a turn that ends with turn.failed", playFail},
		{"todo", "", "a todo list that is worked through", playTodo},
		{"edit", "[FILE]", "an Edit call with a diff, which needs a permission and makes a checkpoint", playEdit},
		{"background", "[DURATION]", "a background command that outlives the turn and reports back", playBackground},
		{"subagent", "[ask]", "a helper agent; with ask it needs a permission", playSubagent},
		{"unicode", "", "characters that break careless readers", playUnicode},
		{"reverse", "", "every other request that an agent puts to its client", playReverse},
		{"evict", "", "the session leaves memory after this turn", playEvict},
		{"noise", "", "lines on stdout that are no messages, and a flood on stderr", playNoise},
		{"crash", "", "the process exits with code 70 in the middle of the turn", playCrash},
		{"hang", "", "the process stops reading and writing", playHang},
	}
}

// findScript picks the script by the first word; what follows are its arguments.
func findScript(text string) (script, string) {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	for _, p := range prompts {
		if strings.EqualFold(name, p.name) {
			return p.play, strings.TrimSpace(rest)
		}
	}
	if said, ok := cutPrefixFold(strings.TrimSpace(text), "reply with exactly:"); ok {
		return playEcho, strings.TrimSpace(said)
	}
	if strings.Contains(text, "Bash") { // the user names the tool
		return playAsk, ""
	}
	return playAnswer, text
}

func cutPrefixFold(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// playEcho is the plainest turn there is: one thought, one answer.
func playEcho(t *turn) {
	t.step(func(m *step) {
		m.think("The user wants an exact reply. ")
		m.say(t.prompt)
	})
}

func playHelp(t *turn) {
	var text strings.Builder
	text.WriteString("I am a simulated agent. These prompts call up what an agent can do:\n\n")
	for _, p := range prompts {
		name := p.name
		if p.args != "" {
			name += " " + p.args
		}
		text.WriteString("- `" + name + "`: " + p.about + "\n")
	}
	text.WriteString("\nAny other text gets a short answer.\n")
	t.step(func(m *step) { m.say(text.String()) })
}

// playAnswer is what any other input gets: some thought, a look into a file, a few sentences.
func playAnswer(t *turn) {
	read := readFile(t.x.Workspace.WorkspacePath+"/README.md", "     1\t# Demo\n     2\t\n     3\tA small project.\n")
	t.step(func(m *step) {
		m.think("The user wrote: " + clip(t.input.text, 80) + ". I should look at the project first. ")
		m.say("Let me look at the project. ")
		m.call(read)
	})
	t.step(func(m *step) {
		m.think("The README is short, that is enough to answer. ")
		m.say("I read the README of this project. You asked: \"" + clip(t.input.text, 200) +
			"\". I am only a simulation and change nothing; send `help` to see what I can show.")
	})
}

func playAsk(t *turn) {
	line := t.prompt
	if line == "" {
		line = "echo hi"
	}
	run := bash(line, "Run "+clip(line, 40), "hi")
	t.step(func(m *step) {
		m.think("This needs a command, so I have to ask. ")
		m.call(run)
	})
	t.step(func(m *step) { m.say(reportOn(run, "The command ran and printed `hi`.")) })
}

// reportOn is the closing sentence after a call that may have been denied.
func reportOn(c *toolCall, success string) string {
	if c.status == "completed" {
		return success
	}
	return "I could not do it: " + c.reason + ". Nothing was changed."
}

func playBurst(t *turn) {
	n := 1000
	if parsed, err := strconv.Atoi(firstWord(t.prompt)); err == nil && parsed > 0 {
		n = parsed
	}
	t.step(func(m *step) {
		part := m.open("text")
		for i := 1; i <= n && !t.stopped(); i++ {
			text := "word " + strconv.Itoa(i) + " of " + strconv.Itoa(n) + " "
			m.grow(part, text)
			t.x.emitted(source{kind: "model.streaming", burst: true,
				delta: &delta{streamKey: streamKey{"text_delta", m.message.ID, ""}, text: text}})
			if i%burstBreath == 0 {
				t.pause(0)
			}
		}
		m.close(part)
	})
}

// burstBreath is how many deltas of a burst go out before others get a turn and the output queue a look.
const burstBreath = 64

func playBig(t *turn) {
	size := parseSize(firstWord(t.prompt), 1<<20)
	read := readFile(t.x.Workspace.WorkspacePath+"/big.txt", "")
	read.work = func() toolResult {
		t.pause(readDelay)
		return toolResult{content: filler(size)}
	}
	t.step(func(m *step) { m.call(read) })
	t.step(func(m *step) { m.say("The file has " + strconv.Itoa(size) + " bytes.") })
}

// filler is readable text of exactly n bytes.
func filler(n int) string {
	const line = "The quick brown fox jumps over the lazy dog. 0123456789 abcdefg\n"
	return strings.Repeat(line, n/len(line)+1)[:n]
}

func playSlow(t *turn) {
	d := duration("slow "+t.prompt, "slow", 10*time.Second)
	t.step(func(m *step) {
		part := m.open("text")
		for i := 1; i <= int(d/slowWord) && t.pause(slowWord); i++ {
			m.delta("text_delta", part, "tick"+strconv.Itoa(i)+" ")
		}
		m.close(part)
	})
}

// slowWord is the pace of the prompt "slow".
const slowWord = 100 * time.Millisecond

func playFail(t *turn) {
	t.step(func(m *step) {
		m.say("Let me try. ")
		t.fail("model_request", object{"type": "provider_error", "message": "The provider refused the request: quota is used up",
			"code": "1308", "retryable": false, "attribution": "provider"})
	})
}

// duration reads the argument of a prompt such as "slow 30s".
func duration(text, name string, fallback time.Duration) time.Duration {
	fields := strings.Fields(text)
	if len(fields) < 2 || !strings.EqualFold(fields[0], name) {
		return fallback
	}
	d, err := time.ParseDuration(fields[1])
	if err != nil || d <= 0 {
		return fallback
	}
	return d
}

func firstWord(text string) string {
	if fields := strings.Fields(text); len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// maxSize bounds "big": beyond it the simulator, not the client under test, would be the one to fail.
const maxSize = 512 << 20

// parseSize reads sizes such as 500, 64kb, 2MB, 1MiB; all units are powers of 1024.
func parseSize(text string, fallback int) int {
	text = strings.ToUpper(text)
	unit := 1
	for suffix, factor := range map[string]int{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30} {
		for _, tail := range []string{suffix + "IB", suffix + "B", suffix} {
			if digits, ok := strings.CutSuffix(text, tail); ok && unit == 1 {
				text, unit = digits, factor
			}
		}
	}
	n, err := strconv.Atoi(strings.TrimSuffix(text, "B"))
	if err != nil || n <= 0 {
		return fallback
	}
	if n > maxSize/unit {
		return maxSize
	}
	return n * unit
}
