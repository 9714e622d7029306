package simulator

// Facts of the simulated provider and machine; fixed, so that transcripts do not depend on where they are made.
const (
	simulatedPlatform = "linux"
	simulatedArch     = "x64"

	providerURL  = "https://provider.invalid/api"
	providerHost = "provider.invalid"
	providerKind = "anthropic"
	maxAttempts  = 11
)

// telemetry sends one v4/telemetry/event; it needs no subscription. The real app-server reports every raw chunk; the
// simulator reports the first one of each message and channel.
func (x *session) telemetry(src source, kind string, more object) {
	o := object{"version": 1, "eventId": src.id, "eventSeq": x.events.raw, "occurredAt": src.at, "sessionId": x.ID, "kind": kind}
	if src.turnID != "" {
		o["turnId"] = src.turnID
	}
	for key, value := range more {
		o[key] = value
	}
	x.s.notify("v4/telemetry/event", o)
}

// report derives telemetry and operation events from a runtime event.
func (x *session) report(src source) {
	p := src.payload
	switch src.kind {
	case "turn.started":
		x.telemetry(src, "turn.started", nil)
		x.operation(src, "turn-started", nil)
	case "turn.completed":
		status := "success"
		if p["resultType"] == "cancelled" {
			status = "interrupted"
		}
		x.telemetry(src, "turn.terminal", object{"status": status, "resultType": p["resultType"], "durationMs": p["duration"],
			"tokenCount": p["tokenCount"], "toolCallCount": p["toolCallCount"]})
		x.operation(src, "turn-completed", nil)
	case "turn.failed":
		failure, _ := p["error"].(object)
		x.telemetry(src, "turn.terminal", object{"status": "failed", "durationMs": 0, "tokenCount": 0, "toolCallCount": 0,
			"errorCode": failure["code"], "errorMessage": failure["message"], "turnPhase": p["turnPhase"]})
		x.operation(src, "turn-failed", nil)
	case "session.updated":
		x.reportRequest(src)
	case "model.streaming":
		x.reportChunk(src)
	case "tool.updated":
		x.reportTool(src)
	case "permission.requested":
		x.telemetry(src, "permission.lifecycle", object{"phase": "requested", "requestId": p["requestId"], "toolCallId": p["toolCallId"], "toolName": p["toolName"]})
	case "permission.resolved":
		if p["decision"] == "deny" {
			more := object{"phase": "denied", "toolCallId": p["toolCallId"]}
			if id, ok := p["requestId"]; ok {
				more["requestId"] = id
			}
			if name, ok := p["toolName"]; ok {
				more["toolName"] = name
			}
			x.telemetry(src, "permission.lifecycle", more)
		}
	case "session.closed":
		x.operation(src, "session-closed", nil)
	}
}

func (x *session) reportRequest(src source) {
	status, _ := src.payload["type"].(string)
	if status != "model_request_started" && status != "model_request_completed" {
		return
	}
	p := src.payload
	x.telemetry(src, "model.request.status", object{"requestId": p["requestId"], "status": status,
		"providerId": x.Model.ProviderID, "modelId": x.Model.ModelID, "providerKind": providerKind, "providerHostname": providerHost,
		"transport": p["transport"], "querySource": p["querySource"], "queryId": p["queryId"], "attempt": 1, "maxAttempts": maxAttempts})
	if counts, ok := p["usage"].(object); ok {
		x.events.raw++
		more := object{"requestId": p["requestId"], "providerId": x.Model.ProviderID, "modelId": x.Model.ModelID,
			"providerKind": providerKind, "providerHostname": providerHost, "reasoningTokens": 0}
		for key, value := range counts {
			more[key] = value
		}
		x.telemetry(source{id: x.ids.uuid(), turnID: src.turnID, at: src.at}, "usage.delta", more)
	}
}

// reportTitleRequest reports a request of the title writer, which stays out of the event stream.
func (x *session) reportTitleRequest(t *turn, requestID, status string) {
	x.events.raw++
	x.telemetry(source{id: x.ids.uuid(), turnID: t.id, at: x.s.clock.now()}, "model.request.status", object{
		"requestId": requestID, "status": status, "providerId": x.Model.ProviderID, "modelId": liteModel,
		"providerKind": providerKind, "providerHostname": providerHost, "transport": "http",
		"querySource": "session_title", "queryId": t.input.queryID, "attempt": 1, "maxAttempts": maxAttempts})
}

func (x *session) reportChunk(src source) {
	d := src.delta
	if d == nil || d.toolCallID != "" || x.reported == d.streamKey {
		return
	}
	x.reported = d.streamKey
	channel := "text"
	if d.kind == "reasoning_delta" {
		channel = "thought"
	}
	x.telemetry(src, "stream.chunk", object{"channel": channel, "chunkLength": len([]rune(d.text)), "firstChunk": true,
		"assistantMessageId": d.messageID})
}

func (x *session) reportTool(src source) {
	p := src.payload
	more := object{"toolCallId": p["toolCallId"]}
	if name, ok := p["toolName"]; ok {
		more["toolName"] = name
	}
	switch p["kind"] {
	case "scheduled":
		more["phase"] = "scheduled"
		x.operation(src, "tool-scheduled", object{"toolCallId": p["toolCallId"]})
	case "started":
		more["phase"] = "started"
		x.operation(src, "tool-started", object{"toolCallId": p["toolCallId"]})
	case "progress":
		more["phase"] = "progress"
	case "result":
		more["phase"], more["durationMs"] = "completed", p["duration"]
	default:
		return
	}
	x.telemetry(src, "tool.lifecycle", more)
}

// reportServers tells how many MCP servers the session has started: none here.
func (x *session) reportServers() {
	x.s.notify("process/mcpTelemetry", object{"kind": "session_servers", "sessionId": x.ID, "platform": simulatedPlatform, "arch": simulatedArch,
		"occurredAt": x.s.clock.now(), "configuredCount": 0, "connectedCount": 0, "failedCount": 0, "processCount": 0})
}

// operation sends the notification that computer-use integrations listen to.
func (x *session) operation(src source, kind string, more object) {
	o := object{"kind": kind, "sessionId": x.ID, "occurredAt": src.at}
	if src.turnID != "" {
		o["turnId"] = src.turnID
	}
	for key, value := range more {
		o[key] = value
	}
	x.s.notify("computer-use/operation-event", o)
}
