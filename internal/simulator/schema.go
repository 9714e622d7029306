package simulator

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// issue is one validation failure in the form the real app-server's schema library reports it.
type issue struct {
	Expected      string    `json:"expected,omitempty"`
	Format        string    `json:"format,omitempty"`
	Origin        string    `json:"origin,omitempty"`
	Code          string    `json:"code"`
	Keys          []string  `json:"keys,omitempty"`
	Values        []string  `json:"values,omitempty"`
	Minimum       *float64  `json:"minimum,omitempty"`
	Maximum       *float64  `json:"maximum,omitempty"`
	Inclusive     bool      `json:"inclusive,omitempty"`
	Errors        [][]issue `json:"errors,omitempty"`
	Note          string    `json:"note,omitempty"`
	Discriminator string    `json:"discriminator,omitempty"`
	Path          []any     `json:"path"`
	Message       string    `json:"message"`
}

// schema checks one decoded JSON value (nil, bool, float64, string, []any, map[string]any, json.RawMessage for a value
// nobody looks into, or missing{}) and reports what is wrong with it.
type schema func(v any, path []any) []issue

// missing stands for a member that is not there, which is not the same as null.
type missing struct{}

// field is one member of a strict object.
type field struct {
	name     string
	schema   schema
	optional bool
}

func req(name string, s schema) field { return field{name, s, false} }
func opt(name string, s schema) field { return field{name, s, true} }

// strict is an object with exactly these members; any other is an error.
func strict(fields ...field) schema {
	return func(v any, path []any) []issue {
		members, ok := v.(map[string]any)
		if !ok {
			return wrongType("object", v, path)
		}
		issues := checkFields(fields, members, path)
		var unknown []string
		for key := range members {
			if !slices.ContainsFunc(fields, func(f field) bool { return f.name == key }) {
				unknown = append(unknown, key)
			}
		}
		if len(unknown) > 0 {
			sort.Strings(unknown)
			issues = append(issues, unrecognized(unknown, path))
		}
		return issues
	}
}

// loose is an object with these members and any others.
func loose(fields ...field) schema {
	return func(v any, path []any) []issue {
		members, ok := v.(map[string]any)
		if !ok {
			return wrongType("object", v, path)
		}
		return checkFields(fields, members, path)
	}
}

func checkFields(fields []field, members map[string]any, path []any) (issues []issue) {
	for _, f := range fields {
		value, present := members[f.name]
		if !present {
			if f.optional {
				continue
			}
			value = missing{}
		}
		issues = append(issues, f.schema(value, join(path, f.name))...)
	}
	return issues
}

func unrecognized(keys []string, path []any) issue {
	quoted := make([]string, len(keys))
	for i, key := range keys {
		quoted[i] = strconv.Quote(key)
	}
	noun := "key"
	if len(keys) > 1 {
		noun = "keys"
	}
	return issue{Code: "unrecognized_keys", Keys: keys, Path: root(path),
		Message: fmt.Sprintf("Unrecognized %s: %s", noun, strings.Join(quoted, ", "))}
}

func anyString(v any, path []any) []issue {
	if _, ok := v.(string); !ok {
		return wrongType("string", v, path)
	}
	return nil
}

// nonEmpty is a string of at least one character.
func nonEmpty(v any, path []any) []issue {
	s, ok := v.(string)
	if !ok {
		return wrongType("string", v, path)
	}
	if s == "" {
		return []issue{tooSmall("string", 1, "Too small: expected string to have >=1 characters", path)}
	}
	return nil
}

func boolean(v any, path []any) []issue {
	if _, ok := v.(bool); !ok {
		return wrongType("boolean", v, path)
	}
	return nil
}

// maxSafeInteger is the largest integer that a JavaScript number holds exactly.
const maxSafeInteger = 1<<53 - 1

// integer is a whole number within [low, high].
func integer(low, high float64) schema {
	return func(v any, path []any) []issue {
		n, ok := v.(float64)
		switch {
		case !ok:
			return wrongType("number", v, path)
		case n != math.Trunc(n) || math.IsInf(n, 0):
			return []issue{{Expected: "int", Format: "safeint", Code: "invalid_type", Path: root(path), Message: "Invalid input: expected int, received number"}}
		case n < low:
			return []issue{tooSmall("number", low, fmt.Sprintf("Too small: expected number to be >=%.0f", low), path)}
		case n > high:
			return []issue{tooBig("number", high, fmt.Sprintf("Too big: expected number to be <=%.0f", high), path)}
		}
		return nil
	}
}

// oneOf is a string out of a fixed set.
func oneOf(values ...string) schema {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = strconv.Quote(value)
	}
	message := "Invalid option: expected one of " + strings.Join(quoted, "|")
	if len(values) == 1 {
		message = "Invalid input: expected " + quoted[0]
	}
	return func(v any, path []any) []issue {
		if s, ok := v.(string); ok && slices.Contains(values, s) {
			return nil
		}
		return []issue{{Code: "invalid_value", Values: values, Path: root(path), Message: message}}
	}
}

// listOf is an array of low to high elements; high 0 means any number.
func listOf(element schema, low, high int) schema {
	return func(v any, path []any) []issue {
		elements, ok := v.([]any)
		if !ok {
			return wrongType("array", v, path)
		}
		var issues []issue
		for i, e := range elements {
			issues = append(issues, element(e, join(path, i))...)
		}
		if len(elements) < low {
			issues = append(issues, tooSmall("array", float64(low), fmt.Sprintf("Too small: expected array to have >=%d items", low), path))
		}
		if high > 0 && len(elements) > high {
			issues = append(issues, tooBig("array", float64(high), fmt.Sprintf("Too big: expected array to have <=%d items", high), path))
		}
		return issues
	}
}

// recordOf is an object with free keys.
func recordOf(value schema) schema {
	return func(v any, path []any) []issue {
		members, ok := v.(map[string]any)
		if !ok {
			return wrongType("object", v, path)
		}
		var issues []issue
		for _, key := range sortedKeys(members) {
			issues = append(issues, value(members[key], join(path, key))...)
		}
		return issues
	}
}

// anything accepts every value, also an absent one.
func anything(any, []any) []issue { return nil }

// present accepts every value that is there.
func present(v any, path []any) []issue {
	if _, absent := v.(missing); absent {
		return wrongType("nonoptional", v, path)
	}
	return nil
}

// eitherOf accepts what one of the alternatives accepts.
func eitherOf(alternatives ...schema) schema {
	return func(v any, path []any) []issue {
		var errors [][]issue
		for _, alternative := range alternatives {
			issues := alternative(v, nil)
			if len(issues) == 0 {
				return nil
			}
			errors = append(errors, issues)
		}
		return []issue{{Code: "invalid_union", Errors: errors, Path: root(path), Message: "Invalid input"}}
	}
}

// tagged picks the schema by the value of the member key.
func tagged(key string, variants map[string]schema) schema {
	return func(v any, path []any) []issue {
		members, ok := v.(map[string]any)
		if !ok {
			return wrongType("object", v, path)
		}
		tag, _ := members[key].(string)
		if variant, ok := variants[tag]; ok {
			return variant(v, path)
		}
		return []issue{{Code: "invalid_union", Note: "No matching discriminator", Discriminator: key, Path: join(path, key), Message: "Invalid input"}}
	}
}

func wrongType(expected string, v any, path []any) []issue {
	return []issue{{Expected: expected, Code: "invalid_type", Path: root(path),
		Message: fmt.Sprintf("Invalid input: expected %s, received %s", expected, typeName(v))}}
}

func tooSmall(origin string, low float64, message string, path []any) issue {
	return issue{Origin: origin, Code: "too_small", Minimum: &low, Inclusive: true, Path: root(path), Message: message}
}

func tooBig(origin string, high float64, message string, path []any) issue {
	return issue{Origin: origin, Code: "too_big", Maximum: &high, Inclusive: true, Path: root(path), Message: message}
}

func typeName(v any) string {
	switch v.(type) {
	case missing:
		return "undefined"
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	case json.RawMessage:
		return "unknown"
	default:
		return "object"
	}
}

// root makes a nil path an empty one, because the wire shows [] and not null.
func root(path []any) []any {
	if path == nil {
		return []any{}
	}
	return path
}

func join(path []any, step any) []any { return append(slices.Clone(path), step) }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
