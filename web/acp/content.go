package acp

import (
	"bytes"
	"encoding/json"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"zcodehub/internal/wire"
)

const (
	// maxOutput bounds the text of one card. A result can have megabytes; a card that shows a tenth of one is read
	// by nobody, and a phone pays for every byte.
	maxOutput = 64 << 10
	// maxRawOutput bounds rawOutput, which repeats the beginning of the text for clients that show no content.
	maxRawOutput = 2000
	// maxRawInput bounds the arguments of a call: a Write holds the whole file in one of them.
	maxRawInput = 64 << 10
	// maxImage bounds the base64 text of one image in a transcript: 10 MiB of picture, as prompts may hold.
	maxImage = 14 << 20
)

// block is an ACP content block: text, image, or a link to a file.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Data     string `json:"data,omitempty"`
	MimeType string `json:"mimeType,omitempty"`
	URI      string `json:"uri,omitempty"`
	Name     string `json:"name,omitempty"`
}

func textBlock(text string) block { return block{Type: "text", Text: text} }

// fenced is text that is to be shown as it is. The fence is longer than any in the text.
func fenced(language, text string) string {
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

func longestRun(text string, c byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// cut shortens text to about n bytes by leaving out its middle: the beginning says what it is, the end how it went.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	head, tail := n/2, len(text)-n/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + "\n…\n" + text[tail:]
}

// clip shortens text to n characters, the last of them an ellipsis.
func clip(text string, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	end := 0
	for range n - 1 {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return text[:end] + "…"
}

// clipLeft does the same at the other end: of a path the end is what tells.
func clipLeft(text string, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	start := len(text)
	for range n - 1 {
		_, size := utf8.DecodeLastRuneInString(text[:start])
		start -= size
	}
	return "…" + text[start:]
}

// head is the first n characters.
func head(text string, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	end := 0
	for range n {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return text[:end]
}

// escapes are the control sequences of terminals: CSI, OSC and the short ones.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")

// plain is terminal output for clients that have no terminal to show it in.
func plain(text string) string {
	if strings.IndexByte(text, 0x1b) < 0 {
		return text
	}
	return escapes.ReplaceAllString(text, "")
}

// reminders are notes to the model that the app-server puts into texts.
var reminders = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>\s*`)

// nudges begin whole texts that are notes to the model, from versions that put no tag around them.
var nudges = []string{
	"The TodoWrite tool hasn't been used recently",
	"This is a reminder that your todo list is currently empty",
	"Whenever you read a file, you should consider whether it",
}

// withoutReminders takes out of a text what was not meant for people.
func withoutReminders(text string) string {
	if strings.Contains(text, "<system-reminder>") {
		text = strings.TrimSpace(reminders.ReplaceAllString(text, ""))
	}
	for _, nudge := range nudges {
		if strings.HasPrefix(strings.TrimSpace(text), nudge) {
			return ""
		}
	}
	return text
}

// cleanRaw is a raw JSON value that strict readers take: half a surrogate pair is legal for JavaScript and an error for
// others. nil stays nil.
func cleanRaw(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
		return raw
	}
	return encode(decoded(raw))
}

// decoded is a JSON value with its numbers as they were written; nil if it is none.
func decoded(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// shortInput is the arguments of a call, long texts in them cut.
func shortInput(input json.RawMessage) json.RawMessage {
	input = cleanRaw(input)
	if len(input) <= maxRawInput {
		return input
	}
	members, ok := decoded(input).(map[string]any)
	if !ok {
		return nil
	}
	for key, value := range members {
		if text, ok := value.(string); ok {
			members[key] = cut(text, maxRawInput/16)
		}
	}
	if input = encode(members); len(input) > maxRawInput {
		return nil
	}
	return input
}

// blocksOf reads what a tool gave: a text, or a list of blocks as MCP tools give it.
func blocksOf(raw json.RawMessage) (text string, images []block) {
	if s, ok := wire.StringValue(raw); ok {
		return s, nil
	}
	if len(raw) == 0 || raw[0] != '[' {
		if len(raw) == 0 || string(raw) == "null" {
			return "", nil
		}
		return string(raw), nil
	}
	var texts []string
	for element := range wire.Elements(raw) {
		var b block
		if json.Unmarshal(element, &b) != nil {
			continue
		}
		switch {
		case b.Type == "image" && b.Data != "" && b.MimeType != "" && len(b.Data) <= maxImage:
			images = append(images, block{Type: "image", Data: b.Data, MimeType: b.MimeType})
		case b.Text != "":
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n"), images
}

// fileOf is a file that a user sent along: the picture itself where its bytes are at hand, else a link. Names of members
// differ between stored parts and attachments of inputs.
func fileOf(raw json.RawMessage) (block, bool) {
	var f struct{ Mime, MimeType, Filename, URL, Ref, LocalPath, DataBase64 string }
	_ = json.Unmarshal(raw, &f) // what is of another type stays empty
	mime, name, uri := first(f.Mime, f.MimeType), f.Filename, first(f.URL, f.Ref)
	data := f.DataBase64
	if inline, encoded, ok := dataURL(uri); ok {
		mime, data, uri = first(mime, inline), encoded, ""
	}
	if strings.HasPrefix(mime, "image/") && data != "" && len(data) <= maxImage {
		return block{Type: "image", Data: data, MimeType: mime}, true
	}
	if uri == "" && f.LocalPath != "" {
		uri = "file://" + (&url.URL{Path: f.LocalPath}).EscapedPath()
	}
	if name == "" && uri != "" {
		name = path.Base(uri)
	}
	if name == "" {
		return block{}, false
	}
	return block{Type: "resource_link", URI: first(uri, "attachment:"+url.PathEscape(name)), Name: name, MimeType: mime}, true
}

// dataURL takes a base64 data: URL apart.
func dataURL(uri string) (mime, data string, ok bool) {
	rest, ok := strings.CutPrefix(uri, "data:")
	if !ok {
		return "", "", false
	}
	mime, data, ok = strings.Cut(rest, ";base64,")
	if !ok {
		return "", "", false
	}
	mime, _, _ = strings.Cut(mime, ";")
	return mime, data, strings.Trim(data, base64Letters) == ""
}

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

// first is the first text that is not empty.
func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
