package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/coder/websocket"
	"github.com/spf13/cobra"
)

const (
	// startTimeout is how long a hub that was just started may take to listen: it opens its files and its sockets.
	startTimeout = 20 * time.Second
	// startPoll is how often it is looked for.
	startPoll = 50 * time.Millisecond
	// maxOldLog is how large, in bytes, the log of the last hub may be for the next one to go on in it: weeks at the
	// usual level.
	maxOldLog = 8 << 20
)

func newACPCommand(a *app) *cobra.Command {
	var at reach
	cmd := &cobra.Command{
		Use:   "acp",
		Short: "Be an ACP agent on standard input and output, for editors",
		Long: `Be an ACP agent (agentclientprotocol.com) on standard input and output, for editors that start one. It joins the hub
that runs on the data directory, so that the editor and the phone share their sessions; if none runs, it starts
"hub serve" in the background, which stays when the editor goes and writes its log to hub.log in the data directory.`,
		Example: `  hub acp
  hub acp --url https://hub.example.org --token @token.txt`,
		Args: cobra.NoArgs,
		RunE: a.configured(func(cmd *cobra.Command, c *config) error {
			ws, err := at.dialStarting(cmd.Context(), a, c, "/acp")
			if err != nil {
				return err
			}
			p := &pump{ws: ws, in: a.in, out: a.out, log: a.err, forward: func(msg []byte) ([]byte, error) { return msg, nil }}
			return p.run(cmd.Context())
		}),
	}
	at.add(cmd)
	return cmd
}

// dialStarting is dial for when a hub may have to be started first.
func (r *reach) dialStarting(ctx context.Context, a *app, c *config, path string) (*websocket.Conn, error) {
	ws, err := r.dial(ctx, c, path, nil)
	if !errors.Is(err, errNotRunning) {
		return ws, err
	}
	ended, logFile, err := startServing(a, c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the hub that was started does not listen: see %s", logFile))
	defer cancel()
	for {
		if ws, err := r.dial(ctx, c, path, nil); !errors.Is(err, errNotRunning) {
			return ws, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case err := <-ended:
			// Another editor may have started a hub at the same time: ours ends then, and the other one will answer.
			if !dataDirHeld(c.DataDir) {
				return nil, fmt.Errorf("the hub could not be started (%v): see %s", err, logFile)
			}
		case <-time.After(startPoll):
		}
	}
}

// startServing starts `hub serve` with the settings of this command, in a session of its own so that it outlives the
// editor. ended is sent to once, if it ends while this process lives.
func startServing(a *app, c *config) (ended <-chan error, logFile string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return nil, "", err
	}
	logFile = filepath.Join(c.DataDir, "hub.log")
	if info, err := os.Stat(logFile); err == nil && info.Size() > maxOldLog {
		_ = os.Rename(logFile, logFile+".old") // without room for that there is none for a log either
	}
	log, err := os.OpenFile(logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = log.Close() }()
	args := []string{"serve", "--data-dir", c.DataDir}
	if c.origin["config"] != "default" && c.ConfigFile != "" {
		args = append(args, "--config", c.ConfigFile)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = a.environ
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	done := make(chan error, 1)        // sent to once, never closed
	go func() { done <- cmd.Wait() }() // stays as long as the hub; this process may end before it
	return done, logFile, nil
}
