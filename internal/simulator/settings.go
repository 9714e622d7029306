package simulator

import (
	"slices"
	"strings"
)

// modelRef names a model.
type modelRef struct {
	ProviderID string `json:"providerId"`
	ModelID    string `json:"modelId"`
}

func (m modelRef) String() string { return m.ProviderID + "/" + m.ModelID }

// modelSelection is a model with its options.
type modelSelection struct {
	modelRef
	Options *modelOptions `json:"options,omitempty"`
}

type modelOptions struct {
	ReasoningLevel string `json:"reasoningLevel,omitempty"`
}

func (m modelSelection) ref() modelRef { return m.modelRef }

// model is one entry of the catalogue.
type model struct {
	modelRef
	provider      string
	contextWindow int
	maxOutput     int
	levels        []string
	defaultLevel  string
	images        bool
}

// catalogue is what the simulated provider offers; the first is the default.
var catalogue = []model{
	{modelRef{"demo", "demo-flash"}, "Demo", 200_000, 32_000, []string{"disabled", "low", "high", "max"}, "high", false},
	{modelRef{"demo", "demo-pro"}, "Demo", 1_000_000, 64_000, []string{"low", "high", "max"}, "max", true},
}

const (
	liteModel   = "demo-flash" // writes titles
	toolsOnHand = 24           // tools the simulated model is told about
)

func findModel(ref modelRef) (model, *fault) {
	for _, m := range catalogue {
		if m.modelRef == ref {
			return m, nil
		}
	}
	names := []string{"main", catalogue[0].String(), "lite"}
	for _, m := range catalogue[1:] {
		names = append(names, m.String())
	}
	return model{}, thrown("Error", "Unsupported model: "+ref.String()+". Available models: "+strings.Join(names, ", ")+".")
}

func (x *session) model() model {
	m, failed := findModel(x.Model.modelRef)
	if failed != nil { // a session stored by a build with another catalogue
		return catalogue[0]
	}
	return m
}

// choose makes m the session's model and keeps the thought level where the new model has it.
func (r *record) choose(m model, selection modelSelection) {
	level := r.ThoughtLevel
	if selection.Options != nil && selection.Options.ReasoningLevel != "" {
		level = selection.Options.ReasoningLevel
	}
	if !slices.Contains(m.levels, level) {
		level = m.defaultLevel
	}
	r.Model.modelRef = m.modelRef
	r.setLevel(level)
}

func (r *record) setLevel(level string) {
	r.ThoughtLevel = level
	r.Model.Options = &modelOptions{ReasoningLevel: level}
}

// settings is the object that snapshots and state.updated patches carry.
func (x *session) settings() object {
	m := x.model()
	return object{
		"mode":       object{"current": x.Mode},
		"permission": object{"mode": x.Mode},
		"model": object{
			"current": x.Model, "lastUsed": x.Model.ref(), "available": availableModels(),
		},
		"thoughtLevel": object{
			"enabled": true, "current": x.ThoughtLevel, "defaultLevel": m.defaultLevel, "available": levelList(m.levels),
		},
	}
}

func availableModels() []object {
	var list []object
	for _, m := range catalogue {
		list = append(list, object{
			"ref": m.modelRef, "label": m.ModelID, "providerLabel": m.provider,
			"contextWindow": m.contextWindow, "maxOutputTokens": m.maxOutput,
			"reasoning": object{"levels": levelList(m.levels), "defaultLevel": m.defaultLevel},
			"properties": object{
				"inputFormat": object{"supportsText": true, "supportsImage": m.images, "supportsVideo": false,
					"supportsAudio": false, "supportsPdf": false},
				"outputFormat": object{"supportsText": true},
			},
		})
	}
	return list
}

func levelList(levels []string) []object {
	var list []object
	for _, level := range levels {
		list = append(list, object{"value": level, "label": level})
	}
	return list
}

// Modes of a session.
const (
	modePlan    = "plan"
	modeBuild   = "build"
	modeEdit    = "edit"
	modeYolo    = "yolo"
	modeGuarded = "guarded"
	modeAuto    = "auto"
)

// setMode changes the mode and says so in the event stream. source tells who wanted it: command or tool.
func (x *session) setMode(mode, source string) {
	before := x.Mode
	if mode == modePlan && before != modePlan {
		x.ModeBefore = before
	}
	x.Mode = mode
	x.emit("session.updated", object{
		"mode": mode, "previousMode": before, "planEnabled": mode == modePlan, "previousPlanEnabled": before == modePlan, "source": source,
	})
	x.stateUpdated("mode_changed", x.settings())
}

// slashCommands is the list that the composer of a client offers.
var slashCommands = []object{
	{"name": "goal", "description": "Show or set the goal of this session.", "inputHint": "/goal [pause|resume|clear|replace <objective>|<objective>]", "source": "builtin"},
	{"name": "compact", "description": "Compact the conversation.", "inputHint": "/compact [instructions]", "source": "builtin"},
	{"name": "init", "description": "Write instructions for this workspace.", "inputHint": "/init [notes]", "source": "builtin"},
	{"name": "plan", "description": "Switch to plan mode.", "inputHint": "/plan [task]", "source": "builtin"},
}

func (x *session) supportsLevel(level string) *fault {
	m := x.model()
	if slices.Contains(m.levels, level) {
		return nil
	}
	return thrown("Error", "Unsupported thought level for "+m.String()+": "+level+". Available levels: "+strings.Join(m.levels, ", ")+".")
}
