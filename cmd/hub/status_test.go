package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zcodehub/hub"
)

func TestStatusShowsWhatRunsWhoIsThereAndWhatWaits(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var s statusAnswer
	s.Instance.ID, s.Instance.Name, s.Version, s.UptimeMs = "abc", "desk", "v1.0.0", 90_400
	s.Addresses = []string{"http://127.0.0.1:8377", "unix:/data/hub.sock"}
	s.AppServer = hub.AppServerStatus{State: "ready", Generation: 2, Pid: 42}
	s.Clients = []hub.ClientStatus{{ConnectionID: "c1", Name: "phone", Role: "approver", Profile: "web-remote-replayable", RemoteAddr: "192.0.2.1:5", Since: now.Add(-time.Minute)}}
	s.Sessions = []hub.SessionStatus{{ID: "sess_1", Seq: 17, Subscribers: 3, Open: 1}}
	s.Pending = []hub.PendingStatus{{RequestID: "r1", SessionID: "sess_1", Kind: "permission", ToolName: "Bash", Since: now.Add(-5 * time.Second)}}
	var out bytes.Buffer
	if err := printStatus(&out, &s, now); err != nil {
		t.Fatal(err)
	}
	const want = `hub         desk  (abc, version v1.0.0, up 1m30s)
listening   http://127.0.0.1:8377  unix:/data/hub.sock
app-server  ready  (generation 2, process 42)

clients: 1
  c1  phone  approver  web-remote-replayable  192.0.2.1:5  for 1m

sessions: 1
  sess_1  at update 17  3 watching  1 open

waiting for an answer: 1
  r1  sess_1  permission Bash  for 5s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}
