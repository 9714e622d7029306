package simulator

import "encoding/json"

// command is one V4 command on its way through the checks.
type command struct {
	ID        string  `json:"commandId"`
	Client    string  `json:"clientId"`
	SessionID *string `json:"sessionId"`
	Type      string  `json:"type"`
	Payload   raw     `json:"payload"`
	Revision  *int    `json:"baseRevision"`
	Epoch     string  `json:"baseLogEpoch"`

	r *request
	p payload
}

// payload is every member of any command's payload that the simulator reads.
type payload struct {
	Workspace    string           `json:"workspaceId"`
	First        *payload         `json:"firstInput"`
	Config       *payload         `json:"config"`
	Title        string           `json:"title"`
	Text         string           `json:"text"`
	Attachments  []object         `json:"attachments"`
	Delivery     string           `json:"requestedDelivery"`
	Held         string           `json:"heldQueueDisposition"`
	Selection    *modelSelection  `json:"modelSelection"`
	Mode         string           `json:"mode"`
	Denied       []string         `json:"toolDisallowlist"`
	Execution    string           `json:"expectedForegroundExecutionId"`
	QueueItem    string           `json:"queueItemId"`
	NewText      string           `json:"newText"`
	Before       *string          `json:"beforeQueueItemId"`
	AutoDrain    bool             `json:"autoDrain"`
	Target       *commandTarget   `json:"target"`
	Interaction  string           `json:"interactionId"`
	Answer       *interactionText `json:"answer"`
	Provider     string           `json:"provider"`
	Model        string           `json:"model"`
	Thought      string           `json:"thought"`
	BackgroundID string           `json:"workId"`
	Feedback     string           `json:"feedback"` // "" takes it back
}

// commandTarget is a row that a command means.
type commandTarget struct {
	RowID  int    `json:"rowId"`
	Entity string `json:"entityId"`
}

// outcome is how a command went.
type outcome struct {
	status, reason, message string
	result                  object
	plain                   bool // an acceptance that says nothing of memory
}

func accepted(result object) outcome { return outcome{status: ackAccepted, result: result} }

func rejected(reason string) outcome { return outcome{status: ackRejected, reason: reason} }

func noop(reason string) outcome { return outcome{status: ackNoop, reason: reason} }

func failedWith(reason, message string) outcome {
	return outcome{status: ackFailed, reason: reason, message: message}
}

const (
	reasonInvalid  = "proto.invalidPayload"
	reasonExecuted = "fault.command.executionFailed"
)

// commandKind is what the simulator knows of one type of command.
type commandKind struct {
	payload schema
	cas     bool // needs the revision that its sender saw
	epoch   bool // and the epoch: it names a row
	run     func(*session, *command) outcome
}

var commandShape = loose(
	req("commandId", shortID), req("clientId", shortID), req("sessionId", nullable(shortID)), req("type", nonEmpty),
	req("payload", recordOf(anything)), req("issuedAt", integer(0, maxSafeInteger)),
	opt("baseRevision", sequence), opt("baseLogEpoch", nonEmpty))

// answerCommand answers v4/command. Whatever is wrong with a command, it gets an acknowledgement and not an error.
func answerCommand(s *server, r *request) (any, *fault) {
	cmd, issues := decodeStrict[command](r.params, commandShape)
	if len(issues) > 0 {
		var id struct {
			CommandID any `json:"commandId"`
		}
		_ = json.Unmarshal(r.params, &id) // a command without a readable id gets an answer without one
		name, _ := id.CommandID.(string)
		return ack{CommandID: name, Status: ackRejected, Reason: reasonInvalid, Message: issueText(issues)}, nil
	}
	cmd.r = r
	return s.command(&cmd), nil
}

func (s *server) command(cmd *command) ack {
	kind, known := commandKinds[cmd.Type]
	if !known {
		return ack{CommandID: cmd.ID, Status: ackRejected, Reason: reasonInvalid, Message: "unknown command type: " + cmd.Type}
	}
	p, issues := decodeStrict[payload](cmd.Payload, kind.payload)
	if len(issues) > 0 {
		return ack{CommandID: cmd.ID, Status: ackRejected, Reason: reasonInvalid, Message: issueText(issues)}
	}
	cmd.p = p
	if cmd.Type == "createSession" {
		return s.settleCreation(cmd)
	}
	if cmd.SessionID == nil {
		return ack{CommandID: cmd.ID, Status: ackRejected, Reason: "proto.sessionNotFound"}
	}
	if a, ok := s.outcomeOf(*cmd.SessionID, cmd.ID); ok {
		return a.again()
	}
	x, failed := s.load(*cmd.SessionID)
	if failed != nil {
		if failed.Code != codeNoSession {
			return ack{CommandID: cmd.ID, Status: ackFailed, Reason: reasonExecuted, Message: failed.Message}
		}
		return ack{CommandID: cmd.ID, Status: ackRejected, Reason: "proto.sessionNotFound"}
	}
	x.touch()
	if a, ok := x.recall(cmd.ID); ok {
		return a.again()
	}
	revision := x.conversation().revision
	a := cmd.ack(x.carryOut(kind, cmd), revision)
	s.settled(x.ID, a)
	return a
}

// settleCreation is command for what has no session yet.
func (s *server) settleCreation(cmd *command) ack {
	if a, ok := s.outcomeOf("", cmd.ID); ok {
		return a.again()
	}
	a := cmd.ack(s.createFor(cmd), 0)
	s.settled("", a)
	return a
}

func (cmd *command) ack(o outcome, revision int) ack {
	a := ack{CommandID: cmd.ID, Status: o.status, Reason: o.reason, Message: o.message, Revision: revision, Result: o.result}
	if o.status == ackAccepted && !o.plain {
		a.Memory = new(bool)
	}
	return a
}

// carryOut checks what the sender believes against what is, then runs the command.
func (x *session) carryOut(kind commandKind, cmd *command) outcome {
	c := x.conversation()
	if kind.run == nil {
		return failedWith("fault.command.notImplemented", "command is not implemented: "+cmd.Type)
	}
	if x.Kind == kindSubagent {
		return rejected("guard.subagentReadOnly")
	}
	if kind.cas {
		switch {
		case cmd.Revision == nil:
			return rejected("proto.missingBaseRevision")
		case kind.epoch && cmd.Epoch == "":
			return outcome{status: ackRejected, reason: reasonInvalid, message: "baseLogEpoch is required"}
		case kind.epoch && (c.p == nil || cmd.Epoch != c.p.epoch):
			return outcome{status: ackStale, reason: "proto.staleLogEpoch"}
		case *cmd.Revision != c.revision:
			return outcome{status: ackStale, reason: "proto.staleRevision"}
		}
	}
	return kind.run(x, cmd)
}

// failure is the outcome of what a legacy method would answer with this error.
func failure(f *fault) outcome {
	if f.Code == codeBusy {
		return rejected("activePrompt")
	}
	return failedWith(reasonExecuted, f.Message)
}
