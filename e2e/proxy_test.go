//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The proxy of docs/operations.md, as a whole configuration.
const nginxConfig = `
daemon off;
pid %[1]s/nginx.pid;
error_log stderr warn;
events {}
http {
  access_log off;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  server {
    listen %[2]s;
    location / {
      proxy_pass http://%[3]s;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $http_connection;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_read_timeout 60s;
      proxy_buffering off;
    }
  }
}
`

// freeAddresses are two loopback addresses that were free a moment ago, never the same: nginx cannot pick one by itself.
func freeAddresses(t *testing.T) (one, other string) {
	t.Helper()
	var found [2]string
	for i := range found {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		found[i] = listener.Addr().String()
	}
	return found[0], found[1]
}

func startNginx(t *testing.T, listen, upstream string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { // nginx's workers are another user
		t.Fatal(err)
	}
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, dir, listen, upstream), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("nginx", "-p", dir, "-c", config, "-e", "stderr")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("nginx:\n%s", stderr.String())
		}
	})
	waitForAnswer(t, "http://"+listen+"/healthz")
}

func waitForAnswer(t *testing.T, url string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		response, err := http.Get(url)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("GET %s: no good answer: %v", url, err)
		}
	}
}

func TestTurnThroughNginx(t *testing.T) {
	proxy, upstream := freeAddresses(t)
	d := startDemo(t, "--listen", upstream, "--public-url", "http://"+proxy)
	startNginx(t, proxy, upstream)
	if d.url != "http://"+proxy {
		t.Errorf("the link leads to %s, want http://%s", d.url, proxy)
	}
	p := openPage(t, "phone", d.phone)
	p.createSession("/demo")
	p.prompt("ask")
	p.tap("Allow once")
	p.wantText(told, allowedText)
	p.prompt("burst 2000")
	p.wantText(told, "word 2000 of 2000")
}

func TestMetricsAreNotOpenThroughAProxy(t *testing.T) {
	proxy, upstream := freeAddresses(t)
	startDemo(t, "--listen", upstream, "--public-url", "http://"+proxy)
	startNginx(t, proxy, upstream)
	for address, want := range map[string]int{upstream: http.StatusOK, proxy: http.StatusUnauthorized} {
		response, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("GET /metrics at %s: got %d, want %d", address, response.StatusCode, want)
		}
	}
}
