package simulator

import "slices"

// settledCommands is how many outcomes a session remembers (protocol: 512), so that a command which is sent again
// because its answer got lost is not carried out again.
const settledCommands = 512

// inbox remembers the outcomes of a session's commands. Commands run one after the other like all requests, so none
// is ever under way when another comes.
type inbox struct {
	acks  map[string]ack
	order []string // least recently asked for first
}

// ack is the answer to a command; the RPC itself never fails.
type ack struct {
	CommandID string `json:"commandId"`
	Status    string `json:"status"`
	Reason    string `json:"reasonCode,omitempty"`
	Message   string `json:"message,omitempty"`
	Revision  int    `json:"revisionAtDecision"`
	Result    object `json:"result,omitempty"`
	Memory    *bool  `json:"memoryEnabled,omitempty"`
}

// Outcomes of a command.
const (
	ackAccepted  = "accepted"
	ackRejected  = "rejected"
	ackStale     = "stale"
	ackDuplicate = "duplicate"
	ackNoop      = "noop"
	ackFailed    = "failed"
)

// settled remembers the outcome of a command; sessionID is "" for one that made its session.
func (s *server) settled(sessionID string, a ack) {
	b := s.inboxes[sessionID]
	if b == nil {
		b = &inbox{acks: map[string]ack{}}
		s.inboxes[sessionID] = b
	}
	b.acks[a.CommandID] = a
	b.order = append(b.order, a.CommandID)
	if len(b.order) > settledCommands {
		delete(b.acks, b.order[0])
		b.order = b.order[1:]
	}
}

// outcomeOf gives the outcome of a command that was settled before, and keeps it from being forgotten soon.
func (s *server) outcomeOf(sessionID, commandID string) (ack, bool) {
	b := s.inboxes[sessionID]
	if b == nil {
		return ack{}, false
	}
	a, ok := b.acks[commandID]
	if ok {
		b.order = append(slices.DeleteFunc(b.order, func(id string) bool { return id == commandID }), commandID)
	}
	return a, ok
}

// again is the answer to a command that comes a second time: a success is a duplicate, anything else stays what it was.
func (a ack) again() ack {
	if a.Status == ackAccepted || a.Status == ackNoop {
		a.Status, a.Memory = ackDuplicate, nil
	}
	return a
}

// recall finds a command that the inbox has forgotten, or never knew because the process is another one, in what the
// session has stored.
func (x *session) recall(commandID string) (ack, bool) {
	for _, m := range x.Messages {
		if m.Command == commandID {
			return ack{CommandID: commandID, Status: ackAccepted, Result: inputAck(deliverStartNow, commandID)}, true
		}
	}
	return ack{}, false
}

// maxQueriedCommands is how many outcomes one query may ask for (protocol: 64).
const maxQueriedCommands = 64

var commandsQueryShape = strict(
	req("commands", listOf(strict(req("sessionId", nullable(anyString)), req("commandId", nonEmpty)), 1, maxQueriedCommands)),
	opt("clock", anything))

type commandsQueryParams struct {
	Commands []commandKey `json:"commands"`
}

type commandKey struct {
	SessionID *string `json:"sessionId"`
	CommandID string  `json:"commandId"`
}

func (s *server) answerCommandsQuery(r *request, p commandsQueryParams) (any, *fault) {
	results := []object{}
	for _, key := range p.Commands {
		session := ""
		if key.SessionID != nil {
			session = *key.SessionID
		}
		var result any = "unknown"
		if a, ok := s.outcomeOf(session, key.CommandID); ok {
			result = a
		} else if x := s.sessions[session]; x != nil {
			if a, ok := x.recall(key.CommandID); ok {
				result = a
			}
		}
		results = append(results, object{"key": key, "result": result})
	}
	return object{"results": results}, nil
}
