package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// tellSystemd reports a state to the service manager; without one it does nothing.
func tellSystemd(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd could not be told", "state", state, "error", err)
	}
}

// watchdog keeps systemd's watchdog quiet as long as alive says so. Returns when ctx ends, at once without a watchdog.
func watchdog(ctx context.Context, log *slog.Logger, alive func() error) {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("systemd watchdog is off", "error", err)
	}
	if limit <= 0 {
		return
	}
	tick := time.NewTicker(limit / 3) // two chances before the limit
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := alive(); err != nil {
			log.Error("the hub does not answer itself, systemd's watchdog is not fed", "error", err)
			continue
		}
		tellSystemd(log, daemon.SdNotifyWatchdog)
	}
}
