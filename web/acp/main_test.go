package acp

import (
	"testing"
	"time"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// simulated starts a hub whose app-server is the simulator at full speed.
func simulated(t *testing.T) *hubtest.Hub {
	t.Helper()
	return hubtest.Start(t, hubtest.NewSimulator(t, hubtest.SimulatorOptions{}))
}

// holder is a principal of a role that sees all.
func holder(name string, role auth.Role) *auth.Principal {
	return &auth.Principal{Name: name, Device: name, Role: role, Rights: role.Rights(), TokenID: "token-" + name,
		Profiles: []auth.Profile{auth.Continuous, auth.Replayable}, ExpiresAt: time.Now().Add(time.Hour)}
}

// attachTo is the Attach of a hub.
func attachTo(h *hubtest.Hub) func(hub.ClientInfo, hub.Sink) (Attached, error) {
	return func(info hub.ClientInfo, sink hub.Sink) (Attached, error) { return h.Attach(info, sink) }
}
