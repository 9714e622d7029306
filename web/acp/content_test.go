package acp

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTextIsCutBetweenCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		n := rapid.IntRange(1, 30).Draw(t, "n")
		for name, got := range map[string]string{"clip": clip(text, n), "clipLeft": clipLeft(text, n), "head": head(text, n), "cut": cut(text, n)} {
			if !utf8.ValidString(got) {
				t.Errorf("%s(%q, %d) = %q is no valid text", name, text, n, got)
			}
			if count := utf8.RuneCountInString(got); name != "cut" && count > n || len(got) > len(text)+2 && name != "cut" {
				t.Errorf("%s(%q, %d) = %q has %d characters", name, text, n, got, count)
			}
			if utf8.RuneCountInString(text) <= n && name != "cut" && got != text {
				t.Errorf("%s(%q, %d) = %q cuts what fits", name, text, n, got)
			}
		}
		if got := cut(text, n); len(got) > n+len("\n…\n") && len(text) > n {
			t.Errorf("cut(%q, %d) = %q is too long", text, n, got)
		}
	})
}

func TestAFenceHoldsAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("`a\n"))).Draw(t, "text")
		got := fenced("console", text)
		fence := got[:strings.Index(got, "console")]
		if inner := got[len(fence) : len(got)-len(fence)]; len(fence) < 3 || !strings.HasSuffix(got, "\n"+fence) || strings.Contains(inner, fence) {
			t.Errorf("fenced(%q) = %q", text, got)
		}
	})
}

func TestPlainHasNoEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m": "red", "\x1b]0;title\x07x": "x", "\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\": "link", "\x1b[2J\x1b[1;1Hx": "x", "a\x1b": "a\x1b", "\x1bMx": "x", "no": "no",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFiles(t *testing.T) {
	for in, want := range map[string]string{
		`{"mime":"image/png","url":"data:image/png;base64,AA=="}`:                     "image image/png AA==",
		`{"url":"data:image/png;charset=x;base64,AA=="}`:                              "image image/png AA==",
		`{"kind":"image","filename":"a.png","mimeType":"image/png","dataBase64":"A"}`: "image image/png A",
		`{"mime":"image/png","filename":"a.png","url":"https://a.invalid/a.png"}`:     "resource_link a.png https://a.invalid/a.png image/png",
		`{"mime":"image/png","filename":"a.png","url":"data:image/png;base64,\n<"}`:   "resource_link a.png data:image/png;base64,\n< image/png",
		`{"filename":"a b.txt","localPath":"/tmp/a b.txt"}`:                           "resource_link a b.txt file:///tmp/a%20b.txt",
		`{"url":"file:///w/x.go"}`:                                                    "resource_link x.go file:///w/x.go",
		`{"filename":"x"}`:                                                            "resource_link x attachment:x",
		`{"fileName":"y","mime":7,"ref":"r1"}`:                                        "resource_link y r1",
		`{}`:                                                                          "", `7`: "", `null`: "",
	} {
		b, ok := fileOf(json.RawMessage(in))
		got := ""
		if ok {
			got = briefBlock(encode(b))
		}
		if got != strings.Join(strings.Fields(want), " ") {
			t.Errorf("fileOf(%s) = %q, want %q", in, got, want)
		}
	}
	huge := `{"mime":"image/png","filename":"big.png","dataBase64":"` + strings.Repeat("A", maxImage+4) + `"}`
	if b, ok := fileOf(json.RawMessage(huge)); !ok || b.Type != "resource_link" || len(encode(b)) > 200 {
		t.Errorf("a huge picture became %.80s", encode(b))
	}
}
