package simulator

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
)

// benchClient is stdout and stdin of a simulator in one: it answers preferences and signals what it waits for.
type benchClient struct {
	stdin  *io.PipeWriter
	marks  [][]byte // what to wait for, one after the other
	passed chan []byte
}

func (c *benchClient) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"method":"session/requestRuntimePreferences"`)) {
		id, _, _ := bytes.Cut(p, []byte(`,`))
		c.send(string(id) + `,"result":{"nativeSearchEnhancementsEnabled":false}}`)
	}
	if len(c.marks) > 0 && bytes.Contains(p, c.marks[0]) {
		c.marks = c.marks[1:]
		c.passed <- bytes.Clone(p)
	}
	return len(p), nil
}

func (c *benchClient) send(line string) { _, _ = io.WriteString(c.stdin, line+"\n") }

// BenchmarkBurst measures what one delta of the prompt "burst" costs until it is written.
func BenchmarkBurst(b *testing.B) {
	in, stdin := io.Pipe()
	c := &benchClient{stdin: stdin, passed: make(chan []byte, 1),
		marks: [][]byte{[]byte(`"phase":"ready"`), []byte(`{"id":1,`), []byte(`"reason":"prompt_completed"`)}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, Options{In: in, Out: c, Seed: 1}) }()
	<-c.passed
	c.send(`{"id":1,"method":"session/create","params":{"workspace":` + demoWorkspace + `}}`)
	created := decodeAny(<-c.passed)
	id := at(created, "result.session.sessionId")
	c.send(fmt.Sprintf(`{"id":2,"method":"session/subscribe","params":{"sessionId":%q,"deliveryKind":"desktop-continuous"}}`, id))
	b.ReportAllocs()
	b.ResetTimer()
	c.send(fmt.Sprintf(`{"id":3,"method":"session/send","params":{"sessionId":%q,"content":"burst %d"}}`, id, b.N))
	<-c.passed
	b.StopTimer()
	cancel()
	<-ended
}
