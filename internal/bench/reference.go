//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// eventPrefix begins every update, from the child and from the hub.
var eventPrefix = []byte(`{"method":"session/event"`)

// reference is a server without any of the hub's duties: no tokens, no replay, no bounds. It speaks just enough for the
// same swarm and the same child. How it delivers is its mode.
type reference struct {
	child io.Writer // nil in mode accept

	mu      sync.Mutex
	clients []subscriber
}

// subscriber takes the frames of one read batch. deliver may block: nothing protects a reference from a slow client.
type subscriber interface{ deliver(batch) }

// batch is what one read of the pipe gave: the lines, and the same lines as ready frames behind one another.
type batch struct {
	lines  [][]byte
	frames []byte
}

func runReference(args []string) error {
	flags := flag.NewFlagSet("reference", flag.ContinueOnError)
	mode := flags.String("mode", "loop", "loop, conn-write or accept")
	readyFile := flags.String("ready-file", "", "file that gets the url once the server listens")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ref := new(reference)
	handler := ref.echo
	if *mode != "accept" {
		handler = ref.subscribe(*mode)
		if err := ref.startChild(); err != nil {
			return err
		}
	}
	if err := writeReady(*readyFile, "http://"+ln.Addr().String()); err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(handler), ConnContext: keepConn}
	return server.Serve(ln)
}

func writeReady(file, url string) error {
	text, err := json.Marshal(readyInfo{URL: url, PID: os.Getpid()})
	if err != nil {
		return err
	}
	temp := file + ".new" // renamed into place, so that a reader never sees half of it
	if err := os.WriteFile(temp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, file)
}

func (ref *reference) startChild() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, "child")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ref.child = stdin
	fmt.Fprintf(stdin, `{"id":0,"method":"session/subscribe","params":{"sessionId":%q,"deliveryKind":"desktop-continuous"}}`+"\n", benchSession)
	go ref.pump(stdout) // for the life of the process, which the driver ends
	return nil
}

// pump reads whatever the pipe has and hands it on. 64 KiB is the capacity of a pipe: more is never there at once.
func (ref *reference) pump(stdout io.Reader) {
	buf := make([]byte, 0, 128<<10)
	for {
		n, err := stdout.Read(buf[len(buf):min(len(buf)+64<<10, cap(buf))])
		buf = buf[:len(buf)+n]
		if end := bytes.LastIndexByte(buf, '\n') + 1; end > 0 {
			ref.publish(makeBatch(buf[:end]))
			buf = buf[:copy(buf, buf[end:])]
		}
		if err != nil {
			return
		}
	}
}

func makeBatch(text []byte) batch {
	b := batch{frames: make([]byte, 0, len(text)+len(text)/32)}
	for line := range bytes.Lines(bytes.Clone(text)) {
		line = line[:len(line)-1]
		if !bytes.HasPrefix(line, eventPrefix) {
			continue
		}
		b.lines = append(b.lines, line)
		b.frames = appendFrameHeader(b.frames, len(line))
		b.frames = append(b.frames, line...)
	}
	return b
}

// appendFrameHeader appends the head of an unmasked text frame (RFC 6455 section 5.2).
func appendFrameHeader(dst []byte, n int) []byte {
	switch {
	case n < 126:
		return append(dst, 0x81, byte(n))
	case n <= 0xffff:
		return binary.BigEndian.AppendUint16(append(dst, 0x81, 126), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(dst, 0x81, 127), uint64(n))
	}
}

func (ref *reference) publish(b batch) {
	if len(b.lines) == 0 {
		return
	}
	ref.mu.Lock()
	clients := ref.clients // append-only while a batch is out: a copy of the header is enough
	ref.mu.Unlock()
	for _, c := range clients {
		c.deliver(b)
	}
}

type connKey struct{}

func keepConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// subscribe serves one client: a session/subscribe makes it a subscriber, everything else goes to the child.
func (ref *reference) subscribe(mode string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow()
		for {
			_, frame, err := ws.Read(r.Context())
			if err != nil {
				return
			}
			if !bytes.Contains(frame, []byte(`"session/subscribe"`)) {
				_, _ = ref.child.Write(append(frame, '\n'))
				continue
			}
			if ref.join(r.Context(), ws, newSubscriber(r.Context(), mode, ws)) != nil {
				return
			}
		}
	}
}

// join answers and registers under the lock that publish needs, so that whoever has seen the answer misses nothing.
func (ref *reference) join(ctx context.Context, ws *websocket.Conn, s subscriber) error {
	ref.mu.Lock()
	defer ref.mu.Unlock()
	ref.clients = append(ref.clients, s)
	return ws.Write(ctx, websocket.MessageText, []byte(`{"id":1,"result":{"eventSeq":0,"events":[]}}`))
}

func newSubscriber(ctx context.Context, mode string, ws *websocket.Conn) subscriber {
	if mode == "loop" {
		return rawSubscriber{ctx.Value(connKey{}).(net.Conn)}
	}
	s := connSubscriber{ws: ws, queue: make(chan []byte, 256)} // 256: as the mode was measured before
	go s.run(ctx)
	return s
}

// echo answers each frame with the reply that the swarm waits for.
func (ref *reference) echo(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer ws.CloseNow()
	for {
		kind, _, err := ws.Read(r.Context())
		if err != nil {
			return
		}
		if ws.Write(r.Context(), kind, []byte(`{"id":1,"result":{}}`)) != nil {
			return
		}
	}
}

// rawSubscriber is the loop: the prebuilt frames in one write past the library.
type rawSubscriber struct{ conn net.Conn }

func (s rawSubscriber) deliver(b batch) { _, _ = s.conn.Write(b.frames) }

// connSubscriber is conn-write: a queue entry and a Conn.Write per event.
type connSubscriber struct {
	ws    *websocket.Conn
	queue chan []byte
}

func (s connSubscriber) deliver(b batch) {
	for _, line := range b.lines {
		s.queue <- line
	}
}

func (s connSubscriber) run(ctx context.Context) {
	for line := range s.queue {
		if s.ws.Write(ctx, websocket.MessageText, line) != nil {
			return
		}
	}
}

// readyInfo is the content of a ready file, the hub's and the references'.
type readyInfo struct {
	URL string `json:"url"`
	PID int    `json:"pid"`
}

var errNotReady = errors.New("not ready")

func awaitReady(ctx context.Context, file string) (readyInfo, error) {
	for {
		var info readyInfo
		if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &info) == nil && info.URL != "" {
			return info, nil
		}
		select {
		case <-ctx.Done():
			return info, fmt.Errorf("%w: no %s", errNotReady, file)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
