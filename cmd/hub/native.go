package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/spf13/cobra"
)

// replyTimeout is what a command waits for a reply: the app-server may be starting (10 s) or loading a long session.
const replyTimeout = 60 * time.Second

// reach says which hub a command talks to: the one that runs on the data dir, or the one at a URL.
type reach struct{ url, token string }

func (r *reach) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.url, "url", "", "address of a hub elsewhere; without it, the hub that runs on the data directory is asked")
	cmd.Flags().StringVar(&r.token, "token", "", "token for --url; @FILE reads it from a file, where process lists do not show it")
}

// dial opens a WebSocket to a path of the hub, such as /ws.
func (r *reach) dial(ctx context.Context, c *config, path string, query url.Values) (*websocket.Conn, error) {
	if r.url == "" {
		if r.token != "" {
			return nil, errors.New("--token goes with --url: the local socket needs none")
		}
		return newLocalHub(c.DataDir).dial(ctx, path, query)
	}
	u, err := url.Parse(r.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("--url wants http://HOST:PORT or https://HOST, not %q", r.url)
	}
	token, err := r.readToken()
	if err != nil {
		return nil, err
	}
	u.Path, u.RawQuery, u.Fragment = strings.TrimSuffix(u.Path, "/")+path, query.Encode(), ""
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return dialWebSocket(ctx, u.String(), &websocket.DialOptions{HTTPHeader: header})
}

func (r *reach) readToken() (string, error) {
	file, isFile := strings.CutPrefix(r.token, "@")
	if !isFile {
		return r.token, nil
	}
	content, err := os.ReadFile(file)
	return strings.TrimSpace(string(content)), err
}

// dialWebSocket turns a refusal into the sentence that came with it.
func dialWebSocket(ctx context.Context, address string, options *websocket.DialOptions) (*websocket.Conn, error) {
	ws, response, err := websocket.Dial(ctx, address, options)
	if err != nil {
		if response != nil && response.Body != nil {
			defer func() { _ = response.Body.Close() }()
			return nil, refusal(response)
		}
		return nil, err
	}
	ws.SetReadLimit(-1) // a session's snapshot has no bound, and the hub is the user's own
	return ws, nil
}

// message is one message of the native surface.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *callError      `json:"error"`

	text []byte // as it came
}

// callError is an error of the hub or the app-server, whose text is made harmless to the terminal.
type callError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *callError) Error() string { return fmt.Sprintf("%s (%d)", plainLine(e.Message), e.Code) }

// native is a connection to a hub's native surface. It belongs to one goroutine.
type native struct {
	ws       *websocket.Conn
	cancel   context.CancelFunc
	incoming chan message // unbuffered; closed by read, after err is set
	err      error        // why incoming ended
	calls    int
	heard    func(message) // what comes while a call waits for its reply; nil drops it
}

// inSession runs f with a connection and the session that typed names.
func (r *reach) inSession(ctx context.Context, c *config, typed string, f func(client *native, sessionID string) error) error {
	client, err := r.dialNative(ctx, c)
	if err != nil {
		return err
	}
	defer client.close()
	id, err := client.findSession(ctx, typed)
	if err != nil {
		return err
	}
	return f(client, id)
}

// dialNative connects to the native surface.
func (r *reach) dialNative(ctx context.Context, c *config) (*native, error) {
	ws, err := r.dial(ctx, c, "/ws", nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	n := &native{ws: ws, cancel: cancel, incoming: make(chan message)}
	go n.read(ctx)
	return n, nil
}

// close returns when nothing of the connection runs any more.
func (n *native) close() {
	_ = n.ws.Close(websocket.StatusNormalClosure, "")
	n.cancel()
	for range n.incoming {
	}
}

func (n *native) read(ctx context.Context) {
	defer close(n.incoming)
	for {
		_, text, err := n.ws.Read(ctx)
		if err != nil {
			n.err = err
			return
		}
		m := message{text: text}
		if n.err = json.Unmarshal(text, &m); n.err != nil {
			return
		}
		select {
		case n.incoming <- m:
		case <-ctx.Done():
			n.err = ctx.Err()
			return
		}
	}
}

// call makes a request and decodes its result into out, if that is not nil.
func (n *native) call(ctx context.Context, method string, params, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, replyTimeout, fmt.Errorf("%s: no reply within %s", method, replyTimeout))
	defer cancel()
	n.calls++
	id := fmt.Sprintf("%d", n.calls)
	if err := n.send(ctx, map[string]any{"id": n.calls, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case m, ok := <-n.incoming:
			switch {
			case !ok:
				return lost(n.err)
			case m.Method != "" || string(m.ID) != id:
				if n.heard != nil {
					n.heard(m)
				}
			case m.Error != nil:
				return fmt.Errorf("%s: %w", method, m.Error)
			case out != nil:
				return json.Unmarshal(m.Result, out)
			default:
				return nil
			}
		}
	}
}

// send writes one message.
func (n *native) send(ctx context.Context, m any) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := n.ws.Write(ctx, websocket.MessageText, text); err != nil {
		return lost(err)
	}
	return nil
}

// lost says in a sentence why a connection ended.
func lost(err error) error {
	var closed websocket.CloseError
	if errors.As(err, &closed) {
		return closedError{closed}
	}
	return fmt.Errorf("the connection to the hub was lost: %w", err)
}

// closedError says with which close code the hub ended a connection.
type closedError struct{ frame websocket.CloseError }

func (e closedError) Error() string {
	return fmt.Sprintf("the hub closed the connection: %s (%d)", e.frame.Reason, e.frame.Code)
}

func (e closedError) Unwrap() error { return e.frame }
