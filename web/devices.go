package web

import (
	"errors"
	"net/http"
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
	dev, err := s.devices.Revoke(chi.URLParam(r, "id"), "by "+by.Name, time.Now())
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
	dev, err := s.devices.Rename(chi.URLParam(r, "id"), ask.Name, now)
	if s.deviceFailed(w, err) {
		return
	}
	s.audit(auth.AuditEvent{Event: "device.renamed", Name: dev.Name, Device: dev.ID, Addr: s.remoteAddr(r), Detail: map[string]string{"by": by.Name}})
	writeJSON(w, http.StatusOK, listedDevice{dev, dev.Live(now)})
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
