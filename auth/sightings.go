package auth

import (
	"maps"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

const (
	// sightingEvery is how exact "last seen" is on disk; a phone that reconnects each second costs one write a minute.
	sightingEvery = time.Minute
	// maxUserAgent bounds what a client can have stored about itself.
	maxUserAgent = 200
)

// sighting is when and from where a device was last seen.
type sighting struct {
	at              time.Time
	addr, userAgent string
}

func (s sighting) on(dev Device) Device {
	if !s.at.IsZero() {
		dev.LastSeen, dev.LastAddr, dev.UserAgent = s.at, s.addr, s.userAgent
	}
	return dev
}

// Seen notes that a device is here. It is on disk within a minute of later sightings, or at Close: losing it to a
// crash does no harm. The error is about the disk only.
func (d *Devices) Seen(device, addr, userAgent string, now time.Time) error {
	if len(userAgent) > maxUserAgent {
		userAgent = userAgent[:maxUserAgent]
	}
	d.mu.Lock()
	dev, found := d.byID[device]
	if found {
		d.sightings[device] = sighting{at: now, addr: addr, userAgent: userAgent}
	}
	d.mu.Unlock()
	if !found || now.Sub(dev.LastSeen) < sightingEvery {
		return nil
	}
	return d.flushSightings(device)
}

// flushSightings writes what was seen of the given devices, or of all.
func (d *Devices) flushSightings(devices ...string) error {
	return d.write(func(tx *bbolt.Tx) ([]Device, error) {
		d.mu.Lock()
		if len(devices) == 0 {
			devices = slices.Collect(maps.Keys(d.sightings))
		}
		var changed []Device
		for _, id := range devices {
			if dev, found := d.byID[id]; found {
				changed = append(changed, d.sightings[id].on(dev))
			}
			delete(d.sightings, id)
		}
		d.mu.Unlock()
		for _, dev := range changed {
			if err := putDevice(tx, dev); err != nil {
				return nil, err
			}
		}
		return changed, nil
	})
}
