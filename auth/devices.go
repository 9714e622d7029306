package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

var (
	// ErrInUse is wrapped when another process holds the store: one hub per data dir.
	ErrInUse = errors.New("in use by another process")
	// ErrNoDevice is wrapped when a name or id names no device.
	ErrNoDevice = errors.New("no such device")
	// ErrRevoked is wrapped, beside ErrBadToken, when the token was good and its device was taken away.
	ErrRevoked = errors.New("the device was revoked")
)

const (
	devicesFile = "devices.db"
	// lockWait gives a hub that is just stopping the time to let go of the store.
	lockWait = 500 * time.Millisecond
	// maxDevices bounds memory and what an eager issuer of tokens can fill the disk with.
	maxDevices = 10_000
	// keepDead is how long an ended device stays in the list, for the people who look for it there.
	keepDead      = 90 * 24 * time.Hour
	deviceIDBytes = 8 // an identifier, no secret
)

// DeviceKind says how a device came to be.
type DeviceKind string

const (
	KindToken    DeviceKind = "token"    // made by hub token create
	KindPaired   DeviceKind = "paired"   // came with a pairing code
	KindExternal DeviceKind = "external" // vouched for by another issuer
)

// Device is the record that every token belongs to; ending it ends them all.
type Device struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Kind       DeviceKind `json:"kind"`
	Role       Role       `json:"role"`
	Sessions   []string   `json:"sessions,omitempty"`
	Workspaces []string   `json:"workspaces,omitempty"`
	Profiles   []Profile  `json:"profiles"`
	CreatedAt  time.Time  `json:"createdAt"`
	RenewedAt  time.Time  `json:"renewedAt"`
	ExpiresAt  time.Time  `json:"expiresAt"` // no token of the device lives longer
	RevokedAt  time.Time  `json:"revokedAt,omitzero"`
	RevokedFor string     `json:"revokedFor,omitempty"`

	LastSeen  time.Time `json:"lastSeen,omitzero"`
	LastAddr  string    `json:"lastAddr,omitempty"`
	UserAgent string    `json:"userAgent,omitempty"`
}

// Revoked reports whether the device was taken away.
func (d Device) Revoked() bool { return !d.RevokedAt.IsZero() }

// Live reports whether tokens of the device can still be good.
func (d Device) Live(now time.Time) bool { return !d.Revoked() && now.Before(d.ExpiresAt.Add(leeway)) }

// Grant is what a token of the device may hold; it lives ttl or as long as the device, whichever ends first.
func (d Device) Grant(ttl time.Duration, now time.Time) Grant {
	return Grant{
		Name: d.Name, Device: d.ID, Role: d.Role, Sessions: d.Sessions, Workspaces: d.Workspaces, Profiles: d.Profiles,
		TTL: min(ttl, d.ExpiresAt.Sub(now)),
	}
}

// covers says why the device does not, or no longer, stand for everything the principal has.
func (d Device) covers(p *Principal) error {
	own := Principal{
		Device: d.ID, Rights: d.Role.Rights(), Sessions: d.Sessions, Workspaces: d.Workspaces, Profiles: d.Profiles,
	}
	return own.CheckSuccessor(p)
}

// Devices is the store of devices, their refresh secrets and the open pairings, in one file of the data dir. What it
// has answered is on disk: a crash brings no revoked device back and no spent secret. Looking a device up costs one
// read of a map.
type Devices struct {
	db *bbolt.DB

	// writing is held across a write to the disk, so that memory follows the disk in the same order. Only writers
	// take it; nothing that serves a client's message waits here. Lock order: writing, mu.
	writing sync.Mutex

	mu        sync.RWMutex
	byID      map[string]Device
	sightings map[string]sighting // what the records on disk do not yet say
	onRevoke  []func(Device)
	guesses   guessWindow // wrong pairing codes
}

var (
	bucketDevices  = []byte("devices")
	bucketRefresh  = []byte("refresh")
	bucketPairings = []byte("pairings")
)

// OpenDevices opens the store of a data dir, which is made when missing. While another process has it open the error
// wraps [ErrInUse].
func OpenDevices(dataDir string) (*Devices, error) {
	if err := PrivateDir(dataDir); err != nil {
		return nil, fmt.Errorf("open devices: %w", err)
	}
	path := filepath.Join(dataDir, devicesFile)
	if err := CheckPrivateFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open devices: %w", err)
	}
	db, err := bbolt.Open(path, privateFileMode, &bbolt.Options{Timeout: lockWait})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("the data dir %s is %w: a hub runs on it", dataDir, ErrInUse)
	}
	if err != nil {
		return nil, fmt.Errorf("open devices: %s: %w", path, err)
	}
	d := &Devices{db: db, byID: map[string]Device{}, sightings: map[string]sighting{}}
	if err := d.load(time.Now()); err != nil {
		return nil, errors.Join(fmt.Errorf("open devices: %s: %w", path, err), db.Close())
	}
	return d, nil
}

// HasDevices reports whether a data dir has a store of devices, for whoever must not make one.
func HasDevices(dataDir string) bool {
	_, err := os.Lstat(filepath.Join(dataDir, devicesFile))
	return err == nil
}

// load reads all records and drops those that ended long ago.
func (d *Devices) load(now time.Time) error {
	return d.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{bucketDevices, bucketRefresh, bucketPairings} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		bucket := tx.Bucket(bucketDevices)
		var dead []string
		err := bucket.ForEach(func(id, value []byte) error {
			var dev Device
			if err := json.Unmarshal(value, &dev); err != nil {
				return fmt.Errorf("record %q: %w", id, err)
			}
			if dev.ended().Add(keepDead).Before(now) && dev.Kind != KindExternal {
				dead = append(dead, dev.ID)
			} else {
				d.byID[dev.ID] = dev
			}
			return nil
		})
		for _, id := range dead {
			err = errors.Join(err, bucket.Delete([]byte(id)), tx.Bucket(bucketRefresh).Delete([]byte(id)))
		}
		return err
	})
}

func (d Device) ended() time.Time {
	if d.Revoked() {
		return d.RevokedAt
	}
	return d.ExpiresAt
}

// Close writes what is only in memory (when devices were last seen) and lets go of the store.
func (d *Devices) Close() error {
	return errors.Join(d.flushSightings(), d.db.Close())
}

// Enrol makes the device that a new token will belong to. The same name again renews the same device, with what is
// granted now; a revoked name starts afresh, so that nothing of the old one comes back.
func (d *Devices) Enrol(g Grant, now time.Time) (Device, error) {
	g = g.withDefaults()
	if err := g.check(); err != nil {
		return Device{}, err
	}
	var out Device
	err := d.write(func(tx *bbolt.Tx) ([]Device, error) {
		dev, found := d.liveByName(g.Name, now)
		if !found {
			if err := d.checkRoom(); err != nil {
				return nil, err
			}
			dev = newDevice(g, KindToken, now)
		}
		dev.Role, dev.Sessions, dev.Workspaces, dev.Profiles = g.Role, g.Sessions, g.Workspaces, g.Profiles
		dev.RenewedAt = now
		if end := now.Add(g.TTL); end.After(dev.ExpiresAt) {
			dev.ExpiresAt = end
		}
		out = dev
		return []Device{dev}, putDevice(tx, dev)
	})
	return out, err
}

func newDevice(g Grant, kind DeviceKind, now time.Time) Device {
	return Device{
		ID: "dev-" + randomHex(deviceIDBytes), Name: g.Name, Kind: kind, Role: g.Role, Sessions: g.Sessions,
		Workspaces: g.Workspaces, Profiles: g.Profiles, CreatedAt: now, RenewedAt: now, ExpiresAt: now.Add(g.TTL),
	}
}

// Admit refuses the principal of a good token whose device was revoked, is not known, or has been narrowed since. To
// the outside the refusal is the one of every bad token.
func (d *Devices) Admit(p *Principal, now time.Time) error {
	if p.Local {
		return nil
	}
	d.mu.RLock()
	dev, found := d.byID[p.Device]
	d.mu.RUnlock()
	switch {
	case !found:
		return badToken(fmt.Errorf("%w: %.60q", ErrNoDevice, p.Device))
	case dev.Revoked():
		return badToken(ErrRevoked)
	case dev.Kind == KindExternal:
		return nil // rights and end are what the issuer says each time
	case !dev.Live(now):
		return badToken(errors.New("the device's time is over"))
	}
	if err := dev.covers(p); err != nil {
		return badToken(fmt.Errorf("the device was narrowed: %w", err))
	}
	return nil
}

// Rename gives a device another name, which no other live device may have. Ask by id or by name.
func (d *Devices) Rename(device, name string, now time.Time) (Device, error) {
	if err := CheckName(name); err != nil {
		return Device{}, err
	}
	var out Device
	err := d.write(func(tx *bbolt.Tx) ([]Device, error) {
		dev, found := d.Find(device, now)
		if !found {
			return nil, fmt.Errorf("%w: %.60q", ErrNoDevice, device)
		}
		if other, taken := d.liveByName(name, now); taken && other.ID != dev.ID {
			return nil, fmt.Errorf("another device is named %q", name)
		}
		dev.Name = name
		out = dev
		return []Device{dev}, putDevice(tx, dev)
	})
	return out, err
}

// Revoke ends a device, found by id or name, with all its tokens and its refresh secret, and tells the OnRevoke
// functions. It holds from the moment it is called, even if the disk then refuses; the error says so.
func (d *Devices) Revoke(device, reason string, now time.Time) (Device, error) {
	d.writing.Lock()
	dev, found := d.Find(device, now)
	if !found {
		d.writing.Unlock()
		return Device{}, fmt.Errorf("%w: %.60q", ErrNoDevice, device)
	}
	if dev.Revoked() {
		d.writing.Unlock()
		return dev, nil
	}
	dev.RevokedAt, dev.RevokedFor = now, reason
	d.remember([]Device{dev})
	err := d.db.Update(func(tx *bbolt.Tx) error { return putRevoked(tx, dev) })
	d.writing.Unlock()

	d.tellRevoked(dev)
	if err != nil {
		err = fmt.Errorf("device %s is revoked until the hub stops, but not on disk: %w", dev.ID, err)
	}
	return dev, err
}

// OnRevoke adds a function that is told of every revocation after it took hold, on the goroutine that revoked.
// Register before the store is used.
func (d *Devices) OnRevoke(f func(Device)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onRevoke = append(d.onRevoke, f)
}

func (d *Devices) tellRevoked(dev Device) {
	d.mu.RLock()
	hooks := slices.Clone(d.onRevoke)
	d.mu.RUnlock()
	for _, f := range hooks {
		f(dev)
	}
}

// List shows all devices, by name, the newest first among equals.
func (d *Devices) List() []Device {
	d.mu.RLock()
	list := make([]Device, 0, len(d.byID))
	for _, dev := range d.byID {
		list = append(list, d.sightings[dev.ID].on(dev))
	}
	d.mu.RUnlock()
	slices.SortFunc(list, func(a, b Device) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return b.CreatedAt.Compare(a.CreatedAt)
	})
	return list
}

// Find looks for an id, then for the live device of a name, then for the latest other one of that name.
func (d *Devices) Find(device string, now time.Time) (Device, bool) {
	d.mu.RLock()
	dev, found := d.byID[device]
	d.mu.RUnlock()
	if found {
		return dev, true
	}
	if dev, found = d.liveByName(device, now); found {
		return dev, true
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, other := range d.byID {
		if other.Name == device && (!found || other.CreatedAt.After(dev.CreatedAt)) {
			dev, found = other, true
		}
	}
	return dev, found
}

func (d *Devices) liveByName(name string, now time.Time) (Device, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, dev := range d.byID {
		if dev.Name == name && dev.Live(now) && dev.Kind != KindExternal {
			return dev, true
		}
	}
	return Device{}, false
}

func (d *Devices) checkRoom() error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if len(d.byID) >= maxDevices {
		return fmt.Errorf("there are %d devices already", maxDevices)
	}
	return nil
}

// write runs one change: on disk, then in memory.
func (d *Devices) write(change func(tx *bbolt.Tx) ([]Device, error)) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	var changed []Device
	err := d.db.Update(func(tx *bbolt.Tx) (err error) {
		changed, err = change(tx)
		return err
	})
	if err == nil {
		d.remember(changed)
	}
	return err
}

func (d *Devices) remember(changed []Device) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dev := range changed {
		d.byID[dev.ID] = dev
	}
}
