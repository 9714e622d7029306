package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"zcodehub/hub"
	"zcodehub/internal/wire"
)

// lastReplies is how long replies are waited for after standard input has ended: what the app-server itself takes for
// the requests that are under way (protocol document 1.8).
const lastReplies = 1500 * time.Millisecond

// errInputEnded tells that standard input has ended, which a lost connection is not: that may be an io.EOF too.
var errInputEnded = errors.New("standard input has ended")

// pump carries the lines of standard input to a WebSocket, and its messages to standard output as lines.
type pump struct {
	ws      *websocket.Conn
	in      io.Reader
	out     io.Writer
	log     io.Writer
	forward func(msg []byte) ([]byte, error) // what becomes of a message, on one line; nil drops it, an error ends the pump

	waiting atomic.Int64  // requests without a reply
	replied chan struct{} // one slot: waiting may be 0 now; never closed
}

// run ends with standard input, or with an error when the connection ends first.
func (p *pump) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.replied = make(chan struct{}, 1)
	ended := make(chan error, 2) // one send for each direction, never closed
	// This goroutine may stay until the process ends: a read from standard input cannot be called off.
	go func() { ended <- p.upload(ctx) }()
	go func() { ended <- p.download(ctx) }()
	err := <-ended
	if errors.Is(err, errInputEnded) {
		p.awaitReplies(ctx, ended)
		_ = p.ws.Close(websocket.StatusNormalClosure, "")
		return nil
	}
	_ = p.ws.CloseNow()
	return err
}

// upload returns errInputEnded when standard input has.
func (p *pump) upload(ctx context.Context) error {
	lines := wire.NewReader(p.in, hub.DefaultMaxMessageBytes)
	for {
		line, err := lines.Next()
		var tooLong *wire.LineTooLongError
		if errors.As(err, &tooLong) {
			_, _ = fmt.Fprintf(p.log, "hub: standard input: %v\n", err)
			continue
		}
		if errors.Is(err, io.EOF) {
			return errInputEnded
		}
		if err != nil {
			return err
		}
		if isRequest(line) {
			p.waiting.Add(1)
		}
		if err := p.ws.Write(ctx, websocket.MessageText, line); err != nil {
			return lost(err)
		}
	}
}

// isRequest and isReply know messages of both kinds of line: those of ACP have a jsonrpc member, and the app-server's must
// not.
func isRequest(msg []byte) bool {
	_, hasMethod := wire.Get(msg, "method")
	return hasID(msg) && hasMethod
}

func isReply(msg []byte) bool {
	_, hasMethod := wire.Get(msg, "method")
	return hasID(msg) && !hasMethod
}

// hasID does not count null: so is answered what was no message at all.
func hasID(msg []byte) bool {
	id, ok := wire.Get(msg, "id")
	return ok && string(id) != "null"
}

// download returns why no more messages come.
func (p *pump) download(ctx context.Context) error {
	for {
		_, msg, err := p.ws.Read(ctx)
		if err != nil {
			return lost(err)
		}
		replies := isReply(msg)
		if msg, err = p.forward(wire.OneLine(msg)); err != nil {
			return err
		}
		if msg != nil {
			if _, err := p.out.Write(append(msg, '\n')); err != nil {
				return err
			}
		}
		if replies {
			p.waiting.Add(-1) // only now: at 0 the process may end
		}
		select {
		case p.replied <- struct{}{}:
		default:
		}
	}
}

func (p *pump) awaitReplies(ctx context.Context, ended <-chan error) {
	timer := time.NewTimer(lastReplies)
	defer timer.Stop()
	for p.waiting.Load() > 0 {
		select {
		case <-p.replied:
		case <-ended: //nolint:errcheck // whatever ended it, no more replies come
			return
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
