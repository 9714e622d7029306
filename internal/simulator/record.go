package simulator

// record is what is kept of a session when it leaves memory: its row in the store.
type record struct {
	ID           string         `json:"id"`
	TraceID      string         `json:"traceId"`
	Kind         string         `json:"kind"` // interactive, fork, subagent_child
	ParentID     string         `json:"parentId,omitempty"`
	Workspace    workspaceRef   `json:"workspace"`
	Persistence  string         `json:"persistence"` // immediate, deferred
	Title        string         `json:"title"`
	TitleSource  string         `json:"titleSource,omitempty"`
	NoTitle      bool           `json:"noTitle,omitempty"` // title generation is off
	Mode         string         `json:"mode"`
	ModeBefore   string         `json:"modeBefore,omitempty"` // where approving the plan leads back to
	Model        modelSelection `json:"model"`
	ThoughtLevel string         `json:"thoughtLevel"`
	Denied       []string       `json:"deniedTools,omitempty"`
	CreatedAt    int64          `json:"createdAt"`
	UpdatedAt    int64          `json:"updatedAt"`
	ArchivedAt   int64          `json:"archivedAt,omitempty"`
	Turns        int            `json:"turns"`
	Usage        usage          `json:"usage"`
	ContextUsed  int            `json:"contextUsed"`
	Goal         *goal          `json:"goal,omitempty"`
	Todos        []todo         `json:"todos,omitempty"`
	Messages     []*storedMsg   `json:"messages"`
	Checkpoints  []checkpoint   `json:"checkpoints,omitempty"`
	Subagents    []*subagent    `json:"subagents,omitempty"`
	LastError    object         `json:"lastError,omitempty"`
}

// workspaceRef names a folder; the key is a free label and need not match the path.
type workspaceRef struct {
	WorkspacePath     string `json:"workspacePath"`
	WorkspaceKey      string `json:"workspaceKey"`
	WorkspaceIdentity string `json:"workspaceIdentity,omitempty"`
	RemoteSessionID   string `json:"remoteSessionId,omitempty"`
}

// usage counts tokens.
type usage struct {
	Requests   int `json:"requests"`
	Input      int `json:"input"`
	Output     int `json:"output"`
	Reasoning  int `json:"reasoning"`
	CacheRead  int `json:"cacheRead"`
	CacheWrite int `json:"cacheWrite"`
}

func (u *usage) add(v usage) {
	u.Requests += v.Requests
	u.Input += v.Input
	u.Output += v.Output
	u.Reasoning += v.Reasoning
	u.CacheRead += v.CacheRead
	u.CacheWrite += v.CacheWrite
}

func (u usage) total() int { return u.Input + u.Output }

// todo is one entry of the list that TodoWrite keeps.
type todo struct {
	ID         string `json:"id"`
	Content    string `json:"content"`
	Status     string `json:"status"` // pending, in_progress, completed
	ActiveForm string `json:"activeForm"`
	Priority   string `json:"priority"`
}

// checkpoint marks a message before which files were changed.
type checkpoint struct {
	ID        string `json:"id"`
	MessageID string `json:"messageId"`
	CreatedAt int64  `json:"createdAt"`
}

// stored reports whether the session has a row in the store: deferred sessions get one with their first input.
func (r *record) stored() bool { return r.Persistence == persistImmediate || len(r.Messages) > 0 }

const (
	persistImmediate = "immediate"
	persistDeferred  = "deferred"
)

const (
	kindInteractive = "interactive"
	kindFork        = "fork"
	kindSubagent    = "subagent_child"
)
