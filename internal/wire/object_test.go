package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMembersComeInOrderWithTheirPlaces(t *testing.T) {
	obj := ` { "a" : 1 ,"\u0062":[ 2 ], "a":{"x":"}"} } `
	var got []string
	for m, err := range Members([]byte(obj)) {
		if err != nil {
			t.Fatalf("Members(%s): %v", obj, err)
		}
		got = append(got, fmt.Sprintf("%s=%s (%s)", m.Key, m.Value, obj[m.Start:m.End]))
	}
	want := []string{`a=1 ("a" : 1)`, `b=[ 2 ] ("\u0062":[ 2 ])`, `a={"x":"}"} ("a":{"x":"}"})`}
	if !slices.Equal(got, want) {
		t.Errorf("Members(%s)\n got %q\nwant %q", obj, got, want)
	}
}

func TestGetTakesTheLastAndPathGoesDown(t *testing.T) {
	obj := []byte(`{"a":1,"b":{"c":{"d":"x"}},"a":2,"e":null}`)
	for _, tt := range []struct{ path, want string }{
		{"a", "2"}, {"b", `{"c":{"d":"x"}}`}, {"b c d", `"x"`}, {"e", "null"}, {"", string(obj)},
		{"z", "none"}, {"a b", "none"}, {"b c z", "none"}, {"e x", "none"},
	} {
		got, ok := Path(obj, strings.Fields(tt.path)...)
		if !ok {
			got = []byte("none")
		}
		if string(got) != tt.want {
			t.Errorf("Path(%s) = %s, want %s", tt.path, got, tt.want)
		}
	}
}

func TestElements(t *testing.T) {
	for _, tt := range []struct{ arr, want string }{
		{`[]`, ``}, {` [ ] `, ``}, {`[1]`, `1`}, {`[ 1 , "a,b" ,[2,3],{"x":[]} ]`, `1|"a,b"|[2,3]|{"x":[]}`}, {`{"a":1}`, ``}, {`null`, ``}, {``, ``},
	} {
		var got []string
		for e := range Elements([]byte(tt.arr)) {
			got = append(got, string(e))
		}
		if s := strings.Join(got, "|"); s != tt.want {
			t.Errorf("Elements(%s) = %s, want %s", tt.arr, s, tt.want)
		}
	}
}

func TestDuplicateKeysAreComparedDecoded(t *testing.T) {
	var many strings.Builder
	for i := range 40 {
		fmt.Fprintf(&many, `"k%d":%d,`, i, i)
	}
	for _, tt := range []struct {
		obj  string
		want bool
	}{
		{`{}`, false}, {`{"a":1,"b":1}`, false}, {`{"a":1,"A":1}`, false}, {`{"a":1,"a":1}`, true},
		{`{"sessionId":1,"session\u0049d":1}`, true}, {`{"a":{"x":1,"x":2}}`, false}, {`{"":1,"":2}`, true},
		{`{` + many.String() + `"z":1}`, false}, {`{` + many.String() + `"k0":1}`, true}, {`{` + many.String() + `"k3\u0039":1}`, true},
		{`{"k15":0,` + many.String() + `"z":1}`, true},
	} {
		if got := HasDuplicateKeys([]byte(tt.obj)); got != tt.want {
			t.Errorf("HasDuplicateKeys(%.60s) = %v, want %v", tt.obj, got, tt.want)
		}
	}
}

func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, ` {"a": [1,{"b":"\u0062"}] , "\u0061":null}`, `{"a":1} x`, `[1,{"a":2}]`, `"\ud83d\ude00"`, `{"a":"\ud800"}`} {
		f.Add([]byte(s), "a")
	}
	f.Fuzz(func(t *testing.T, text []byte, key string) {
		var want map[string]json.RawMessage
		isObject := json.Unmarshal(text, &want) == nil && want != nil
		got := map[string]json.RawMessage{}
		if !utf8.Valid(text) {
			t.Skip() // the caller has checked that
		}
		n, failed, end := 0, false, 0
		for m, err := range Members(text) {
			if err != nil {
				failed = true
				continue
			}
			n++
			got[string(m.Key)] = m.Value
			if m.Start < end || m.End <= m.Start || !json.Valid([]byte("{"+string(text[m.Start:m.End])+"}")) {
				t.Fatalf("Members(%q): %q stands at %d to %d", text, m.Key, m.Start, m.End)
			}
			end = m.End
		}
		if failed == isObject {
			t.Fatalf("Members(%q): error %v, want %v", text, failed, !isObject)
		}
		if isObject {
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("Members(%q) = %s, want %s", text, got, want)
			}
			if dup := n != len(want); HasDuplicateKeys(text) != dup {
				t.Fatalf("HasDuplicateKeys(%q) = %v", text, !dup)
			}
			if v, ok := Get(text, key); ok != (want[key] != nil) || string(v) != string(want[key]) {
				t.Fatalf("Get(%q, %q) = %q, want %q", text, key, v, want[key])
			}
		}
		compareElements(t, text)
	})
}

func compareElements(t *testing.T, text []byte) {
	var want []json.RawMessage
	if json.Unmarshal(text, &want) != nil {
		want = nil
		if !json.Valid(text) {
			for range Elements(text) { // must end, and not panic
			}
			return
		}
	}
	i := 0
	for e := range Elements(text) {
		if i >= len(want) || string(e) != string(want[i]) {
			t.Fatalf("Elements(%q): element %d is %q, want %q", text, i, e, want)
		}
		i++
	}
	if i != len(want) {
		t.Fatalf("Elements(%q): %d, want %d", text, i, len(want))
	}
}
