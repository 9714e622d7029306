package simulator

// Payload shapes. Payloads are open: other members are for builds that know them.
var (
	attachmentList = listOf(loose(), 0, 0)
	deliveryChoice = oneOf(deliverStartNow, deliverQueue, routeGuide)
	dispositions   = oneOf("clearQueueAndSend", "keepQueueAndSend")
	targetShape    = strict(req("rowId", sequence), req("entityId", nonEmpty))
	inputFields    = []field{req("text", anyString), opt("attachments", attachmentList), opt("modelSelection", selectionShape),
		opt("mode", modeShape), opt("planEnabled", boolean)}
	answerShape = loose(opt("optionId", anyString), opt("freeText", anyString), opt("action", oneOf("accept", "decline", "cancel")),
		opt("content", recordOf(anything)))
	emptyPayload = loose()
	queueItem    = req("queueItemId", nonEmpty)
)

func inputShape(more ...field) schema { return loose(append(more, inputFields...)...) }

// commandKinds is every type of command there is. Those without run are answered as not implemented, which a real
// build may do, too.
var commandKinds map[string]commandKind

func init() { // in init, because commands come back to this table
	commandKinds = map[string]commandKind{
		"createSession": {payload: loose(req("workspaceId", nonEmpty), opt("firstInput", inputShape()), opt("config", loose(opt("mode", modeShape))))},
		"sendText": {payload: inputShape(opt("requestedDelivery", deliveryChoice), opt("heldQueueDisposition", dispositions),
			opt("toolDisallowlist", toolNames)), run: (*session).sendText},
		"sendGoalCommand": {payload: inputShape(opt("heldQueueDisposition", dispositions)), run: (*session).sendGoal},
		"compact":         {payload: emptyPayload, run: (*session).sendCompact},
		"stop":            {payload: loose(opt("expectedForegroundExecutionId", nonEmpty)), run: (*session).stopTurn},
		"resolveInteraction": {payload: loose(req("interactionId", nonEmpty), req("answer", answerShape)),
			run: (*session).resolveInteraction},
		"snoozeInteractionAutoResolution": {payload: loose(req("interactionId", nonEmpty)), run: (*session).snoozeInteraction},

		"sendQueuedNow":    {payload: loose(queueItem), cas: true, run: (*session).sendQueuedNow},
		"deleteQueueItem":  {payload: loose(queueItem), cas: true, run: (*session).deleteQueueItem},
		"editQueueItem":    {payload: loose(queueItem, req("newText", nonEmpty)), cas: true, run: (*session).editQueueItem},
		"reorderQueueItem": {payload: loose(queueItem, req("beforeQueueItemId", nullable(nonEmpty))), cas: true, run: (*session).reorderQueueItem},
		"setAutoDrain":     {payload: loose(req("autoDrain", boolean)), cas: true, run: (*session).setAutoDrain},
		"setFollowupMode":  {payload: loose(req("mode", oneOf("queue", "guide"))), cas: true, run: (*session).setFollowupMode},

		"switchModelConfig": {payload: loose(req("provider", nonEmpty), req("model", nonEmpty), req("thought", anyString)),
			cas: true, run: (*session).switchModel},
		"switchCollaborationMode": {payload: loose(req("mode", oneOf(modeBuild, modeEdit, modePlan, modeYolo, modeGuarded))),
			cas: true, run: (*session).switchMode},
		"pauseGoal":            {payload: emptyPayload, cas: true, run: (*session).pauseGoal},
		"resumeGoal":           {payload: emptyPayload, cas: true, run: (*session).resumeGoal},
		"renameSession":        {payload: loose(req("title", nonEmpty)), run: (*session).rename},
		"deleteSession":        {payload: emptyPayload, run: (*session).deleteSession},
		"discardSharedContext": {payload: loose(opt("contextId", nonEmpty)), run: (*session).discardContext},
		"cancelBackgroundWork": {payload: loose(req("workId", nonEmpty)), run: (*session).cancelWork},

		"forkAssistant": {payload: loose(req("target", targetShape)), cas: true, epoch: true, run: (*session).forkAssistant},
		"editUserQuery": {payload: loose(req("target", targetShape), req("newText", nonEmpty), opt("attachments", attachmentList)),
			cas: true, epoch: true, run: (*session).editQuery},
		"retryTurn": {payload: loose(req("target", targetShape)), cas: true, epoch: true, run: (*session).retryTurn},
		"setAssistantFeedback": {payload: loose(req("target", targetShape), req("feedback", nullable(oneOf("like", "dislike")))),
			cas: true, epoch: true, run: (*session).setFeedback},
	}
	for _, name := range []string{"createSelectionSideSession", "applyFileRewind", "respondWorkspaceHookReview",
		"toggleWorkspaceHookReviewItem", "revokeWorkspaceHookTrust", "requestWorkspaceHookReview", "resumeWorkflowRun",
		"startSavedWorkflow", "amendWorkflowRunSettings"} {
		commandKinds[name] = commandKind{payload: emptyPayload}
	}
}
