package auth

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func openDevices(t *testing.T, dir string) *Devices {
	t.Helper()
	d, err := OpenDevices(dir)
	if err != nil {
		t.Fatalf("OpenDevices: %v", err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func newDevices(t *testing.T) *Devices { return openDevices(t, filepath.Join(t.TempDir(), "data")) }

func enrol(t *testing.T, d *Devices, g Grant) Device {
	t.Helper()
	dev, err := d.Enrol(g, noon)
	if err != nil {
		t.Fatalf("Enrol(%+v): %v", g, err)
	}
	return dev
}

// holder is the principal of a token that a device would get now.
func holder(t *testing.T, dev Device) *Principal {
	t.Helper()
	_, p := mint(t, newKeys(t), dev.Grant(AccessTTL, noon))
	return p
}

func TestSameNameRenewsTheSameDevice(t *testing.T) {
	d := newDevices(t)
	first := enrol(t, d, Grant{Name: "phone", Role: RoleViewer, TTL: time.Hour})
	again := enrol(t, d, Grant{Name: "phone", Role: RoleOperator, TTL: 2 * time.Hour})
	other := enrol(t, d, Grant{Name: "laptop", Role: RoleViewer})
	if again.ID != first.ID || again.Role != RoleOperator || !again.ExpiresAt.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("renewed: got %+v after %+v", again, first)
	}
	if other.ID == first.ID {
		t.Error("another name got the same device")
	}
	if shorter := enrol(t, d, Grant{Name: "phone", Role: RoleOperator, TTL: time.Minute}); !shorter.ExpiresAt.Equal(again.ExpiresAt) {
		t.Errorf("a shorter renewal hides that an older token lives on: %v", shorter.ExpiresAt)
	}
	if got := len(d.List()); got != 2 {
		t.Errorf("devices: got %d, want 2", got)
	}
}

func TestRevokedDeviceIsOutAndStaysOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	d := openDevices(t, dir)
	dev := enrol(t, d, Grant{Name: "phone", Role: RoleOperator})
	p := holder(t, dev)
	if err := d.Admit(p, noon); err != nil {
		t.Fatalf("Admit before: %s", Cause(err))
	}
	var told []string
	d.OnRevoke(func(dev Device) { told = append(told, dev.ID+" "+dev.RevokedFor) })
	for range 2 {
		if _, err := d.Revoke("phone", "lost", noon); err != nil {
			t.Fatalf("Revoke: %v", err)
		}
	}
	if want := dev.ID + " lost"; len(told) != 1 || told[0] != want {
		t.Errorf("told of revocation: got %q, want %q once", told, want)
	}
	refused := func(d *Devices) {
		t.Helper()
		err := d.Admit(p, noon)
		if !errors.Is(err, ErrRevoked) || !errors.Is(err, ErrBadToken) || err.Error() != ErrBadToken.Error() {
			t.Errorf("Admit after: got %v (%s), want the constant refusal", err, Cause(err))
		}
	}
	refused(d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openDevices(t, dir)
	refused(d)
	fresh := enrol(t, d, Grant{Name: "phone", Role: RoleViewer})
	if fresh.ID == dev.ID {
		t.Error("the revoked device came back under its name")
	}
	refused(d)
}

func TestAdmitWantsADeviceThatStillStandsForIt(t *testing.T) {
	d := newDevices(t)
	dev := enrol(t, d, Grant{Name: "phone", Role: RoleOperator, TTL: time.Hour})
	p := holder(t, dev)
	stranger := *p
	stranger.Device = "dev-0000000000000000"
	tests := []struct {
		name string
		p    *Principal
		at   time.Time
		ok   bool
	}{
		{"its own", p, noon, true},
		{"local", LocalPrincipal(), noon, true},
		{"of no device", &stranger, noon, false},
		{"in the leeway", p, noon.Add(time.Hour + 29*time.Second), true},
		{"after its time", p, noon.Add(time.Hour + 30*time.Second), false},
	}
	for _, tt := range tests {
		if err := d.Admit(tt.p, tt.at); (err == nil) != tt.ok {
			t.Errorf("%s: got %s, want ok=%v", tt.name, Cause(err), tt.ok)
		}
	}
	for _, narrower := range []Grant{
		{Name: "phone", Role: RoleViewer},
		{Name: "phone", Role: RoleOperator, Sessions: []string{"s1"}},
		{Name: "phone", Role: RoleOperator, Profiles: []Profile{Replayable}},
	} {
		enrol(t, d, narrower)
		if err := d.Admit(p, noon); err == nil {
			t.Errorf("after renewal as %+v the wider token still is good", narrower)
		}
		enrol(t, d, Grant{Name: "phone", Role: RoleOperator})
		if err := d.Admit(p, noon); err != nil {
			t.Errorf("after widening again: %s", Cause(err))
		}
	}
}

func TestSecondOpenerIsTurnedAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first := openDevices(t, dir)
	_, err := OpenDevices(dir)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second OpenDevices: got %v, want ErrInUse with the folder", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	openDevices(t, dir)
}

func TestLooseOrSpoiledStoreIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := openDevices(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, devicesFile)
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode: got %v, want 0600", info.Mode().Perm())
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDevices(dir); !errors.Is(err, ErrLoose) {
		t.Errorf("loose store: got %v, want ErrLoose", err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 64<<10)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDevices(dir); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("spoiled store: got %v, want an error with the path", err)
	}
}

func TestRenameKeepsNamesApart(t *testing.T) {
	d := newDevices(t)
	dev := enrol(t, d, Grant{Name: "phone", Role: RoleViewer})
	enrol(t, d, Grant{Name: "laptop", Role: RoleViewer})
	if _, err := d.Rename("phone", "laptop", noon); err == nil {
		t.Error("two live devices got one name")
	}
	for _, bad := range []string{"", "a\nb", " x"} {
		if _, err := d.Rename("phone", bad, noon); err == nil {
			t.Errorf("Rename to %q: no error", bad)
		}
	}
	if _, err := d.Rename("nobody", "x", noon); !errors.Is(err, ErrNoDevice) {
		t.Errorf("Rename of nobody: got %v, want ErrNoDevice", err)
	}
	if got, err := d.Rename(dev.ID, "old phone", noon); err != nil || got.ID != dev.ID || got.Name != "old phone" {
		t.Errorf("Rename: got %+v, %v", got, err)
	}
	if _, found := d.Find("phone", noon); found {
		t.Error("the old name still names a device")
	}
}

func TestLastSeenSurvivesARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	d := openDevices(t, dir)
	dev := enrol(t, d, Grant{Name: "phone", Role: RoleViewer})
	for i := range 3 { // the later ones are within a minute: only Close writes them
		at := noon.Add(time.Duration(i) * time.Second)
		if err := d.Seen(dev.ID, fmt.Sprintf("192.0.2.%d", i), strings.Repeat("u", 1000), at); err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		got := d.List()[0]
		if !got.LastSeen.Equal(noon.Add(2*time.Second)) || got.LastAddr != "192.0.2.2" || len(got.UserAgent) != maxUserAgent {
			t.Errorf("last seen: got %v at %s, user agent of %d bytes", got.LastSeen, got.LastAddr, len(got.UserAgent))
		}
	}
	check()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openDevices(t, dir)
	check()
	if err := d.Seen("nobody", "192.0.2.9", "", noon); err != nil || len(d.List()) != 1 {
		t.Errorf("Seen of nobody: %v, %d devices", err, len(d.List()))
	}
}

func TestSightingDoesNotBringARevokedDeviceBack(t *testing.T) {
	d := newDevices(t)
	p := holder(t, enrol(t, d, Grant{Name: "phone", Role: RoleViewer}))
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := d.Seen(p.Device, "192.0.2.1", "", noon.Add(time.Duration(i)*2*time.Minute)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		if _, err := d.Revoke("phone", "", noon); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	if err := d.Admit(p, noon); !errors.Is(err, ErrRevoked) {
		t.Errorf("Admit: got %v, want ErrRevoked", Cause(err))
	}
}

func TestLongEndedDevicesAreForgotten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	d := openDevices(t, dir)
	old := time.Now().Add(-keepDead - 2*time.Hour)
	for _, g := range []Grant{{Name: "expired", Role: RoleViewer, TTL: time.Hour}, {Name: "revoked", Role: RoleViewer, TTL: MaxTTL}, {Name: "kept", Role: RoleViewer, TTL: MaxTTL}} {
		if _, err := d.Enrol(g, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Revoke("revoked", "", old); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if list := openDevices(t, dir).List(); len(list) != 1 || list[0].Name != "kept" {
		t.Errorf("devices after a restart: got %+v, want only the one that lives", list)
	}
}

func BenchmarkAdmit(b *testing.B) {
	d, err := OpenDevices(filepath.Join(b.TempDir(), "data"))
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	dev, err := d.Enrol(Grant{Name: "phone", Role: RoleViewer}, noon)
	if err != nil {
		b.Fatal(err)
	}
	p := &Principal{Device: dev.ID, Rights: View, Profiles: dev.Profiles}
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Admit(p, noon); err != nil {
			b.Fatal(Cause(err))
		}
	}
}
