package auth

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func openPairing(t *testing.T, d *Devices, g Grant) string {
	t.Helper()
	code, _, err := d.OpenPairing(g, "local", noon)
	if err != nil {
		t.Fatalf("OpenPairing(%+v): %v", g, err)
	}
	return code
}

func pair(t *testing.T, d *Devices) (Device, string) {
	t.Helper()
	dev, secret, err := d.Pair(openPairing(t, d, Grant{Role: RoleOperator}), "phone", "", noon)
	if err != nil {
		t.Fatalf("Pair: %v", err)
	}
	return dev, secret
}

func TestPairedDeviceGetsWhatThePairingSays(t *testing.T) {
	d := newDevices(t)
	code := openPairing(t, d, Grant{Role: RoleApprover, Sessions: []string{"s1"}, TTL: 2 * time.Hour})
	dev, _, err := d.Pair(code, "Zoë's phone", "", noon)
	if err != nil {
		t.Fatalf("Pair: %v", err)
	}
	if dev.Name != "Zoë's phone" || dev.Kind != KindPaired || dev.Role != RoleApprover || strings.Join(dev.Sessions, " ") != "s1" ||
		len(dev.Profiles) != 1 || dev.Profiles[0] != Replayable || !dev.ExpiresAt.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("device: got %+v", dev)
	}
	g := dev.Grant(AccessTTL, noon.Add(2*time.Hour-time.Minute))
	if g.TTL != time.Minute {
		t.Errorf("an access token would outlive its device: %v", g.TTL)
	}
	if err := d.Admit(holder(t, dev), noon); err != nil {
		t.Errorf("Admit: %s", Cause(err))
	}
}

func TestPairingCodeWorksOnceAndForFiveMinutes(t *testing.T) {
	d := newDevices(t)
	code := openPairing(t, d, Grant{Role: RoleViewer})
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, _, err := d.Pair(code, "phone", "", noon); err == nil {
				won.Add(1)
			} else if !errors.Is(err, ErrBadToken) {
				t.Errorf("a loser's answer: %v", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || len(d.List()) != 1 {
		t.Errorf("devices paired with one code: got %d answers, %d devices, want 1", won.Load(), len(d.List()))
	}
	late := openPairing(t, d, Grant{Role: RoleViewer})
	if _, _, err := d.Pair(late, "phone", "", noon.Add(5*time.Minute)); !errors.Is(err, ErrBadToken) {
		t.Errorf("after five minutes: got %v, want ErrBadToken", err)
	}
	if _, _, err := d.Pair(late, "phone", "", noon); !errors.Is(err, ErrBadToken) {
		t.Errorf("a code that was refused once came back: %v", err)
	}
}

func TestAtMostFivePairingsAreOpen(t *testing.T) {
	d := newDevices(t)
	for range maxPairings {
		openPairing(t, d, Grant{Role: RoleViewer})
	}
	if _, _, err := d.OpenPairing(Grant{Role: RoleViewer}, "local", noon); !errors.Is(err, ErrTooManyPairings) {
		t.Errorf("sixth: got %v, want ErrTooManyPairings", err)
	}
	open, err := d.Pairings(noon)
	if err != nil || len(open) != maxPairings {
		t.Fatalf("Pairings: got %d, %v", len(open), err)
	}
	if found, err := d.CancelPairing(open[0].ID); !found || err != nil {
		t.Errorf("CancelPairing: got %v, %v", found, err)
	}
	for _, nobody := range []string{open[0].ID, "", "zz", "00"} {
		if found, err := d.CancelPairing(nobody); found || err != nil {
			t.Errorf("CancelPairing(%q): got %v, %v", nobody, found, err)
		}
	}
	openPairing(t, d, Grant{Role: RoleViewer})
	if _, _, err := d.OpenPairing(Grant{Role: RoleViewer}, "local", noon.Add(pairingLife)); err != nil {
		t.Errorf("after the others expired: %v", err)
	}
}

func TestGuessingIsCutOffAndTheLockOutEnds(t *testing.T) {
	d := newDevices(t)
	code := openPairing(t, d, Grant{Role: RoleViewer})
	for i := range maxGuesses {
		if _, _, err := d.Pair(fmt.Sprint(i), "x", "", noon); !errors.Is(err, ErrBadToken) {
			t.Fatalf("guess %d: got %v, want ErrBadToken", i, err)
		}
	}
	if _, _, err := d.Pair(code, "x", "", noon); !errors.Is(err, ErrTooManyGuesses) {
		t.Errorf("after %d guesses: got %v, want ErrTooManyGuesses", maxGuesses, err)
	}
	if _, _, err := d.Pair(code, "x", "", noon.Add(time.Minute)); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

func TestDeviceCannotTakeAnothersName(t *testing.T) {
	d := newDevices(t)
	mine := enrol(t, d, Grant{Name: "laptop", Role: RoleAdmin})
	dev, _, err := d.Pair(openPairing(t, d, Grant{Role: RoleViewer}), "laptop", "", noon)
	if err != nil || dev.Name != "laptop 2" || dev.ID == mine.ID {
		t.Errorf("Pair as laptop: got %+v, %v", dev, err)
	}
	long := strings.Repeat("é", maxName)
	for range 2 {
		dev, _, err = d.Pair(openPairing(t, d, Grant{Role: RoleViewer}), long, "", noon)
		if err != nil || !presentable(dev.Name) {
			t.Errorf("Pair with a long name: got %q, %v", dev.Name, err)
		}
	}
	if _, _, err := d.Pair(openPairing(t, d, Grant{Role: RoleViewer}), "a\u202eb", "", noon); err == nil {
		t.Error("a name that turns text was accepted")
	}
}

func TestPairingRefusesWhatNoTokenMayHold(t *testing.T) {
	d := newDevices(t)
	for _, g := range []Grant{{}, {Role: "root"}, {Role: RoleAdmin, Sessions: []string{"s"}}, {Role: RoleViewer, TTL: -1}} {
		if _, _, err := d.OpenPairing(g, "local", noon); err == nil {
			t.Errorf("OpenPairing(%+v): no error", g)
		}
	}
}

func TestRefreshRotatesAndReuseRevokes(t *testing.T) {
	d := newDevices(t)
	dev, first := pair(t, d)
	p := holder(t, dev)
	_, second, err := d.Refresh(first, "", noon)
	if err != nil || second == first {
		t.Fatalf("Refresh: %v", err)
	}
	_, third, err := d.Refresh(second, "", noon)
	if err != nil {
		t.Fatalf("second Refresh: %v", err)
	}
	var told []Device
	d.OnRevoke(func(dev Device) { told = append(told, dev) })
	_, _, err = d.Refresh(first, "", noon)
	if !errors.Is(err, ErrReused) || !errors.Is(err, ErrBadToken) || err.Error() != ErrBadToken.Error() {
		t.Errorf("reuse: got %v (%s)", err, Cause(err))
	}
	if len(told) != 1 || told[0].ID != dev.ID || told[0].RevokedFor != ErrReused.Error() {
		t.Errorf("told: %+v", told)
	}
	if err := d.Admit(p, noon); !errors.Is(err, ErrRevoked) {
		t.Errorf("Admit after reuse: %s", Cause(err))
	}
	if _, _, err := d.Refresh(third, "", noon); !errors.Is(err, ErrBadToken) {
		t.Errorf("the newest secret of a revoked device: got %v", err)
	}
}

func TestLostAnswerCanBeAskedForAgain(t *testing.T) {
	d := newDevices(t)
	_, first := pair(t, d)
	_, second, err := d.Refresh(first, "try-1", noon)
	if err != nil {
		t.Fatal(err)
	}
	if _, again, err := d.Refresh(first, "try-1", noon.Add(retryTime-1)); err != nil || again != second {
		t.Errorf("the same try again: %v, same answer %v", err, again == second)
	}
	for name, ask := range map[string]func(d *Devices, first, second string) error{
		"another try": func(d *Devices, first, _ string) error { _, _, err := d.Refresh(first, "try-2", noon); return err },
		"no try":      func(d *Devices, first, _ string) error { _, _, err := d.Refresh(first, "", noon); return err },
		"too late": func(d *Devices, first, _ string) error {
			_, _, err := d.Refresh(first, "try-1", noon.Add(retryTime))
			return err
		},
		"after its successor was used": func(d *Devices, first, second string) error {
			if _, _, err := d.Refresh(second, "try-3", noon); err != nil {
				return err
			}
			_, _, err := d.Refresh(first, "try-1", noon)
			return err
		},
	} {
		d := newDevices(t)
		_, first := pair(t, d)
		_, second, err := d.Refresh(first, "try-1", noon)
		if err != nil {
			t.Fatal(err)
		}
		if err := ask(d, first, second); !errors.Is(err, ErrReused) {
			t.Errorf("%s: got %s, want ErrReused", name, Cause(err))
		}
	}
}

func TestForgedRefreshSecretHarmsNobody(t *testing.T) {
	d := newDevices(t)
	dev, secret := pair(t, d)
	token := enrol(t, d, Grant{Name: "no refresh", Role: RoleViewer})
	parts := strings.Split(secret, ".")
	_, foreign := pair(t, newDevices(t))
	for name, forged := range map[string]string{
		"empty":             "",
		"cut":               secret[:len(secret)-1],
		"other generation":  strings.Replace(secret, ".1.", ".2.", 1),
		"generation zero":   strings.Replace(secret, ".1.", ".0.", 1),
		"spelled otherwise": strings.Replace(secret, ".1.", ".01.", 1),
		"other device":      strings.Replace(secret, dev.ID, token.ID, 1),
		"by name":           strings.Replace(secret, dev.ID, dev.Name, 1),
		"no such device":    strings.Replace(secret, dev.ID, "dev-0", 1),
		"another hub's":     foreign,
		"huge":              secret + strings.Repeat("A", 1<<20),
		"no mac":            strings.Join(parts[:3], ".") + ".",
	} {
		if _, _, err := d.Refresh(forged, "", noon); !errors.Is(err, ErrBadToken) || errors.Is(err, ErrReused) {
			t.Errorf("%s: got %s, want ErrBadToken alone", name, Cause(err))
		}
	}
	if _, _, err := d.Refresh(secret, "", noon); err != nil {
		t.Errorf("the real one afterwards: %s", Cause(err))
	}
}

func TestRefreshEndsWithTheDevice(t *testing.T) {
	d := newDevices(t)
	dev, secret := pair(t, d)
	if _, _, err := d.Refresh(secret, "", dev.ExpiresAt.Add(leeway)); !errors.Is(err, ErrBadToken) {
		t.Errorf("Refresh after the device's time: got %v", err)
	}
}

func TestNoSecretIsInTheStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	d := openDevices(t, dir)
	code := openPairing(t, d, Grant{Role: RoleViewer})
	_, secret := pair(t, d)
	_, next, err := d.Refresh(secret, "try", noon)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, devicesFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{code, secret, next} {
		if strings.Contains(string(data), s) {
			t.Error("a code or refresh secret is in the file")
		}
	}
}

func TestDeviceIsCalledAsItSaysOrAsItsCodeOrAsItThinks(t *testing.T) {
	d := newDevices(t)
	for _, c := range []struct{ made, says, thinks, called string }{
		{"phone", "Zoë's", "iPhone", "Zoë's"},
		{"phone", "", "iPhone", "phone"},
		{"", "", "iPhone", "iPhone"},
		{"", "", "", "device"},
	} {
		dev, _, err := d.Pair(openPairing(t, d, Grant{Name: c.made, Role: RoleViewer}), c.says, c.thinks, noon)
		if err != nil || dev.Name != c.called {
			t.Errorf("made for %q, says %q, thinks %q: called %q (%v), want %q", c.made, c.says, c.thinks, dev.Name, err, c.called)
		}
	}
}
