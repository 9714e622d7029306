package simulator

import "cmp"

// sessionUsage answers session/usage; a session nobody knows has used nothing.
func (s *server) sessionUsage(r *request, p sessionParams) (any, *fault) {
	var u usage
	if x, ok := s.sessions[p.SessionID]; ok {
		u = x.Usage
	} else if rec, ok := s.store.get(p.SessionID); ok {
		u = rec.Usage
	}
	o := u.counts()
	o["sessionId"], o["reasoningTokens"], o["modelRequestCount"] = p.SessionID, u.Reasoning, u.Requests
	return o, nil
}

var statsShape = strict(req("range", oneOf("7d", "30d", "all")), opt("timeZone", nonEmpty))

type statsParams struct {
	Range    string `json:"range"`
	TimeZone string `json:"timeZone"`
}

func (s *server) usageStats(r *request, p statsParams) (any, *fault) {
	var total usage
	sessions := s.store.list()
	for _, rec := range sessions {
		total.add(rec.Usage)
	}
	now := s.clock.now()
	counts := total.counts()
	counts["sessionCount"], counts["modelRequestCount"] = len(sessions), total.Requests
	return object{"range": p.Range, "timeZone": cmp.Or(p.TimeZone, "UTC"), "generatedAt": now, "totals": counts,
		"days":   []object{{"date": isoTime(now)[:len("2006-01-02")], "totalTokens": total.total()}},
		"models": []object{{"model": catalogue[0].modelRef, "totalTokens": total.total()}}}, nil
}

// debug answers session/debug, whose bad params come back as an internal error, unlike those of every other method.
func debug(s *server, r *request) (any, *fault) {
	p, issues := decodeStrict[sessionParams](r.params, sessionOnly)
	if len(issues) > 0 {
		return nil, &fault{codeInternal, zodError(issues), issueText(issues)}
	}
	x, failed := s.resident(p.SessionID)
	if failed != nil {
		return nil, failed
	}
	return object{"sessionId": x.ID, "session": x.info(), "runtime": x.runtime(), "eventLogLength": len(x.events.list),
		"rawEventCount": x.events.raw, "messageCount": len(x.Messages), "residentSessionCount": len(s.order),
		"outputWaits": s.out.waited(), "refusedRequests": s.serial.refused + s.bypass.refused}, nil
}
