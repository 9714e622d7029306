package push

import (
	"cmp"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/bbolt"

	"zcodehub/auth"
)

const (
	storeFile = "push.db"
	// storeMode and storeWait are as for the devices' own store.
	storeMode fs.FileMode = 0o600
	storeWait             = 500 * time.Millisecond
	// maxOfDevice is how many browsers one device may be: a paired one is one.
	maxOfDevice = 8
	// maxSubscriptions bounds memory, disk and what one question sets off.
	maxSubscriptions = 2000
)

// Devices say whether a device is still good. *auth.Devices does.
type Devices interface {
	Find(device string, now time.Time) (auth.Device, bool)
	Admit(p *auth.Principal, now time.Time) error
}

// Options configures a Service.
type Options struct {
	DataDir    string
	Devices    Devices
	Contact    string // of whoever runs the hub, for push services: an https address or a mail address
	Log        *slog.Logger
	Registerer prometheus.Registerer
	Transport  http.RoundTripper // nil is one that reaches public addresses only
}

// Service holds the subscriptions and sends to them.
type Service struct {
	// fixed after construction
	devices Devices
	contact string
	private string // the hub's key, in base64
	public  string
	log     *slog.Logger
	metrics *metrics
	client  *http.Client
	wake    chan struct{} // one slot: the queue changed; never closed

	// writing is held across a write to the disk, so that memory follows it in the
	// same order. Before mu.
	writing sync.Mutex
	db      *bbolt.DB

	mu       sync.Mutex // never held across I/O
	byDevice map[string][]record
	count    int         // of all
	queue    []*delivery // not due, or their endpoint is busy
	bytes    int
	flying   map[string]*delivery // under way, by endpoint
}

var (
	bucketSubscriptions = []byte("subscriptions")
	bucketKey           = []byte("key")
	keyName             = []byte("p256")
)

// Open opens the store of a data dir, which it makes with a key of its own if it
// is missing. Subscriptions of devices that are over are dropped.
func Open(o Options) (*Service, error) {
	path := filepath.Join(o.DataDir, storeFile)
	if err := auth.CheckPrivateFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open push subscriptions: %w", err)
	}
	db, err := bbolt.Open(path, storeMode, &bbolt.Options{Timeout: storeWait})
	if err != nil {
		return nil, fmt.Errorf("open push subscriptions: %s: %w", path, err)
	}
	s := &Service{devices: o.Devices, contact: o.Contact, log: o.Log, db: db, wake: make(chan struct{}, 1),
		byDevice: map[string][]record{}, flying: map[string]*delivery{}}
	if err := s.load(time.Now()); err != nil {
		return nil, errors.Join(fmt.Errorf("open push subscriptions: %s: %w", path, err), db.Close())
	}
	if o.Transport == nil {
		o.Transport = publicTransport()
	}
	s.client = &http.Client{Transport: o.Transport, Timeout: sendTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	s.metrics = newMetrics(s, o.Registerer)
	return s, nil
}

// Close lets go of the store. Run must have returned.
func (s *Service) Close() error {
	s.client.CloseIdleConnections()
	return s.db.Close()
}

func (s *Service) load(now time.Time) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		keys, err := tx.CreateBucketIfNotExists(bucketKey)
		if err == nil {
			err = s.loadKey(keys)
		}
		if err != nil {
			return err
		}
		bucket, err := tx.CreateBucketIfNotExists(bucketSubscriptions)
		if err != nil {
			return err
		}
		var dead [][]byte
		err = bucket.ForEach(func(key, value []byte) error {
			var r record
			if err := json.Unmarshal(value, &r); err != nil {
				return fmt.Errorf("subscription %q: %w", key, err)
			}
			if dev, found := s.devices.Find(r.Device, now); !found || dev.Revoked() || dev.ID != r.Device {
				dead = append(dead, key)
				return nil
			}
			s.rememberLocked(r)
			return nil
		})
		for _, key := range dead {
			err = errors.Join(err, bucket.Delete(key))
		}
		return err
	})
}

// loadKey reads the hub's key, or makes it. It stands beside the subscriptions,
// which are worth nothing without it.
func (s *Service) loadKey(bucket *bbolt.Bucket) error {
	raw := bucket.Get(keyName)
	if raw == nil {
		key, err := ecdh.P256().GenerateKey(rand.Reader)
		if err != nil {
			return err
		}
		raw = key.Bytes()
		if err := bucket.Put(keyName, raw); err != nil {
			return err
		}
	}
	key, err := ecdh.P256().NewPrivateKey(raw)
	if err != nil {
		return fmt.Errorf("the hub's key for push services: %w", err)
	}
	s.private = base64.RawURLEncoding.EncodeToString(key.Bytes())
	s.public = base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes())
	return nil
}

// PublicKey is what browsers subscribe with (applicationServerKey), in base64url.
func (s *Service) PublicKey() string { return s.public }

// ErrFull is returned when there are as many subscriptions as there may be.
var ErrFull = errors.New("there are too many push subscriptions")

// Subscribe enters a browser's subscription for the device of p, in place of an
// older one of the same endpoint, whosever that was: a browser that was paired
// anew is another device. A device over its number loses its oldest. fresh tells
// that the device did not have this one.
func (s *Service) Subscribe(p *auth.Principal, sub Subscription, now time.Time) (fresh bool, err error) {
	if err := sub.check(); err != nil {
		return false, err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	r := newRecord(p, sub, now)
	s.mu.Lock()
	replaced := s.ofEndpointLocked(sub.Endpoint)
	mine := s.byDevice[p.Device]
	fresh = !slices.ContainsFunc(replaced, func(old record) bool { return old.Device == p.Device })
	if len(replaced) == 0 && s.count >= maxSubscriptions {
		s.mu.Unlock()
		return false, ErrFull
	}
	if fresh && len(mine) >= maxOfDevice {
		oldest := slices.MinFunc(mine, func(a, b record) int { return a.At.Compare(b.At) })
		replaced = append(replaced, oldest)
	}
	s.mu.Unlock()
	value, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	err = s.db.Update(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(bucketSubscriptions)
		for _, old := range replaced {
			if err := bucket.Delete(old.key()); err != nil {
				return err
			}
		}
		return bucket.Put(r.key(), value)
	})
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, old := range replaced {
		if old.Device == r.Device && old.Endpoint == r.Endpoint {
			s.dropLocked(old) // what waits for it is for this one
		} else {
			s.forgetLocked(old)
		}
	}
	s.rememberLocked(r)
	return fresh, nil
}

// key is the record's in the store; it sorts by device.
func (r *record) key() []byte {
	sum := sha256.Sum256([]byte(r.Endpoint))
	return []byte(r.Device + "\x00" + hex.EncodeToString(sum[:]))
}

// Unsubscribe removes a subscription of a device; one that is not there is no
// error.
func (s *Service) Unsubscribe(device, endpoint string) error {
	return s.remove(func(r record) bool { return r.Device == device && r.Endpoint == endpoint })
}

// Forget removes all subscriptions of a device, and what waits to be sent to
// it. It holds from the moment it is called, even if the disk then refuses.
func (s *Service) Forget(device string) error {
	return s.remove(func(r record) bool { return r.Device == device })
}

// remove removes records, from memory first: nothing more is sent to them.
func (s *Service) remove(unwanted func(record) bool) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	var removed []record
	s.mu.Lock()
	for _, records := range s.byDevice {
		for _, r := range records {
			if unwanted(r) {
				removed = append(removed, r)
			}
		}
	}
	for _, r := range removed {
		s.forgetLocked(r)
	}
	s.mu.Unlock()
	if len(removed) == 0 {
		return nil
	}
	return s.db.Update(func(tx *bbolt.Tx) (err error) {
		for _, r := range removed {
			err = errors.Join(err, tx.Bucket(bucketSubscriptions).Delete(r.key()))
		}
		return err
	})
}

func (s *Service) rememberLocked(r record) {
	s.byDevice[r.Device] = append(s.byDevice[r.Device], r)
	s.count++
}

// forgetLocked drops a record and what waits for it.
func (s *Service) forgetLocked(r record) {
	s.dropLocked(r)
	s.withdrawLocked(func(d *delivery) bool { return d.to.Device == r.Device && d.to.Endpoint == r.Endpoint })
}

func (s *Service) dropLocked(r record) {
	left := slices.DeleteFunc(slices.Clone(s.byDevice[r.Device]), func(other record) bool { return other.Endpoint == r.Endpoint })
	s.count -= len(s.byDevice[r.Device]) - len(left)
	if s.byDevice[r.Device] = left; len(left) == 0 {
		delete(s.byDevice, r.Device)
	}
}

func (s *Service) ofEndpointLocked(endpoint string) (found []record) {
	for _, records := range s.byDevice {
		for _, r := range records {
			if r.Endpoint == endpoint {
				found = append(found, r)
			}
		}
	}
	return found
}

// Holders are the subscribed devices that are still good, each with what it was
// allowed when it subscribed last, and its present name.
func (s *Service) Holders(now time.Time) (holders []*auth.Principal) {
	s.mu.Lock()
	newest := make([]record, 0, len(s.byDevice))
	for _, records := range s.byDevice {
		newest = append(newest, slices.MaxFunc(records, func(a, b record) int { return a.At.Compare(b.At) }))
	}
	s.mu.Unlock()
	for _, r := range newest {
		dev, found := s.devices.Find(r.Device, now)
		p := r.holder()
		if !found || dev.ID != r.Device || !dev.Live(now) || s.devices.Admit(p, now) != nil {
			continue
		}
		p.Name = cmp.Or(dev.Name, p.Name)
		holders = append(holders, p)
	}
	slices.SortFunc(holders, func(a, b *auth.Principal) int { return strings.Compare(a.Device, b.Device) })
	return holders
}
