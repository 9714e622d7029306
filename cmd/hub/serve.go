package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/web"
)

func newServeCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the hub",
		Args:  cobra.NoArgs,
		RunE: a.configured(func(cmd *cobra.Command, c *config) error {
			command, err := findAppServer(c, a.environ)
			if err != nil {
				return err
			}
			return serve(cmd.Context(), a, c, command, func(*auth.Gate, string) error { return announceServing(a, c) })
		}),
	}
	addFlags(cmd.Flags(), a.environ, forServing)
	return cmd
}

// announceServing tells a person at a terminal how to come in; logs do not need it.
func announceServing(a *app, c *config) error {
	if _, terminal := terminalWidth(a.out); !terminal {
		return nil
	}
	_, err := fmt.Fprintf(a.out, "To let a browser in, type in another terminal: %s\n", again(c, "pair"))
	return err
}

// serve runs a hub from start to end. It returns nil after a clean drain. announce is called once the hub listens.
//
// Start: data dir and its lock, stores, hub, listeners, app-server, ready. The end is the same backwards.
func serve(ctx context.Context, a *app, c *config, command []string, announce func(*auth.Gate, string) error) error {
	log := newLogger(a.err, c)
	for _, name := range c.strange {
		log.Warn("variable is no setting", "name", name)
	}
	signals := catchSignals()
	defer signal.Stop(signals)

	dir, err := openDataDir(c.DataDir)
	if err != nil {
		return err
	}
	defer dir.close()
	registry := prometheus.NewRegistry()
	access, err := openAccess(c, registry, log)
	if err != nil {
		return err
	}
	defer access.close()
	h, err := newHub(a, c, command, access, registry, log)
	if err != nil {
		return err
	}
	access.gate.Devices.OnRevoke(func(dev auth.Device) { h.Revoke(dev.ID) })
	front, err := newFront(c, h, access, registry, log)
	if err != nil {
		return err
	}
	instance, version := access.gate.Keys.Instance(), readBuild().version
	err = front.run(ctx, signals, func() error {
		log.Info("hub listens", "url", front.url, "instance", instance, "dataDir", dir.path, "version", version)
		access.recorder.event(auth.AuditEvent{Event: "hub.started", Detail: map[string]string{"url": front.url, "version": version}})
		return announce(access.gate, front.url)
	})
	access.recorder.event(auth.AuditEvent{Event: "hub.stopped"})
	return err
}

// catchSignals receives what asks the hub to end. A hang-up that nohup made ignored stays ignored.
func catchSignals() chan os.Signal {
	signals := make(chan os.Signal, 2) // a second one may come before the first is looked at
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	return signals
}

// newHub makes the hub, which checks that the app-server can be started.
func newHub(a *app, c *config, command []string, access *access, registry *prometheus.Registry, log *slog.Logger) (*hub.Hub, error) {
	environ, err := childEnviron(c, command, a.environ)
	if err != nil {
		return nil, err
	}
	page, err := web.PageID()
	if err != nil {
		return nil, err
	}
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	h, err := hub.New(hub.Options{
		AppServer:       command,
		Dir:             c.Cwd,
		Env:             environ,
		DataDir:         c.DataDir,
		InstanceID:      access.gate.Keys.Instance(),
		InstanceName:    c.Name,
		Version:         readBuild().version,
		Page:            page,
		CallTimeout:     c.CallTimeout,
		MaxMessageBytes: c.MaxMessageBytes,
		RateLimit:       c.RateLimit,
		RateBurst:       int(c.RateBurst),
		MaxConnections:  int(c.MaxConnections),
		Control:         c.Control,
		Push:            access.push,
		Verify:          access.verify,
		Audit:           access.recorder.event,
		Log:             log,
		Registerer:      registry,
	})
	if err != nil {
		return nil, faultf("%v", err) // what New looks at is the configuration
	}
	return h, nil
}

var (
	errForced       = errors.New("stopped by a second signal before the drain was over")
	errDrainTimeout = errors.New("the drain took longer than --drain-timeout")
)

// run serves until a signal, ctx or a failure, then drains. Both a second signal and --drain-timeout cut the drain
// short: the process then ends with its app-server still stopping, which the parent-death signal and the sweep at the
// next start take care of.
func (f *front) run(ctx context.Context, signals <-chan os.Signal, ready func() error) error {
	hubContext, stopHub := context.WithCancel(context.Background())
	defer stopHub()
	ended := f.start(hubContext)

	err := f.becomeReady(ready)
	if err == nil {
		err = f.wait(ctx, signals, ended)
	}
	f.log.Info("draining", "timeout", f.config.DrainTimeout.String())
	tellSystemd(f.log, daemon.SdNotifyStopping)
	f.removeReadyFile()

	drained := make(chan struct{})
	go func() { // outlives run only when the process is about to end
		defer close(drained)
		f.drain(stopHub)
	}()
	select {
	case <-drained:
		f.log.Info("stopped")
		return err
	case <-signals:
		return errors.Join(err, errForced)
	case <-time.After(f.config.DrainTimeout):
		return errors.Join(err, errDrainTimeout)
	}
}

func (f *front) becomeReady(ready func() error) error {
	if err := ready(); err != nil {
		return err
	}
	if f.config.ReadyFile != "" {
		content, _ := json.Marshal(map[string]any{"url": f.url, "pid": os.Getpid()}) // a string and a number
		if err := writeFileAtomic(f.config.ReadyFile, append(content, '\n')); err != nil {
			return fmt.Errorf("ready file: %w", err)
		}
	}
	tellSystemd(f.log, daemon.SdNotifyReady)
	return nil
}

func (f *front) removeReadyFile() {
	if f.config.ReadyFile != "" {
		_ = os.Remove(f.config.ReadyFile) // may never have been written
	}
}

func (f *front) wait(ctx context.Context, signals <-chan os.Signal, ended <-chan error) error {
	select {
	case s := <-signals:
		f.log.Info("stopping", "signal", s.String())
		return nil
	case <-ctx.Done():
		return nil
	case err := <-ended:
		if err == nil {
			err = errors.New("a part of the hub ended by itself")
		}
		return err
	}
}
