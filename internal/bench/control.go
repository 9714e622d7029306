//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// control is the one client that gives orders. It subscribes to nothing, so that it costs the server next to nothing.
type control struct {
	ws      *websocket.Conn
	nextID  int
	replies chan json.RawMessage // sent by read, received by call; closed by read; when full, nobody waits and replies are dropped
}

func dialControl(ctx context.Context, t *target) (*control, error) {
	header := http.Header{}
	if name, value, ok := strings.Cut(strings.TrimSpace(t.headers), ": "); ok {
		header.Set(name, value)
	}
	ws, _, err := websocket.Dial(ctx, "ws://"+t.addr+t.path, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(-1)
	c := &control{ws: ws, nextID: 1, replies: make(chan json.RawMessage, 64)} // 64: far more orders than one cell gives
	go c.read(ctx)
	return c, nil
}

// read ends with the connection; close waits for it.
func (c *control) read(ctx context.Context) {
	defer close(c.replies)
	for {
		_, frame, err := c.ws.Read(ctx)
		if err != nil {
			return
		}
		if bytes.HasPrefix(frame, []byte(`{"method":`)) {
			continue
		}
		select {
		case c.replies <- frame:
		default:
		}
	}
}

func (c *control) close() {
	_ = c.ws.CloseNow()
	for range c.replies { // until read has ended
	}
}

func (c *control) send(ctx context.Context, method string, params any) error {
	c.nextID++
	text, err := json.Marshal(map[string]any{"id": c.nextID, "method": method, "params": params})
	if err != nil {
		return err
	}
	return c.ws.Write(ctx, websocket.MessageText, text)
}

// call sends a request and waits for its answer. Only for systems that answer: the hub.
func (c *control) call(ctx context.Context, method string, params any) error {
	if err := c.send(ctx, method, params); err != nil {
		return err
	}
	for reply := range c.replies {
		var answer struct {
			ID    any
			Error json.RawMessage
		}
		if err := json.Unmarshal(reply, &answer); err != nil || answer.ID != float64(c.nextID) {
			continue
		}
		if answer.Error != nil {
			return fmt.Errorf("%s: %s", method, answer.Error)
		}
		return nil
	}
	return fmt.Errorf("%s: connection closed", method)
}

// refusals are the errors among the answers that nobody waited for.
func (c *control) refusals() (texts []string) {
	for {
		select {
		case reply, open := <-c.replies:
			if !open {
				return append(texts, "(the control connection has ended)")
			}
			if bytes.Contains(reply, []byte(`"error"`)) {
				texts = append(texts, string(reply))
			}
		default:
			return texts
		}
	}
}

// order lets the child stream; the answer is not waited for.
func (c *control) order(ctx context.Context, prompt string) error {
	return c.send(ctx, "session/send", map[string]any{"sessionId": benchSession, "content": prompt})
}
