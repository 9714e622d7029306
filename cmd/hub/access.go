package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"zcodehub/auth"
	"zcodehub/push"
	"zcodehub/web"
)

// access is who may come in and what is recorded of it, for as long as the hub runs. Whoever runs hub holds the lock of
// the data dir, and so the only process that opens these stores.
type access struct {
	gate     *auth.Gate
	tickets  *auth.Tickets
	recorder *recorder
	audit    *auth.Audit
	push     *push.Service
	log      *slog.Logger
}

func openAccess(c *config, registry prometheus.Registerer, log *slog.Logger) (_ *access, err error) {
	keys, err := auth.LoadKeys(c.DataDir)
	if err != nil {
		return nil, err
	}
	issuers, err := c.issuers()
	if err != nil {
		return nil, err
	}
	devices, err := auth.OpenDevices(c.DataDir)
	if err != nil {
		return nil, err
	}
	audit, err := auth.OpenAudit(c.DataDir, 0, 0)
	if err != nil {
		return nil, errors.Join(err, devices.Close())
	}
	a := &access{
		gate: &auth.Gate{Keys: keys, Devices: devices, Issuers: issuers}, tickets: new(auth.Tickets), audit: audit,
		recorder: newRecorder(audit, devices, registry, log), log: log,
	}
	a.push, err = push.Open(push.Options{DataDir: c.DataDir, Devices: devices, Contact: pushContact(c), Log: log, Registerer: registry})
	if err != nil {
		a.close()
		return nil, err
	}
	devices.OnRevoke(a.revoked)
	return a, nil
}

// pushContact is where push services find whoever runs the hub, if they must: its public address. One without is not
// on the internet; then it is a name that leads nowhere.
func pushContact(c *config) string {
	if strings.HasPrefix(c.PublicURL, "https://") {
		return c.PublicURL
	}
	return "https://zcode-hub.invalid"
}

// close ends what is queued and lets go of the stores.
func (a *access) close() {
	a.recorder.close()
	err := errors.Join(a.gate.Devices.Close(), a.audit.Close())
	if a.push != nil {
		err = errors.Join(err, a.push.Close())
	}
	if err != nil {
		a.log.Error("closing the stores failed", "error", err)
	}
}

// revoked is told of every revocation, by whatever way it came.
func (a *access) revoked(dev auth.Device) {
	a.tickets.Drop(dev.ID)
	if err := a.push.Forget(dev.ID); err != nil {
		a.log.Error("the push subscriptions of a revoked device are not off the disk", "device", dev.ID, "error", err)
	}
	a.recorder.event(auth.AuditEvent{Event: "device.revoked", Name: dev.Name, Device: dev.ID, Detail: map[string]string{"why": dev.RevokedFor}})
}

// verifyTime bounds how long an open connection waits for another issuer's keys when it renews itself.
const verifyTime = 10 * time.Second

// verify judges what an open connection brings in place of its token: a newer one, or a ticket for just that, which is
// what the page can get hold of.
func (a *access) verify(token string, now time.Time) (*auth.Principal, error) {
	if p, ok := a.tickets.RedeemFor(token, web.RenewalPath); ok {
		if err := a.gate.Devices.Admit(p, now); err != nil {
			return nil, err
		}
		return p, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), verifyTime)
	defer cancel()
	return a.gate.Authenticate(ctx, token, now)
}

// issueWithoutHub makes a token on a data dir where no hub runs.
func issueWithoutHub(dataDir string, grant auth.Grant) (token string, err error) {
	err = withGate(dataDir, func(gate *auth.Gate) error {
		var p *auth.Principal
		if token, p, err = gate.Issue(grant, time.Now()); err != nil {
			return err
		}
		return recordWithoutHub(dataDir, auth.TokenCreated(p))
	})
	return token, err
}

// withGate opens the stores of a data dir on which no hub runs, and makes them where they are missing.
func withGate(dataDir string, use func(*auth.Gate) error) (err error) {
	keys, err := auth.LoadKeys(dataDir)
	if err != nil {
		return err
	}
	devices, err := auth.OpenDevices(dataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, devices.Close()) }()
	return use(&auth.Gate{Keys: keys, Devices: devices})
}

// withDevices opens the device store of a data dir on which no hub runs. It makes none: without one the error wraps
// fs.ErrNotExist.
func withDevices(dataDir string, use func(*auth.Devices) error) (err error) {
	if !auth.HasDevices(dataDir) {
		return fmt.Errorf("%s has no devices: %w", dataDir, fs.ErrNotExist)
	}
	devices, err := auth.OpenDevices(dataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, devices.Close()) }()
	return use(devices)
}

// recordWithoutHub appends to the audit of a data dir on which no hub runs.
func recordWithoutHub(dataDir string, e auth.AuditEvent) error {
	audit, err := auth.OpenAudit(dataDir, 0, 0)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return errors.Join(audit.Append(e, time.Now()), audit.Close())
}
