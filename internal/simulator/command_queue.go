package simulator

import "slices"

// withItem runs what changes one input of the queue, and tells of the change.
func (x *session) withItem(cmd *command, change func(q *queue, i int) outcome) outcome {
	q := &x.conversation().queue
	i := q.find(cmd.p.QueueItem)
	if i < 0 {
		return noop("queue.itemMissing")
	}
	o := change(q, i)
	if o.status == ackAccepted {
		x.inner("queue.changed", nil)
	}
	return o
}

// sendQueuedNow lets a waiting input join the running turn.
func (x *session) sendQueuedNow(cmd *command) outcome {
	return x.withItem(cmd, func(q *queue, i int) outcome {
		if x.turn == nil || x.turn.kind != turnRegular || q.items[i].kind != "sendText" {
			return rejected("guard.actionUnavailable")
		}
		q.items[i].delivery, q.items[i].fellBack = routeGuide, false
		return accepted(inputAck(routeGuide, q.items[i].input.command))
	})
}

func (x *session) deleteQueueItem(cmd *command) outcome {
	return x.withItem(cmd, func(q *queue, i int) outcome {
		q.remove(i)
		return accepted(nil)
	})
}

func (x *session) editQueueItem(cmd *command) outcome {
	return x.withItem(cmd, func(q *queue, i int) outcome {
		if q.items[i].kind == "compact" {
			return rejected("guard.queueItemNotEditable")
		}
		q.items[i].input.text = cmd.p.NewText
		return accepted(nil)
	})
}

// reorderQueueItem moves an input before another one, or to the end.
func (x *session) reorderQueueItem(cmd *command) outcome {
	return x.withItem(cmd, func(q *queue, i int) outcome {
		if before := cmd.p.Before; before != nil && q.find(*before) < 0 {
			return noop("queue.itemMissing")
		}
		item := q.remove(i)
		to := len(q.items)
		if before := cmd.p.Before; before != nil && *before != item.id() {
			to = q.find(*before)
		} else if before != nil {
			to = i
		}
		q.items = slices.Insert(q.items, to, item)
		return accepted(nil)
	})
}

// setAutoDrain holds the queue or lets it run.
func (x *session) setAutoDrain(cmd *command) outcome {
	q := &x.conversation().queue
	if cmd.p.AutoDrain {
		q.resume()
		cmd.r.then(x.advance)
	} else if q.autoDrain {
		q.autoDrain, q.pauseReason = false, pauseManual
	}
	x.inner("queue.changed", nil)
	return accepted(nil)
}

// setFollowupMode is an event even if nothing changes (recorded).
func (x *session) setFollowupMode(cmd *command) outcome {
	x.conversation().followup = cmd.p.Mode
	x.inner("config.changed", nil)
	return accepted(nil)
}
