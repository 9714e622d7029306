package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	qr "github.com/piglig/go-qr"

	"zcodehub/auth"
)

// openPairing makes a code, and the link that carries it in its fragment: browsers send that to no server, so it gets
// into no log on the way.
func (s *Server) openPairing(w http.ResponseWriter, r *http.Request, by *auth.Principal) {
	var ask grantRequest
	if !readBody(w, r, &ask) {
		return
	}
	code, pairing, err := s.devices.OpenPairing(ask.grant(), by.Name, time.Now())
	switch {
	case errors.Is(err, auth.ErrTooManyPairings):
		writeError(w, http.StatusConflict, "too_many_pairings", err.Error())
		return
	case err != nil:
		writeError(w, http.StatusBadRequest, "grant", err.Error())
		return
	}
	s.log.Info("pairing opened", "pairing", pairing.ID, "role", pairing.Role, "by", by.Name)
	s.audit(auth.AuditEvent{Event: "pairing.opened", Name: by.Name, Device: by.Device, Addr: s.remoteAddr(r),
		Detail: map[string]string{"pairing": pairing.ID, "role": string(pairing.Role), "for": pairing.Name}})
	link := s.baseURL(r) + "/#pair=" + code
	writeJSON(w, http.StatusOK, struct {
		auth.Pairing
		Code string   `json:"code"`
		Link string   `json:"link"`
		QR   []string `json:"qr"`
	}{pairing, code, link, qrRows(link)})
}

// qrRows is a QR code as rows of 0 and 1, for the page to draw; none if the link is too long for one.
func qrRows(link string) []string {
	code, err := qr.EncodeText(link, qr.Medium)
	if err != nil {
		return []string{}
	}
	rows := make([]string, code.Size())
	for y := range rows {
		row := make([]byte, code.Size())
		for x := range row {
			row[x] = '0'
			if code.Module(x, y) {
				row[x] = '1'
			}
		}
		rows[y] = string(row)
	}
	return rows
}

// baseURL is where the new device will find the hub: the public URL, else the address by which the admin came, else a
// listener's own.
func (s *Server) baseURL(r *http.Request) string {
	switch {
	case s.publicURL != "":
		return strings.TrimSuffix(s.publicURL, "/")
	case !isLocal(r) && s.edge.HTTPS(r):
		return "https://" + r.Host
	case !isLocal(r):
		return "http://" + r.Host
	}
	for _, address := range s.Addresses() {
		if scheme, rest, tcp := strings.Cut(address, "://"); tcp {
			return ListenURL(scheme, rest)
		}
	}
	return ""
}

func (s *Server) listPairings(w http.ResponseWriter, _ *http.Request, _ *auth.Principal) {
	open, err := s.devices.Pairings(time.Now())
	if err != nil {
		s.storeFailed(w, err)
		return
	}
	if open == nil {
		open = []auth.Pairing{}
	}
	writeJSON(w, http.StatusOK, map[string]any{"pairings": open})
}

func (s *Server) cancelPairing(w http.ResponseWriter, r *http.Request, by *auth.Principal) {
	id := chi.URLParam(r, "id")
	found, err := s.devices.CancelPairing(id)
	switch {
	case err != nil:
		s.storeFailed(w, err)
	case !found:
		writeError(w, http.StatusNotFound, "no_pairing", "no open pairing has this id")
	default:
		s.audit(auth.AuditEvent{Event: "pairing.cancelled", Name: by.Name, Device: by.Device, Addr: s.remoteAddr(r), Detail: map[string]string{"pairing": id}})
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) storeFailed(w http.ResponseWriter, err error) {
	s.log.Error("the device store failed", "error", err)
	writeError(w, http.StatusInternalServerError, "store", "the device store failed; the log says why")
}

// held is a device with the secrets that it gets at once.
type held struct {
	device  auth.Device
	token   string
	holder  *auth.Principal
	refresh string
}

// pair turns a code into a device.
func (s *Server) pair(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Code      string `json:"code"`
		Name      string `json:"name"`
		Otherwise string `json:"otherwise"` // its name if neither it nor the code has one
		Bearer    bool   `json:"bearer"`    // the secrets in the answer instead of in cookies
	}
	if !readBody(w, r, &ask) {
		return
	}
	for _, name := range []string{ask.Name, ask.Otherwise} {
		if err := auth.CheckName(name); name != "" && err != nil {
			writeError(w, http.StatusBadRequest, "name", err.Error())
			return
		}
	}
	got, no := judge(s, r, func(now time.Time) (*held, error) {
		dev, refresh, err := s.devices.Pair(ask.Code, ask.Name, ask.Otherwise, now)
		return s.heldBy(dev, refresh, err, now)
	})
	if no != nil {
		s.refuse(w, r, *no)
		return
	}
	s.log.Info("device paired", "name", got.device.Name, "device", got.device.ID, "role", got.device.Role)
	s.audit(auth.AuditEvent{Event: "device.paired", Name: got.device.Name, Device: got.device.ID, Addr: s.remoteAddr(r),
		Detail: map[string]string{"role": string(got.device.Role), "expiresAt": got.device.ExpiresAt.Format(time.RFC3339)}})
	s.hand(w, r, got, ask.Bearer)
}

// heldBy mints an access token for a device that has just proven itself.
func (s *Server) heldBy(dev auth.Device, refresh string, err error, now time.Time) (*held, error) {
	if err != nil {
		return nil, err
	}
	token, p, err := s.keys.Mint(dev.Grant(auth.AccessTTL, now), now)
	return &held{dev, token, p, refresh}, err
}

// renew spends a refresh secret, of the body or the page's cookie, for new ones.
func (s *Server) renew(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Refresh string `json:"refresh"`
		Attempt string `json:"attempt"`
	}
	if !readOptionalBody(w, r, &ask) {
		return
	}
	secret, bearer := ask.Refresh, ask.Refresh != ""
	if !bearer {
		var found bool
		if secret, found = s.edge.RefreshCookie(r); !found {
			s.refuse(w, r, unauthorized)
			return
		}
	}
	got, no := judge(s, r, func(now time.Time) (*held, error) {
		dev, refresh, err := s.devices.Refresh(secret, ask.Attempt, now)
		return s.heldBy(dev, refresh, err, now)
	})
	if no != nil {
		if !bearer && no.status == http.StatusUnauthorized {
			s.edge.ClearRefreshCookie(w, r)
		}
		s.refuse(w, r, *no)
		return
	}
	s.hand(w, r, got, bearer)
}

// hand gives a device its secrets: to a page as cookies out of reach of scripts, to others in the answer.
func (s *Server) hand(w http.ResponseWriter, r *http.Request, got *held, bearer bool) {
	answer := struct {
		who
		DeviceExpiresAt time.Time `json:"deviceExpiresAt"`
		Token           string    `json:"token,omitempty"`
		Refresh         string    `json:"refresh,omitempty"`
	}{who: describe(got.holder), DeviceExpiresAt: got.device.ExpiresAt}
	if bearer {
		answer.Token, answer.Refresh = got.token, got.refresh
	} else {
		if err := s.edge.SetCookie(w, r, got.token, got.holder.ExpiresAt); err != nil {
			writeError(w, http.StatusBadRequest, "token_too_long", err.Error())
			return
		}
		s.edge.SetRefreshCookie(w, r, got.refresh, got.device.ExpiresAt)
	}
	writeJSON(w, http.StatusOK, answer)
}
