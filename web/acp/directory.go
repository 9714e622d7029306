package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"zcodehub/auth"
	"zcodehub/internal/wire"
)

// A Session is one as lists show it.
type Session struct {
	ID        string
	Title     string // "" while it has none
	Workspace string // the folder that the app-server recorded, never what a client said
	UpdatedAt time.Time
	Running   bool // a turn runs, or has not unwound yet
	Live      bool // the lists of what can be opened show it: it was used, and not closed since
}

const (
	// listed is how many sessions are asked for and kept: the newest.
	listed = 1000
	// fresh is how old the list may be for those who poll: many clients then cost the app-server one call a second.
	fresh = time.Second
	// settled is how old it may be where only the folder matters, which stays the same.
	settled = time.Minute
	// listWait bounds how long a list waits for the app-server; clients have no timeout of their own.
	listWait = 2 * time.Second
	// askRate and askBurst bound questions about single sessions that the list does not hold: guesses, and old ones.
	askRate  = 20
	askBurst = 100
)

// A Directory knows which sessions there are and which of them lists show. The app-server is asked once for all clients;
// what each may see is its principal's scope.
type Directory struct {
	hub    Hub
	closed *closedSessions
	asking *rate.Limiter

	mu      sync.Mutex
	all     []Session       // newest first; replaced, never changed in place
	byID    map[string]int  // places in all
	at      time.Time       // when all was asked for
	stale   bool            // something changed since
	used    map[string]bool // opened or prompted, as far as the hub was told
	refresh *refresh        // under way, nil if none is
}

// A refresh is a question for the list that all wait for who want it.
type refresh struct {
	begun time.Time
	stale bool          // something changed since it began; guarded by the directory's mu
	done  chan struct{} // closed at its end; err is set then
	err   error
}

// NewDirectory returns the directory of a hub. What clients close is kept in file across restarts; "" keeps it in memory.
func NewDirectory(h Hub, file string, log *slog.Logger) *Directory {
	return &Directory{hub: h, closed: openClosedSessions(file, log), asking: rate.NewLimiter(askRate, askBurst), used: map[string]bool{}}
}

// List lists what a principal sees, newest first: the sessions, all but deleted ones, that have been used. The list may
// be as old as maxAge. With an error comes the last list that is known.
func (d *Directory) List(ctx context.Context, p *auth.Principal, maxAge time.Duration) ([]Session, error) {
	err := d.bring(ctx, maxAge)
	d.mu.Lock()
	all := d.all
	d.mu.Unlock()
	seen := make([]Session, 0, len(all))
	for _, s := range all {
		if p.SeesSession(s.ID, s.Workspace) && d.worthListing(&s) {
			seen = append(seen, s)
		}
	}
	return seen, err
}

// worthListing also says whether the session can be opened from lists. Unused ones, as editors make at their start, and
// deleted ones are in none.
func (d *Directory) worthListing(s *Session) bool {
	closed, deleted := d.closed.is(s)
	s.Live = !closed
	return !deleted && (s.Title != "" || s.Running || d.isUsed(s.ID))
}

// Find finds a session that a principal sees, be it listed or not, as it was no longer than maxAge ago. What does not
// exist and what is out of scope cannot be told apart, also not by the way to the answer: ok is false.
func (d *Directory) Find(ctx context.Context, p *auth.Principal, id string, maxAge time.Duration) (s Session, ok bool, err error) {
	if p.Sessions != nil && !slices.Contains(p.Sessions, id) {
		return Session{}, false, nil
	}
	s, ok = d.known(id, maxAge)
	if !ok || !p.SeesSession(id, s.Workspace) {
		if s, ok, err = d.ask(ctx, id); !ok || !p.SeesSession(id, s.Workspace) {
			return Session{}, false, err
		}
	}
	d.worthListing(&s)
	return s, true, nil
}

// known is a session in the list, if that is good enough.
func (d *Directory) known(id string, maxAge time.Duration) (Session, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	place, found := d.byID[id]
	if !found || !d.goodLocked(time.Now(), maxAge) {
		return Session{}, false
	}
	return d.all[place], true
}

// goodLocked reports whether the list is good enough for whoever wanted it at a time.
func (d *Directory) goodLocked(wanted time.Time, maxAge time.Duration) bool {
	return !d.at.IsZero() && !d.stale && wanted.Sub(d.at) <= maxAge
}

// Use notes that a session was opened or prompted: lists show it, also if it was closed before.
func (d *Directory) Use(id string) {
	d.mu.Lock()
	d.used[id] = true
	d.mu.Unlock()
	d.Changed()
	d.closed.open(id)
}

// Close takes a session off the lists until its next use; a deleted one leaves those of its project too.
func (d *Directory) Close(id string, deleted bool) {
	d.mu.Lock()
	delete(d.used, id)
	d.mu.Unlock()
	d.Changed()
	d.closed.close(id, deleted)
}

// Changed says that the list is out of date.
func (d *Directory) Changed() {
	d.mu.Lock()
	d.stale = true
	if d.refresh != nil {
		d.refresh.stale = true
	}
	d.mu.Unlock()
}

func (d *Directory) isUsed(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used[id]
}

// bring makes sure that the list is no older than maxAge. It fails at once while there is nobody to ask.
func (d *Directory) bring(ctx context.Context, maxAge time.Duration) error {
	wanted := time.Now()
	for {
		d.mu.Lock()
		good, under := d.goodLocked(wanted, maxAge), d.refresh
		first := !good && under == nil
		if first {
			under = &refresh{begun: time.Now(), done: make(chan struct{})}
			d.refresh = under
		}
		d.mu.Unlock()
		switch {
		case good:
			return nil
		case first:
			d.run(ctx, under)
			return under.err
		}
		select {
		case <-under.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if under.err != nil {
			return under.err
		}
	}
}

// run asks for the list on behalf of all who wait, so it does not end with the one who asked first.
func (d *Directory) run(ctx context.Context, r *refresh) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listWait)
	defer cancel()
	all, err := d.fetch(ctx, map[string]any{"includeArchived": false, "limit": listed})
	if err == nil {
		for _, s := range all {
			d.closed.reopen(&s, r.begun)
		}
	}
	d.mu.Lock()
	if err == nil {
		d.keepLocked(all, r)
	}
	r.err = err
	d.refresh = nil
	d.mu.Unlock()
	close(r.done)
}

func (d *Directory) keepLocked(all []Session, r *refresh) {
	slices.SortFunc(all, newestFirst)
	used := map[string]bool{}
	byID := make(map[string]int, len(all))
	for i, s := range all {
		byID[s.ID] = i
		if d.used[s.ID] || s.Running {
			used[s.ID] = true
		}
	}
	d.at, d.stale, d.all, d.byID, d.used = r.begun, r.stale, all, byID, used
}

func newestFirst(a, b Session) int {
	return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), strings.Compare(a.ID, b.ID))
}

// After is the part of a list, newest first, behind a session: a list that moved on meanwhile neither repeats nor hides
// what stood still.
func After(list []Session, updatedAt time.Time, id string) []Session {
	place := Session{ID: id, UpdatedAt: updatedAt}
	from := slices.IndexFunc(list, func(s Session) bool { return newestFirst(s, place) > 0 })
	if from < 0 {
		return nil
	}
	return list[from:]
}

// ask asks for one session.
func (d *Directory) ask(ctx context.Context, id string) (Session, bool, error) {
	if id == "" || len(id) > maxSessionID {
		return Session{}, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	if err := d.asking.Wait(ctx); err != nil {
		return Session{}, false, err
	}
	found, err := d.fetch(ctx, map[string]any{"includeArchived": true, "sessionIds": []string{id}})
	for _, s := range found {
		if s.ID == id { // live ones may come unasked
			return s, true, err
		}
	}
	return Session{}, false, err
}

// maxSessionID is the hub's own bound.
const maxSessionID = 256

// hubItself is who asks for lists; it sees all, and what it sees is narrowed before anybody gets it.
var hubItself = &auth.Principal{Name: "session list", Device: "hub", Role: auth.RoleViewer, Rights: auth.RoleViewer.Rights(),
	Profiles: []auth.Profile{auth.Replayable}, Local: true}

// fetch fails at once while there is nobody to ask.
func (d *Directory) fetch(ctx context.Context, params map[string]any) ([]Session, error) {
	if ready, state := d.hub.Ready(); !ready {
		return nil, fmt.Errorf("the app-server is not ready (%s)", state)
	}
	result, err := d.hub.CallAs(ctx, hubItself, "session/list", params)
	if err != nil {
		return nil, err
	}
	var all []Session
	list, _ := wire.Get(result, "sessions")
	for raw := range wire.Elements(list) {
		if s, ok := readSession(raw); ok {
			all = append(all, s)
		}
	}
	return all, nil
}

// readSession reads a SessionInfo (protocol document 2.1). Sessions of sub-agents and workflow steps belong to the one
// that started them and are no entries of their own.
func readSession(raw []byte) (Session, bool) {
	var info struct {
		SessionID string
		Kind      string `json:"sessionKind"`
		Title     string
		Status    string
		UpdatedAt int64
		Workspace struct{ WorkspacePath string }
	}
	if json.Unmarshal(raw, &info) != nil || info.SessionID == "" || strings.HasSuffix(info.Kind, "_child") {
		return Session{}, false
	}
	return Session{ID: info.SessionID, Title: info.Title, Workspace: filepath.Clean(info.Workspace.WorkspacePath),
		UpdatedAt: time.UnixMilli(info.UpdatedAt), Running: info.Status == "running" || info.Status == "waiting"}, true
}
