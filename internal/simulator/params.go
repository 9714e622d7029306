package simulator

// Shapes that several methods share.
var (
	workspaceShape = strict(req("workspacePath", nonEmpty), req("workspaceKey", nonEmpty),
		opt("workspaceIdentity", anyString), opt("remoteSessionId", anyString))
	selectionShape = strict(req("providerId", nonEmpty), req("modelId", nonEmpty),
		opt("options", strict(opt("reasoningLevel", anyString))))
	modeShape       = oneOf(modePlan, modeBuild, modeEdit, modeYolo, modeGuarded, modeAuto)
	deliveryShape   = oneOf("desktop-continuous", "web-remote-replayable")
	persistShape    = oneOf(persistImmediate, persistDeferred)
	toolNames       = listOf(nonEmpty, 0, 0)
	sequence        = integer(0, maxSafeInteger)
	count           = integer(1, maxSafeInteger)
	attachmentShape = strict(
		req("kind", oneOf("image", "pdf", "video", "file", "audio")), req("filename", nonEmpty),
		opt("localPath", nonEmpty), opt("dataBase64", nonEmpty), req("mimeType", nonEmpty), req("sizeBytes", sequence),
		opt("textContent", anyString))
	sessionOnly   = strict(req("sessionId", nonEmpty))
	workspaceOnly = strict(req("workspace", workspaceShape))
	nothing       = strict()
)

// Params of the session methods, in the order of the protocol document.
var (
	createShape = strict(
		req("workspace", workspaceShape), opt("mode", modeShape), opt("model", selectionShape), opt("persistence", persistShape),
		opt("thoughtLevel", nonEmpty), opt("titleGenerationEnabled", boolean), opt("parentSessionId", nonEmpty),
		opt("mcpServers", anything), opt("toolAllowlist", toolNames), opt("toolDenylist", toolNames),
		opt("sessionId", nonEmpty), opt("importedHistory", anything), opt("offPeakToolEnabled", boolean),
		opt("dynamicWorkflowEnabled", boolean), opt("dynamicWorkflowMode", nonEmpty))
	resumeShape = strict(
		req("sessionId", nonEmpty), opt("workspace", workspaceShape), opt("thoughtLevel", nonEmpty), opt("mcpServers", anything),
		opt("toolAllowlist", toolNames), opt("toolDenylist", toolNames), opt("offPeakToolEnabled", boolean),
		opt("dynamicWorkflowEnabled", boolean), opt("dynamicWorkflowMode", nonEmpty))
	listShape = strict(
		opt("workspace", workspaceShape), opt("sessionIds", listOf(nonEmpty, 1, 64)), opt("includeArchived", boolean), opt("limit", count))
	readShape = strict(
		req("sessionId", nonEmpty), opt("deliveryKind", deliveryShape), opt("messageLimit", count), opt("afterSeq", sequence),
		opt("contentProfile", oneOf("full", "index")))
	messagesShape  = strict(req("sessionId", nonEmpty), opt("afterMessageId", nonEmpty), opt("limit", count))
	eventsShape    = strict(req("sessionId", nonEmpty), opt("afterSeq", sequence), opt("limit", count))
	subscribeShape = strict(
		req("sessionId", nonEmpty), req("deliveryKind", deliveryShape), opt("afterSeq", sequence), opt("includeSnapshot", boolean))
	sendShape = strict(
		req("sessionId", nonEmpty), req("content", anyString), opt("modelSelection", selectionShape), opt("modelExecution", anything),
		opt("inputId", nonEmpty), opt("queryId", nonEmpty), opt("attachments", listOf(attachmentShape, 0, 0)),
		opt("browserAmbientContext", anything), opt("expectedRevision", sequence), opt("expectedProviderRevision", anything),
		opt("automationId", nonEmpty), opt("offPeakTaskId", nonEmpty), opt("offPeakRunType", nonEmpty),
		opt("botDeliveryTarget", anything), opt("toolDenylist", toolNames))
	setModeShape  = strict(req("sessionId", nonEmpty), req("mode", modeShape), opt("expectedRevision", sequence))
	setModelShape = strict(
		req("sessionId", nonEmpty), req("model", selectionShape), opt("expectedRevision", sequence), opt("persistAsWorkspaceLastUsed", boolean))
	setThoughtLevelShape = strict(
		req("sessionId", nonEmpty), req("thoughtLevel", nonEmpty), opt("expectedRevision", sequence), opt("persistAsWorkspaceLastUsed", boolean))
	closeShape = strict(req("sessionId", nonEmpty), opt("expectedPersistence", persistShape))
)

// sessionParams are the members that most session methods read.
type sessionParams struct {
	SessionID        string          `json:"sessionId"`
	ExpectedRevision *int            `json:"expectedRevision"`
	DeliveryKind     string          `json:"deliveryKind"`
	AfterSeq         *uint64         `json:"afterSeq"`
	AfterMessageID   string          `json:"afterMessageId"`
	Limit            int             `json:"limit"`
	MessageLimit     int             `json:"messageLimit"`
	IncludeSnapshot  bool            `json:"includeSnapshot"`
	ContentProfile   string          `json:"contentProfile"`
	Mode             string          `json:"mode"`
	Model            *modelSelection `json:"model"`
	ThoughtLevel     string          `json:"thoughtLevel"`
	Persistence      string          `json:"expectedPersistence"`
	ToolDenylist     []string        `json:"toolDenylist"`
	Action           string          `json:"action"`
	Objective        string          `json:"objective"`
	InputID          string          `json:"inputId"`
	Instructions     string          `json:"instructions"`
	Target           *forkTarget     `json:"target"`
	TaskID           string          `json:"taskId"`
	EndedCursor      string          `json:"endedCursor"`
	EndedLimit       int             `json:"endedLimit"`
}

type createParams struct {
	Workspace       workspaceRef    `json:"workspace"`
	Mode            string          `json:"mode"`
	Model           *modelSelection `json:"model"`
	Persistence     string          `json:"persistence"`
	ThoughtLevel    string          `json:"thoughtLevel"`
	TitleGeneration *bool           `json:"titleGenerationEnabled"`
	ParentSessionID string          `json:"parentSessionId"`
	ToolDenylist    []string        `json:"toolDenylist"`
	SessionID       string          `json:"sessionId"`
	ImportedHistory raw             `json:"importedHistory"`
}

type listParams struct {
	Workspace       *workspaceRef `json:"workspace"`
	SessionIDs      []string      `json:"sessionIds"`
	IncludeArchived bool          `json:"includeArchived"`
	Limit           int           `json:"limit"`
}

type sendParams struct {
	SessionID        string          `json:"sessionId"`
	Content          string          `json:"content"`
	ModelSelection   *modelSelection `json:"modelSelection"`
	InputID          string          `json:"inputId"`
	QueryID          string          `json:"queryId"`
	Attachments      []attachment    `json:"attachments"`
	ExpectedRevision *int            `json:"expectedRevision"`
	ToolDenylist     []string        `json:"toolDenylist"`
}

type attachment struct {
	Kind      string `json:"kind"`
	Filename  string `json:"filename"`
	LocalPath string `json:"localPath"`
	MimeType  string `json:"mimeType"`
	SizeBytes int64  `json:"sizeBytes"`
}
