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
		"session/create":          method(createShape, (*server).create),
		"session/resume":          method(resumeShape, (*server).resume),
		"session/list":            method(listShape, (*server).list),
		"session/read":            onSession(readShape, (*session).read),
		"session/messages":        method(messagesShape, (*server).readMessages),
		"session/events":          onSession(eventsShape, (*session).readEvents),
		"session/subscribe":       onSession(subscribeShape, (*session).answerSubscribe),
		"session/send":            method(sendShape, (*server).send),
		"session/stop":            onSession(sessionOnly, (*session).answerStop),
		"session/setMode":         onSession(setModeShape, (*session).answerSetMode),
		"session/setModel":        onSession(setModelShape, (*session).answerSetModel),
		"session/setThoughtLevel": onSession(setThoughtLevelShape, (*session).answerSetThoughtLevel),
		"session/close":           onSession(closeShape, (*session).answerClose),
	}
}
