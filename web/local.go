package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"zcodehub/auth"
)

// SocketName is the local socket's name in the data dir.
const SocketName = "hub.sock"

// maxSocketPath is what a socket address holds, less the final zero: 108 bytes on Linux, 104 on macOS and the BSDs.
const maxSocketPath = 103

// SocketPath is where the local socket of a data dir is. One that the system cannot address is an error: no hub can run
// there.
func SocketPath(dataDir string) (string, error) {
	path := filepath.Join(dataDir, SocketName)
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("the path of the local socket is longer than the system allows (%d bytes), choose a shorter --data-dir: %s", maxSocketPath, path)
	}
	return path, nil
}

// ListenLocal opens the local socket in the data dir. Whoever gets through it is the same user on this machine and has
// all rights: file mode and directory keep others out, and the peer's credentials are checked as well.
func ListenLocal(dataDir string, log *slog.Logger) (net.Listener, error) {
	path, err := SocketPath(dataDir)
	if err != nil {
		return nil, err
	}
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil { // a second is plenty within one machine
		_ = conn.Close()
		return nil, fmt.Errorf("another hub answers on %s", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the local socket of an earlier run: %w", err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("open the local socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("protect the local socket: %w", err)
	}
	return &localListener{UnixListener: ln, log: log}, nil
}

// localListener lets only the same user in.
type localListener struct {
	*net.UnixListener
	log *slog.Logger
}

func (l *localListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if err := checkPeer(conn, os.Getuid()); err != nil {
			l.log.Warn("local connection refused", "error", err)
			_ = conn.Close()
			continue
		}
		return &localConn{conn}, nil
	}
}

// localConn marks a connection whose peer was checked. A unix socket of another listener is not one.
type localConn struct{ *net.UnixConn }

// checkPeer refuses a connection whose other end belongs to another user.
func checkPeer(conn *net.UnixConn, want int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var uid int
	var peerErr error
	if err := raw.Control(func(fd uintptr) { uid, peerErr = peerUID(int(fd)) }); err != nil {
		return err
	}
	if peerErr != nil {
		return fmt.Errorf("peer credentials: %w", peerErr)
	}
	if uid != want {
		return fmt.Errorf("the peer is user %d, the hub is user %d", uid, want)
	}
	return nil
}

type connKey struct{}

// withConn is http.Server.ConnContext: handlers learn from the connection itself where a request came from.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// isLocal reports whether a request came over the local socket.
func isLocal(r *http.Request) bool {
	_, local := r.Context().Value(connKey{}).(*localConn)
	return local
}

// remoteAddr is for people who read status, log and audit. A forwarding header counts only from a trusted proxy.
func (s *Server) remoteAddr(r *http.Request) string {
	if isLocal(r) {
		return "local"
	}
	if len(s.proxies) > 0 {
		if addr := auth.ClientAddr(r, s.proxies); addr.IsValid() {
			return addr.String()
		}
	}
	return r.RemoteAddr
}
