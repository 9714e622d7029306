package hub_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"zcodehub/auth"
	"zcodehub/internal/hubtest"
)

// Whoever follows the session's topic is present like those who follow its
// events, once, and with what it says of who looks.
func TestPresenceCountsEveryWayOfFollowing(t *testing.T) {
	h, _ := simulated(t)
	phone := h.Connect("phone", hubtest.As{Device: "dev-phone"})
	session, other := phone.Create("/work"), phone.Create("/work")
	phone.MustCall("hub/initialize", `{"clientId":"c1","clientKind":"page"}`)
	phone.Subscribe(session, "")
	follow(t, phone, "conversation/"+session)
	viewer := h.Connect("viewer", hubtest.As{Role: auth.RoleViewer})
	topic := follow(t, viewer, "conversation/"+session)
	phone.WantNotice("hub/presence", session, `"total":2`)

	look := func(params string) {
		t.Helper()
		n := viewer.Received()
		phone.MustCall("hub/attention", params)
		viewer.WantNoticeAfter(n, "hub/presence", session)
	}
	seen := func() (visible bool) {
		t.Helper()
		var notice struct {
			Total   int
			Clients []struct {
				Name, Device, Kind, ConnectionID string
				Rights                           []string
				Visible                          bool
				Since                            time.Time
			}
		}
		if err := json.Unmarshal(viewer.MustCall("hub/presence", fmt.Sprintf(`{"sessionId":%q}`, session)), &notice); err != nil {
			t.Fatal(err)
		}
		if notice.Total != 2 || len(notice.Clients) != 2 {
			t.Fatalf("%d are present, %d named", notice.Total, len(notice.Clients))
		}
		for _, c := range notice.Clients {
			if age := time.Since(c.Since); age < 0 || age > time.Hour || c.ConnectionID == "" {
				t.Errorf("%s came %v ago", c.Name, age)
			}
			if c.Device == "dev-phone" && (c.Name != "phone" || c.Kind != "page" || len(c.Rights) != 3) {
				t.Errorf("the phone is told as %+v", c)
			}
			if c.Device == "dev-phone" {
				visible = c.Visible
			}
		}
		return visible
	}
	if seen() {
		t.Error("a client that said nothing is looking")
	}
	look(`{"visible":true}`)
	if !seen() {
		t.Error("a client that looks at everything is not looking")
	}
	look(fmt.Sprintf(`{"visible":true,"sessionId":%q}`, other))
	if seen() {
		t.Error("a client that looks at another session is looking")
	}
	look(fmt.Sprintf(`{"visible":true,"sessionId":%q}`, session))
	if !seen() {
		t.Error("a client that looks at the session is not looking")
	}
	if m := phone.Call("hub/attention", `{"visible":"yes"}`); m.Path("error", "code") != "-32602" {
		t.Errorf("a strange word gave %s", m)
	}

	n := phone.Received()
	viewer.MustCall("v4/conversation/unsubscribe", fmt.Sprintf(`{"topic":%q,"subscriptionId":%q}`, "conversation/"+session, topic.id))
	phone.WantNoticeAfter(n, "hub/presence", session, `"total":1`)
	n = phone.Received()
	follow(t, viewer, "conversation/"+session)
	phone.WantNoticeAfter(n, "hub/presence", session, `"total":2`)
	n = phone.Received()
	viewer.Leave()
	phone.WantNoticeAfter(n, "hub/presence", session, `"total":1`)
}
