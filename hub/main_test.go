package hub_test

import (
	"fmt"
	"testing"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// simulated starts a hub whose app-server is the simulator at full speed.
func simulated(t *testing.T, options ...func(*hub.Options)) (*hubtest.Hub, *hubtest.Simulator) {
	t.Helper()
	s := hubtest.NewSimulator(t, hubtest.SimulatorOptions{})
	return hubtest.Start(t, s, options...), s
}

// scripted starts a hub whose app-server says what the test says.
func scripted(t *testing.T, options ...func(*hub.Options)) (*hubtest.Hub, *hubtest.Script, *hubtest.Process) {
	t.Helper()
	s := hubtest.NewScript(t)
	h := hubtest.Start(t, s, options...)
	p := s.Next()
	h.WantReady()
	return h, s, p
}

// profileOf alternates between the profiles.
func profileOf(i int) auth.Profile {
	if i%2 == 0 {
		return auth.Continuous
	}
	return auth.Replayable
}

// event is one session/event as an app-server prints it.
func event(sessionID string, seq int, payload string) string {
	return fmt.Sprintf(`{"method":"session/event","params":{"sessionId":%q,"seq":%d,"type":"session.updated","deliveryKind":"desktop-continuous","payload":%s}}`,
		sessionID, seq, payload)
}

// delta is an event that streams text.
func delta(sessionID string, seq int, text string) string {
	return fmt.Sprintf(`{"method":"session/event","params":{"sessionId":%q,"turnId":"t1","seq":%d,"type":"model.streaming","deliveryKind":"desktop-continuous","payload":{"kind":"text_delta","assistantMessageId":"m1","delta":%q}}}`,
		sessionID, seq, text)
}

// wantChain checks that a cursor was fed without a gap or a repeat.
func wantChain(t *testing.T, who string, c *hubtest.Cursor) {
	t.Helper()
	for _, gap := range c.Gaps {
		t.Errorf("%s: the chain of intervals broke: %s", who, gap)
	}
}
