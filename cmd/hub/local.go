package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"zcodehub/web"
)

// errNotRunning means that nobody listens on the data dir's socket.
var errNotRunning = errors.New("no hub runs on this data directory")

// localTimeout bounds a question to the hub on this machine: it answers from memory, so longer means that it hangs.
const localTimeout = 5 * time.Second

// localHub talks HTTP to the hub that runs on a data dir, through its socket.
type localHub struct {
	dataDir string
	client  *http.Client
}

func newLocalHub(dataDir string) *localHub {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		path, err := web.SocketPath(dataDir)
		if err != nil {
			return nil, err
		}
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	return &localHub{
		dataDir: dataDir,
		client: &http.Client{
			Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
			Timeout:   localTimeout,
		},
	}
}

// call sends a request (a JSON body if in is not nil) and decodes a good answer into out (if that is not nil).
func (l *localHub) call(method, path string, in, out any) error {
	if _, err := web.SocketPath(l.dataDir); err != nil {
		return err
	}
	var body io.Reader
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(encoded)
	}
	request, err := http.NewRequest(method, "http://localhost"+path, body)
	if err != nil {
		return err
	}
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := l.client.Do(request)
	if err != nil {
		return l.said(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 != 2 {
		return refusal(response)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(out)
}

// dial opens a WebSocket to a path of the hub.
func (l *localHub) dial(ctx context.Context, path string, query url.Values) (*websocket.Conn, error) {
	if _, err := web.SocketPath(l.dataDir); err != nil {
		return nil, err
	}
	address := url.URL{Scheme: "ws", Host: "localhost", Path: path, RawQuery: query.Encode()}
	ws, err := dialWebSocket(ctx, address.String(), &websocket.DialOptions{HTTPClient: l.client})
	return ws, l.said(err)
}

// said says in a sentence why the hub could not be asked.
func (l *localHub) said(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: %s", errNotRunning, l.dataDir)
	case err != nil && !errors.Is(err, errRefused):
		return fmt.Errorf("the hub on %s does not answer: %w", l.dataDir, err)
	}
	return err
}

// errRefused marks an answer that is no.
var errRefused = errors.New("the hub refused")

// maxRefusal is more than any error sentence of the hub needs.
const maxRefusal = 4 << 10

func refusal(response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	var said struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(body, &said) == nil && said.Error.Message != "" {
		return fmt.Errorf("%w: %s", errRefused, said.Error.Message)
	}
	return fmt.Errorf("%w: %s: %s", errRefused, response.Status, bytes.TrimSpace(body))
}
