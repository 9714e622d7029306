package simulator

// subagent is one run of a helper agent inside a turn.
type subagent struct {
	ChildSessionID string `json:"childSessionId"`
	AgentID        string `json:"agentId"`
	ToolCallID     string `json:"toolCallId"`
	Type           string `json:"subagentType"`
	Title          string `json:"title"`
	StartedAt      int64  `json:"startedAt"`
	Status         string `json:"status"`
	Summary        string `json:"summary,omitempty"`
	EndedAt        int64  `json:"endedAt,omitempty"`
}
