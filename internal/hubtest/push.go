package hubtest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Browser is one that subscribed to Web Push: it can read what is sent to it.
type Browser struct {
	key    *ecdh.PrivateKey
	secret []byte
}

// NewBrowser makes one with keys of its own.
func NewBrowser(t testing.TB) *Browser {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b := &Browser{key: key, secret: make([]byte, 16)}
	_, _ = rand.Read(b.secret) // never fails
	return b
}

// Keys are what the browser subscribes with, p256dh and auth.
func (b *Browser) Keys() (point, secret string) {
	return base64.RawURLEncoding.EncodeToString(b.key.PublicKey().Bytes()), base64.RawURLEncoding.EncodeToString(b.secret)
}

// Open decrypts a message as a browser does (RFC 8188 and 8291).
func (b *Browser) Open(body []byte) (string, error) {
	const header, point = 86, 65 // salt, record size, length of the key, key
	if len(body) < header || int(body[20]) != point {
		return "", fmt.Errorf("%d bytes are no message", len(body))
	}
	salt, size, sender := body[:16], binary.BigEndian.Uint32(body[16:20]), body[21:header]
	if len(body) > int(size) {
		return "", errors.New("more than one record")
	}
	from, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return "", err
	}
	shared, err := b.key.ECDH(from)
	if err != nil {
		return "", err
	}
	derive := func(secret, salt []byte, info string, n int) []byte {
		key, failure := hkdf.Key(sha256.New, secret, salt, info, n)
		err = errors.Join(err, failure)
		return key
	}
	material := derive(shared, b.secret, "WebPush: info\x00"+string(b.key.PublicKey().Bytes())+string(sender), 32)
	key := derive(material, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce := derive(material, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return "", err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return "", err
	}
	plain, err := gcm.Open(nil, nonce, body[header:], nil)
	if err != nil {
		return "", err
	}
	text, last := strings.CutSuffix(strings.TrimRight(string(plain), "\x00"), "\x02")
	if !last {
		return "", errors.New("the last record does not say so")
	}
	return text, nil
}

// Pushed is one message as a push service was sent it.
type Pushed struct {
	Path   string
	Header http.Header
	Body   []byte
}

// PushStation is a push service on this machine. It takes everything, unless it
// was told otherwise.
type PushStation struct {
	*httptest.Server
	Got chan Pushed

	mu      sync.Mutex
	answers []int
	held    chan struct{}
}

// NewPushStation starts one, until the test ends.
func NewPushStation(t *testing.T) *PushStation {
	t.Helper()
	st := &PushStation{Got: make(chan Pushed, 100)}
	st.Server = httptest.NewTLSServer(st)
	t.Cleanup(st.Close)
	return st
}

// ServeHTTP takes a message.
func (st *PushStation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a broken one does not decrypt
	st.mu.Lock()
	status, held := http.StatusCreated, st.held
	if len(st.answers) > 0 {
		status, st.answers = st.answers[0], st.answers[1:]
	}
	st.mu.Unlock()
	st.Got <- Pushed{r.URL.Path, r.Header, body}
	if held != nil {
		<-held
	}
	if status >= 300 && status < 400 {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(status)
}

// Answer sets the status of the next messages.
func (st *PushStation) Answer(statuses ...int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.answers = statuses
}

// Hold keeps every answer back until release is called.
func (st *PushStation) Hold() (release func()) {
	st.mu.Lock()
	defer st.mu.Unlock()
	held := make(chan struct{})
	st.held = held
	return func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.held = nil
		close(held)
	}
}

// Want waits for the next message.
func (st *PushStation) Want(t *testing.T) Pushed {
	t.Helper()
	select {
	case m := <-st.Got:
		return m
	case <-time.After(Patience):
		t.Fatal("the push service was sent nothing")
		return Pushed{}
	}
}
