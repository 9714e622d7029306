package auth

import "fmt"

// Right is a set of rights; each constant is a set of one.
type Right uint8

const (
	View    Right = 1 << iota // look
	Answer                    // settle interactions
	Control                   // prompt, stop, settings, create, attach files
	Admin                     // devices, restart, hooks, plugins
)

var rightNames = []struct {
	right Right
	name  string
}{{View, "view"}, {Answer, "answer"}, {Control, "control"}, {Admin, "admin"}}

// Has reports whether every right of x is in r.
func (r Right) Has(x Right) bool { return r&x == x }

// Names lists the rights as clients see them, weakest first; never nil.
func (r Right) Names() []string {
	names := make([]string, 0, len(rightNames))
	for _, n := range rightNames {
		if r.Has(n.right) {
			names = append(names, n.name)
		}
	}
	return names
}

// Role is a preset of rights. Tokens carry the role, not the rights.
type Role string

const (
	RoleViewer   Role = "viewer"
	RoleApprover Role = "approver"
	RoleOperator Role = "operator"
	RoleAdmin    Role = "admin"
)

// Rights returns what the role may do; an unknown role may nothing.
func (r Role) Rights() Right {
	switch r {
	case RoleViewer:
		return View
	case RoleApprover:
		return View | Answer
	case RoleOperator:
		return View | Answer | Control
	case RoleAdmin:
		return View | Answer | Control | Admin
	}
	return 0
}

// ParseRole accepts exactly the four names of the roles.
func ParseRole(s string) (Role, error) {
	if r := Role(s); r.Rights() != 0 {
		return r, nil
	}
	return "", fmt.Errorf("role %.40q is unknown: use viewer, approver, operator or admin", s)
}
