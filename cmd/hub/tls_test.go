package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// writeCertificate makes a certificate for loopback with this serial number.
func writeCertificate(t *testing.T, dir string, serial int64, life time.Duration) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := writeFileAtomic(file, pem.EncodeToMemory(block)); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestOwnTLSServesAndTakesANewCertificate(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := writeCertificate(t, dir, 1, time.Hour)
	p := serveSimulated(t, nil, "--tls-cert", certFile, "--tls-key", keyFile)
	if !strings.HasPrefix(p.url, "https://") {
		t.Fatalf("the hub says that it listens on %s", p.url)
	}
	serial := func() int64 {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(p.url, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Errorf("serial %d, want 1", got)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	token := strings.TrimSpace(p.run("token", "create", "--role", "operator", "--name", "desk"))
	ws, _, err := websocket.Dial(t.Context(), p.url+"/ws", &websocket.DialOptions{HTTPClient: client, HTTPHeader: bearer(token)})
	if err != nil {
		t.Fatal(err)
	}
	if _, frame, err := ws.Read(t.Context()); err != nil || !strings.Contains(string(frame), "hub/hello") {
		t.Errorf("first frame %.100q, %v", frame, err)
	}
	_ = ws.CloseNow()
	request, _ := http.NewRequest(http.MethodPost, p.url+"/api/login", nil)
	request.Header = bearer(token)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if cookie := response.Cookies()[0]; !cookie.Secure || !strings.HasPrefix(cookie.Name, "__Host-") {
		t.Errorf("cookie %s is Secure: %v", cookie.Name, cookie.Secure)
	}

	writeCertificate(t, dir, 2, time.Hour)
	for deadline := time.Now().Add(patience); serial() != 2; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the new certificate is not served")
		}
	}
	if err := os.WriteFile(certFile, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(certificateEvery) // or the file is not looked at again
	if got := serial(); got != 2 {
		t.Errorf("with a broken file: serial %d, want the old one to serve on", got)
	}
}
