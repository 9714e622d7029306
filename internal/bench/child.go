//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// benchSession is the one session the child has, so that nobody needs to read its id out of a reply.
const benchSession = "sess_bench"

// app is the smallest app-server that can feed a hub: one resident session whose prompts are orders to stream.
//
//	burst N SIZE     N text deltas of SIZE payload bytes as fast as the pipe takes them
//	rate HZ N SIZE   the same, HZ a second
//
// A turn is N+2 events: turn.started, the deltas, turn.completed.
type app struct {
	turns sync.WaitGroup

	mu         sync.Mutex // one line is one write; held across it, as nothing else may come between
	out        io.Writer
	seq        uint64
	subscribed bool
	revision   int
	scratch    []byte
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Content string `json:"content"`
	} `json:"params"`
}

func runChild(in io.Reader, out io.Writer) error {
	a := &app{out: out}
	defer a.turns.Wait()
	a.announceStorage()
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			a.dispatch(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (a *app) announceStorage() {
	for i, phase := range []string{"checking", "committing", "ready"} {
		a.printf(`{"method":"startup/storageState","params":{"schemaVersion":1,"attemptId":"99999999-9999-4999-8999-999999999999",`+
			`"sequence":%d,"databaseId":"0f0f","databaseKind":"session","phase":%q,"elapsedMs":%d}}`, i+1, phase, i)
	}
}

func (a *app) dispatch(line []byte) {
	var r request
	if json.Unmarshal(line, &r) != nil || r.ID == nil || r.Method == "" {
		return // answers and notifications: nothing here waits for one
	}
	switch r.Method {
	case "runtime/capabilities":
		a.reply(r.ID, `{"independentPlanState":true}`)
	case "session/create", "session/resume", "session/read":
		a.reply(r.ID, a.snapshot())
	case "session/list":
		a.reply(r.ID, `{"sessions":[`+sessionInfo+`]}`)
	case "session/subscribe":
		a.mu.Lock()
		a.subscribed = true
		seq := a.seq
		a.mu.Unlock()
		a.reply(r.ID, fmt.Sprintf(`{"eventSeq":%d,"events":[],"sessionId":%q}`, seq, benchSession))
	case "session/send":
		a.turns.Go(func() { a.turn(r.ID, r.Params.Content) })
	default:
		a.printf(`{"error":{"code":-32601,"message":"Method not found: %s"},"id":%s}`, r.Method, r.ID)
	}
}

const sessionInfo = `{"sessionId":"` + benchSession + `","workspace":{"workspacePath":"/w/bench","workspaceKey":"/w/bench"},` +
	`"traceId":"aaaaaaaa-0000-4000-8000-000000000001","sessionKind":"interactive","title":"","mode":"build","status":"idle",` +
	`"target":null,"createdAt":1791032434000,"updatedAt":1791032434000}`

func (a *app) snapshot() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return fmt.Sprintf(`{"protocol":{"name":"ZCode Protocol","version":1},"session":%s,`+
		`"settings":{"mode":{"current":"build"},"permission":{"mode":"build"},"model":{"available":[]},"thoughtLevel":{"enabled":false,"available":[]}},`+
		`"projection":{"sessionId":%q,"status":"idle","mode":"build","turnCount":0,"totalTokenCount":0,"contextUsed":0,"contextWindow":200000,`+
		`"pendingPermissions":[],"activeToolCalls":[],"backgroundJobs":[],"target":null},`+
		`"runtime":{"eventSeq":%d,"stateRevision":%d,"pendingRequestIds":[]},"messages":[],"todos":[],"slashCommands":[]}`,
		sessionInfo, benchSession, a.seq, a.revision)
}

// turn answers the send and then streams what the prompt orders.
func (a *app) turn(id json.RawMessage, prompt string) {
	count, size, gap, err := parseOrder(prompt)
	if err != nil {
		a.printf(`{"error":{"code":-32602,"message":%q},"id":%s}`, err.Error(), id)
		return
	}
	a.mu.Lock()
	a.revision++
	revision := a.revision
	a.mu.Unlock()
	a.state(revision, "prompt_started", `{"status":"running"}`)
	a.reply(id, fmt.Sprintf(`{"accepted":true,"sessionId":%q,"stateRevision":%d}`, benchSession, revision))
	a.event("turn.started", `{"turnNumber":0,"input":"bench"}`)
	start := time.Now()
	for i := range count {
		if gap > 0 {
			time.Sleep(time.Until(start.Add(time.Duration(i+1) * gap)))
		}
		a.delta(size)
	}
	a.event("turn.completed", `{"response":"","tokenCount":0,"toolCallCount":0,"duration":1,"resultType":"success"}`)
	a.state(revision, "prompt_completed", `{"mode":{"current":"build"}}`)
}

func parseOrder(prompt string) (count, size int, gap time.Duration, err error) {
	var hz int
	if _, err = fmt.Sscanf(prompt, "burst %d %d", &count, &size); err == nil {
		return count, size, 0, nil
	}
	if _, err = fmt.Sscanf(prompt, "rate %d %d %d", &hz, &count, &size); err == nil && hz > 0 {
		return count, size, time.Second / time.Duration(hz), nil
	}
	return 0, 0, 0, fmt.Errorf("not an order: %q (burst N SIZE, rate HZ N SIZE)", prompt)
}

// The payload of a delta around its text. The text begins with the wall clock in nanoseconds, read right before the write.
const (
	deltaHead  = `{"assistantMessageId":"msg_1","delta":"`
	deltaTail  = `","done":false,"kind":"text_delta"}`
	stampBytes = 19 // digits of a Unix time in nanoseconds, until the year 2286
)

func (a *app) delta(size int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.beginLocked()
	b = append(b, deltaHead...)
	b = strconv.AppendInt(b, time.Now().UnixNano(), 10)
	for range size - len(deltaHead) - stampBytes - len(deltaTail) {
		b = append(b, 'x')
	}
	b = append(b, deltaTail...)
	a.endLocked(b, "model.streaming")
}

func (a *app) event(kind, payload string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endLocked(append(a.beginLocked(), payload...), kind)
}

func (a *app) beginLocked() []byte {
	a.seq++
	b := append(a.scratch[:0], `{"method":"session/event","params":{"deliveryKind":"desktop-continuous","eventId":"e-`...)
	b = strconv.AppendUint(b, a.seq, 10)
	return append(b, `","payload":`...)
}

func (a *app) endLocked(b []byte, kind string) {
	b = append(b, `,"seq":`...)
	b = strconv.AppendUint(b, a.seq, 10)
	b = append(b, `,"sessionId":"`+benchSession+`","timestamp":`...)
	b = strconv.AppendInt(b, time.Now().UnixMilli(), 10)
	b = append(b, `,"type":"`...)
	b = append(b, kind...)
	b = append(b, "\"}}\n"...)
	a.scratch = b
	if a.subscribed {
		_, _ = a.out.Write(b) // a reader that is gone shows as end of stdin
	}
}

func (a *app) state(revision int, reason, patch string) {
	a.printf(`{"method":"state.updated","params":{"type":"state.updated","scope":"session","workspace":{"workspacePath":"/w/bench","workspaceKey":"/w/bench"},`+
		`"sessionId":%q,"revision":%d,"reason":%q,"patch":%s}}`, benchSession, revision, reason, patch)
}

func (a *app) reply(id json.RawMessage, result string) { a.printf(`{"id":%s,"result":%s}`, id, result) }

func (a *app) printf(format string, args ...any) {
	line := append(fmt.Appendf(nil, format, args...), '\n')
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = a.out.Write(line)
}
