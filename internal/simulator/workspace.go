package simulator

import "slices"

// workspace is what sessions of one folder share. Guarded by the loop.
type workspace struct {
	rules            []rule
	noAutoResolution bool // the user switched self-answering questions off
}

func (s *server) workspace(ref workspaceRef) *workspace {
	w, ok := s.workspaces[ref.WorkspaceKey]
	if !ok {
		w = &workspace{rules: s.store.rules(ref.WorkspaceKey)}
		s.workspaces[ref.WorkspaceKey] = w
	}
	return w
}

func (w *workspace) allows(c *toolCall) bool {
	return slices.ContainsFunc(w.rules, func(r rule) bool { return r.matches(c) })
}
