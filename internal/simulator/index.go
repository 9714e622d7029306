package simulator

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// index is the list of a workspace's sessions, the topic sessions-index. Guarded by the loop.
type index struct {
	workspaceID string
	p           *publisher
	summaries   map[string]raw
}

// workspaceID names a workspace to V4.
func (r workspaceRef) id() string {
	if r.WorkspaceIdentity != "" {
		return r.WorkspaceIdentity
	}
	return r.WorkspacePath
}

func (s *server) newIndex(topic, workspaceID string) *publisher {
	x := &index{workspaceID: workspaceID, summaries: map[string]raw{}}
	for _, rec := range s.store.list() {
		if rec.Workspace.id() == workspaceID && rec.listed() {
			x.summaries[rec.ID] = encode(rec.summary())
		}
	}
	for _, live := range s.order {
		if live.Workspace.id() == workspaceID && live.listed() {
			x.summaries[live.ID] = encode(live.summary())
		}
	}
	x.p = &publisher{s: s, topic: topic, prefix: "six", retention: retainedChanges, state: x.snapshot}
	x.p.start(0)
	s.topics[topic] = x.p
	s.indexes[workspaceID] = x
	return x.p
}

func (x *index) snapshot() object {
	list := []raw{}
	for _, id := range slices.Sorted(maps.Keys(x.summaries)) {
		list = append(list, x.summaries[id])
	}
	return object{"protocolVersion": 1, "workspaceId": x.workspaceID, "logEpoch": x.p.epoch, "sessions": list}
}

// listed reports whether the list shows the session: helpers' sessions and drafts stay out.
func (r *record) listed() bool { return r.Kind != kindSubagent && r.stored() }

// relist tells the index how x is now, if that is news.
func (s *server) relist(x *session) {
	list := s.indexes[x.Workspace.id()]
	if list == nil || !x.listed() || x.closed {
		return
	}
	summary := encode(x.summary())
	if bytes.Equal(summary, list.summaries[x.ID]) {
		return
	}
	list.summaries[x.ID] = summary
	list.p.publish([]op{{kind: "session.upserted", row: encode(object{"op": "session.upserted", "session": raw(summary)})}})
}

// unlist takes a closed session off the list; the store keeps it.
func (s *server) unlist(x *session) {
	list := s.indexes[x.Workspace.id()]
	if list == nil || list.summaries[x.ID] == nil {
		return
	}
	delete(list.summaries, x.ID)
	list.p.publish([]op{{kind: "session.removed", row: encode(object{"op": "session.removed", "sessionId": x.ID})}})
}

// summary is a session in the list, as far as its stored row tells.
func (r *record) summary() object {
	o := object{"sessionId": r.ID, "workspaceId": r.Workspace.id(), "parentSessionId": nil, "title": r.Title,
		"titleSource": titleSource(r.TitleSource), "phase": phaseDraft, "sessionEnded": false, "hasBackgroundWork": false,
		"lastActivityAt": r.UpdatedAt, "createdAt": r.CreatedAt}
	if r.ParentID != "" {
		o["parentSessionId"] = r.ParentID
	}
	if len(r.Messages) > 0 {
		o["phase"], o["sessionEnded"] = phaseSuccess, true
	}
	if r.LastError != nil {
		o["phase"], o["sessionEnded"] = phaseError, false
	}
	if r.Goal != nil {
		o["goalStatus"] = r.Goal.Status
	}
	if text := lastAnswer(r.Messages); text != "" {
		o["lastAssistantPreview"] = text
	}
	return o
}

// summary is a session in the list, as it stands in memory.
func (x *session) summary() object {
	o := x.record.summary()
	c := x.conversation()
	o["phase"], o["sessionEnded"], o["hasBackgroundWork"] = c.control.phase, c.control.ended, x.runsTasks()
	if c.control.running() {
		delete(o, "lastAssistantPreview") // the words of a running turn are not followed
	}
	if len(c.pending) == 0 {
		return o
	}
	first, counts := c.pending[0], object{"permissionCount": 0, "userInputCount": 0}
	for _, q := range c.pending {
		n, _ := counts[q.kind+"Count"].(int)
		counts[q.kind+"Count"] = n + 1
	}
	shown := object{"interactionId": first.id, "kind": first.kind}
	payload, _ := first.shown["payload"].(object)
	if name := text(payload, "toolName"); name != "" {
		shown["toolName"] = name
	}
	if first.asks != nil && first.asks.auto != nil {
		shown["autoResolution"] = first.asks.auto.wire()
	}
	o["pendingInteraction"], o["pendingInteractionSummary"] = shown, counts
	return o
}

// maxPreview is the longest preview of an answer in the list (protocol: 120 characters).
const maxPreview = 120

func lastAnswer(messages []*storedMsg) string {
	for _, m := range slices.Backward(messages) {
		if m.Role != "assistant" || m.Hidden {
			continue
		}
		if said := strings.TrimSpace(m.said()); said != "" {
			if utf8.RuneCountInString(said) > maxPreview {
				said = string([]rune(said)[:maxPreview])
			}
			return said
		}
	}
	return ""
}

// workspaceConfig is what sessions of a workspace can be set to, the topic workspace-config. Guarded by the loop.
type workspaceConfig struct {
	s           *server
	workspaceID string
	p           *publisher
}

func (s *server) newWorkspaceConfig(topic, workspaceID string) *publisher {
	w := &workspaceConfig{s: s, workspaceID: workspaceID}
	w.p = &publisher{s: s, topic: topic, prefix: "wcf", retention: retainedChanges, state: w.snapshot}
	w.p.start(0)
	s.topics[topic] = w.p
	s.configs = append(s.configs, w)
	return w.p
}

func (w *workspaceConfig) snapshot() object {
	return object{"protocolVersion": 1, "workspaceId": w.workspaceID, "logEpoch": w.p.epoch, "config": w.config()}
}

func (w *workspaceConfig) config() object {
	selectFrom := func(id, name, current string, values ...string) object {
		options := []object{}
		for _, value := range values {
			options = append(options, object{"value": value, "name": value})
		}
		return object{"id": id, "name": name, "type": "select", "currentValue": current, "options": options}
	}
	models := []string{}
	for _, m := range catalogue {
		models = append(models, m.String())
	}
	auto := object{"id": "askUserQuestionAutoResolution", "name": "Questions answer themselves", "type": "boolean",
		"currentValue": !w.noAutoResolution()}
	return object{"configOptions": []object{
		selectFrom("mode", "Mode", modeBuild, modeBuild, modeEdit, modePlan, modeYolo), selectFrom("model", "Model", models[0], models...), auto,
	}, "slashCommands": slashCommands}
}

// noAutoResolution reports the setting of the workspace; settings go by key, which V4 does not know.
func (w *workspaceConfig) noAutoResolution() bool {
	for key, ref := range w.s.keys {
		if ref == w.workspaceID && w.s.workspaces[key] != nil && w.s.workspaces[key].noAutoResolution {
			return true
		}
	}
	return false
}

// reconfigure tells the workspace's topic that a setting has changed.
func (s *server) reconfigure(ref workspaceRef) {
	s.keys[ref.WorkspaceKey] = ref.id()
	for _, w := range s.configs {
		if w.workspaceID == ref.id() {
			w.p.publish([]op{{kind: "config.updated", row: encode(object{"op": "config.updated", "config": w.config()})}})
		}
	}
}
