package conversation

import "testing"

func TestDifferenceIsWhereTwoTextsPart(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{`{"a":1,"b":[true,null,"x"]}`, ` { "b" : [true,null,"\u0078"], "a":1.0}`, ""},
		{`1e2`, `100`, ""},
		{`9007199254740993`, `9007199254740992`, "."},
		{`{"a":{"b":[1,2]}}`, `{"a":{"b":[1,3]}}`, ".a.b[1]"},
		{`{"a":[1]}`, `{"a":[1,2]}`, ".a.length"},
		{`{"a":1}`, `{"a":1,"b":2}`, ".b"},
		{`{"a":1,"b":2}`, `{"a":1}`, ".b"},
		{`{"a":null}`, `{"a":false}`, ".a"},
		{`{"a":[]}`, `{"a":{}}`, ".a"},
		{`{"a":"1"}`, `{"a":1}`, ".a"},
		{`{`, `{`, "."},
		{`{} {}`, `{}`, "."},
	} {
		if got := Difference([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s, %s: got %q, want %q", c.a, c.b, got, c.want)
		}
		if got := Equal([]byte(c.b), []byte(c.a)); got != (c.want == "") {
			t.Errorf("%s, %s: equal is %v", c.b, c.a, got)
		}
	}
}
