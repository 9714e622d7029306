package simulator

// control is what a conversation does right now.
type control struct {
	phase     string
	ended     bool
	target    string   // stopTargetKind; "" means that there is nothing to stop
	works     []object // activeWorks
	lastError any
}

// Phases of a conversation.
const (
	phaseDraft       = "draft"
	phaseRunning     = "running"
	phaseSuccess     = "completedSuccess"
	phaseInterrupted = "completedInterrupted"
	phaseError       = "error"
)

func (k control) running() bool { return k.phase == phaseRunning }

func (k control) compacting() bool { return k.target == targetCompact }

const (
	targetAssistant = "assistant"
	targetCompact   = "compact"
)

func (k control) wire() object {
	o := object{"phase": k.phase, "sessionEnded": k.ended, "canStop": k.target != "", "stopState": "idle",
		"stopTargetKind": "unknown", "activeWorks": listOrEmpty(k.works), "lastError": k.lastError, "apiRetry": nil}
	if k.target != "" {
		o["stopState"], o["stopTargetKind"] = "stoppable", k.target
	}
	return o
}

// member is one member of the state as it stands; see stateKeys.
func (c *conversation) member(key string) any {
	switch key {
	case "control":
		return c.control.wire()
	case "availability":
		return c.availability()
	case "inputRouting":
		return c.inputRouting()
	case "meta":
		return c.title
	case "config":
		return c.config()
	case "usage":
		return c.usage
	case "queue":
		return c.queue.wire()
	case "pendingInteractions":
		return pendingWire(c.pending)
	case "pendingCommands":
		return []object{} // commands are settled before anything else runs
	case "backgroundWorks":
		return c.backgroundWorks()
	case "subagents":
		return c.subagents()
	case "goal":
		return c.x.Goal.orNull()
	case "plan":
		return c.plan
	}
	return nil // modelTransition, workspaceHookAdmission
}

func allowed() object { return object{"allowed": true} }

func refused(reason string) object { return object{"allowed": false, "reasonCode": reason} }

// availability says which commands make sense.
func (c *conversation) availability() object {
	a := object{"fork": allowed(), "compact": allowed(), "switchModelConfig": allowed(), "setFollowupMode": allowed(),
		"queueEdit": allowed(), "sendQueuedNow": allowed(), "pauseGoal": allowed(), "resumeGoal": allowed()}
	switch {
	case c.control.compacting():
		a["fork"], a["compact"], a["sendQueuedNow"] = refused("compactOperationLock"), refused("compactOperationLock"), refused("compactOperationLock")
	case !c.control.running():
		a["sendQueuedNow"] = refused("sendQueuedNowRequiresRunning")
	}
	if c.control.phase == phaseDraft {
		a["fork"], a["compact"] = refused("forkTargetNotStable"), refused("idleCannotCompact")
	}
	switch g := c.x.Goal; {
	case g == nil:
		a["pauseGoal"], a["resumeGoal"] = refused("noGoalToPause"), refused("noGoalToResume")
	case g.Status == goalPaused:
		a["pauseGoal"] = refused("goalNotActive")
	default:
		a["resumeGoal"] = refused("goalNotPaused")
		if g.Status != goalActive {
			a["pauseGoal"] = refused("goalNotActive")
		}
	}
	return a
}

const (
	routeStartNow = "startNow"
	routeEnqueue  = "enqueue"
	routeGuide    = "guide"
	routeChoice   = "choice"
)

// inputRouting says what becomes of an input that is sent now.
func (c *conversation) inputRouting() object {
	switch {
	case c.control.compacting():
		return object{"mode": routeEnqueue, "reasonCode": "compactingAcceptsFutureInput"}
	case c.control.running() && c.followup == "guide":
		return object{"mode": routeGuide}
	case c.control.running():
		return object{"mode": routeEnqueue}
	case len(c.queue.items) > 0 && !c.queue.autoDrain:
		return object{"mode": routeChoice, "reasonCode": heldQueue}
	}
	return object{"mode": routeStartNow}
}

const heldQueue = "heldQueueInputRequiresChoice"

func (c *conversation) config() object {
	x := c.x
	return object{"modelSelection": x.Model, "provider": x.Model.ProviderID, "model": x.Model.ModelID, "thought": x.ThoughtLevel,
		"thoughtLevels": x.model().levels, "followupMode": c.followup, "mode": x.Mode, "planEnabled": x.Mode == modePlan}
}

// titleSource is the origin of a title in the words of V4, where a copied first input counts as generated.
func titleSource(source string) string {
	switch source {
	case "":
		return "default"
	case "first_input":
		return "generated"
	}
	return source
}

// freshUsage is the usage of a session that comes into memory.
func freshUsage(x *session) object {
	o := object{"contextWindow": nil, "cumulative": cumulative(x.Usage)}
	if x.ContextUsed > 0 {
		o["contextWindow"] = object{"usedTokens": x.ContextUsed, "maxTokens": x.model().contextWindow, "autoCompactThresholdTokens": nil}
	}
	return o
}

func cumulative(u usage) object {
	return object{"inputTokens": u.Input, "outputTokens": u.Output, "cacheReadTokens": u.CacheRead, "cacheWriteTokens": u.CacheWrite}
}

// subagents is the list of helper agents.
func (c *conversation) subagents() object {
	children, running, ended := []string{}, []object{}, 0
	for _, a := range c.x.Subagents {
		children = append(children, a.ChildSessionID)
		if a.Status == taskRunning {
			running = append(running, a.wire())
		} else {
			ended++
		}
	}
	return object{"revision": c.manifest, "childSessionIds": children, "running": running, "endedTotal": ended}
}

// updateManifest tells when helper agents start or end.
func (c *conversation) updateManifest() {
	changes := 0
	for _, a := range c.x.Subagents {
		changes += a.changes()
	}
	if changes != c.manifest {
		c.manifest = changes
		c.patch("subagents")
	}
}

// backgroundWorks are the tasks that run on after their turn.
func (c *conversation) backgroundWorks() []object {
	works := []object{}
	for _, k := range c.x.tasks {
		if k.reported {
			continue
		}
		o := object{"workId": k.id, "kind": "bash", "title": k.description, "status": k.status, "startedAt": k.startedAt,
			"cancellable": k.status == taskRunning, "anchorRowId": 0}
		if k.status == taskCompleted {
			o["status"] = "resultPending"
		}
		if r := c.tasks[k.id]; r != nil {
			o["anchorRowId"] = r.id
		}
		works = append(works, o)
	}
	return works
}
