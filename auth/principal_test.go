package auth

import (
	"testing"
	"time"
)

func TestScopeDecidesWhatExists(t *testing.T) {
	tests := []struct {
		name                 string
		sessions, workspaces []string
		session, workspace   string
		sees, creates        bool
	}{
		{"no limit", nil, nil, "s1", "", true, true},
		{"own session", []string{"s1", "s2"}, nil, "s2", "/w", true, false},
		{"other session", []string{"s1"}, nil, "s2", "/w", false, false},
		{"prefix is another session", []string{"s1"}, nil, "s11", "/w", false, false},
		{"own workspace", nil, []string{"/w"}, "s1", "/w", true, true},
		{"own workspace, uncleaned", nil, []string{"/w"}, "s1", "/w/", true, true},
		{"other workspace", nil, []string{"/w"}, "s1", "/x", false, false},
		{"folder below", nil, []string{"/w"}, "s1", "/w/sub", false, false},
		{"dots out of it", nil, []string{"/w"}, "s1", "/w/../x", false, false},
		{"workspace not known", nil, []string{"/w"}, "s1", "", false, false},
		{"relative workspace", nil, []string{"/w"}, "s1", "w", false, false},
		{"both hold", []string{"s1"}, []string{"/w"}, "s1", "/w", true, false},
		{"only the session holds", []string{"s1"}, []string{"/w"}, "s1", "/x", false, false},
		{"only the workspace holds", []string{"s1"}, []string{"/w"}, "s2", "/w", false, false},
		{"empty list is a limit", []string{}, nil, "s1", "/w", false, false},
		{"empty id", []string{"s1"}, nil, "", "/w", false, false},
	}
	for _, tt := range tests {
		p := &Principal{Sessions: tt.sessions, Workspaces: tt.workspaces}
		if got := p.SeesSession(tt.session, tt.workspace); got != tt.sees {
			t.Errorf("%s: SeesSession(%q, %q) = %v, want %v", tt.name, tt.session, tt.workspace, got, tt.sees)
		}
		if got := p.MayCreateIn(tt.workspace); got != tt.creates {
			t.Errorf("%s: MayCreateIn(%q) = %v, want %v", tt.name, tt.workspace, got, tt.creates)
		}
		if got, want := p.Scoped(), tt.sessions != nil || tt.workspaces != nil; got != want {
			t.Errorf("%s: Scoped() = %v, want %v", tt.name, got, want)
		}
	}
}

func TestDefaultProfileIsReplayableWhereAllowed(t *testing.T) {
	tests := []struct {
		allowed []Profile
		want    Profile
	}{
		{[]Profile{Continuous, Replayable}, Replayable},
		{[]Profile{Replayable}, Replayable},
		{[]Profile{Continuous}, Continuous},
		{nil, Replayable},
	}
	for _, tt := range tests {
		p := &Principal{Profiles: tt.allowed}
		if got := p.DefaultProfile(); got != tt.want {
			t.Errorf("default of %v: got %s, want %s", tt.allowed, got, tt.want)
		}
	}
	if Continuous.Delivery() != "continuous" || Replayable.Delivery() != "replayable" {
		t.Error("delivery names differ from hub/hello's")
	}
}

func TestLocalPrincipalMayEverythingForEver(t *testing.T) {
	p := LocalPrincipal()
	if !p.Rights.Has(View|Answer|Control|Admin) || p.Scoped() || !p.Local ||
		!p.Allows(Continuous) || !p.Allows(Replayable) || p.Expired(time.Now().AddDate(100, 0, 0)) {
		t.Errorf("local principal is limited: %+v", p)
	}
}

func TestSuccessorMayOnlyShrink(t *testing.T) {
	now := &Principal{
		Device: "d", Rights: View | Answer, Sessions: []string{"s1", "s2"}, Profiles: []Profile{Replayable},
	}
	change := func(f func(p *Principal)) *Principal { p := *now; f(&p); return &p }
	tests := []struct {
		name string
		next *Principal
		ok   bool
	}{
		{"the same", now, true},
		{"fewer rights", change(func(p *Principal) { p.Rights = View }), true},
		{"fewer sessions", change(func(p *Principal) { p.Sessions = []string{"s2"} }), true},
		{"a limit more", change(func(p *Principal) { p.Workspaces = []string{"/w"} }), true},
		{"other device", change(func(p *Principal) { p.Device = "e" }), false},
		{"more rights", change(func(p *Principal) { p.Rights |= Control }), false},
		{"other rights", change(func(p *Principal) { p.Rights = Control }), false},
		{"more sessions", change(func(p *Principal) { p.Sessions = []string{"s1", "s3"} }), false},
		{"no limit any more", change(func(p *Principal) { p.Sessions = nil }), false},
		{"more profiles", change(func(p *Principal) { p.Profiles = []Profile{Replayable, Continuous} }), false},
		{"says it is local", change(func(p *Principal) { p.Local = true }), false},
	}
	for _, tt := range tests {
		if err := now.CheckSuccessor(tt.next); (err == nil) != tt.ok {
			t.Errorf("%s: got %v, want ok=%v", tt.name, err, tt.ok)
		}
	}
}
