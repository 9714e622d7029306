package auth

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// Profile is how a client wants its stream.
type Profile string

const (
	Continuous Profile = "desktop-continuous"
	Replayable Profile = "web-remote-replayable"
)

// Delivery is the profile's name in hub/hello: continuous or replayable.
func (p Profile) Delivery() string {
	if p == Continuous {
		return "continuous"
	}
	return "replayable"
}

// ParseProfile accepts exactly the two names of the profiles.
func ParseProfile(s string) (Profile, error) {
	switch p := Profile(s); p {
	case Continuous, Replayable:
		return p, nil
	}
	return "", fmt.Errorf("profile %.40q is unknown: use %s or %s", s, Continuous, Replayable)
}

// Principal is who a client is. It is immutable once made and may be shared.
type Principal struct {
	Name   string // for people
	Device string // the device record this belongs to; revocation goes by it
	Role   Role
	Rights Right
	// Scope. nil = not limited; a non-nil list limits, an empty one to nothing. With both set both must hold.
	Sessions   []string
	Workspaces []string
	Profiles   []Profile
	ExpiresAt  time.Time // zero = never
	TokenID    string    // as hub token inspect shows it; log and audit name a token by it
	Local      bool      // came over the local socket
}

// LocalPrincipal is the same user on the same machine: all rights, no expiry, both profiles.
func LocalPrincipal() *Principal {
	return &Principal{
		Name: "local", Device: "local", Role: RoleAdmin, Rights: RoleAdmin.Rights(),
		Profiles: []Profile{Continuous, Replayable}, Local: true,
	}
}

// Allows reports whether the principal may use the profile.
func (p *Principal) Allows(profile Profile) bool { return slices.Contains(p.Profiles, profile) }

// DefaultProfile is the profile of a client that asks for none: replayable wherever it is allowed.
func (p *Principal) DefaultProfile() Profile {
	if p.Allows(Continuous) && !p.Allows(Replayable) {
		return Continuous
	}
	return Replayable
}

// Scoped reports whether the principal is limited to some sessions or workspaces.
func (p *Principal) Scoped() bool { return p.Sessions != nil || p.Workspaces != nil }

// SeesSession reports whether a session exists for the principal. Give "" for a workspace path that is not known: a
// principal limited to workspaces then does not see the session.
func (p *Principal) SeesSession(sessionID, workspacePath string) bool {
	if p.Sessions != nil && !slices.Contains(p.Sessions, sessionID) {
		return false
	}
	return p.Workspaces == nil || p.holdsWorkspace(workspacePath)
}

// MayCreateIn reports whether the scope leaves room for a new session in the workspace; the right is asked elsewhere.
func (p *Principal) MayCreateIn(workspacePath string) bool {
	return p.Sessions == nil && (p.Workspaces == nil || p.holdsWorkspace(workspacePath))
}

// holdsWorkspace compares whole cleaned paths. A folder below a workspace is another workspace: the app-server says so.
func (p *Principal) holdsWorkspace(path string) bool {
	return filepath.IsAbs(path) && slices.Contains(p.Workspaces, filepath.Clean(path))
}

// Expired reports whether the principal's time is over.
func (p *Principal) Expired(now time.Time) bool {
	return !p.ExpiresAt.IsZero() && !now.Before(p.ExpiresAt)
}

// CheckSuccessor says why next may not take the place of p on an open connection: it must be the same device, and
// rights, scope and profiles may only stay or shrink.
func (p *Principal) CheckSuccessor(next *Principal) error {
	switch {
	case next.Device != p.Device || next.Local != p.Local:
		return fmt.Errorf("the new token belongs to another device")
	case !p.Rights.Has(next.Rights):
		return fmt.Errorf("the new token has more rights")
	case !within(next.Sessions, p.Sessions) || !within(next.Workspaces, p.Workspaces):
		return fmt.Errorf("the new token has a wider scope")
	case !within(next.Profiles, p.Profiles):
		return fmt.Errorf("the new token allows more profiles")
	}
	return nil
}

// within reports whether the limit inner is no wider than outer; nil is no limit.
func within[T comparable](inner, outer []T) bool {
	if outer == nil {
		return true
	}
	return inner != nil && !slices.ContainsFunc(inner, func(x T) bool { return !slices.Contains(outer, x) })
}
