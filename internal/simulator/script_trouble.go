package simulator

import (
	"strconv"
	"strings"
)

// crashCode is the exit code of the prompt "crash", distinct from what Go and shells use.
const crashCode = 70

// playCrash ends the process in the middle of a tool call.
func playCrash(t *turn) {
	call := bash("crash", "End the process", "")
	call.risk = ""
	call.work = func() toolResult {
		t.pause(commandDelay)
		t.x.s.crash()
		return toolResult{}
	}
	t.step(func(m *step) {
		m.say("This will not end well. ")
		m.call(call)
	})
}

// crash ends the process without another word. What was written before still goes out, as the real one writes
// synchronously.
func (s *server) crash() {
	s.out.close()
	s.stop(&ExitError{Code: crashCode, Reason: "the prompt asked for it"})
}

// playHang makes the process deaf and mute: it reads and writes nothing more, and only a signal ends it.
func playHang(t *turn) {
	s := t.x.s
	s.hung = true
	s.out.mute()
	s.yield(func() { <-s.ctx.Done() })
}

// noiseLines are stdout lines that are not messages, as plugins and warnings of a runtime produce them.
var noiseLines = []string{
	"(node:4242) Warning: something is deprecated",
	"",
	"   ",
	"{not json",
	"[1,2,3]",
	"null",
	`{"hello":"world"}`,
	`{"jsonrpc":"2.0","method":"x"}`,
	`{"id":null,"result":1}`,
	"\xff\xfe broken UTF-8 \xc3",
	"\x1b[31mred\x1b[0m",
	`{"method":"no/such/notification","params":{"a":1}}`,
}

// stderrFlood is how much the prompt "noise" writes on stderr: far more than a pipe holds.
const stderrFlood = 4 << 20

// playNoise writes what a client has to survive, in the middle of a turn.
func playNoise(t *turn) {
	s := t.x.s
	noise := func() {
		for _, line := range noiseLines {
			s.out.push([]byte(line), false)
		}
		s.yield(func() {
			var chunk strings.Builder
			for i := 0; chunk.Len() < stderrFlood/16; i++ {
				chunk.WriteString("stderr line " + strconv.Itoa(i) + ": nobody needs to read this\n")
			}
			for range 16 {
				if _, err := s.opts.Err.Write([]byte(chunk.String())); err != nil {
					return // nobody reads stderr, then nobody misses it
				}
			}
		})
	}
	t.step(func(m *step) {
		m.say("Some noise: ")
		noise()
		m.say("and the answer goes on after it.")
	})
}
