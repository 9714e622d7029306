package simulator

import "slices"

var forkShape = strict(
	req("sessionId", nonEmpty),
	req("target", tagged("kind", map[string]schema{
		"latestCheckpoint": strict(req("kind", oneOf("latestCheckpoint"))),
		"checkpoint":       strict(req("kind", oneOf("checkpoint")), req("checkpointId", nonEmpty)),
		"message":          strict(req("kind", oneOf("message")), req("messageId", nonEmpty)),
		"turn":             strict(req("kind", oneOf("turn")), req("turnIndex", sequence)),
	})),
	opt("expectedRevision", sequence))

type forkTarget struct {
	Kind         string `json:"kind"`
	CheckpointID string `json:"checkpointId"`
	MessageID    string `json:"messageId"`
	TurnIndex    int    `json:"turnIndex"`
}

// answerFork answers session/fork: a new session with the conversation up to the target.
func (x *session) answerFork(r *request, p sessionParams) (any, *fault) {
	if failed := x.busyWith("Cannot fork while a prompt is running"); failed != nil {
		return nil, failed
	}
	if failed := x.checkRevision(p.ExpectedRevision); failed != nil {
		return nil, failed
	}
	upTo, checkpointID, failed := x.findTarget(*p.Target)
	if failed != nil {
		return nil, failed
	}
	y, failed := x.fork(upTo)
	if failed != nil {
		return nil, failed
	}
	result := object{"forkedSessionId": y.ID, "parentSessionId": x.ID, "response": "", "snapshot": y.snapshot(y.Messages)}
	if upTo > 0 {
		result["targetMessageId"] = x.Messages[upTo-1].ID
	}
	if checkpointID != "" {
		result["targetCheckpointId"] = checkpointID
	}
	return result, nil
}

// fork makes a session that begins with the first upTo messages.
func (x *session) fork(upTo int) (*session, *fault) {
	s := x.s
	id := s.newSessionID()
	if _, failed := s.askPreferences(id, scopeMaterialization); failed != nil {
		return nil, failed
	}
	now := s.clock.now()
	copied := x.record
	copied.ID, copied.TraceID, copied.Kind, copied.ParentID = id, s.ids.uuid(), kindFork, x.ID
	copied.CreatedAt, copied.UpdatedAt, copied.Goal, copied.Subagents, copied.Checkpoints = now, now, nil, nil, nil
	copied.Messages = nil
	y := s.materialize(copied)
	y.copyMessages(x.Messages[:upTo])
	y.save()
	s.relist(y)
	return y, nil
}

// findTarget gives the number of messages that the fork takes over.
func (x *session) findTarget(target forkTarget) (upTo int, checkpointID string, failed *fault) {
	after := func(messageID string) int {
		return 1 + slices.IndexFunc(x.Messages, func(m *storedMsg) bool { return m.ID == messageID })
	}
	switch target.Kind {
	case "message":
		if upTo = after(target.MessageID); upTo == 0 {
			return 0, "", thrown("Error", "Fork target message not found: "+target.MessageID)
		}
	case "turn":
		for i, m := range x.Messages {
			if m.Turn == target.TurnIndex {
				upTo = i + 1
			}
		}
		if upTo == 0 {
			return 0, "", thrown("Error", "Fork target turn not found")
		}
	case "checkpoint":
		i := slices.IndexFunc(x.Checkpoints, func(c checkpoint) bool { return c.ID == target.CheckpointID })
		if i < 0 {
			return 0, "", thrown("Error", "Fork target checkpoint not found: "+target.CheckpointID)
		}
		return after(x.Checkpoints[i].MessageID), target.CheckpointID, nil
	default: // without a checkpoint the end of the conversation is the latest stable point
		upTo = len(x.Messages)
		if n := len(x.Checkpoints); n > 0 {
			return after(x.Checkpoints[n-1].MessageID), x.Checkpoints[n-1].ID, nil
		}
	}
	return upTo, "", nil
}

// copyMessages takes over messages under ids of its own.
func (x *session) copyMessages(list []*storedMsg) {
	renamed := map[string]string{}
	x.Turns = 0
	for _, m := range list {
		c := *m
		c.ID = x.ids.timed("msg", m.Created)
		renamed[m.ID] = c.ID
		c.ParentID = renamed[m.ParentID]
		c.Parts = nil
		for _, p := range m.Parts {
			p.settle()
			part := *p
			part.ID = x.ids.timed("part", p.Start)
			c.Parts = append(c.Parts, &part)
		}
		x.Messages = append(x.Messages, &c)
		x.Turns = max(x.Turns, c.Turn+1)
	}
}
