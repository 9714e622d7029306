package child

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zcodehub/internal/wire"
)

// The test binary plays the child, the grandchild and a hub to be killed, when
// this variable names a role. Its arguments are in the words after the first.
const roleVariable = "CHILD_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := strings.Fields(os.Getenv(roleVariable)); len(role) > 0 {
		// A role that a failed test has forgotten ends by itself.
		time.AfterFunc(2*time.Minute, func() { os.Exit(99) })
		roles[role[0]](role[1:])
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// roleEnv also keeps the race detector from sleeping a second at each exit.
func roleEnv(role string) []string {
	return append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")
}

var roles map[string]func(args []string)

func init() {
	roles = map[string]func(args []string){
		"echo":         func([]string) { echo() },
		"exit":         func(args []string) { os.Exit(number(args[0])) },
		"die":          func([]string) { syscall.Kill(os.Getpid(), syscall.SIGKILL); sleep() },
		"sleep":        func([]string) { sleep() },
		"stubborn":     stubborn,
		"orphan":       func(args []string) { fmt.Println(forkStubborn()); os.Exit(number(args[0])) },
		"daemon":       daemon,
		"flood":        flood,
		"deaf":         func([]string) { tick() },
		"print":        func(args []string) { fmt.Print(strings.Join(args, " ")) },
		"hugeNote":     hugeNote,
		"closeStdout":  func([]string) { os.Stdout.Close(); sleep() },
		"closeStdin":   func([]string) { os.Stdin.Close(); fmt.Println("closed"); sleep() },
		"environment":  func([]string) { fmt.Println(strings.Join(os.Environ(), "\n")) },
		"hub":          hub,
		"longAndShort": func(args []string) { fmt.Println(strings.Repeat("x", number(args[0]))); fmt.Println("short") },
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func sleep() {
	for {
		time.Sleep(time.Hour)
	}
}

// echo answers each line with itself until the end of stdin.
func echo() {
	r := wire.NewReader(os.Stdin, 0)
	for {
		line, err := r.Next()
		if err != nil {
			return
		}
		os.Stdout.Write(append(line, '\n'))
	}
}

// stubborn ignores TERM and the end of stdin, and prints its process id; with
// "fork" also that of a child that does the same.
func stubborn(args []string) {
	signal.Ignore(syscall.SIGTERM)
	switch strings.Join(args, "") {
	case "":
		fmt.Println(os.Getpid())
	case "fork":
		fmt.Println(os.Getpid(), forkStubborn())
	case "forked":
		os.NewFile(3, "ready").Close()
	}
	sleep()
}

// forkStubborn starts a stubborn process in this process group, which shares
// stdout and stderr, and returns its id once it ignores TERM.
func forkStubborn() (pid int) {
	wait, ready, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = roleEnv("stubborn forked")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{ready}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	ready.Close()
	wait.Read(make([]byte, 1)) // until it closes the other end
	return cmd.Process.Pid
}

// daemon leaves somebody behind who holds stdout but has left the group.
func daemon([]string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = roleEnv("sleep")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Println(cmd.Process.Pid)
}

// flood writes that many numbered lines to stdout and to stderr at once.
func flood(args []string) {
	var both sync.WaitGroup
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		both.Go(func() {
			w := bufio.NewWriter(f)
			defer w.Flush()
			for i := range number(args[0]) {
				fmt.Fprintf(w, "line %d of a flood that nobody asked for\n", i)
			}
		})
	}
	both.Wait()
}

// tick never reads and prints for ever.
func tick() {
	for i := 0; ; i++ {
		fmt.Println(i)
		time.Sleep(time.Millisecond)
	}
}

func hugeNote(args []string) {
	os.Stderr.Write(bytes.Repeat([]byte("n"), number(args[0])))
	fmt.Println("written")
	echo()
}

// hub runs a stubborn child with a group file and passes its output on.
func hub(args []string) {
	p, err := Start(Spec{
		Command:   []string{os.Args[0]},
		Env:       roleEnv("stubborn fork"),
		GroupFile: args[0],
		OnLine:    func(line []byte, _ bool) { fmt.Println(string(line)) },
	})
	if err != nil {
		panic(err)
	}
	<-p.Done()
}
