package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// sampleLine is a streaming event of about size bytes, most of it one string.
func sampleLine(size int) []byte {
	const head = `{"method":"session/event","params":{"sessionId":"sess_0123456789abcdef","seq":123456,"turnId":"turn_1","type":"part.delta","payload":{"kind":"text_delta","text":"`
	const tail = `"}}}`
	const text = `A tool said \"ok\" and went on to the next file of the project, line by line.\n`
	fill := strings.Repeat(text, size/len(text)+1)
	return []byte(head + fill[:max(0, size-len(head)-len(tail))/len(text)*len(text)] + tail)
}

// structuredLine is a snapshot of about size bytes: many small members.
func structuredLine(size int) []byte {
	const row = `{"id":"row_17","kind":"toolCall","status":"completed","startedAt":1764518766123,"ratio":0.25,"args":{"path":"internal/wire/scan.go","lines":[1,20],"all":false},"error":null}`
	rows := strings.TrimSuffix(strings.Repeat(row+",", size/len(row)+1), ",")
	return []byte(`{"id":17,"result":{"sessionId":"sess_0123456789abcdef","rows":[` + rows + `]}}`)
}

// chineseLine is sampleLine with text beyond ASCII.
func chineseLine(size int) []byte {
	const text = `工具运行正常，接着处理项目中的下一个文件。`
	return []byte(`{"method":"session/event","params":{"sessionId":"s","seq":1,"type":"t","payload":{"text":"` + strings.Repeat(text, size/len(text)+1) + `"}}}`)
}

func BenchmarkEnvelope(b *testing.B) {
	for _, shape := range []struct {
		name string
		line func(int) []byte
	}{{"text", sampleLine}, {"structure", structuredLine}, {"chinese", chineseLine}} {
		for _, size := range []int{200, 4 << 10, 64 << 10, 4 << 20} {
			line := shape.line(size)
			for _, way := range []struct {
				name string
				run  func([]byte) bool
			}{
				{"scan", func(l []byte) bool { var e Envelope; return ParseEnvelope(l, &e) == nil }},
				{"skip", func(l []byte) bool { return looseSkip(l) == len(l) }},
				{"jsonValid", json.Valid},
				{"jsonStruct", func(l []byte) bool { var e structEnvelope; return json.Unmarshal(l, &e) == nil }},
			} {
				b.Run(fmt.Sprintf("%s/%s/%s", shape.name, sizeName(size), way.name), func(b *testing.B) {
					b.SetBytes(int64(len(line)))
					b.ReportAllocs()
					for b.Loop() {
						if !way.run(line) {
							b.Fatal("line refused")
						}
					}
				})
			}
		}
	}
}

func sizeName(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%dMiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%dKiB", n>>10)
	}
	return fmt.Sprintf("%dB", n)
}

// structEnvelope is what one would write without this package.
type structEnvelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		SessionID string          `json:"sessionId"`
		Seq       uint64          `json:"seq"`
		Type      string          `json:"type"`
		Payload   json.RawMessage `json:"payload"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// looseSkip is the floor for a byte-by-byte scan: it counts brackets outside strings and checks
// nothing.
func looseSkip(b []byte) int {
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

func BenchmarkReader(b *testing.B) {
	for _, size := range []int{200, 4 << 10, 64 << 10, 4 << 20} {
		line := append(sampleLine(size), '\n')
		b.Run(sizeName(size), func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			r := NewReader(&endless{line: line}, 0)
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
				r.More()
			}
		})
	}
}

// endless repeats a line, a pipe full a Read.
type endless struct {
	line []byte
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	p = p[:min(len(p), usualBuffer)]
	n := 0
	for n < len(p) {
		c := copy(p[n:], e.line[e.at:])
		n += c
		if e.at += c; e.at == len(e.line) {
			e.at = 0
		}
	}
	return n, nil
}

var _ io.Reader = (*endless)(nil)
