package simulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// crashBubble is inBubble for a simulator that ends itself.
func crashBubble(t *testing.T, f func(*sim)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{Seed: 7})
		f(s)
		var exit *ExitError
		if err := <-s.ended; !errors.As(err, &exit) || exit.Code != 70 {
			t.Errorf("Run ended with %v, want exit code 70", err)
		} else if ExitCode(err) != 70 {
			t.Errorf("ExitCode(%v) = %d, want 70", err, ExitCode(err))
		}
	})
}

func TestCrashEndsMidTurnAndFlushesWhatWasSaid(t *testing.T) {
	crashBubble(t, func(s *sim) {
		id := s.open()
		s.request("session/send", `{"sessionId":"`+id+`","content":"crash"}`)
		names := strings.Join(eventNames(s.settle()), " ")
		if !strings.HasSuffix(names, "tool.updated:scheduled tool.updated:started") {
			t.Errorf("events before the crash: %s", names)
		}
	})
}

func TestHangIsDeafAndMuteUntilSignalled(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		s.request("session/send", `{"sessionId":"`+id+`","content":"hang"}`)
		s.settle()
		writing := make(chan error, 1)
		go func() {
			_, err := io.WriteString(s.in, strings.Repeat(`{"id":99,"method":"runtime/capabilities","params":{}}`+"\n", 5000))
			writing <- err
		}()
		if said := s.pass(10 * time.Minute); len(said) > 0 {
			t.Errorf("a hanging process said %s", show(said))
		}
		select {
		case err := <-writing:
			t.Errorf("a hanging process read all its input (%v)", err)
		default:
		}
		s.cancel()
		<-writing
	})
}

func TestEndOfInputLetsShortRequestsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		id := s.create()
		s.request("session/send", `{"sessionId":"`+id+`","content":"hello"}`)
		s.in.Close()
		began := time.Now()
		if err := <-s.ended; err != nil {
			t.Errorf("Run ended with %v", err)
		}
		if took := time.Since(began); took > finishGrace {
			t.Errorf("ending took %v, want at most %v", took, finishGrace)
		}
	})
}

func TestEndOfInputFailsWhatWaitsForTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		s.preferences = ""
		s.request("session/create", `{"workspace":`+demoWorkspace+`}`)
		s.settle()
		s.in.Close()
		began := time.Now()
		if err := <-s.ended; err != nil {
			t.Errorf("Run ended with %v", err)
		}
		said := s.settle()
		if len(said) != 1 || at(said[0], "error.message") != "ZCode Protocol client connection closed" || at(said[0], "error.code") != -32603.0 {
			t.Errorf("create was answered with %s", show(said))
		}
		if took := time.Since(began); took != finishGrace {
			t.Errorf("ending took %v, want %v", took, finishGrace)
		}
	})
}

func TestEndOfInputAbortsSlowRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{Speed: 1})
		s.settle()
		s.request("workspace/generateText", `{"workspace":`+demoWorkspace+`,"selection":{"providerId":"demo","modelId":"demo-flash"},"prompt":"slow 1h","querySource":"test"}`)
		s.in.Close()
		began := time.Now()
		<-s.ended
		if took := time.Since(began); took > 2*finishGrace {
			t.Errorf("ending took %v", took)
		}
	})
}

func TestEndOfInputAbortsTurnsWithoutFurtherEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{Speed: 1})
		id := s.open()
		s.prompt(id, "slow 1h")
		s.pass(5 * time.Second)
		s.in.Close()
		if err := <-s.ended; err != nil {
			t.Errorf("Run ended with %v", err)
		}
		for _, name := range eventNames(s.settle()) {
			if name != "model.streaming:text_delta" {
				t.Errorf("event %s after the end of input", name)
			}
		}
	})
}

func TestUnterminatedLastLineIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		s.settle()
		if _, err := io.WriteString(s.in, "  \n\r\n\t{\"id\":1,\"method\":\"runtime/capabilities\"}\r"); err != nil {
			t.Fatal(err)
		}
		s.in.Close()
		<-s.ended
		said := s.settle()
		if len(said) != 1 || at(said[0], "result.independentPlanState") != true {
			t.Errorf("got %s", show(said))
		}
	})
}

func TestClientThatNeverReadsDoesNotKeepTheProcessAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, stdin := io.Pipe()
		_, out := io.Pipe() // nobody reads it
		ended := make(chan error, 1)
		go func() { ended <- Run(context.Background(), Options{In: in, Out: out}) }()
		synctest.Wait()
		stdin.Close()
		began := time.Now()
		<-ended
		if took := time.Since(began); took > exitDeadline+finishGrace {
			t.Errorf("ending took %v", took)
		}
	})
}

func TestBrokenStdoutEndsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, stdin := io.Pipe()
		defer stdin.Close()
		reader, out := io.Pipe()
		reader.Close()
		if err := Run(context.Background(), Options{In: in, Out: out}); ExitCode(err) != 1 {
			t.Errorf("Run ended with %v", err)
		}
	})
}

func TestStartupFramesComeFirstInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{Migrations: 2})
		var phases []string
		for i, m := range s.settle() {
			if m["method"] != "startup/storageState" || at(m, "params.sequence") != float64(i+1) {
				t.Errorf("frame %d: %s", i, show(m))
			}
			phases = append(phases, at(m, "params.phase").(string))
		}
		if got := strings.Join(phases, " "); got != "checking checking checking migrating migrating committing ready" {
			t.Errorf("phases: %s", got)
		}
		s.stop()
	})
}

func TestFailedStorageEndsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{StorageFailure: "corrupt"})
		said := s.settle()
		if last := said[len(said)-1]; at(last, "params.phase") != "failed" || at(last, "params.errorCode") != "corrupt" {
			t.Errorf("last frame: %s", show(last))
		}
		if err := <-s.ended; ExitCode(err) != 1 {
			t.Errorf("Run ended with %v", err)
		}
	})
}

func TestNoiseDisturbsNobody(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		said := s.prompt(id, "noise")
		if !strings.Contains(reasons(said), "prompt_completed") {
			t.Errorf("turn did not end: %v", eventNames(said))
		}
		for _, line := range noiseLines {
			if !bytes.Contains(s.out.text, []byte("\n"+line+"\n")) {
				t.Errorf("stdout lacks the line %q", line)
			}
		}
		if len(s.stderr.text) < stderrFlood {
			t.Errorf("stderr got %d bytes, want at least %d", len(s.stderr.text), stderrFlood)
		}
	})
}

func TestEachLineIsOneWriteExceptInABurst(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		s.prompt(id, "hello")
		if lines := len(s.out.lines()); s.out.writes != lines {
			t.Errorf("%d writes for %d lines", s.out.writes, lines)
		}
		said := s.prompt(id, "burst 2000")
		deltas := 0
		for _, name := range eventNames(said) {
			if name == "model.streaming:text_delta" {
				deltas++
			}
		}
		if deltas != 2000 {
			t.Errorf("burst 2000 made %d lines", deltas)
		}
	})
}

func TestOptionsAreOptional(t *testing.T) {
	var out bytes.Buffer
	if err := Run(context.Background(), Options{In: strings.NewReader(`{"id":1,"method":"runtime/capabilities"}`), Out: &out}); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintln(`{"id":1,"result":{"independentPlanState":true}}`); !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %s", out.String())
	}
}
