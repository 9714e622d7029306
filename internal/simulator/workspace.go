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

var (
	interactionPreferencesShape = strict(req("workspace", workspaceShape),
		req("preferences", strict(req("askUserQuestionAutoResolutionEnabled", boolean))))
	modelIoPreferencesShape = strict(req("workspace", workspaceShape),
		req("preferences", strict(req("fullRetentionEnabled", boolean))))
	// policyShape is open: the protocol document knows of these methods only that they exist.
	policyShape = loose(req("workspace", workspaceShape))
)

type workspaceParams struct {
	Workspace   workspaceRef `json:"workspace"`
	Preferences struct {
		AutoResolution bool `json:"askUserQuestionAutoResolutionEnabled"`
		FullRetention  bool `json:"fullRetentionEnabled"`
	} `json:"preferences"`
}

func (s *server) readPresentation(r *request, p workspaceParams) (any, *fault) {
	return object{"workspace": p.Workspace, "mode": modeBuild, "slashCommands": slashCommands}, nil
}

// setInteractionPreferences also stops the countdown of questions that are open now.
func (s *server) setInteractionPreferences(r *request, p workspaceParams) (any, *fault) {
	enabled := p.Preferences.AutoResolution
	s.workspace(p.Workspace).noAutoResolution = !enabled
	s.reconfigure(p.Workspace)
	snoozed := 0
	for _, x := range s.residents(p.Workspace) {
		if !enabled && x.turn != nil && x.turn.snooze() {
			snoozed++
		}
	}
	return object{"workspace": p.Workspace, "askUserQuestionAutoResolutionEnabled": enabled, "snoozedInteractionCount": snoozed}, nil
}

func (s *server) setModelIoPreferences(r *request, p workspaceParams) (any, *fault) {
	return object{"workspace": p.Workspace, "fullRetentionEnabled": p.Preferences.FullRetention,
		"updatedSessionCount": len(s.residents(p.Workspace))}, nil
}

func (s *server) setPolicy(r *request, p workspaceParams) (any, *fault) {
	return object{"workspace": p.Workspace, "updatedSessionCount": len(s.residents(p.Workspace))}, nil
}

// residents are the sessions of a workspace that are in memory.
func (s *server) residents(ref workspaceRef) []*session {
	var list []*session
	for _, x := range s.order {
		if x.Workspace.WorkspaceKey == ref.WorkspaceKey {
			list = append(list, x)
		}
	}
	return list
}
