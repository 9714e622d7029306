package auth

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// DefaultTTL is how long a token lives when nobody says: a working day and the night after it.
	DefaultTTL = 24 * time.Hour
	// MaxTTL bounds what a forgotten token can do: a year and a month to renew it.
	MaxTTL = 400 * 24 * time.Hour

	minTTL  = time.Second // the resolution of exp
	maxName = 100         // runes; a label on a phone's screen
)

// Grant is what a token is made of. Nil scope lists mean not limited; nil profiles mean both; an empty device means
// the device named like the holder; a zero TTL means [DefaultTTL].
type Grant struct {
	Name, Device string
	Role         Role
	Sessions     []string
	Workspaces   []string
	Profiles     []Profile
	TTL          time.Duration
}

func (g Grant) withDefaults() Grant {
	if g.TTL == 0 {
		g.TTL = DefaultTTL
	}
	if g.Device == "" {
		g.Device = g.Name
	}
	if g.Profiles == nil {
		g.Profiles = []Profile{Continuous, Replayable}
	}
	if g.Workspaces != nil {
		cleaned := make([]string, len(g.Workspaces))
		for i, w := range g.Workspaces {
			cleaned[i] = filepath.Clean(w)
		}
		g.Workspaces = cleaned
	}
	return g
}

// check refuses what nobody should hold. Its sentences are for whoever asks for the grant.
func (g Grant) check() error {
	switch {
	case !presentable(g.Name):
		return fmt.Errorf("a name is 1 to %d printable characters", maxName)
	case !presentable(g.Device):
		return fmt.Errorf("a device is named by 1 to %d printable characters", maxName)
	case g.Role.Rights() == 0:
		return fmt.Errorf("role %.40q is unknown: use viewer, approver, operator or admin", g.Role)
	case g.TTL < minTTL || g.TTL > MaxTTL:
		return fmt.Errorf("a token lives between %s and %s", minTTL, MaxTTL)
	}
	return errors.Join(g.checkScope(), g.checkProfiles())
}

// checkScope refuses empty lists: "limited to nothing" must never be read as "not limited" further on.
func (g Grant) checkScope() error {
	for _, list := range [][]string{g.Sessions, g.Workspaces} {
		if list != nil && (len(list) == 0 || slices.Contains(list, "")) {
			return errors.New("a scope names at least one session or workspace, and no empty one")
		}
	}
	for _, w := range g.Workspaces {
		if !filepath.IsAbs(w) {
			return errors.New("a workspace is an absolute path")
		}
	}
	if g.Role.Rights().Has(Admin) && (g.Sessions != nil || g.Workspaces != nil) {
		return errors.New("an admin manages the whole hub and cannot be limited to sessions or workspaces")
	}
	return nil
}

func (g Grant) checkProfiles() error {
	if len(g.Profiles) == 0 {
		return errors.New("no profile is allowed")
	}
	for _, p := range g.Profiles {
		if _, err := ParseProfile(string(p)); err != nil {
			return err
		}
	}
	return nil
}

// CheckName says what is wrong with a name that a device gives itself.
func CheckName(name string) error {
	if !presentable(name) {
		return fmt.Errorf("a name is 1 to %d printable characters", maxName)
	}
	return nil
}

// presentable keeps names short and free of control and direction-changing characters: they are shown to people who
// decide by them.
func presentable(s string) bool {
	return s != "" && utf8.ValidString(s) && utf8.RuneCountInString(s) <= maxName && strings.TrimSpace(s) == s &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
