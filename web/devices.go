package web

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"zcodehub/auth"
)

// listedDevice is a device as the list shows it.
type listedDevice struct {
	auth.Device
	Live bool `json:"live"` // tokens of it can still be good
}

func (s *Server) listDevices(w http.ResponseWriter, _ *http.Request, _ *auth.Principal) {
	now := time.Now()
	list := []listedDevice{}
	for _, dev := range s.devices.List() {
		list = append(list, listedDevice{dev, dev.Live(now)})
	}
	writeJSON(w, http.StatusOK, map[string]any{"devices": list})
}

// revokeDevice ends a device and, through the store's OnRevoke, all that lives of it.
func (s *Server) revokeDevice(w http.ResponseWriter, r *http.Request, by *auth.Principal) {
	dev, err := s.devices.Revoke(deviceOf(r), "by "+by.Name, time.Now())
	if s.deviceFailed(w, err) {
		return
	}
	writeJSON(w, http.StatusOK, listedDevice{Device: dev})
}

func (s *Server) renameDevice(w http.ResponseWriter, r *http.Request, by *auth.Principal) {
	var ask struct {
		Name string `json:"name"`
	}
	if !readBody(w, r, &ask) {
		return
	}
	now := time.Now()
	dev, err := s.devices.Rename(deviceOf(r), ask.Name, now)
	if s.deviceFailed(w, err) {
		return
	}
	s.audit(auth.AuditEvent{Event: "device.renamed", Name: dev.Name, Device: dev.ID, Addr: s.remoteAddr(r), Detail: map[string]string{"by": by.Name}})
	writeJSON(w, http.StatusOK, listedDevice{dev, dev.Live(now)})
}

// deviceOf is the id or name in the path. The router leaves it escaped only where the path cannot be read without that.
func deviceOf(r *http.Request) string {
	raw := chi.URLParam(r, "id")
	if name, err := url.PathUnescape(raw); r.URL.RawPath != "" && err == nil {
		return name
	}
	return raw
}

// deviceFailed answers an error of the store.
func (s *Server) deviceFailed(w http.ResponseWriter, err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, auth.ErrNoDevice):
		writeError(w, http.StatusNotFound, "no_device", err.Error())
	default:
		s.log.Warn("a change of a device failed", "error", err)
		writeError(w, http.StatusConflict, "device", err.Error())
	}
	return true
}
