package simulator

import (
	"fmt"
	"slices"
	"strings"
)

// sinceRecording are members that builds newer than the recorded ones send, by the protocol document.
var sinceRecording = []string{
	"settings.model.available[].maxOutputTokens", "settings.model.available[].reasoning", "settings.model.available[].properties",
	"settings.model.current.options", "patch.model.available[].maxOutputTokens", "patch.model.available[].reasoning",
	"patch.model.available[].properties", "patch.model.current.options",
}

// opaque are members whose content is the model's or the provider's.
var opaque = []string{"input", "data"}

// compare lists what the recorded line has and ours has not, and the other way round if the recording is whole.
func compare(line recorded, want, got msg) []string {
	w, g := map[string]string{}, map[string]string{}
	shapeOf(w, "", map[string]any(want))
	shapeOf(g, "", map[string]any(got))
	var problems []string
	for _, path := range sortedKeys(w) {
		switch have, ok := g[path]; {
		case !ok && emptyList(g, path):
		case !ok:
			problems = append(problems, path+" is missing")
		case have != w[path] && have != "null" && w[path] != "null" && path != ".id":
			problems = append(problems, fmt.Sprintf("%s is a %s, recorded a %s", path, have, w[path]))
		}
	}
	if !line.whole() {
		return problems
	}
	for _, path := range sortedKeys(g) {
		newer := slices.ContainsFunc(sinceRecording, func(suffix string) bool { return strings.Contains(path, suffix) })
		if _, ok := w[path]; !ok && !newer && !emptyList(w, path) {
			problems = append(problems, path+" is not in the recording")
		}
	}
	return problems
}

// shapeOf notes the type of every member of v; the elements of a list count as one.
func shapeOf(shape map[string]string, path string, v any) {
	shape[path] = typeName(v)
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if slices.Contains(opaque, key) {
				shape[path+"."+key] = "object"
				continue
			}
			shapeOf(shape, path+"."+key, value)
		}
	case []any:
		for _, e := range v {
			shapeOf(shape, path+"[]", e)
		}
	}
}

// emptyList reports whether path lies in a list that has no element on this side, so that nothing can be said.
func emptyList(shape map[string]string, path string) bool {
	for i := strings.LastIndex(path, "[]"); i >= 0; i = strings.LastIndex(path[:i], "[]") {
		if _, has := shape[path[:i]+"[]"]; !has {
			return shape[path[:i]] == "array"
		}
	}
	return false
}
