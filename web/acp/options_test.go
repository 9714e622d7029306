package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

const someSettings = `{"mode":{"current":"build"},"permission":{"mode":"build"},
	"model":{"current":{"providerId":"builtin:zai","modelId":"GLM-5.3","options":{"reasoningLevel":"high"}},"available":[
		{"ref":{"providerId":"builtin:zai","modelId":"GLM-5.3"},"label":"GLM-5.3","providerLabel":"Z.AI","contextWindow":200000,"reasoning":{"levels":[{"value":"high","label":"high"},{"value":"max","label":"max"}],"defaultLevel":"max"}},
		{"ref":{"providerId":"own","modelId":"GLM-5.3"},"label":"GLM-5.3","providerLabel":"Own","contextWindow":100000},
		{"ref":{"providerId":"own","modelId":"small"},"label":"Small","contextWindow":50000,"reasoning":{"levels":[{"value":"low"}],"defaultLevel":"low"}},
		{"ref":{"providerId":"own","modelId":"gone"},"label":"Gone","disabledReason":"no key"}]},
	"thoughtLevel":{"enabled":true,"current":"high","defaultLevel":"max","available":[{"value":"high","label":"high"},{"value":"max","label":"max"}]}}`

func withSettings(raw string) *Translator {
	tr := NewTranslator(TranslatorOptions{SessionID: "s"})
	tr.Settings([]byte(raw))
	return tr
}

func TestConfigOptions(t *testing.T) {
	tr := withSettings(someSettings)
	var options []configOption
	if err := json.Unmarshal(tr.ConfigOptions(), &options); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range options {
		names := ""
		for _, c := range o.Options {
			names += c.Value + "=" + c.Name + ";"
		}
		got[o.ID] = o.Category + " " + o.Type + " " + o.CurrentValue + ": " + names
	}
	want := map[string]string{
		"model":   `model select builtin:zai\GLM-5.3: builtin:zai\GLM-5.3=GLM-5.3 (Z.AI);own\GLM-5.3=GLM-5.3 (Own);own\small=Small;`,
		"mode":    `mode select build: plan=Plan;build=Build;edit=Edit;yolo=Yolo;auto=Auto;`,
		"thought": `thought_level select high: high=High;max=Max;`,
	}
	for id, w := range want {
		if got[id] != w {
			t.Errorf("%s: got %s\nwant %s", id, got[id], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
}

// Settings of any build make options that strict clients take.
func TestOptionsOfOddSettingsAreValid(t *testing.T) {
	for _, raw := range []string{``, `null`, `{}`, `7`, someSettings,
		`{"mode":{"current":"guarded"},"thoughtLevel":{"enabled":true,"current":"ultra","available":[{"value":"low"}]}}`,
		`{"model":{"current":{"providerId":"a","modelId":"b"},"available":[]},"thoughtLevel":{"enabled":false,"available":[{"value":""}]}}`,
		`{"model":{"available":[{"ref":{"providerId":"a","modelId":"b"},"label":"X"},{"ref":{"providerId":"a","modelId":"c"},"label":"X"}],"current":{"providerId":"a","modelId":"c"}}}`,
		`{"mode":"plan","thoughtLevel":"max","model":"x"}`,
	} {
		tr := withSettings(raw)
		c := &checker{}
		var options any
		_ = json.Unmarshal(tr.ConfigOptions(), &options)
		c.options(options)
		var m sessionModes
		_ = json.Unmarshal(tr.Modes(), &m)
		known := false
		for _, mode := range m.AvailableModes {
			known = known || mode.ID == m.CurrentModeID && mode.Name != ""
		}
		if len(c.faults) > 0 || !known {
			t.Errorf("%s: %v, modes %s", raw, c.faults, tr.Modes())
		}
	}
}

func TestChangesOfSettingsAreTold(t *testing.T) {
	const stays = `options model=builtin:zai\GLM-5.3 mode=build thought=high`
	for _, c := range []struct{ name, change, want string }{
		{"a mode", `{"mode":{"current":"plan"},"permission":{"mode":"plan"}}`, "options model=builtin:zai\\GLM-5.3 mode=plan thought=high\nmode plan"},
		{"a mode as a word", `{"mode":"plan"}`, "options model=builtin:zai\\GLM-5.3 mode=plan thought=high\nmode plan"},
		{"a model, and its window", `{"model":{"current":{"providerId":"own","modelId":"small"}}}`, "options model=own\\small mode=build thought=high\nusage 0/50000"},
		{"a level", `{"thoughtLevel":{"current":"max"}}`, `options model=builtin:zai\GLM-5.3 mode=build thought=max`},
		{"nothing", someSettings, ""}, {"a status", `{"status":"running"}`, ""}, {"no patch", `null`, ""},
		{"a title", `{"title":"New"}`, "title New"},
	} {
		got := withSettings(someSettings).StateUpdated([]byte(`{"type":"state.updated","sessionId":"s","patch":` + c.change + `}`))
		valid(t, got)
		if text := brief(got); text != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, text, c.want)
		}
	}
	tr := withSettings(someSettings)
	if got := brief(feed(tr, ev("session.updated", `{"mode":"edit","previousMode":"build","source":"tool"}`), ev("session.updated", `{"mode":"edit"}`))); got !=
		"options model=builtin:zai\\GLM-5.3 mode=edit thought=high\nmode edit" {
		t.Errorf("a mode that a tool changed: %s", got)
	}
	if got := brief(tr.StateUpdated([]byte(`{"patch":{"mode":{"current":"build"}}}`))); got != stays+"\nmode build" {
		t.Errorf("and back: %s", got)
	}
}

// A patch is decoded into settings of its own: what was known before must not change under it.
func TestAPatchDoesNotMixModels(t *testing.T) {
	tr := withSettings(someSettings)
	tr.Settings([]byte(`{"model":{"available":[{"ref":{"providerId":"own","modelId":"new"}}],"current":{"providerId":"own","modelId":"new"}}}`))
	if got := fmt.Sprint(tr.settings.models()); got != `[{own\new new }]` {
		t.Errorf("models are %s", got)
	}
	if tr.settings.Mode.Current != "build" {
		t.Errorf("the mode went: %q", tr.settings.Mode.Current)
	}
}

func TestSet(t *testing.T) {
	for _, c := range []struct {
		id, value, method, params string
		err                       error
	}{
		{"mode", "plan", "session/setMode", `{"mode":"plan","sessionId":"s"}`, nil},
		{"thought", "max", "session/setThoughtLevel", `{"sessionId":"s","thoughtLevel":"max"}`, nil},
		{"model", `own\small`, "session/setModel", `{"model":{"modelId":"small","options":{"reasoningLevel":"low"},"providerId":"own"},"sessionId":"s"}`, nil},
		{"model", `own\GLM-5.3`, "session/setModel", `{"model":{"modelId":"GLM-5.3","providerId":"own"},"sessionId":"s"}`, nil},
		{"model", `builtin:zai\GLM-5.3`, "session/setModel", `{"model":{"modelId":"GLM-5.3","options":{"reasoningLevel":"high"},"providerId":"builtin:zai"},"sessionId":"s"}`, nil},
		{"model", `own\gone`, "", "", errValueUnknown},
		{"mode", "chaos", "", "", errValueUnknown},
		{"colour", "blue", "", "", errOptionUnknown},
	} {
		got, err := withSettings(someSettings).Set(c.id, c.value)
		if !errors.Is(err, c.err) || got.Method != c.method || c.err == nil && string(encode(got.Params)) != c.params {
			t.Errorf("Set(%s, %s) = %s %s, %v", c.id, c.value, got.Method, encode(got.Params), err)
		}
	}
}
