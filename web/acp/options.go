package acp

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// The ids of config options.
const (
	optionModel   = "model"
	optionMode    = "mode"
	optionThought = "thought"
)

// configOption is one setting that a client can change. Clients find it by id.
type configOption struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Category     string         `json:"category"`
	Type         string         `json:"type"` // select
	CurrentValue string         `json:"currentValue"`
	Options      []optionChoice `json:"options"`
}

type optionChoice struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// sessionModes is the older form of the option mode. Some clients read only one of the two.
type sessionModes struct {
	CurrentModeID  string        `json:"currentModeId"`
	AvailableModes []sessionMode `json:"availableModes"`
}

type sessionMode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// modes are the app-server's, in the order in which they give the agent more room.
var modes = []sessionMode{
	{"plan", "Plan", "Reads and plans; changes nothing before you approve the plan"},
	{"build", "Build", "Asks before it changes files or runs commands"},
	{"edit", "Edit", "Changes files without asking; asks before it runs commands"},
	{"yolo", "Yolo", "Does everything without asking"},
	{"auto", "Auto", "Decides by itself when to ask"},
}

// modelRef names a model.
type modelRef struct {
	ProviderID string `json:"providerId"`
	ModelID    string `json:"modelId"`
}

// value is the model as a config option has it. Ids of providers hold colons and slashes, but no backslash.
func (m modelRef) value() string {
	if m.ModelID == "" {
		return ""
	}
	return m.ProviderID + `\` + m.ModelID
}

// settings is what the app-server says of a session's settings, in a snapshot or piece by piece in state.updated.
type settings struct {
	Mode  struct{ Current string }
	Model struct {
		Current   modelRef
		Available []availableModel
	}
	ThoughtLevel struct {
		Enabled   bool
		Current   string
		Default   string `json:"defaultLevel"`
		Available []struct{ Value, Label string }
	}
}

type availableModel struct {
	Ref            modelRef
	Label          string
	ProviderLabel  string
	Description    string
	ContextWindow  int64
	DisabledReason string
	Reasoning      struct {
		Levels       []struct{ Value, Label string }
		DefaultLevel string
	}
}

// Settings takes over the settings of a snapshot. It sends nothing; the answer that carries them is the caller's.
func (t *Translator) Settings(raw []byte) {
	t.settings.merge(raw)
	if w := t.settings.window(); w > 0 {
		t.window = w
	}
}

// merge takes over what raw holds. What it does not mention stays: a patch is a part.
func (s *settings) merge(raw []byte) {
	next := *s
	if models := memberOf(memberOf(raw, "model"), "available"); models != nil {
		next.Model.Available = nil // not decoded over the elements that s shows
	}
	if levels := memberOf(memberOf(raw, "thoughtLevel"), "available"); levels != nil {
		next.ThoughtLevel.Available = nil
	}
	_ = json.Unmarshal(raw, &next)
	next.Mode.Current = first(textOf(raw, "mode"), next.Mode.Current) // some builds tell just the value
	next.ThoughtLevel.Current = first(textOf(raw, "thoughtLevel"), next.ThoughtLevel.Current)
	*s = next
}

// window is the context window of the current model, 0 if it is not told.
func (s *settings) window() int64 {
	for _, m := range s.Model.Available {
		if m.Ref == s.Model.Current {
			return m.ContextWindow
		}
	}
	return 0
}

// Modes is the modes member of answers that open a session.
func (t *Translator) Modes() json.RawMessage { return encode(t.settings.modes()) }

func (s *settings) modes() sessionModes {
	m := sessionModes{CurrentModeID: first(s.Mode.Current, "build"), AvailableModes: modes}
	if !slices.ContainsFunc(modes, func(known sessionMode) bool { return known.ID == m.CurrentModeID }) {
		m.AvailableModes = append(slices.Clone(modes), sessionMode{ID: m.CurrentModeID, Name: titled(m.CurrentModeID)})
	}
	return m
}

func titled(word string) string {
	if word == "" {
		return word
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// ConfigOptions is the configOptions member of answers, always whole.
func (t *Translator) ConfigOptions() json.RawMessage { return encode(t.settings.options()) }

func (s *settings) options() []configOption {
	var options []configOption
	if choices := s.models(); len(choices) > 0 && s.Model.Current.ModelID != "" {
		options = append(options, configOption{optionModel, "Model", "model", "select", s.Model.Current.value(), choices})
	}
	m := s.modes()
	mode := configOption{ID: optionMode, Name: "Mode", Category: "mode", Type: "select", CurrentValue: m.CurrentModeID}
	for _, known := range m.AvailableModes {
		mode.Options = append(mode.Options, optionChoice{known.ID, known.Name, known.Description})
	}
	options = append(options, mode)
	if choices := s.levels(); len(choices) > 0 {
		current := first(s.ThoughtLevel.Current, s.ThoughtLevel.Default, choices[0].Value)
		if !slices.ContainsFunc(choices, func(c optionChoice) bool { return c.Value == current }) {
			choices = append(choices, optionChoice{Value: current, Name: titled(current)})
		}
		options = append(options, configOption{optionThought, "Thinking", "thought_level", "select", current, choices})
	}
	return options
}

// models are the choices of the option model: those that can be chosen, and the current one.
func (s *settings) models() (choices []optionChoice) {
	names := map[string]int{}
	for _, m := range s.Model.Available {
		names[first(m.Label, m.Ref.ModelID)]++
	}
	current := false
	for _, m := range s.Model.Available {
		if m.Ref == s.Model.Current {
			current = true
		} else if m.DisabledReason != "" || m.Ref.ModelID == "" {
			continue
		}
		name := first(m.Label, m.Ref.ModelID)
		if names[name] > 1 { // two providers offer it
			name += " (" + first(m.ProviderLabel, m.Ref.ProviderID) + ")"
		}
		choices = append(choices, optionChoice{m.Ref.value(), name, m.Description})
	}
	if !current && s.Model.Current.ModelID != "" {
		choices = append(choices, optionChoice{Value: s.Model.Current.value(), Name: s.Model.Current.ModelID})
	}
	return distinct(choices)
}

// distinct tells choices of the same name apart by their value.
func distinct(choices []optionChoice) []optionChoice {
	seen := map[string]bool{}
	for i, c := range choices {
		if seen[c.Name] {
			choices[i].Name = c.Name + " (" + c.Value + ")"
		}
		seen[c.Name] = true
	}
	return choices
}

func (s *settings) levels() (choices []optionChoice) {
	for _, level := range s.ThoughtLevel.Available {
		if level.Value != "" {
			choices = append(choices, optionChoice{Value: level.Value, Name: titled(first(level.Label, level.Value))})
		}
	}
	return choices
}

// StateUpdated translates the params of one state.updated of this session.
func (t *Translator) StateUpdated(params []byte) []Update {
	patch := memberOf(params, "patch")
	updates := t.settingsChanged(func(s *settings) { s.merge(patch) })
	if title := textOf(patch, "title"); title != "" {
		updates = append(updates, t.title(title, 0)...)
	}
	if todos := memberOf(patch, "todos"); todos != nil {
		updates = append(updates, t.planChanged(todos)...)
	}
	return updates
}

func (t *Translator) setMode(mode string) []Update {
	return t.settingsChanged(func(s *settings) { s.Mode.Current = mode })
}

// settingsChanged changes the settings and tells what has become of them, if that is something else.
func (t *Translator) settingsChanged(change func(*settings)) (updates []Update) {
	before := t.settings
	options := string(t.ConfigOptions())
	change(&t.settings)
	if now := t.ConfigOptions(); string(now) != options {
		updates = append(updates, newUpdate(updateOptions, optionsUpdate{updateOptions, now}))
	}
	if mode := t.settings.modes().CurrentModeID; mode != before.modes().CurrentModeID {
		updates = append(updates, newUpdate(updateMode, modeUpdate{updateMode, mode}))
	}
	if w := t.settings.window(); w > 0 && t.settings.Model.Current != before.Model.Current {
		t.window = w
		if before.Model.Current != (modelRef{}) { // else nobody changed it, it was only not known
			updates = append(updates, t.usage()...)
		}
	}
	return updates
}

// A Change is one setting that a client wants to be another: what to ask the app-server for.
type Change struct {
	Method string // session/setMode, session/setModel, session/setThoughtLevel
	Params map[string]any
}

// Errors of session/set_config_option and session/set_mode; the caller answers -32602 with their text.
var (
	errOptionUnknown = errors.New("there is no such option")
	errValueUnknown  = errors.New("the option does not have this value")
)

// Set checks a choice and says how to carry it out. Changing one option resets no other: a new model keeps the level of
// thinking if it knows it.
func (t *Translator) Set(optionID, value string) (Change, error) {
	s := &t.settings
	options := s.options()
	i := slices.IndexFunc(options, func(o configOption) bool { return o.ID == optionID })
	if i < 0 {
		return Change{}, errOptionUnknown
	}
	if !slices.ContainsFunc(options[i].Options, func(c optionChoice) bool { return c.Value == value }) {
		return Change{}, errValueUnknown
	}
	params := map[string]any{"sessionId": t.o.SessionID}
	switch optionID {
	case optionMode:
		params["mode"] = value
		return Change{"session/setMode", params}, nil
	case optionThought:
		params["thoughtLevel"] = value
		return Change{"session/setThoughtLevel", params}, nil
	}
	provider, model, _ := strings.Cut(value, `\`)
	ref := modelRef{provider, model}
	chosen := object{"providerId": provider, "modelId": model}
	if level := s.levelFor(ref); level != "" {
		chosen["options"] = object{"reasoningLevel": level}
	}
	params["model"] = chosen
	return Change{"session/setModel", params}, nil
}

// levelFor is the level of thinking to go with a model: the current one if the model has it, else the model's own.
func (s *settings) levelFor(ref modelRef) string {
	for _, m := range s.Model.Available {
		if m.Ref != ref || len(m.Reasoning.Levels) == 0 {
			continue
		}
		for _, level := range m.Reasoning.Levels {
			if level.Value == s.ThoughtLevel.Current {
				return level.Value
			}
		}
		return m.Reasoning.DefaultLevel
	}
	return ""
}
