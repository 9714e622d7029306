package simulator

import (
	"context"
	"strconv"
	"time"
)

// call is a request of ours to the client: one question that may be put several times, each time under a new id.
// Guarded by the loop.
type call struct {
	method   string
	params   any
	ids      []string
	answered chan answer // one slot; the first answer under any id settles the call
}

// answer is how a call ended.
type answer struct {
	result raw
	failed *peerError
	fault  *fault // there was no answer: timed out, disconnected, cancelled
}

func newCall(method string, params any) *call {
	return &call{method: method, params: params, answered: make(chan answer, 1)}
}

// put sends the call under the next server-N.
func (s *server) put(c *call) {
	if s.gone {
		return
	}
	s.lastCall++
	id := "server-" + strconv.Itoa(s.lastCall)
	c.ids = append(c.ids, id)
	s.calls[id] = c
	s.write(requestMessage{id, c.method, c.params})
}

// drop forgets the call: later answers under its ids are ignored.
func (s *server) drop(c *call) {
	for _, id := range c.ids {
		delete(s.calls, id)
	}
}

// answer takes an answer of the client to whichever call it belongs to. Late and unknown ones are ignored.
func (s *server) answer(m message) {
	c, ok := s.calls[idText(m.id)]
	if !ok {
		return
	}
	s.drop(c)
	c.answered <- answer{result: m.result, failed: m.failed}
}

// await waits for the answer, at most timeout (0: for ever) of real time.
func (s *server) await(ctx context.Context, c *call, timeout time.Duration) answer {
	defer s.drop(c)
	if s.gone {
		return answer{fault: disconnected()}
	}
	var expired <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	var a answer
	s.yield(func() {
		select {
		case a = <-c.answered:
		case <-expired:
			a.fault = &fault{codeCallTimedOut, object{"timeoutMs": timeout.Milliseconds()}, "ZCode Protocol request timed out: " + c.method}
		case <-ctx.Done():
			a.fault = disconnected()
		}
	})
	return a
}

// disconnect fails every open call: the client is gone.
func (s *server) disconnect() {
	s.gone = true
	open := map[*call]bool{}
	for _, c := range s.calls {
		open[c] = true
	}
	for c := range open {
		s.drop(c)
		c.answered <- answer{fault: disconnected()}
	}
}

func disconnected() *fault { return thrown("Error", "ZCode Protocol client connection closed") }
