package simulator

// maxRowsRange is how many rows one request may fetch (protocol: 200).
const maxRowsRange = 200

var (
	rowsRangeShape = strict(req("sessionId", shortID), opt("clientMode", deliveryShape), opt("beforeRowId", sequence),
		req("limit", integer(1, maxRowsRange)))
	sessionQuery    = strict(req("sessionId", shortID))
	bashOutputShape = loose(req("sessionId", shortID), req("workId", nonEmpty))
)

type rowsParams struct {
	SessionID string `json:"sessionId"`
	Before    *int   `json:"beforeRowId"`
	Limit     int    `json:"limit"`
	WorkID    string `json:"workId"`
}

// onConversation is v4Method for what reads a session's conversation.
func onConversation(shape schema, h func(*session, rowsParams) (any, *fault)) handler {
	return v4Method(shape, func(s *server, r *request, p rowsParams) (any, *fault) {
		x, failed := s.resident(p.SessionID)
		if failed != nil {
			return nil, failed
		}
		return h(x, p)
	})
}

// rowsRange gives the rows before a row, the newest of them.
func (x *session) rowsRange(p rowsParams) (any, *fault) {
	p2 := x.publisher() // rows make sense only under an epoch
	c := x.conversation()
	end := len(c.rows)
	for end > 0 && p.Before != nil && c.rows[end-1].id >= *p.Before {
		end--
	}
	start := max(0, end-p.Limit)
	rows := []object{}
	for _, r := range c.rows[start:end] {
		rows = append(rows, r.wire())
	}
	return object{"rows": rows, "atSeq": c.seq, "atRevision": c.revision, "atLogEpoch": p2.epoch, "hasMore": start > 0}, nil
}

// plans gives the plans of the session; the simulator keeps the current one.
func (x *session) plans(p rowsParams) (any, *fault) {
	list := []any{}
	if plan := x.conversation().plan; plan != nil {
		list = append(list, plan)
	}
	return object{"plans": list}, nil
}

func (x *session) usageNow(p rowsParams) (any, *fault) { return x.conversation().usage, nil }

func (x *session) bashOutput(p rowsParams) (any, *fault) {
	for _, k := range x.tasks {
		if k.id == p.WorkID {
			return object{"kind": "output", "workId": k.id, "status": k.status, "text": k.output, "totalBytes": len(k.output)}, nil
		}
	}
	return object{"kind": "unavailable", "workId": p.WorkID}, nil
}
