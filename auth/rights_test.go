package auth

import (
	"strings"
	"testing"
)

func TestRolesArePresetsOfRights(t *testing.T) {
	for role, want := range map[Role]string{
		RoleViewer: "view", RoleApprover: "view answer", RoleOperator: "view answer control",
		RoleAdmin: "view answer control admin", "": "", "root": "", "Admin": "", "viewer ": "",
	} {
		if got := strings.Join(role.Rights().Names(), " "); got != want {
			t.Errorf("rights of role %q: got %q, want %q", role, got, want)
		}
		parsed, err := ParseRole(string(role))
		if known := want != ""; known != (err == nil) || known && parsed != role {
			t.Errorf("ParseRole(%q): got %q, %v", role, parsed, err)
		}
	}
}

func TestHasWantsEveryRight(t *testing.T) {
	if !(View | Answer).Has(View) || !(View | Answer).Has(View|Answer) {
		t.Error("a set does not have its own members")
	}
	if (View | Answer).Has(Answer | Control) {
		t.Error("view+answer has answer+control")
	}
}
