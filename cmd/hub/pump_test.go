package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// A hub that was killed says nothing at its end: that is no end of the input, with which all would be well.
func TestEditorIsToldThatTheHubWasKilled(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		_ = ws.CloseNow()
	}))
	defer server.Close()
	ws, _, err := websocket.Dial(t.Context(), server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	in, input := io.Pipe()
	defer func() { _ = input.Close() }()
	p := &pump{ws: ws, in: in, out: io.Discard, log: io.Discard, forward: func(msg []byte) ([]byte, error) { return msg, nil }}
	if err := p.run(t.Context()); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("the end of the hub is told as %v", err)
	}
}

// slowOutput takes its time: a pipe whose reader has not come yet.
type slowOutput struct {
	bytes.Buffer
	begun   chan struct{} // closed by the first write
	release chan struct{}
}

func (o *slowOutput) Write(b []byte) (int, error) {
	close(o.begun)
	<-o.release
	return o.Buffer.Write(b)
}

// Who pipes requests in and closes the pipe gets every reply.
func TestLastReplyIsOutBeforeThePumpEnds(t *testing.T) {
	const reply = `{"jsonrpc":"2.0","id":1,"result":{}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = ws.CloseNow() }()
		if _, _, err := ws.Read(r.Context()); err != nil {
			t.Error(err)
		}
		_ = ws.Write(r.Context(), websocket.MessageText, []byte(reply))
		_, _, _ = ws.Read(r.Context())
	}))
	defer server.Close()
	ws, _, err := websocket.Dial(t.Context(), server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	in, input := io.Pipe()
	out := &slowOutput{begun: make(chan struct{}), release: make(chan struct{})}
	p := &pump{ws: ws, in: in, out: out, log: io.Discard, forward: func(msg []byte) ([]byte, error) { return msg, nil }}
	ended := make(chan error, 1)
	go func() { ended <- p.run(t.Context()) }()
	_, _ = io.WriteString(input, `{"jsonrpc":"2.0","id":1,"method":"x"}`+"\n")
	<-out.begun
	_ = input.Close() // the input ends while the reply is being written
	select {
	case <-ended:
		t.Error("the pump ended before its last reply was out")
	case <-time.After(200 * time.Millisecond): // far less than it waits for replies
		close(out.release)
		if err := <-ended; err != nil || out.String() != reply+"\n" {
			t.Errorf("put out %q, %v", out.String(), err)
		}
		return
	}
	close(out.release)
}

func TestRequestsAndRepliesOfBothDialectsAreCounted(t *testing.T) {
	for _, c := range []struct {
		msg            string
		request, reply bool
	}{
		{`{"id":"a","method":"x","params":{}}`, true, false},
		{`{"jsonrpc":"2.0","id":0,"method":"x"}`, true, false},
		{`{"id":1,"result":null}`, false, true},
		{`{"jsonrpc":"2.0","id":1,"error":{}}`, false, true},
		{`{"jsonrpc":"2.0","id":null,"error":{}}`, false, false},
		{`{"method":"x"}`, false, false},
		{`nonsense`, false, false},
		{`{"id":`, false, false},
	} {
		if request, reply := isRequest([]byte(c.msg)), isReply([]byte(c.msg)); request != c.request || reply != c.reply {
			t.Errorf("%s: request %v, reply %v", c.msg, request, reply)
		}
	}
}
