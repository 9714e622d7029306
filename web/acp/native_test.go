package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"zcodehub/auth"
	"zcodehub/fanout"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
	"zcodehub/internal/wire"
)

// native attaches an operator to h.
func native(t *testing.T, h *hubtest.Hub, on Events) *Native {
	t.Helper()
	n, err := Attach(hub.ClientInfo{Principal: holder("native", auth.RoleOperator), Profile: auth.Continuous}, attachTo(h), on)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hubtest.Patience)
	t.Cleanup(cancel)
	return ctx
}

func TestNativeGetsWhatACallAnswersAndItsErrors(t *testing.T) {
	n := native(t, simulated(t), Events{})
	defer n.Close()
	result, err := n.Call(patient(t), "session/create", map[string]any{"workspace": map[string]string{"workspacePath": "/w", "workspaceKey": "w"}})
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := wire.Path(result, "session", "sessionId"); !ok {
		t.Errorf("no session in %.200s", id)
	}
	_, err = n.Call(patient(t), "session/read", map[string]string{"sessionId": "sess_none"})
	var failed *CallError
	if !errors.As(err, &failed) || failed.Code != -32004 || !strings.Contains(failed.Message, "sess_none") {
		t.Errorf("reading an unknown session: %v", err)
	}
}

// The end of a turn is told before the answer to what was asked after it was heard; a question of the agent is answered.
func TestNativeHandsMessagesOnInOrderAndAnswers(t *testing.T) {
	ended := make(chan struct{})
	var n *Native
	var seen []string // by the writer only
	attached := make(chan struct{})
	n = native(t, simulated(t), Events{
		Notify: func(method string, params []byte) {
			if kind, _ := wire.Get(params, "type"); method == "session/event" {
				seen = append(seen, string(kind))
				if string(kind) == `"turn.completed"` {
					close(ended)
				}
			}
		},
		Ask: func(id, method string, params []byte) {
			<-attached
			option, _ := wire.Get(params, "options")
			for o := range wire.Elements(option) {
				response, _ := wire.Get(o, "response")
				n.Answer(id, response)
				return
			}
		},
	})
	close(attached)
	defer n.Close()
	ctx := patient(t)
	result, err := n.Call(ctx, "session/create", map[string]any{"workspace": map[string]string{"workspacePath": "/w", "workspaceKey": "w"}})
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := wire.Path(result, "session", "sessionId")
	id, _ := wire.StringValue(raw)
	if _, err := n.Call(ctx, "session/subscribe", map[string]string{"sessionId": id}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Call(ctx, "session/send", map[string]string{"sessionId": id, "content": "ask echo"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-ctx.Done():
		t.Fatal("the turn did not end: the question was not answered")
	}
	var atReply int
	if err := n.Do(ctx, "session/read", map[string]string{"sessionId": id}, func(_ json.RawMessage, err error) {
		if err != nil {
			t.Error(err)
		}
		atReply = len(seen)
	}); err != nil {
		t.Fatal(err)
	}
	if atReply == 0 || seen[atReply-1] == "" {
		t.Errorf("the reply came before the events: %d", atReply)
	}
}

func TestNativeEndsItsCalls(t *testing.T) {
	h := hubtest.Start(t, hubtest.NewScript(t)) // an app-server that never answers
	n := native(t, h, Events{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := n.Do(ctx, "session/list", struct{}{}, func(json.RawMessage, error) { t.Error("called after the context ended") }); !errors.Is(err, context.Canceled) {
		t.Errorf("a call whose context ended: %v", err)
	}
	ended := make(chan error, 1)
	n.Go("session/list", struct{}{}, func(_ json.RawMessage, err error) { ended <- err })
	n.Close()
	select {
	case err := <-ended:
		if !errors.Is(err, ErrNativeClosed) {
			t.Errorf("a call that Close ended: %v", err)
		}
	case <-time.After(hubtest.Patience):
		t.Fatal("Close left a call open")
	}
	if _, err := n.Call(patient(t), "session/list", struct{}{}); !errors.Is(err, ErrNativeClosed) {
		t.Errorf("a call after Close: %v", err)
	}
}

func FuzzNextFrame(f *testing.F) {
	for _, n := range []int{0, 1, 125, 126, 65535, 65536} {
		f.Add(fanout.Frame(bytes.Repeat([]byte{'x'}, n)))
	}
	f.Add([]byte{0x81, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0})
	f.Add([]byte{0x81, 0x85, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			message, rest, err := nextFrame(b)
			if err != nil {
				return
			}
			if frame := fanout.Frame(message); len(message) <= 125 && !bytes.Equal(frame, b[:len(b)-len(rest)]) {
				t.Fatalf("%x was read as %x", b, message)
			}
			if len(rest) >= len(b) {
				t.Fatal("a frame of no length")
			}
			b = rest
		}
	})
}
