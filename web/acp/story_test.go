package acp

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	lanes "zcodehub/session"
)

// transcript is what a reader has before his eyes when all updates are in: pieces of a message are one text, a card is as
// its last update left it.
type transcript struct {
	order []string
	items map[string]*item
	plan  string
}

// item is one message or card of a transcript.
type item struct {
	kind, text, status string
	content            []json.RawMessage
	helper, background bool
}

func transcriptOf(updates []Update) *transcript {
	t := &transcript{items: map[string]*item{}}
	for _, u := range updates {
		var m struct {
			MessageID, ToolCallID, Status string
			Content                       json.RawMessage
			RawInput                      json.RawMessage
			Meta                          struct {
				ClaudeCode struct{ ParentToolUseID string }
			} `json:"_meta"`
		}
		_ = json.Unmarshal(u.JSON, &m)
		switch u.Kind {
		case updateUser, updateAgent, updateThought:
			// A background turn's messages have ids of their own while they are live.
			id := strings.Replace(m.MessageID, "bg_msg_", "msg_", 1)
			i := t.item(u.Kind+" "+id, u.Kind)
			i.text += textOf(m.Content, "text")
		case updateTool, updateToolMore:
			i := t.item("card "+m.ToolCallID, "card")
			if m.Status != "" {
				i.status = m.Status
			}
			if m.Content != nil {
				i.content = nil
				_ = json.Unmarshal(m.Content, &i.content)
			}
			i.helper = i.helper || m.Meta.ClaudeCode.ParentToolUseID != ""
			i.background = i.background || isTrue(m.RawInput, "run_in_background")
		case updatePlan:
			t.plan = string(u.JSON)
		}
	}
	return t
}

func (t *transcript) item(key, kind string) *item {
	if t.items[key] == nil {
		t.items[key] = &item{kind: kind}
		t.order = append(t.order, key)
	}
	return t.items[key]
}

// lines is the transcript for comparison. Three things differ between what was live and what was stored, and are meant
// to: calls of helper agents are only live; the output of background work is not stored; a stored card shows its
// arguments, a live one has shown them.
func (t *transcript) lines() (lines []string) {
	for _, key := range t.order {
		i := t.items[key]
		if i.helper {
			continue
		}
		var content []string
		for _, c := range i.content {
			if text := briefContent(c); !i.background && !strings.HasPrefix(text, "\"```json\\n") && !strings.HasPrefix(text, "diff") && !strings.HasPrefix(text, "new") {
				content = append(content, text)
			}
		}
		lines = append(lines, fmt.Sprint(key, " ", i.status, " ", i.text, " ", content))
	}
	return lines
}

var storyPrompts = []string{"hello there", "Reply with exactly: pong", "ask ls -l", "question", "plan", "burst 20", "big 2000", "slow 1s", "fail", "todo", "edit a.css", "background 2s",
	"subagent", "subagent ask", "unicode", "reverse"}

var stories = flag.Int("stories", 25, "how many random sessions to play")

// Whatever happened in a session: a client that was there, one that comes when all is over, one that comes in between
// and one that hears of it in larger pieces have the same before their eyes.
func TestAllClientsReadTheSameStory(t *testing.T) {
	for seed := range uint64(*stories) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			simulate(t, seed+1, 1, func(s *simSession) { playStory(t, s, random) })
		})
	}
}

// reader is a client that reads a session from some turn on.
type reader struct {
	tr   *Translator
	told []Update
}

func newReader() *reader { return &reader{tr: NewTranslator(TranslatorOptions{})} }

// turn gives it what was said of a turn, and what is stored when it is over.
func (r *reader) turn(heard []said, messages []json.RawMessage) {
	r.told = append(append(r.told, hearing(r.tr, heard)...), r.tr.Reconcile(messages)...)
}

func playStory(t *testing.T, s *simSession, random *rand.Rand) {
	turns := 1 + random.IntN(4)
	joinAt := random.IntN(turns + 1)
	s.ask = func(method string, params json.RawMessage) string {
		switch {
		case random.IntN(2) == 0:
			return approve(method, params)
		case method == methodPermission:
			return `"result":{"decision":"deny","reason":"no"}`
		}
		return `"result":{"action":"decline","reason":"rather not"}`
	}
	live, late, coarse := newReader(), newReader(), newReader()
	heard := 0
	for i := range turns {
		if i == joinAt {
			late.told = late.tr.History(s.messages())
		}
		prompt := storyPrompts[random.IntN(len(storyPrompts))]
		s.call("session/send", object{"content": prompt})
		if random.IntN(3) == 0 {
			s.pass(time.Duration(random.IntN(3000)) * time.Millisecond)
			s.call("session/stop", object{})
		}
		s.pass(time.Minute)
		fresh, messages := s.heard[heard:], s.messages()
		heard = len(s.heard)
		live.turn(fresh, messages)
		coarse.turn(mergedLane(fresh, 2+random.IntN(60)), messages)
		if i >= joinAt {
			late.turn(fresh, messages)
		}
	}
	if joinAt == turns {
		late.told = late.tr.History(s.messages())
	}
	replayed := newReader()
	replayed.told = replayed.tr.History(s.messages())
	for name, r := range map[string]*reader{"come in between": late, "in larger pieces": coarse, "replayed": replayed, "live": live} {
		if open := valid(t, r.told).open(); len(open) > 0 {
			t.Errorf("%s: open at the end: %v", name, open)
		}
		if diff := cmp.Diff(transcriptOf(live.told).lines(), transcriptOf(r.told).lines()); diff != "" {
			t.Errorf("%s (-live +%s):\n%s", name, name, diff)
		}
	}
}

// mergedLane is what a client of the replayable lane hears, with a window that closes after every cut messages.
func mergedLane(heard []said, cut int) (merged []said) {
	lane := lanes.NewReplayable()
	emit := func(_, _ uint64, msg []byte) {
		merged = append(merged, said{Method: "session/event", Params: lanes.UpdateParams(msg)})
	}
	seq := uint64(0)
	for i, m := range heard {
		if m.Method == "session/event" {
			lane.Add(seq, seq+1, lanes.AppendUpdate(nil, seq, m.Params))
			seq++
		}
		if i%cut == 0 || m.Method != "session/event" {
			lane.Flush(m.Method != "session/event", emit)
		}
		if m.Method != "session/event" {
			merged = append(merged, m)
		}
	}
	lane.Flush(true, emit)
	return merged
}
