package hubtest

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zcodehub/internal/simulator"
)

// roleVariable names the app-server that this process is to be.
const roleVariable = "HUBTEST_ROLE"

// role is what a started process is told about itself.
type role struct {
	Socket    string            `json:"socket,omitempty"`    // of a script
	Simulator *SimulatorOptions `json:"simulator,omitempty"` // of a simulator
	Heard     string            `json:"heard,omitempty"`     // file in which a simulator keeps what it was sent
	Die       bool              `json:"die,omitempty"`       // ends at once
}

// Main runs the tests, or the app-server that the environment asks for, and
// checks that no goroutine is left behind.
func Main(m *testing.M) {
	text, asked := os.LookupEnv(roleVariable)
	if !asked {
		goleak.VerifyTestMain(m)
		return
	}
	// A process that a failed test forgot ends by itself.
	time.AfterFunc(5*time.Minute, func() { os.Exit(99) })
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
	os.Exit(r.play())
}

// environ makes the next start of the test binary play r. The race detector
// would else sleep for a second at each exit.
func (r role) environ() []string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return append(os.Environ(), roleVariable+"="+string(text), "GORACE=atexit_sleep_ms=0")
}

func (r role) play() (exitCode int) {
	switch {
	case r.Die:
		fmt.Fprintln(os.Stderr, "I was told to die")
		return 3
	case r.Simulator != nil:
		return r.simulate()
	}
	return r.obey()
}

func (r role) simulate() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	heard, err := os.OpenFile(r.Heard, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	o := r.Simulator
	err = simulator.Run(ctx, simulator.Options{
		In: tee{os.Stdin, heard}, Out: os.Stdout, Err: os.Stderr,
		Seed: o.Seed, Speed: o.Speed, StateFile: o.StateFile, IdleEviction: o.IdleEviction, Migrations: o.Migrations,
	})
	return simulator.ExitCode(err)
}

// tee is stdin that is also written to a file; closing it closes stdin.
type tee struct {
	*os.File
	heard io.Writer
}

func (t tee) Read(p []byte) (int, error) {
	n, err := t.File.Read(p)
	if n > 0 {
		_, _ = t.heard.Write(p[:n])
	}
	return n, err
}

// The orders of a test to its scripted process: one byte, four bytes of length,
// then so many bytes.
const (
	orderStdout = 'o'
	orderStderr = 'e'
	orderExit   = 'x' // the exit code as one byte
)

// obey passes stdin to the test and does what the test orders, until either end
// is gone.
func (r role) obey() int {
	conn, err := net.Dial("unix", r.Socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	inputEnded := make(chan struct{})
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		close(inputEnded)
	}()
	orders := make(chan int, 1)
	go func() { orders <- follow(conn) }()
	select {
	case code := <-orders:
		return code
	case <-inputEnded:
		return 0
	}
}

func follow(conn net.Conn) (exitCode int) {
	in := bufio.NewReaderSize(conn, 1<<16)
	for {
		var head [5]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return 0
		}
		size := int64(binary.BigEndian.Uint32(head[1:]))
		var err error
		switch head[0] {
		case orderStdout:
			_, err = io.CopyN(os.Stdout, in, size)
		case orderStderr:
			_, err = io.CopyN(os.Stderr, in, size)
		case orderExit:
			code, _ := in.ReadByte()
			return int(code)
		default:
			err = errors.New("unknown order")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 97
		}
	}
}
