package simulator

// event is one update of a session as it stands at the protocol edge: batched, visible, numbered.
type event struct {
	id        string
	turnID    string
	timestamp int64
	kind      string // the type member
	payload   raw
	transient bool      // a stream delta; forgotten when a later turn starts
	seqs      [3]uint64 // per delivery kind, see kindIndex; 0 = not numbered yet
}

// eventParams is an event on the wire.
type eventParams struct {
	DeliveryKind string `json:"deliveryKind,omitempty"`
	EventID      string `json:"eventId"`
	Payload      raw    `json:"payload"`
	Seq          uint64 `json:"seq"`
	SessionID    string `json:"sessionId"`
	Timestamp    int64  `json:"timestamp"`
	TraceID      string `json:"traceId"`
	TurnID       string `json:"turnId,omitempty"`
	Type         string `json:"type"`
}

// eventLog is what a session remembers of its events. Each delivery kind numbers them for itself, from 1.
type eventLog struct {
	list    []*event
	lastSeq [3]uint64
	raw     int // events of the runtime itself, also those that stay inside; telemetry counts them
}

// number gives every event of the log its seq in the space of kind, in order, and returns the last one.
func (l *eventLog) number(kind string) uint64 {
	k := kindIndex(kind)
	// Numbered events are always a prefix of the log, so only the tail needs work.
	first := len(l.list)
	for first > 0 && l.list[first-1].seqs[k] == 0 {
		first--
	}
	for _, e := range l.list[first:] {
		l.lastSeq[k]++
		e.seqs[k] = l.lastSeq[k]
	}
	return l.lastSeq[k]
}

// kindIndex is the number space of a delivery kind; 0 is that of sessions nobody subscribed to yet.
func kindIndex(kind string) int {
	switch kind {
	case "desktop-continuous":
		return 1
	case "web-remote-replayable":
		return 2
	}
	return 0
}

// forgetStream drops the stream deltas of all turns but keep.
func (l *eventLog) forgetStream(keep string) {
	kept := l.list[:0]
	for _, e := range l.list {
		if !e.transient || e.turnID == keep {
			kept = append(kept, e)
		}
	}
	clear(l.list[len(kept):])
	l.list = kept
}

// emit records a runtime event and, if the session is subscribed, sends it. It returns the event's id.
func (x *session) emit(kind string, payload object) string {
	return x.emitted(source{kind: kind, payload: payload})
}

// emitted is the one door through which every event of a session goes.
func (x *session) emitted(src source) string {
	x.events.raw++
	src.id, src.at = x.ids.uuid(), x.s.clock.now()
	if src.turnID == "" && x.turn != nil {
		src.turnID = x.turn.id
	}
	for _, out := range x.batch.add(src) {
		x.deliver(out, src.burst)
	}
	x.report(src)
	x.conversation().ingest(src)
	return src.id
}

// flush sends the deltas that batching still holds back.
func (x *session) flush() {
	for _, out := range x.batch.flush() {
		x.deliver(out, false)
	}
}

func (x *session) deliver(src source, burst bool) {
	e := &event{id: src.id, turnID: src.turnID, timestamp: src.at, kind: src.kind, payload: src.encoded(),
		transient: src.delta != nil}
	x.events.list = append(x.events.list, e)
	if x.subscribed {
		x.events.number(x.delivery)
		x.s.out.push(encode(notificationMessage{"session/event", x.params(e)}), burst)
	}
}

func (x *session) params(e *event) eventParams {
	return eventParams{x.delivery, e.id, e.payload, e.seqs[kindIndex(x.delivery)], x.ID, e.timestamp, x.TraceID, e.turnID, e.kind}
}

// eventSeq is the seq of the latest event in the current delivery kind.
func (x *session) eventSeq() uint64 {
	x.flush()
	return x.events.number(x.delivery)
}

// eventsAfter are the remembered events with a seq above after.
func (x *session) eventsAfter(after uint64) []eventParams {
	x.eventSeq()
	list := []eventParams{}
	for _, e := range x.events.list {
		if e.seqs[kindIndex(x.delivery)] > after {
			list = append(list, x.params(e))
		}
	}
	return list
}

// subscribe switches the session's event stream on, under the given kind, for good.
func (x *session) subscribe(kind string) {
	x.flush()
	x.delivery, x.subscribed = kind, true
	x.events.number(kind)
}
