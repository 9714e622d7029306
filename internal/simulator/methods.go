package simulator

// handler runs one method, with the loop held.
type handler func(*server, *request) (any, *fault)

// method puts the check of the params before a handler that takes them decoded.
func method[P any](shape schema, h func(*server, *request, P) (any, *fault)) handler {
	return func(s *server, r *request) (any, *fault) {
		params, issues := decodeStrict[P](r.params, shape)
		if len(issues) > 0 {
			return nil, invalidParams(issues)
		}
		return h(s, r, params)
	}
}

// onSession is method for what needs the session in memory.
func onSession(shape schema, h func(*session, *request, sessionParams) (any, *fault)) handler {
	return method(shape, func(s *server, r *request, p sessionParams) (any, *fault) {
		x, failed := s.resident(p.SessionID)
		if failed != nil {
			return nil, failed
		}
		return h(x, r, p)
	})
}

// constant answers every call alike, whatever the params: the protocol document does not know them.
func constant(result object) handler {
	return method(loose(), func(*server, *request, object) (any, *fault) { return result, nil })
}

var accountConfigShape = strict(
	req("revision", anything), req("basedOnZCodeBuiltinRevision", anything), req("providers", recordOf(anything)),
	req("states", recordOf(strict(req("availability", nonEmpty), req("entitled", boolean), opt("unavailableReason", anyString),
		opt("current", anything), opt("connectionKey", anyString), opt("effectiveAt", anything)))))

// updateAccountConfig accepts and forgets: the simulated provider needs no account.
func (s *server) updateAccountConfig(r *request, p object) (any, *fault) {
	return object{"revision": p["revision"]}, nil
}

// methods is everything the simulator answers; other methods do not exist.
var methods map[string]handler

func init() { // in init, because handlers start goroutines that come back to this table
	methods = map[string]handler{
		"runtime/capabilities": method(nothing, func(*server, *request, object) (any, *fault) {
			return object{"independentPlanState": true}, nil
		}),
		"process/childProcesses": method(nothing, func(*server, *request, object) (any, *fault) {
			return object{"processes": []object{}}, nil
		}),
		"session/create":               method(createShape, (*server).create),
		"session/resume":               method(resumeShape, (*server).resume),
		"session/list":                 method(listShape, (*server).list),
		"session/read":                 onSession(readShape, (*session).read),
		"session/messages":             method(messagesShape, (*server).readMessages),
		"session/events":               onSession(eventsShape, (*session).readEvents),
		"session/subscribe":            onSession(subscribeShape, (*session).answerSubscribe),
		"session/send":                 method(sendShape, (*server).send),
		"session/stop":                 onSession(sessionOnly, (*session).answerStop),
		"session/setMode":              onSession(setModeShape, (*session).answerSetMode),
		"session/setModel":             onSession(setModelShape, (*session).answerSetModel),
		"session/setThoughtLevel":      onSession(setThoughtLevelShape, (*session).answerSetThoughtLevel),
		"session/close":                onSession(closeShape, (*session).answerClose),
		"session/fork":                 onSession(forkShape, (*session).answerFork),
		"session/compact":              onSession(compactShape, (*session).answerCompact),
		"session/goal":                 onSession(goalShape, (*session).answerGoal),
		"session/cancelBackgroundTask": onSession(cancelTaskShape, (*session).answerCancelTask),
		"session/subagents":            method(subagentsShape, (*server).readSubagents),
		"session/usage":                method(sessionOnly, (*server).sessionUsage),
		"session/debug":                debug,
		"usage/stats":                  method(statsShape, (*server).usageStats),

		"workspace/readPresentation":             method(workspaceOnly, (*server).readPresentation),
		"workspace/updateInteractionPreferences": method(interactionPreferencesShape, (*server).setInteractionPreferences),
		"workspace/updateModelIoPreferences":     method(modelIoPreferencesShape, (*server).setModelIoPreferences),
		"workspace/updateOffPeakToolPolicy":      method(policyShape, (*server).setPolicy),
		"workspace/updateDynamicWorkflowPolicy":  method(policyShape, (*server).setPolicy),
		"workspace/generateText":                 method(generateShape, (*server).generateText),
		"workspace/cancelGenerateText":           method(cancelGenerateShape, (*server).cancelGenerate),

		"v4/conversation/subscribe":            v4Method(topicShape, (*server).answerTopic),
		"v4/conversation/resync":               v4Method(resyncShape, (*server).answerResync),
		"v4/conversation/unsubscribe":          v4Method(unsubscribeShape, (*server).answerUnsubscribe),
		"v4/connection/flow":                   v4Method(flowShape, (*server).answerFlow),
		"v4/command":                           answerCommand,
		"v4/conversation/rowsRange":            onConversation(rowsRangeShape, (*session).rowsRange),
		"v4/conversation/plans":                onConversation(sessionQuery, (*session).plans),
		"v4/conversation/usage":                onConversation(sessionQuery, (*session).usageNow),
		"v4/conversation/backgroundBashOutput": onConversation(bashOutputShape, (*session).bashOutput),
		"v4/conversation/attachmentStat":       notShared("shareStatNotAuthorized"),
		"v4/conversation/attachmentRead":       notShared("shareReadNotAuthorized"),
		"v4/attachment/begin":                  v4Method(beginUploadShape, (*server).beginUpload),
		"v4/attachment/chunk":                  v4Method(chunkShape, (*server).takeChunk),
		"v4/attachment/commit":                 v4Method(uploadShape, (*server).commitUpload),
		"v4/attachment/abort":                  v4Method(uploadShape, (*server).abortUpload),
		"v4/attachment/read":                   v4Method(readUploadShape, (*server).readUpload),
		"v4/usage/stats":                       v4Method(statsShape, (*server).usageStats),
		"v4/commands/query":                    v4Method(commandsQueryShape, (*server).answerCommandsQuery),

		"provider/updateAccountConfig":   method(accountConfigShape, (*server).updateAccountConfig),
		"provider/testModelConnectivity": constant(object{"success": true}),
		"mcp/list":                       constant(object{"servers": []object{}}),
		"skills/referenceCatalog":        constant(object{"skills": []object{}}),
	}
}
