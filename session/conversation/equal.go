package conversation

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// Equal tells whether two JSON texts mean the same: whatever the order of keys
// and the way in which numbers and strings are written. What is not JSON equals
// nothing.
func Equal(a, b []byte) bool { return Difference(a, b) == "" }

// Difference is the path of the first place in which two JSON texts mean
// different things (".rows.window[3].text"), "" if there is none. Values are not
// in it. "." is the whole.
func Difference(a, b []byte) string {
	var x, y any
	if !decode(a, &x) || !decode(b, &y) {
		return "."
	}
	return difference(x, y, "")
}

func decode(text []byte, v *any) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // large integers must not lose digits
	return d.Decode(v) == nil && !d.More()
}

func difference(x, y any, path string) string {
	switch x := x.(type) {
	case map[string]any:
		if y, ok := y.(map[string]any); ok {
			return objectDifference(x, y, path)
		}
	case []any:
		if y, ok := y.([]any); ok {
			return arrayDifference(x, y, path)
		}
	case json.Number:
		if y, ok := y.(json.Number); ok && sameNumber(x, y) {
			return ""
		}
	default:
		if x == y {
			return ""
		}
	}
	if path == "" {
		return "."
	}
	return path
}

func objectDifference(x, y map[string]any, path string) string {
	for _, key := range slices.Sorted(maps.Keys(x)) {
		below := path + "." + key
		if _, ok := y[key]; !ok {
			return below
		}
		if d := difference(x[key], y[key], below); d != "" {
			return d
		}
	}
	for _, key := range slices.Sorted(maps.Keys(y)) {
		if _, ok := x[key]; !ok {
			return path + "." + key
		}
	}
	return ""
}

func arrayDifference(x, y []any, path string) string {
	for i := range min(len(x), len(y)) {
		if d := difference(x[i], y[i], path+"["+strconv.Itoa(i)+"]"); d != "" {
			return d
		}
	}
	if len(x) != len(y) {
		return path + ".length"
	}
	return ""
}

// sameNumber compares integers by their digits and others as JavaScript would.
func sameNumber(x, y json.Number) bool {
	if x == y {
		return true
	}
	if _, err := x.Int64(); err == nil {
		if _, err := y.Int64(); err == nil {
			return false
		}
	}
	f, errX := x.Float64()
	g, errY := y.Float64()
	return errX == nil && errY == nil && f == g
}
