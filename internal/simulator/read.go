package simulator

// read answers session/read. A deliveryKind has the side effect of a subscription.
func (x *session) read(r *request, p sessionParams) (any, *fault) {
	if p.DeliveryKind != "" {
		x.subscribe(p.DeliveryKind)
	}
	messages := newest(x.Messages, p.MessageLimit)
	if p.ContentProfile == "index" {
		messages = nil
	}
	return x.snapshot(messages), nil
}

func (x *session) readEvents(r *request, p sessionParams) (any, *fault) {
	after := uint64(0)
	if p.AfterSeq != nil {
		after = *p.AfterSeq
	}
	return object{"events": newest(x.eventsAfter(after), p.Limit)}, nil
}

func (x *session) answerSubscribe(r *request, p sessionParams) (any, *fault) {
	x.subscribe(p.DeliveryKind)
	result := object{"sessionId": x.ID, "eventSeq": x.eventSeq(), "events": []eventParams{}}
	if p.AfterSeq != nil {
		result["events"] = x.eventsAfter(*p.AfterSeq)
	}
	if p.IncludeSnapshot {
		result["snapshot"] = x.snapshot(x.Messages)
	}
	return result, nil
}

// readMessages answers session/messages, also for sessions that are only in the store.
func (s *server) readMessages(r *request, p sessionParams) (any, *fault) {
	x, ok := s.sessions[p.SessionID]
	if !ok {
		rec, stored := s.store.get(p.SessionID)
		if !stored {
			return nil, notFound(p.SessionID)
		}
		x = &session{record: rec, s: s}
	}
	return object{"messages": x.storeForm(x.messagesAfter(p.AfterMessageID, p.Limit))}, nil
}
