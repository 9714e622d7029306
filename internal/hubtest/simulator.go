package hubtest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"zcodehub/internal/wire"
)

// SimulatorOptions are those of the simulated app-server that a test may want.
type SimulatorOptions struct {
	Seed         uint64
	Speed        float64
	StateFile    string
	IdleEviction time.Duration
	Migrations   int
}

// Simulator is the simulated app-server as a process, one for each generation.
type Simulator struct {
	role role
}

// NewSimulator prepares one. Nothing runs before a hub starts it.
func NewSimulator(t *testing.T, o SimulatorOptions) *Simulator {
	t.Helper()
	if o.Seed == 0 {
		o.Seed = 1
	}
	return &Simulator{role{Simulator: &o, Heard: filepath.Join(t.TempDir(), "heard.ndjson")}}
}

func (s *Simulator) environ() []string { return s.role.environ() }

// Heard returns the lines that all generations were sent, in order.
func (s *Simulator) Heard() (lines [][]byte) {
	text, _ := os.ReadFile(s.role.Heard) // not there before the first line
	for line := range bytes.Lines(text) {
		lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
	}
	return lines
}

// Count tells how many requests of a method were sent.
func (s *Simulator) Count(method string) (n int) {
	for _, line := range s.Heard() {
		var e wire.Envelope
		if wire.ParseEnvelope(line, &e) == nil && e.Kind == wire.Request && string(e.Method) == method {
			n++
		}
	}
	return n
}

// Mortal is an app-server that dies as soon as it is started.
type Mortal struct{}

func (Mortal) environ() []string { return role{Die: true}.environ() }
