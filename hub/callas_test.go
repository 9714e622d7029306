package hub_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"zcodehub/auth"
	"zcodehub/hub"
	"zcodehub/internal/hubtest"
)

func person(role auth.Role, sessions ...string) *auth.Principal {
	p := &auth.Principal{Name: "p", Device: "d", Role: role, Rights: role.Rights(), Profiles: []auth.Profile{auth.Replayable}}
	if sessions != nil {
		p.Sessions = sessions
	}
	return p
}

func TestACallWithoutAConnectionKeepsToRightsAndScopeAndLeavesNothing(t *testing.T) {
	h := hubtest.Start(t, hubtest.NewSimulator(t, hubtest.SimulatorOptions{}))
	op := h.Connect("op", hubtest.As{})
	id, other := op.Create("/w"), op.Create("/w")
	ctx, cancel := context.WithTimeout(t.Context(), hubtest.Patience)
	defer cancel()
	for _, c := range []struct {
		who     *auth.Principal
		method  string
		session string
		want    int // code; 0 is a result
	}{
		{person(auth.RoleViewer), "session/read", id, 0},
		{person(auth.RoleViewer), "session/setMode", id, -32040},
		{person(auth.RoleViewer, id), "session/read", id, 0},
		{person(auth.RoleViewer, id), "session/read", other, -32004},
		{person(auth.RoleViewer, id), "session/read", "sess_none", -32004},
		{person(auth.RoleAdmin), "session/subscribe", id, -32601},
		{person(auth.RoleAdmin), "hub/restartAppServer", id, -32601},
		{person(auth.RoleAdmin), "v4/conversation/subscribe", id, -32601},
	} {
		result, err := h.CallAs(ctx, c.who, c.method, map[string]string{"sessionId": c.session})
		code := 0
		var failed *hub.CallError
		if errors.As(err, &failed) {
			code = failed.Code
		}
		if code != c.want || (code == 0) != strings.Contains(string(result), id) {
			t.Errorf("%s of %s by %s %v: %.100s, %v; want code %d", c.method, c.session, c.who.Role, c.who.Sessions, result, err, c.want)
		}
	}
	list, err := h.CallAs(ctx, person(auth.RoleViewer, id), "session/list", struct{}{})
	if err != nil || !strings.Contains(string(list), id) || strings.Contains(string(list), other) {
		t.Errorf("a limited list: %s, %v", list, err)
	}
	if st := h.Status(); len(st.Clients) != 1 {
		t.Errorf("clients are left: %+v", st.Clients)
	}
}

func TestACallWithoutAConnectionEndsWithItsContext(t *testing.T) {
	h := hubtest.Start(t, hubtest.NewScript(t)) // an app-server that never answers
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := h.CallAs(ctx, person(auth.RoleViewer), "session/list", struct{}{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
	h.Stop()
	if _, err := h.CallAs(t.Context(), person(auth.RoleViewer), "session/list", struct{}{}); err == nil {
		t.Error("a hub that has ended answered")
	}
}
