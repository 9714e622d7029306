package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"zcodehub/auth"
)

// certificate is the hub's own, read again when its files change, so that renewing it needs no restart.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex // held while the files are read: handshakes wait for that, nothing else does
	current *tls.Certificate
	stamp   string
	looked  time.Time
}

// certificateEvery is how often the files are looked at, at most.
const certificateEvery = time.Second

// loadCertificate reads the pair once, so that a fault is known at start.
func loadCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	stamp, err := c.stampNow()
	if err != nil {
		return nil, err
	}
	return c, c.load(stamp)
}

// stampNow changes when either file does.
func (c *certificate) stampNow() (string, error) {
	stamp := ""
	for _, file := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(file) // follows links: certificates are often renewed by moving one
		if err != nil {
			return "", err
		}
		stamp += fmt.Sprint(info.ModTime().UnixNano(), info.Size(), ";")
	}
	return stamp, nil
}

func (c *certificate) load(stamp string) error {
	if info, err := os.Stat(c.keyFile); err == nil && info.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("%s is %w: chmod 600 it", c.keyFile, auth.ErrLoose)
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.current, c.stamp = &pair, stamp
	return nil
}

// get is tls.Config.GetCertificate. New files that do not work are told of, and the old pair serves on.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= certificateEvery {
		c.looked = now
		stamp, err := c.stampNow()
		if err == nil && stamp != c.stamp {
			if err = c.load(stamp); err == nil {
				c.log.Info("certificate read again", "file", c.certFile)
			}
		}
		if err != nil {
			c.log.Error("the new certificate does not work; the old one serves on", "error", err)
		}
	}
	return c.current, nil
}

// securedListener is a listener with TLS; the edge tells its address as https by it.
type securedListener struct{ net.Listener }

func (securedListener) Secured() {}

// listenTLS puts TLS before a listener. WebSocket wants HTTP/1.1, so HTTP/2 is not offered.
func listenTLS(plain net.Listener, c *certificate) net.Listener {
	return securedListener{tls.NewListener(plain, &tls.Config{
		GetCertificate: c.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	})}
}
