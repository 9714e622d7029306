package push

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"zcodehub/auth"
	"zcodehub/internal/hubtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func subscriptionOf(b *hubtest.Browser, endpoint string) Subscription {
	point, secret := b.Keys()
	return Subscription{Endpoint: endpoint, Keys: Keys{P256dh: point, Auth: secret}}
}

// devices are those of a test: each live, until it is taken out.
type devices struct {
	mu  sync.Mutex
	all map[string]auth.Device
}

func (d *devices) Find(device string, _ time.Time) (auth.Device, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dev, found := d.all[device]
	return dev, found
}

func (d *devices) Admit(p *auth.Principal, _ time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if dev := d.all[p.Device]; dev.Revoked() || !dev.Role.Rights().Has(p.Rights) {
		return auth.ErrRevoked
	}
	return nil
}

func (d *devices) set(id string, change func(*auth.Device)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dev := d.all[id]
	change(&dev)
	d.all[id] = dev
}

// rig is a service with two devices, phone and tablet, that runs.
type rig struct {
	*Service
	devices  *devices
	registry *prometheus.Registry
	log      *strings.Builder
	stop     func() // ends Run and closes the store; may be called again
}

func newRig(t *testing.T, dir string, transport http.RoundTripper) *rig {
	t.Helper()
	r := &rig{devices: &devices{all: map[string]auth.Device{}}, registry: prometheus.NewRegistry(), log: &strings.Builder{}}
	for _, id := range []string{"phone", "tablet"} {
		r.devices.all[id] = auth.Device{ID: id, Name: "my " + id, Kind: auth.KindPaired, Role: auth.RoleApprover, ExpiresAt: time.Now().Add(time.Hour)}
	}
	var err error
	r.Service, err = Open(Options{DataDir: dir, Devices: r.devices, Contact: "https://hub.example.org", Registerer: r.registry,
		Log: slog.New(slog.NewTextHandler(r.log, nil)), Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

func principal(device string) *auth.Principal {
	return &auth.Principal{Name: device, Device: device, Role: auth.RoleApprover, Rights: auth.RoleApprover.Rights(), Sessions: []string{"s1"}}
}

func (r *rig) subscribe(t *testing.T, device string, sub Subscription) {
	t.Helper()
	if _, err := r.Subscribe(principal(device), sub, time.Now()); err != nil {
		t.Fatal(err)
	}
}

func text(s string) func(string) []byte { return func(string) []byte { return []byte(s) } }

// wantCount waits until a counter of messages has a value.
func (r *rig) wantCount(t *testing.T, outcome string, want float64) {
	t.Helper()
	hubtest.Want(t, fmt.Sprintf("%v messages that are %s", want, outcome), func() bool { return r.counted(t, outcome) == want })
}

func (r *rig) counted(t *testing.T, outcome string) float64 {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "hub_push_messages_total" && m.GetLabel()[0].GetValue() == outcome {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// A message reaches the browser that subscribed, is readable with its keys
// alone, is signed by the hub's key for this push service, and says nothing
// beside it.
func TestMessageIsForTheBrowserAlone(t *testing.T) {
	st, b := hubtest.NewPushStation(t), hubtest.NewBrowser(t)
	r := newRig(t, t.TempDir(), st.Client().Transport)
	sub := subscriptionOf(b, st.URL+"/push/1")
	sub.Language = "zh-CN"
	r.subscribe(t, "phone", sub)
	r.Send("tablet", "ask-1", text("not for the phone"))
	r.Send("phone", "ask-1", func(language string) []byte { return []byte(language + ": rm -rf build?") })
	m := st.Want(t)
	got, err := b.Open(m.Body)
	if err != nil || got != "zh-CN: rm -rf build?" {
		t.Errorf("the browser reads %q: %v", got, err)
	}
	if _, err := hubtest.NewBrowser(t).Open(m.Body); err == nil {
		t.Error("another browser can read it")
	}
	if m.Path != "/push/1" || m.Header.Get("Content-Encoding") != "aes128gcm" || m.Header.Get("Urgency") != "high" || m.Header.Get("Ttl") != "43200" {
		t.Errorf("it came to %s with %v", m.Path, m.Header)
	}
	if topic := m.Header.Get("Topic"); len(topic) != 32 || strings.Contains(topic, "ask") {
		t.Errorf("the topic is %q", topic)
	}
	var signed, key string
	for part := range strings.SplitSeq(strings.TrimPrefix(m.Header.Get("Authorization"), "vapid "), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			signed = value
		case "k":
			key = value
		}
	}
	if key != r.PublicKey() {
		t.Errorf("signed with %q, browsers subscribed with %q", key, r.PublicKey())
	}
	claims := jwt.MapClaims{}
	_, err = jwt.ParseWithClaims(signed, claims, func(*jwt.Token) (any, error) {
		point, err := base64.RawURLEncoding.DecodeString(key)
		if err != nil {
			return nil, err
		}
		return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	}, jwt.WithValidMethods([]string{"ES256"}), jwt.WithAudience(st.URL), jwt.WithExpirationRequired())
	if err != nil || claims["sub"] != "https://hub.example.org" {
		t.Errorf("the signature: %v, claims %v", err, claims)
	}
	r.wantCount(t, "sent", 1)
	if strings.Contains(r.log.String(), "/push/1") {
		t.Errorf("the log holds the endpoint: %s", r.log)
	}
}

// Key and subscriptions outlive the hub, those of devices that are over do not.
func TestSubscriptionsAreKeptAndEndWithTheirDevice(t *testing.T) {
	dir, st, b := t.TempDir(), hubtest.NewPushStation(t), hubtest.NewBrowser(t)
	r := newRig(t, dir, st.Client().Transport)
	r.subscribe(t, "phone", subscriptionOf(b, st.URL+"/phone"))
	r.subscribe(t, "tablet", subscriptionOf(b, st.URL+"/tablet"))
	key := r.PublicKey()
	holders := r.Holders(time.Now())
	if len(holders) != 2 || holders[0].Name != "my phone" || holders[0].Sessions[0] != "s1" || holders[1].Rights != auth.RoleApprover.Rights() {
		t.Errorf("the holders are %+v", holders)
	}
	r.devices.set("tablet", func(d *auth.Device) { d.Role = auth.RoleViewer })
	if holders := r.Holders(time.Now()); len(holders) != 1 || holders[0].Device != "phone" {
		t.Errorf("with a narrowed device the holders are %+v", holders)
	}
	if holders := r.Holders(time.Now().Add(2 * time.Hour)); len(holders) != 0 {
		t.Errorf("after the devices' time the holders are %+v", holders)
	}
	r.stop()

	r = newRig(t, dir, st.Client().Transport)
	if r.PublicKey() != key || len(r.Holders(time.Now())) != 2 {
		t.Errorf("after a restart the key is %q, the holders %+v", r.PublicKey(), r.Holders(time.Now()))
	}
	if err := r.Forget("tablet"); err != nil {
		t.Fatal(err)
	}
	if err := r.Unsubscribe("tablet", st.URL+"/phone"); err != nil || r.count != 1 {
		t.Errorf("another device's unsubscribe: %v, %d are left", err, r.count)
	}
	r.stop()

	r = newRig(t, dir, st.Client().Transport)
	if holders := r.Holders(time.Now()); len(holders) != 1 || holders[0].Device != "phone" {
		t.Errorf("the holders are %+v", holders)
	}
	if err := r.Unsubscribe("phone", st.URL+"/phone"); err != nil || len(r.Holders(time.Now())) != 0 {
		t.Errorf("after the unsubscribe: %v, %+v", err, r.Holders(time.Now()))
	}
	if err := auth.CheckDataDir(dir); err != nil && !strings.Contains(err.Error(), dir+" has mode") {
		t.Error(err)
	}
}

// An endpoint belongs to one device, the one that named it last; a device has a
// bounded number of them.
func TestEndpointBelongsToOneDevice(t *testing.T) {
	st, b := hubtest.NewPushStation(t), hubtest.NewBrowser(t)
	r := newRig(t, t.TempDir(), st.Client().Transport)
	r.subscribe(t, "phone", subscriptionOf(b, st.URL+"/1"))
	r.subscribe(t, "tablet", subscriptionOf(b, st.URL+"/1"))
	r.subscribe(t, "tablet", subscriptionOf(b, st.URL+"/1"))
	if holders := r.Holders(time.Now()); len(holders) != 1 || holders[0].Device != "tablet" || r.count != 1 {
		t.Errorf("the holders are %+v", holders)
	}
	for i := range 3 * maxOfDevice {
		r.subscribe(t, "phone", subscriptionOf(b, fmt.Sprint(st.URL, "/many/", i)))
	}
	if n := len(r.byDevice["phone"]); n != maxOfDevice || r.count != maxOfDevice+1 {
		t.Errorf("the phone is %d browsers, in all there are %d", n, r.count)
	}
	r.subscribe(t, "phone", subscriptionOf(b, st.URL+"/1"))
	if n := len(r.byDevice["phone"]); n != maxOfDevice || r.count != maxOfDevice {
		t.Errorf("with the tablet's the phone is %d browsers, in all there are %d", n, r.count)
	}
}

// What a push service cannot take now is tried again, later each time; what it
// does not want any more is not.
func TestPushIsTriedAgainWithPatience(t *testing.T) {
	st, b := hubtest.NewPushStation(t), hubtest.NewBrowser(t)
	r := newRig(t, t.TempDir(), st.Client().Transport)
	r.subscribe(t, "phone", subscriptionOf(b, st.URL+"/1"))
	st.Answer(503, 201)
	begun := time.Now()
	r.Send("phone", "a", text("hello"))
	st.Want(t)
	second := st.Want(t)
	if got, err := b.Open(second.Body); got != "hello" || err != nil {
		t.Errorf("tried again, the browser reads %q: %v", got, err)
	}
	if waited := time.Since(begun); waited < firstPause/2 {
		t.Errorf("it was tried again after %v", waited)
	}
	r.wantCount(t, "sent", 1)
	st.Answer(403)
	r.Send("phone", "a", text("hello"))
	r.wantCount(t, "failed", 1)
	st.Answer(307)
	r.Send("phone", "a", text("hello"))
	r.wantCount(t, "failed", 2)
	for _, status := range []int{404, 410} {
		r.subscribe(t, "phone", subscriptionOf(b, st.URL+"/1"))
		st.Answer(status)
		r.Send("phone", "a", text("hello"))
		hubtest.Want(t, "the end of the subscription", func() bool { return len(r.Holders(time.Now())) == 0 })
	}
	r.wantCount(t, "gone", 2)
	for len(st.Got) > 0 {
		if m := <-st.Got; m.Path != "/1" {
			t.Errorf("a redirect was followed to %s", m.Path)
		}
	}
}

func TestPausesGrowAndAreBounded(t *testing.T) {
	for tries := 1; tries <= 100; tries++ {
		least := min(firstPause<<min(tries-1, 20), maxPause) / 2
		if got := pause(tries); got < least || got > 2*least {
			t.Errorf("after %d tries the pause is %v, want %v to %v", tries, got, least, 2*least)
		}
	}
	for header, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-1": 0, "999999999999": 0, "99999": maxPause, "soon": 0} {
		if got := retryAfter(http.Header{"Retry-After": {header}}); got != want && !(header == "999999999999" && got == maxPause) {
			t.Errorf("Retry-After %q is %v, want %v", header, got, want)
		}
	}
}

// What was withdrawn is neither sent nor tried again, and messages to one
// browser arrive in the order in which they were given.
func TestWithdrawnMessagesAreNotSent(t *testing.T) {
	st, b := hubtest.NewPushStation(t), hubtest.NewBrowser(t)
	r := newRig(t, t.TempDir(), st.Client().Transport)
	r.subscribe(t, "phone", subscriptionOf(b, st.URL+"/1"))
	release := st.Hold()
	st.Answer(503)
	r.Send("phone", "first", text("1"))
	st.Want(t)
	r.Send("phone", "second", text("2"))
	r.Send("phone", "third", text("3"))
	if !r.Withdraw("phone", "second") {
		t.Error("a message that waits is said to have arrived")
	}
	if r.Withdraw("phone", "first") || r.Withdraw("phone", "never") {
		t.Error("a message under way is said not to have arrived")
	}
	release()
	if got, err := b.Open(st.Want(t).Body); got != "3" {
		t.Errorf("the next message is %q: %v", got, err)
	}
	r.wantCount(t, "withdrawn", 2)
	r.wantCount(t, "sent", 1)
	if len(r.queue) != 0 || r.bytes != 0 {
		t.Errorf("%d messages of %d bytes are left", len(r.queue), r.bytes)
	}
}

func TestPushQueueIsBounded(t *testing.T) {
	st, b := hubtest.NewPushStation(t), hubtest.NewBrowser(t)
	r := newRig(t, t.TempDir(), st.Client().Transport)
	r.subscribe(t, "phone", subscriptionOf(b, st.URL+"/1"))
	release := st.Hold()
	r.Send("phone", "a", text("x"))
	st.Want(t)
	big := strings.Repeat("x", maxPayload)
	for range 2 * maxQueued {
		r.Send("phone", "a", text(big))
	}
	r.Send("phone", "a", text(big+"x"))
	r.mu.Lock()
	if len(r.queue) > maxQueued || r.bytes > maxQueuedBytes {
		t.Errorf("%d messages of %d bytes wait", len(r.queue), r.bytes)
	}
	kept := len(r.queue)
	r.mu.Unlock()
	r.wantCount(t, "dropped", float64(2*maxQueued-kept))
	r.wantCount(t, "tooLarge", 1)
	if err := r.Forget("phone"); err != nil || len(r.queue) != 0 || r.bytes != 0 {
		t.Errorf("after the device was forgotten %d messages of %d bytes wait: %v", len(r.queue), r.bytes, err)
	}
	release()
}

// The largest message fits one record.
func TestLargestPayloadIsSent(t *testing.T) {
	st, b := hubtest.NewPushStation(t), hubtest.NewBrowser(t)
	r := newRig(t, t.TempDir(), st.Client().Transport)
	r.subscribe(t, "phone", subscriptionOf(b, st.URL+"/1"))
	big := strings.Repeat("x", maxPayload)
	r.Send("phone", "a", text(big))
	m := st.Want(t)
	if got, err := b.Open(m.Body); got != big || err != nil || len(m.Body) != 4096 {
		t.Errorf("%d bytes came in a body of %d: %v", len(got), len(m.Body), err)
	}
}

func decoded(t *testing.T, key string) []byte {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestSubscriptionsAreChecked(t *testing.T) {
	b := hubtest.NewBrowser(t)
	good := subscriptionOf(b, "https://push.example.org/1")
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	point := decoded(t, good.Keys.P256dh)
	padded := good
	padded.Keys.P256dh = base64.StdEncoding.EncodeToString(point)
	padded.Keys.Auth = base64.URLEncoding.EncodeToString(decoded(t, good.Keys.Auth))
	if err := padded.check(); err != nil {
		t.Error(err)
	}
	point[64] ^= 1
	for what, spoil := range map[string]func(*Subscription){
		"plain http":       func(s *Subscription) { s.Endpoint = "http://push.example.org/1" },
		"no host":          func(s *Subscription) { s.Endpoint = "https:///1" },
		"no address":       func(s *Subscription) { s.Endpoint = "https://[::1" },
		"a user":           func(s *Subscription) { s.Endpoint = "https://me@push.example.org/1" },
		"a fragment":       func(s *Subscription) { s.Endpoint += "#x" },
		"a long address":   func(s *Subscription) { s.Endpoint += strings.Repeat("x", maxEndpoint) },
		"another scheme":   func(s *Subscription) { s.Endpoint = "file:///etc/passwd" },
		"nothing":          func(s *Subscription) { s.Endpoint = "" },
		"no point":         func(s *Subscription) { s.Keys.P256dh = base64.RawURLEncoding.EncodeToString(point) },
		"a short point":    func(s *Subscription) { s.Keys.P256dh = s.Keys.P256dh[:40] },
		"no base64":        func(s *Subscription) { s.Keys.Auth = "!!!!" },
		"a short secret":   func(s *Subscription) { s.Keys.Auth = "AAAA" },
		"a strange tongue": func(s *Subscription) { s.Language = "en<script>" },
		"a long tongue":    func(s *Subscription) { s.Language = strings.Repeat("e", 100) },
	} {
		bad := good
		spoil(&bad)
		if bad.check() == nil {
			t.Errorf("a subscription with %s was taken", what)
		}
	}
}

func FuzzSubscriptionCheck(f *testing.F) {
	b := hubtest.NewBrowser(f)
	good := subscriptionOf(b, "https://push.example.org/1")
	f.Add(good.Endpoint, good.Keys.P256dh, good.Keys.Auth, "en")
	f.Fuzz(func(t *testing.T, endpoint, point, secret, language string) {
		s := Subscription{endpoint, Keys{point, secret}, language}
		if s.check() == nil && !strings.HasPrefix(strings.ToLower(endpoint), "https://") {
			t.Errorf("%q was taken", endpoint)
		}
	})
}
